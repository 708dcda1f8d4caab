"""The map of winners drawn with letters, and its points as records."""

from string import ascii_uppercase

from fastcalc.features.decide.choice import Choice, WinnerMap
from fastcalc.features.decide.parameters import PARAMETERS
from fastcalc.kit.answer.numbers_as_text import number
from fastcalc.kit.answer.parts import TextTable
from fastcalc.kit.answer.point_records import Record, plainly

_VALUES = {"total": "usd", "cost": "usd", "time": "s", "window": "minus_tokens"}


def letter(index: int) -> str:
    """Return the letter of an option, or a dot for index -1: no option succeeds."""
    return "." if index < 0 else ascii_uppercase[index % len(ascii_uppercase)]


def table(drawn: WinnerMap) -> TextTable:
    """Draw the map as a table with rows along the second axis, largest value first."""
    rows = [
        (number(value), "".join(letter(int(index)) for index in row))
        for value, row in zip(drawn.up.values[::-1], drawn.winners[::-1], strict=True)
    ]
    first, last = number(drawn.across.values[0]), number(drawn.across.values[-1])
    return TextTable(
        [("",), (first + last.rjust(len(drawn.across.values) - len(first)),)], rows, (1,)
    )


def title(drawn: WinnerMap) -> str:
    """Return the title of a map in one line."""
    axis_names = []
    for axis in (drawn.up, drawn.across):
        unit = PARAMETERS[axis.name.rpartition(".")[2]].unit
        spaced = " in equal ratios" if axis.is_logarithmic else ""
        axis_names.append(f"{noun(axis.name)}{f' ({unit})' if unit else ''}{spaced}")
    return f"Best option by {axis_names[0]} (vertical) and {axis_names[1]} (horizontal)"


def noun(name: str) -> str:
    """Return the name of a number in words, with the option it belongs to.

    >>> noun("tools"), noun("spark.accuracy")
    ('tool time', "spark's accuracy")
    """
    owner, _, key = name.rpartition(".")
    return f"{owner}'s {PARAMETERS[key].noun}" if owner else PARAMETERS[key].noun


def records(decision: Choice, drawn: WinnerMap) -> list[Record]:
    """Build one record per point: both values, the winner, and the objective of each option."""
    unit, names = _VALUES[decision.objective], [option.name for option in decision.options]
    point_records = []
    for row, up in enumerate(drawn.up.values):
        for column, across in enumerate(drawn.across.values):
            index = int(drawn.winners[row, column])
            record: Record = {
                drawn.across.name: float(across),
                drawn.up.name: float(up),
                "winner": names[index] if index >= 0 else None,
            }
            option_values = zip(names, drawn.values[:, row, column], strict=True)
            record |= {f"{unit}:{name}": float(value) for name, value in option_values}
            point_records.append(plainly(record))
    return point_records
