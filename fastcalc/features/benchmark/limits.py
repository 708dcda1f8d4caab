"""Limits and defaults of benchmark runs."""

FEWEST_RUNS, MOST_RUNS = 1, 3

LONGEST = 120.0
"""Longest total duration of all runs against one server. [min]"""

WAVES = 4
"""Number of requests of a run divided by its concurrency: one wave for warm-up, three counted."""

FEWEST_REQUESTS = 8
"""Minimum number of requests in a run, so that one slow request does not dominate."""

MOST_BUSY = 0.7
"""Largest fraction of a run in which the client itself may compute, so that it delays no tokens."""

REPETITIONS = 3
"""Repetitions of each llama-bench test after the warm-up."""
