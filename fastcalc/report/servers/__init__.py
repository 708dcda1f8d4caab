"""What starts the servers of a plan: the command lines of engines, and what to expect of them."""
