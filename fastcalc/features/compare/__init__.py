"""`compare` and `report`: speed, latency and price of models on chips, batch by batch.

`request` has the requests, `run` the entry point, `answer` the printed tables, `notes` the notes
below them, and `page` the HTML report.
"""
