"""`compare` and `report`: speed, latency and price of models on chips, for each batch.

`request` defines the requests, `run` the entry point, `answer` the printed tables, `notes` the
notes below them, and `page` the HTML report.
"""
