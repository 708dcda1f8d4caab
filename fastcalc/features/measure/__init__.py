"""`validate`, `calibrate` and `diagnose`: predictions compared with measurements.

Measurements are used to fit engines and to explain why a server is slow.
"""
