"""Answers as self-contained HTML pages that load nothing from the network."""
