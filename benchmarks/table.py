"""Timings to rows of Markdown, ratios first."""

from collections.abc import Mapping, Sequence
from statistics import median

Row = Sequence[str]


def markdown(headings: Row, rows: Sequence[Row], left: int = 1) -> str:
    """Return a table; all but the first so many columns end at the right.

    Parameters
    ----------
    headings : sequence of str
        One for each column.
    rows : sequence of sequence of str
        Cells, ready to print.
    left : int
        Columns that begin at the left. [1]
    """
    rules = ["---"] * left + ["---:"] * (len(headings) - left)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (headings, rules, *rows))


def figure(value: float, digits: int = 3) -> str:
    """Return a number with some leading digits, in words people read: 0.0123, 1.23, 4,560,000."""
    if value == 0:
        return "0"
    text = f"{float(f'{value:.{digits}g}'):,.10f}".rstrip("0").rstrip(".")
    return text if value < 10 ** (digits - 1) else f"{float(f'{value:.{digits}g}'):,.0f}"


def ratio(value: float, floor: float) -> str:
    """Return how many times as much, to three digits."""
    return f"{value / floor:.3g}" if value < 100 * floor else f"{value / floor:,.0f}"


def timings(timed: Mapping[str, float], floors: Mapping[str, str]) -> list[list[str]]:
    """Return a row for each name: its time over that of each floor, then the time. [s -> ms]

    Parameters
    ----------
    timed : mapping of str to float
        Wall times. [s]
    floors : mapping of str to str
        Headings of columns, and the names they divide by.
    """
    return [
        [name, *(ratio(value, timed[floor]) for floor in floors.values()), f"{value * 1e3:.0f}"]
        for name, value in timed.items()
    ]


def factor(predicted: float, measured: float) -> float:
    """Return how many times a prediction is off, either way. [1]"""
    return max(predicted / measured, measured / predicted)


def spread(factors: Sequence[float]) -> tuple[float, float]:
    """Return the median and the 90th percentile, interpolated between points. [1]"""
    ordered = sorted(factors)
    place = 0.9 * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return median(ordered), ordered[low] + (place - low) * (ordered[high] - ordered[low])
