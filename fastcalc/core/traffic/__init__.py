"""Traffic of a deployment: request classes, queueing, and prompts with shared prefixes."""
