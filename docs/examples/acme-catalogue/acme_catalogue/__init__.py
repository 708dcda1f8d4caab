"""Chips, models and engines of Acme, for fastcalc: files alone."""
