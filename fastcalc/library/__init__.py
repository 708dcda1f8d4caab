"""fastcalc from Python: a function for each command, and the tables that they return."""
