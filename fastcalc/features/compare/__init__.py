"""`compare` and `report`: speed, latency and price of models on chips, batch by batch.

What is asked stands in `request`, what runs in `run`, the first screen in `overview`, all columns
and notes in `answer`.
"""
