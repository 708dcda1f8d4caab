"""`validate`, `calibrate` and `diagnose`: compare predictions with measurements.

Measurements are used to fit engines and to explain why a server is slow.
"""
