"""`decide`: which of several services succeeds soonest or cheapest, and what flips it."""
