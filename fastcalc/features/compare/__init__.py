"""`compare` and `report`: speed, latency and price of models on chips, batch by batch.

What is asked stands in `request`, what runs in `run`, the first screen and that of all columns in
`answer`, with their `notes`, and the page to send in `page`.
"""
