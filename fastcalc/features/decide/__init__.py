"""`decide`: the fastest or cheapest of several services, and the break-evens of the verdict."""
