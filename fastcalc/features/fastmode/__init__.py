"""`fastmode`: what each technique for low latency buys and costs, from today's batch."""
