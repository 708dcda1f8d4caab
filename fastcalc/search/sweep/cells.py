"""Columns to texts: digits as records have them, each value written once and then spread."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from fastcalc.core.columns import NEEDS_FIT, Columns
from fastcalc.core.evaluated_points import Words
from fastcalc.written import visible

Write = Callable[[Any], str]


def rows(columns: Columns, shape: tuple[int, ...], write: Write) -> Iterator[tuple[str, ...]]:
    """Yield the texts of each point of a grid, as `csv_cell` or `json_text` writes them.

    Columns broadcast to its shape.
    """
    void = ~np.broadcast_to(columns["fits"], shape).ravel()
    table = []
    for key, column in columns.items():
        if isinstance(column, Words):
            texts = np.array([write(word) for word in column.words], dtype=object)[column.codes]
        elif column is None or isinstance(column, str):
            texts = np.array(write(column), dtype=object)
        elif (values := np.asarray(column)).dtype == bool:
            texts = np.take(np.array([write(False), write(True)], dtype=object), values)
        else:
            digits = [number(value, write) for value in values.ravel().tolist()]
            texts = np.array(digits, dtype=object).reshape(values.shape)
        texts = np.broadcast_to(texts, shape).ravel()
        if key in NEEDS_FIT and void.any():
            texts = np.where(void, write(None), texts)
        table.append(texts.tolist())
    return zip(*table, strict=True)


def number(value: float, write: Write) -> str:
    """Return twelve digits, whole where it is whole; what stands for None where it is not finite.

    >>> from fastcalc.written import csv_cell
    >>> number(0.1 + 0.2, csv_cell), number(4e3, csv_cell), number(1.5e13, csv_cell)
    ('0.3', '4000', '15000000000000')
    """
    text = f"{value:.12g}"
    if "n" in text:  # nan and inf
        return write(None)
    if "e+" not in text:
        return text
    rounded = float(text)
    return str(int(rounded)) if abs(rounded) < 1e15 else repr(rounded)


def json_text(value: Any) -> str:
    """Return a word as JSON."""
    return visible(json.dumps(value, ensure_ascii=False))
