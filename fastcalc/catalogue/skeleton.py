"""Files to fill in: every key that matters, what it means, and what a value looks like."""

from collections.abc import Sequence
from datetime import date
from pathlib import Path


def skeleton(entry_type: str, name: str, today: date, speeds: Sequence[str] = ()) -> str:
    """A commented file of a kind (hardware, model, engine) with place-holders to fill in.

    speeds : lines on how fast chips of the same numbers are as each kind
    """
    text = (
        Path(__file__)
        .with_name("skeletons")
        .joinpath(f"{entry_type}.txt")
        .read_text(encoding="utf-8")
    )
    lines = "".join(f"# {line}\n" for line in speeds)
    text = text.replace("<SPEEDS>", lines)
    return text.replace("<NAME>", name).replace("<TODAY>", today.isoformat())
