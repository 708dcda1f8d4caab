"""What a benchmark of a server may be asked."""

FEWEST_RUNS, MOST_RUNS = 1, 3

LONGEST = 120.0
"""Of all runs against a server. [min]"""

WAVES = 4
"""Times its concurrency that a run has requests: one until the server is in step, three counted."""

FEWEST_REQUESTS = 8
"""Of a run, so that one slow request does not decide it."""

MOST_BUSY = 0.7
"""Share of a run in which the client may compute; beyond it, tokens wait for the client."""

REPETITIONS = 3
"""Of each test of llama-bench, after one that warms up."""
