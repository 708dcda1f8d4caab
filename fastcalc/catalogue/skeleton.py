"""Files to fill in: every key that matters, what it means, and what a value looks like."""

import re
from datetime import date
from pathlib import Path

FILL_IN = "FILL IN, e.g. "


def skeleton(kind: str, name: str, today: date) -> str:
    """Return a commented file of a kind (hardware, model, engine) with place-holders to fill in."""
    text = Path(__file__).with_name("skeletons").joinpath(f"{kind}.txt").read_text(encoding="utf-8")
    return text.replace("<NAME>", name).replace("<TODAY>", today.isoformat())


def filled_in(text: str) -> str:
    """Return a skeleton with every place-holder replaced by its example, which must then check.

    Examples
    --------
    >>> filled_in('capacity: {value: "FILL IN, e.g. 80 GiB"}')
    'capacity: {value: 80 GiB}'
    """
    return re.sub(rf'"{FILL_IN}([^"]*)"', r"\1", text)
