"""Build pyarrow columns from buffers, since `pyarrow.array` imports pandas if it is installed."""

from collections.abc import Sequence
from itertools import accumulate, chain
from types import ModuleType
from typing import Any

import numpy as np

from fastcalc.formulas.types import Bools


def number_array(arrow: ModuleType, type_: Any, values: Any, missing: Bools) -> Any:
    """Build a column of numbers or booleans, with null for missing values.

    arrow : The pyarrow module.
    """
    width = type_.to_pandas_dtype()
    data = _bits(values) if width is np.bool_ else np.ascontiguousarray(values, width)
    buffers = [_validity(arrow, missing), arrow.py_buffer(data)]
    return arrow.Array.from_buffers(type_, len(missing), buffers)


def word_array(arrow: ModuleType, words: Sequence[str | None]) -> Any:
    """Build a column of strings, with null for missing strings."""
    texts = [(word or "").encode(errors="replace") for word in words]
    missing = np.array([word is None for word in words], dtype=bool)
    buffers = [_offsets(arrow, texts), arrow.py_buffer(b"".join(texts))]
    return arrow.Array.from_buffers(
        arrow.string(), len(texts), [_validity(arrow, missing), *buffers]
    )


def list_array(arrow: ModuleType, lists: Sequence[Sequence[str] | None]) -> Any:
    """Build a column of string lists, with null for missing lists."""
    cells = [cell or () for cell in lists]
    missing = np.array([cell is None for cell in lists], dtype=bool)
    children = [word_array(arrow, list(chain.from_iterable(cells)))]
    buffers = [_validity(arrow, missing), _offsets(arrow, cells)]
    type_ = arrow.list_(arrow.string())
    return arrow.Array.from_buffers(type_, len(cells), buffers, children=children)


def _offsets(arrow: ModuleType, cells: Sequence[Sequence[object]]) -> Any:
    """Return the Arrow offsets buffer: where each cell starts, and where the last one ends."""
    ends = accumulate((len(cell) for cell in cells), initial=0)
    return arrow.py_buffer(np.fromiter(ends, np.int32, len(cells) + 1))


def _validity(arrow: ModuleType, missing: Bools) -> Any:
    """Build the validity bitmap. Returns None if no value is missing."""
    return arrow.py_buffer(_bits(~missing)) if missing.any() else None


def _bits(values: Any) -> Any:
    return np.packbits(np.asarray(values, dtype=bool), bitorder="little")
