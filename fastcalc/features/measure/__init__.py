"""`validate`, `calibrate` and `diagnose`: predictions against measurements.

Engines are fitted on measurements, and a slow server is explained by them.
"""
