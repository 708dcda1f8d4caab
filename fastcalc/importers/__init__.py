"""Readers for other programs' files: Hugging Face configurations, benchmark results, traces."""
