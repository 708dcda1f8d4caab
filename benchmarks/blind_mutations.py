"""Mistakes that know nothing of rules: any value of any file, changed as hands change values.

Each file is changed a number of times, one value at a time, drawn by a seed. What is written about
values (titles, notes, names, sources) is left alone, for nothing is computed from it.
"""

import copy
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

Data = dict[str, Any]
Path = tuple[str | int, ...]
Change = Callable[[Any, Random], Any]

WORDS = {
    "id", "name", "aliases", "sources", "source", "shape_source", "printed", "reading", "note",
    "notes", "excused", "basis", "fitted_on", "title", "vendor", "confidence", "hypothetical",
    "band",
}  # fmt: skip
UNITS = {"us": "ms", "ms": "us", "TFLOP/s": "GFLOP/s", "GB/s": "Gb/s", "GiB": "GB"}


def leaves(data: Any, path: Path = ()) -> Iterator[Path]:
    """Yield the path of every value that something is computed from."""
    if isinstance(data, dict):
        for key, inner in data.items():
            if key not in WORDS:
                yield from leaves(inner, (*path, key))
    elif isinstance(data, list):
        for index, inner in enumerate(data):
            yield from leaves(inner, (*path, index))
    elif path:
        yield path


def at(data: Any, path: Path) -> Any:
    """Return what stands at a path."""
    for step in path:
        data = data[step]
    return data


def _scaled(factor: float) -> Change:
    def change(value: Any, _: Random) -> Any:
        number, unit = _split(value)
        if number is None or number == 0:
            return value
        scaled = number * factor
        whole = isinstance(value, int) or (unit == "" and number.is_integer())
        if whole and not scaled.is_integer():
            scaled = float(int(scaled))
        return _joined(scaled, unit, whole=whole)

    return change


def _split(value: Any) -> tuple[float | None, str]:
    if isinstance(value, bool):
        return None, ""
    if isinstance(value, (int, float)):
        return float(value), ""
    number, _, unit = str(value).partition(" ")
    try:
        return float(number), unit
    except ValueError:
        return None, ""


def _joined(number: float, unit: str, *, whole: bool) -> Any:
    if unit:
        return f"{number:.12g} {unit}"
    return int(number) if whole else number


def _digits_swapped(value: Any, random: Random) -> Any:
    text = str(value)
    places = [
        place
        for place in range(len(text) - 1)
        if text[place : place + 2].isdigit() and text[place] != text[place + 1]
    ]
    if not places or isinstance(value, bool):
        return value
    place = random.choice(places)
    new = text[:place] + text[place + 1] + text[place] + text[place + 2 :]
    return type(value)(new)


def _unit_changed(value: Any, _: Random) -> Any:
    number, unit = _split(value)
    return f"{number:.12g} {UNITS[unit]}" if number and unit in UNITS else value


def _flag_turned(value: Any, _: Random) -> Any:
    return not value if isinstance(value, bool) else value


CHANGES: dict[str, Change] = {
    "x2": _scaled(2),
    "/2": _scaled(0.5),
    "x10": _scaled(10),
    "/10": _scaled(0.1),
    "two digits swapped": _digits_swapped,
    "another unit": _unit_changed,
    "flag turned": _flag_turned,
}
KINDS = (*CHANGES, "left out", "another file's value", "the neighbour's value")


def mutated(data: Data, kind: str, others: list[Data], random: Random) -> tuple[Data, str] | None:
    """Return a file with one value changed and its path, or None where the kind changes nothing."""
    new = copy.deepcopy(data)
    path = random.choice(list(leaves(data)))
    parent, last, old = at(new, path[:-1]), path[-1], at(data, path)
    if kind in CHANGES:
        parent[last] = CHANGES[kind](old, random)
    elif kind == "left out":
        whole = path[:-1] if last == "value" else path  # a number with its source
        del at(new, whole[:-1])[whole[-1]]
    elif kind == "the neighbour's value":
        near = [inner for inner in _values(parent) if type(inner) is type(old) and inner != old]
        parent[last] = random.choice(near) if near else old
    else:
        found = [at(one, where) for one in others for where in leaves(one) if where[-1] == last]
        same = [inner for inner in found if type(inner) is type(old) and inner != old]
        parent[last] = random.choice(same) if same else old
    return None if new == data else (new, ".".join(map(str, path)))


def _values(parent: Any) -> list[Any]:
    return list(parent.values()) if isinstance(parent, dict) else list(parent)


def drawn(files: dict[str, Data], seed: int, count: int) -> Iterator[tuple[str, str, Data, str]]:
    """Yield kind, file, data and path of mistakes: so many of each kind, over all files."""
    random = Random(seed)
    names = sorted(files)
    for kind in KINDS:
        left, tries = count, 50 * count
        while left and tries:
            tries -= 1
            name = random.choice(names)
            others = [files[other] for other in names if other != name]
            if found := mutated(files[name], kind, others, random):
                left -= 1
                yield kind, name, *found
