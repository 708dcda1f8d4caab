"""How fast, at what price and on how many chips a language model runs.

The pieces, from the bottom up: `units` turns text with a unit into SI floats;
`catalogue` reads the YAML files of chips, models and engines; `formulas` holds
pure functions; `placement` decides where weights and cache live; `evaluate`
turns a scenario into an estimate; `report` and `cli` show it.
"""

__version__ = "0.1.0"
