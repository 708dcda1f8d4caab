"""Answers as self-contained HTML pages, which load nothing from the network."""
