"""The same work alongside other calculators, each in a virtual environment of its own.

``ask_*.py`` run under a peer's Python, which knows nothing of fastcalc, and print one JSON object.
"""
