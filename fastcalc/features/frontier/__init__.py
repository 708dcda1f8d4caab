"""`frontier`: speed per user against price, the points that no other beats."""
