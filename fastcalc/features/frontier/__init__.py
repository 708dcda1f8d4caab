"""`frontier`: Pareto-optimal points of speed per user against price."""
