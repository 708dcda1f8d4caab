"""Validation of single cells in a table of measurements, with a message for each problem."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import lru_cache
from math import isfinite

from fastcalc.catalogue.limits import LIMITS, Limit
from fastcalc.evidence.point import COLUMNS, COUNTS, METRICS, NUMBERS, Point, noted
from fastcalc.written import A_NAME, control_in, did_you_mean, shown

_MOST_DIGITS = 12
_KINDS = {"value": "measured", "tokens_per_pass": "tokens per step", "concurrency": "sequences"}
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(?:[,' ]\d{3})+(?:\.\d+)?", re.ASCII)
_MARKS = {";": "semicolons", "\t": "tabs"}
_NEEDED = {
    "id": "give each point an id, such as 'mine-001'",
    "hardware": "'fastcalc list hardware' names the chips",
    "model": "'fastcalc list models' names the models",
    "metric": f"it is one of {', '.join(METRICS)}",
    "value": "write the measured number",
}


@lru_cache(maxsize=4096)  # counts, lengths and rates have few distinct values
def read_cell(name: str, text: str) -> float:
    """Parse the number in a nonempty cell, or raise ValueError with a message.

    >>> read_cell("chips", "8"), read_cell("value", "34.5")
    (8, 34.5)
    """
    is_short = text.isdigit() and text.isascii() and len(text) <= _MOST_DIGITS
    if name in COUNTS and is_short and int(text) in _limit(name):
        return int(text)
    value = float(text) if _NUMBER.fullmatch(text) else None
    if value is None or not isfinite(value):
        raise ValueError(_not_a_number(name, text))
    if name in COUNTS and value <= _limit(name).maximum:
        below_one = "it is 1 or more; leave the cell empty if it is not stated"
        not_whole = f"write {value:.0f}" if value.is_integer() else "write a whole number"
        raise ValueError(f"{name} is '{shown(text)}'; {below_one if value <= 0 else not_whole}")
    if name == "value" and value <= 0:
        raise ValueError(f"value is {shown(text)}; a measured value is above 0")
    if name == "tokens_per_pass" and value < 1:
        raise ValueError(
            f"tokens_per_pass is {shown(text)}; a step yields at least 1 token; leave the cell "
            "empty if it was not published"
        )
    if value < 0:
        raise ValueError(f"{name} is {shown(text)}; a length is 0 or more tokens")
    if value not in _limit(name):
        raise ValueError(_out_of_range(name, text))
    return value


def beyond(point: Point) -> Iterator[str]:
    """Yield a message for each number of a measurement that is out of range."""
    for name in NUMBERS:
        value = getattr(point, name)
        if value is not None and value not in _limit(name):
            yield _out_of_range(name, f"{value:g}")


def _limit(name: str) -> Limit:
    return LIMITS[_KINDS.get(name) or ("chips" if name in COUNTS else "length")]


def _out_of_range(name: str, text: str) -> str:
    return f"{name} is {shown(text)}, which is out of range: {_limit(name)}"


def _not_a_number(name: str, text: str) -> str:
    fault = f"{name} is '{shown(text)}', not a number"
    if _THOUSANDS.fullmatch(text) and len(text) <= _MOST_DIGITS * 2:
        plain = re.sub("[,' ]", "", text)
        return f"{fault}; write {plain}"
    if re.fullmatch(r"\d+,\d+", text, re.ASCII):
        return f"{fault}; write a decimal point"
    if name == "value":
        return f"{fault}; write only the number, in the unit that the metric names"
    return f"{fault}; leave the cell empty if it is not stated"


def wrong_words(row: Mapping[str, str]) -> dict[str, str]:
    """Return problems with the text cells, by column.

    >>> wrong_words(dict(id="1", hardware="h1", model="", metric="tpot_s", value="1", notes=""))
    {'model': "model is empty; 'fastcalc list models' names the models"}
    """
    wrong = {name: f"{name} is empty; {_NEEDED[name]}" for name in _NEEDED if not row[name]}
    for words, value in noted(row["notes"]).items():
        if value not in LIMITS["length"]:
            out = f"notes state '{words} {value:g}', which is out of range"
            wrong["notes"] = f"{out}: {LIMITS['length']}"
    if not "".join(row.values()).isprintable():  # a fast check, since most rows are printable
        wrong |= {
            name: f"{name} contains the control character {control}; {A_NAME}"
            for name, text in row.items()
            if name != "notes" and (control := control_in(text))
        }
    metric = row["metric"]
    if metric and metric not in METRICS:
        hint = did_you_mean(metric.lower(), METRICS, _NEEDED["metric"], cutoff=0.6)
        wrong["metric"] = f"no metric is called '{shown(metric)}'; {hint}"
    return wrong


def wrong_layout(
    numbers: Mapping[str, float | None], ranks_a_chip: Callable[[], int | None]
) -> dict[str, str]:
    """Return problems with a layout, by column: the product of the ranks must match the chips.

    ranks_a_chip : The function that returns the ranks per chip, or None for an unknown file.
    """
    chips, tp, pp, dp = numbers["chips"], numbers["tp"], numbers["pp"], numbers["dp"]
    if chips is None or tp is None or pp is None or dp is None or tp * pp * dp == chips:
        return {}
    ranks = ranks_a_chip()
    if tp * pp * dp == chips * ranks if ranks else tp * pp * dp % chips == 0:
        return {}
    of = f", of {ranks} ranks each," if ranks and ranks > 1 else ""
    return {
        "chips": f"chips is {chips}{of} but tp {tp} x pp {pp} x dp {dp} is {tp * pp * dp}; "
        "leave tp, pp and dp empty if they are not stated"
    }


def header_faults(names: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Yield the position of each wrong column in a header, with a message.

    Columns that are not needed to define a measurement may be missing.
    """
    recognized = [name for name in names if name in COLUMNS]
    missing = [name for name in COLUMNS if name not in names]
    if not recognized:
        marks = [called for mark, called in _MARKS.items() if mark in names[0]]
        if {"avg_ts", "n_gen"} <= set(names):
            yield 0, "this is the CSV of llama-bench, which names no layout; run it with '-o json'"
        elif marks:
            yield 0, f"cells are separated by {marks[0]} here; separate them by commas"
        else:
            yield 0, f"the header is missing; the file begins with {','.join(COLUMNS)}"
        return
    for position, name in enumerate(names):
        if name in COLUMNS:
            first = names.index(name)
            if first < position:
                yield position, f"column '{name}' appears twice, at {first + 1} and {position + 1}"
            continue
        near = get_close_matches(name.lower(), missing, n=1, cutoff=0.6)
        if near:
            missing.remove(near[0])
            yield position, f"no column is called '{shown(name)}'; did you mean '{near[0]}'?"
        else:
            yield position, f"no column is called '{shown(name)}'; take it out"
    needed = [name for name in missing if name in _NEEDED and name != "id"]
    if needed:
        several = "columns are" if len(needed) > 1 else "column is"
        yield (
            0,
            (
                f"{len(needed)} {several} missing: {', '.join(needed)}; add them; other columns "
                "may be left out"
            ),
        )
