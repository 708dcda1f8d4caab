"""`fastmode`: speed-up and cost of each low-latency technique, starting from today's batch."""
