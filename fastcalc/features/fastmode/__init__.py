"""`fastmode`: speed-up and cost of each technique for low latency, starting at today's batch."""
