"""The Python interface: a function for each command, and the tables that they return."""
