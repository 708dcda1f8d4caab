"""`fastmode`: speed-up and cost of each low-latency technique, starting at today's batch."""
