"""Speeds of one user that were published for a chip and a model, without predicting them."""

import csv
from collections.abc import Iterator
from typing import NamedTuple

from fastcalc.catalogue.folders import shipped_folder


class PublicSpeed(NamedTuple):
    """A published speed of one stream.

    tokens_per_s : of one user [token/s]
    date : as the source has it, YYYY-MM or longer
    tokens_per_pass : kept of each step; 1 without speculation, None where nobody says [1]
    """

    tokens_per_s: float
    date: str
    tokens_per_pass: float | None


def public_speeds(hardware: str, model: str) -> list[PublicSpeed]:
    """Published speeds of one user of a model on a chip, by date; a few milliseconds.

    Lines that do not name both are not parsed: the file has thousands.
    """
    path = shipped_folder("evidence") / "measured.csv"
    with path.open(encoding="utf-8", newline="") as stream:
        header = next(stream)
        lines = [line for line in stream if f",{hardware}," in line and f",{model}," in line]
    return sorted(_of(csv.DictReader([header, *lines]), hardware, model), key=lambda one: one.date)


def _of(rows: "csv.DictReader[str]", hardware: str, model: str) -> Iterator[PublicSpeed]:
    for row in rows:
        is_one_user = row["notes"].startswith("kind=decode_batch1")
        is_speed = row["metric"] == "tokens_per_s_per_user"
        if (row["hardware"], row["model"]) == (hardware, model) and is_one_user and is_speed:
            kept = row["tokens_per_pass"]
            yield PublicSpeed(float(row["value"]), row["date"], float(kept) if kept else None)
