"""Tables in CSV files next to the modules that use them."""

import csv
from functools import cache
from pathlib import Path


@cache
def table_of(module: str) -> list[dict[str, str]]:
    """Read the CSV file named like a module: the text of each cell by column, for each row.

    module : The path of the module, ``__file__``.
    """
    with Path(module).with_suffix(".csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
