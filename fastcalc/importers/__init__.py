"""What other programs write, read: configurations of Hugging Face, results of benchmarks."""
