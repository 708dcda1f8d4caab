"""Limits and defaults of benchmark runs."""

FEWEST_RUNS, MOST_RUNS = 1, 3

LONGEST = 120.0
"""Maximum total duration of all runs against a server. [min]"""

WAVES = 4
"""Requests per run divided by its concurrency: one warm-up wave and three that count."""

FEWEST_REQUESTS = 8
"""Minimum number of requests per run, so that one slow request does not dominate."""

MOST_BUSY = 0.7
"""Maximum fraction of a run in which the client itself may compute, so as not to delay tokens."""

REPETITIONS = 3
"""Repetitions of each llama-bench test after its warm-up."""
