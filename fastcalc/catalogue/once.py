"""Results that are kept: entries of the catalogue are frozen, and asked about again and again."""

from collections.abc import Callable
from typing import TypeVar, TypeVarTuple

Given = TypeVarTuple("Given")
Found = TypeVar("Found")

_MOST = 512


def once(made: Callable[[*Given], Found]) -> Callable[[*Given], Found]:
    """Return what makes a result once for the very objects that it is given.

    By identity, but for text and tuples: comparing entries takes longer than most made of them.
    """
    kept: dict[tuple[object, ...], tuple[object, Found]] = {}

    def found(*args: *Given) -> Found:
        key = tuple(one if isinstance(one, (str, tuple)) else id(one) for one in args)
        if key not in kept:
            if len(kept) >= _MOST:
                kept.pop(next(iter(kept)), None)
            kept[key] = args, made(*args)  # with what it is of, so that no id comes again
        return kept[key][1]

    return found
