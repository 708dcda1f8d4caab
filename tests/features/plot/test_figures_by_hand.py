"""Axes and sentences of charts over numbers of a file."""

import numpy as np

from fastcalc.features.plot.chart import Varied, _bought
from tests.helpers import every


def varied(*values):
    return Varied("bandwidth", "TB/s", np.array(values, dtype=float))


@every(
    "values,base",
    [((1, 4), 0), ((1, 2, 4.1), 10), ((0, 9), 0), ((0.5, 2), 0), ((0.5, 2.1), 10)],
)
def test_an_axis_is_logarithmic_beyond_four_times_its_start(values, base):
    assert varied(*values).base == base


def test_a_map_ends_half_a_cell_beyond_its_values():
    """Cells of 1, 2 and 4 wide: half of 1 below 0, and half of 4 above 7."""
    axis = varied(0, 1, 3, 7).map_axis
    assert (axis.low, axis.high, axis.base) == (-0.5, 9.0, 0)
    assert axis.label == "bandwidth, TB/s"
    assert varied(1, 10).map_axis == varied(1, 10).axis  # where no cell has an edge at zero
    assert Varied("layers", "", np.array([1.0])).label == "layers"
    assert Varied("layers", "", np.array([1.0])).said(12345.6) == "12,350"


@every(
    "x,y,end",
    [
        # All within 1 % of the last.
        ((1, 2), (99.1, 100), ", within 1 % from 1 TB/s to 2 TB/s."),
        ((1, 2), (98.9, 100), " at 1 TB/s, 100 at 2 TB/s."),
        # A plateau is told from where it begins, if it ends beyond 1.4 times its start.
        ((1, 2, 3), (50, 99.5, 100), " at 1 TB/s, 100 at 3 TB/s; from 2 TB/s on it changes by less than 1 %."),
        ((1, 2, 2.8), (50, 99.5, 100), " at 1 TB/s, 100 at 2.8 TB/s."),
        ((1, 2, 2.9), (50, 100.9, 100), " at 1 TB/s, 100 at 2.9 TB/s; from 2 TB/s on it changes by less than 1 %."),
        # As far as the value that was last more than 1 % off, whatever came before it.
        ((1, 2, 4, 8), (100, 90, 100, 100), " at 1 TB/s, 100 at 8 TB/s; from 4 TB/s on it changes by less than 1 %."),
    ],
)  # fmt: skip
def test_from_where_more_buys_nothing(x, y, end):
    said = _bought("chip", "tokens/s", varied(*x), np.array(x, float), np.array(y, float))
    low = {99.1: "99.1", 98.9: "98.9", 50: "50.0", 100: "100"}[y[0]]
    assert said == f"chip: {low} tokens/s{end}"


def test_dollars_stand_before_a_price():
    x, y = np.array([1.0, 8.0]), np.array([2.0, 4.0])
    said = _bought("chip", "$ per million", varied(*x), x, y)
    assert said == "chip: $2.00 per million at 1 TB/s, 4.00 at 8 TB/s."
