"""Files to fill in: every key that matters, what it means, and what a value looks like."""

from datetime import date
from pathlib import Path


def skeleton(kind: str, name: str, today: date) -> str:
    """Return a commented file of a kind (hardware, model, engine) with place-holders to fill in."""
    text = Path(__file__).with_name("skeletons").joinpath(f"{kind}.txt").read_text(encoding="utf-8")
    return text.replace("<NAME>", name).replace("<TODAY>", today.isoformat())
