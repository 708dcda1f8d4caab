"""Published single-user speeds for a chip and a model, without predictions."""

import csv
from collections.abc import Collection
from typing import NamedTuple

from fastcalc.catalogue.folders import shipped_folder


class PublicSpeed(NamedTuple):
    """A published single-user speed.

    tokens_per_s : The speed of a single user, in tokens per second.
    date : The date given by the source, YYYY-MM or longer.
    tokens_per_pass : The accepted tokens per step: 1 without speculation, None if unknown.
    chips : The number of chips, or None if unknown.
    """

    tokens_per_s: float
    date: str
    tokens_per_pass: float | None
    chips: float | None = None


def public_speeds(hardware: str, models: Collection[str]) -> list[PublicSpeed]:
    """List published single-user speeds of a model on a chip by date, in a few milliseconds.

    Only lines that name both are parsed, because the file has thousands of lines.

    models : All names of the model.
    """
    path = shipped_folder("evidence") / "measured.csv"
    with path.open(encoding="utf-8", newline="") as stream:
        header = next(stream)
        lines = [
            line
            for line in stream
            if f",{hardware}," in line and any(f",{model}," in line for model in models)
        ]
    speeds = []
    for row in csv.DictReader([header, *lines]):
        is_one_user = row["notes"].startswith("kind=decode_batch1")
        is_speed = row["metric"] == "tokens_per_s_per_user"
        is_meant = row["hardware"] == hardware and row["model"] in models
        if is_meant and is_one_user and is_speed:
            cells = row["tokens_per_pass"], row["chips"]
            per_pass, chips = (float(cell) if cell else None for cell in cells)
            speeds.append(PublicSpeed(float(row["value"]), row["date"], per_pass, chips))
    return sorted(speeds, key=lambda speed: speed.date)
