"""Columns made of buffers are those that pyarrow makes, without pandas."""

import sys

import numpy as np
import pytest

from benchmarks.clock import run
from fastcalc.kit.answer.arrow_arrays import list_array, number_array, word_array

arrow = pytest.importorskip("pyarrow")

MISSING = np.array([False, True, False, False, False, False, False, False, True])


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("float64", [0.5, 2.0, -1.25, 1e300, 0.0, 3.0, 4.0, 5.0, 6.0]),
        ("int64", [1, 2, -3, 2**53, 0, 5, 6, 7, 8]),
        ("bool_", [True, False, True, False, False, True, True, True, True]),
    ],
)
@pytest.mark.parametrize("missing", [MISSING, MISSING & False], ids=["some null", "none null"])
def test_numbers(name, values, missing):
    made = number_array(arrow, getattr(arrow, name)(), np.array(values), missing)
    made.validate(full=True)
    expected = [None if gone else value for value, gone in zip(values, missing, strict=True)]
    assert made.to_pylist() == expected


@pytest.mark.parametrize("words", [[], ["h100"], ["a", None, "", "µs", None], ["x"] * 9 + [None]])
def test_words(words):
    made = word_array(arrow, words)
    made.validate(full=True)
    assert made.to_pylist() == words
    assert made.type == arrow.string()


@pytest.mark.parametrize("lists", [[], [["a", "bc"], None, [], ["d"]], [None], [[]]])
def test_lists_of_words(lists):
    made = list_array(arrow, lists)
    made.validate(full=True)
    assert made.to_pylist() == lists


@pytest.mark.thorough
def test_pandas_is_not_loaded():
    program = (
        "import pyarrow, sys, numpy\n"
        "from fastcalc.kit.answer.arrow_arrays import list_array, number_array\n"
        "number_array(pyarrow, pyarrow.int64(), numpy.ones(3), numpy.zeros(3, dtype=bool))\n"
        "list_array(pyarrow, [['a'], None])\n"
        "print('pandas' in sys.modules)"
    )
    assert run([sys.executable, "-c", program]).split() == [b"False"]
