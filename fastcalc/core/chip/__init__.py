"""A chip and what an engine makes of it: rates, memories, what it computes in."""
