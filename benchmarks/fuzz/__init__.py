"""Random requests to the command line, most of them wrong: ``python -m benchmarks.fuzz``.

A case is a command line, the files it names and the streams it has, all drawn from a seed and
the number of the case. `judge` says what must hold of whatever it does.
"""
