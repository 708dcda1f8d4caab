"""Helpers for plain sequences: sums, samples and groups."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TypeVar

import numpy as np

Item = TypeVar("Item")
Key = TypeVar("Key", bound=Hashable)


def sum_if_known(amounts: Iterable[float | None]) -> float | None:
    """Add up amounts, or return None if any of them is unknown.

    >>> sum_if_known([1.0, 2.0]), sum_if_known([1.0, None])
    (3.0, None)
    """
    known = list(amounts)
    return None if None in known else sum(amount for amount in known if amount is not None)


def evenly(items: Sequence[Item], most: int) -> list[Item]:
    """Select evenly spaced items, including the first and the last.

    >>> evenly("abcde", 3), evenly("ab", 3)
    (['a', 'c', 'e'], ['a', 'b'])
    """
    indices = np.linspace(0, len(items) - 1, min(len(items), most)).round().astype(int)
    return [items[index] for index in indices.tolist()]


def grouped(items: Iterable[Item], key: Callable[[Item], Key]) -> dict[Key, list[Item]]:
    """Group items by a key, preserving the original order of groups and items.

    >>> grouped(["h100", "b200", "h200"], lambda name: name[0])
    {'h': ['h100', 'h200'], 'b': ['b200']}
    """
    groups: dict[Key, list[Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups
