"""Readers for files of other programs: Hugging Face configurations, benchmark results, traces."""
