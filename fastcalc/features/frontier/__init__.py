"""`frontier`: the Pareto frontier of speed per user and price."""
