"""`compare --explain`: every component of a step with its work, its rates and their sources."""
