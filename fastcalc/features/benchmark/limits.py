"""Limits and defaults of benchmark runs."""

FEWEST_RUNS, MOST_RUNS = 1, 3

LONGEST = 120.0
"""Longest total duration of all runs against a server. [min]"""

WAVES = 4
"""Requests of a run / its concurrency: one for warm-up, three counted."""

FEWEST_REQUESTS = 8
"""Fewest requests of a run, so that one slow request does not dominate."""

MOST_BUSY = 0.7
"""Largest fraction of a run in which the client may compute; above it, tokens wait for it."""

REPETITIONS = 3
"""Repetitions of each llama-bench test, after one for warm-up."""
