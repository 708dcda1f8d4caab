"""A chart of a metric against price."""

from collections.abc import Callable, Iterable

import numpy as np

from fastcalc.kit.answer.numbers_as_text import dollars, number
from fastcalc.kit.answer.point_records import Record
from fastcalc.kit.charts.drawing import GREY, MOST, Chart, Panel, Series, axes


def against_price(
    title: str,
    records: Iterable[Record],
    across: tuple[str, str],
    upward: tuple[str, str],
    name: Callable[[Record], str],
) -> Chart:
    """Plot a metric of each record against its price, skipping records that lack either.

    across, upward : The key and label of each axis; the price is on the x axis.
    """
    (price, cost), (key, label) = across, upward
    series: list[Series] = []
    for record in records:
        if record[price] is None or record[key] is None or len(series) == MOST:
            continue
        edges = [record.get(f"{key}_{end}") for end in ("low", "high")]
        low, high = (None if None in edges else np.array([edge]) for edge in edges)
        tip = f"{name(record)}: {number(record[key])} {label}, {dollars(record[price])} {cost}"
        at = np.array([float(record[price])]), np.array([float(record[key])])
        position = len(series) % GREY
        series.append(Series(name(record), *at, position, "points", low, high, [tip]))
    if not series:
        return Chart(title, notes=["none of these has a price"])
    return Chart(title, [Panel("", *axes(series, cost, label), series)])
