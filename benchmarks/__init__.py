"""Measurements of fastcalc itself, and with it: not part of the installed package."""
