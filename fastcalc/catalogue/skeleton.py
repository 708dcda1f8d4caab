"""Template files with every important key, its meaning and an example value."""

from collections.abc import Sequence
from datetime import date
from pathlib import Path


def skeleton(entry_type: str, name: str, today: date, speeds: Sequence[str] = ()) -> str:
    """Return a commented template for a type of file (hardware, model, engine) with placeholders.

    speeds : The lines about the speed that each type of chip would have with the same numbers.
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
