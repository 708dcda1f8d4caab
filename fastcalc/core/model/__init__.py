"""Workload counts of a model: parameters, bytes and FLOPs per token from its shape alone."""
