"""Units: a closed table, converted once."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastcalc.catalogue.units import UNITS, parse_quantity
from fastcalc.errors import InputError


@pytest.mark.parametrize(
    ("text", "dimension", "si"),
    [
        ("80 GB", "size", 80e9),
        ("80 GiB", "size", 80 * 2**30),
        ("44GB", "size", 44e9),
        ("3.35TB/s", "bandwidth", 3.35e12),
        ("214 Pb/s", "bandwidth", 26.75e15),
        ("400 Gb/s", "bandwidth", 50e9),
        ("989.5 TFLOP/s", "compute rate", 989.5e12),
        ("1979 TOPS", "compute rate", 1979e12),
        ("5 us", "time", 5e-6),
        ("23 kW", "power", 23e3),
        ("814 mm2", "area", 814e-6),
        ("41.96 USD/h", "hourly price", 41.96),
        ("1.5e3 W", "power", 1500),
    ],
)
def test_values(text, dimension, si):
    assert parse_quantity(text, dimension) == pytest.approx(si, rel=1e-15)


@pytest.mark.parametrize(
    "text", ["", "GB", "nan GB", "inf GB", "-1 GB", "1 gb", "1,000 GB", "1e400 GB", True, None]
)
def test_refusals(text):
    with pytest.raises(InputError):
        parse_quantity(text, "size")


@given(st.floats(1e-3, 1e6), st.sampled_from([(d, u) for d, table in UNITS.items() for u in table]))
def test_every_unit_scales(value, place):
    dimension, unit = place
    assert parse_quantity(f"{value!r} {unit}", dimension) == pytest.approx(
        value * UNITS[dimension][unit]
    )
