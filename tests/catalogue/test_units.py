"""Units: a closed table, converted once."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastcalc.catalogue.units import UNITS, parse_quantity
from fastcalc.errors import InputError
from fastcalc.features.check.printed import values as printed_values


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


@pytest.mark.thorough
@given(st.floats(1e-3, 1e6), st.sampled_from([(d, u) for d, table in UNITS.items() for u in table]))
def test_every_unit_scales(value, place):
    dimension, unit = place
    assert parse_quantity(f"{value!r} {unit}", dimension) == pytest.approx(
        value * UNITS[dimension][unit]
    )


@pytest.mark.parametrize(
    ("printed", "number"),
    [
        ("8.03 billion parameters", 8.03e9),
        ("70 million tokens", 70e6),
        ("1.04 trillion", 1.04e12),
        ("7B", 7e9),
        ("270M", 270e6),
        ("1T", 1e12),
        ("128k", 128e3),
        ("8 Milliarden", 8e9),
        ("3 milliard", 3e9),
        ("2 miliard", 2e9),
        ("5 milliards", 5e9),
    ],
)
def test_numbers_as_sources_print_them(printed, number):
    """A billion is a thousand million, a trillion a million million, a Milliarde a billion."""
    assert printed_values(printed, "number") == [pytest.approx(number, rel=1e-15)]


@pytest.mark.parametrize(
    ("printed", "dimension", "value"),
    [
        ("1.2 us", "time", 1.2e-6),
        ("4 \u00b5s", "time", 4e-6),
        ("4 \u03bcs", "time", 4e-6),
        ("700 nanoseconds", "time", 700e-9),
        ("5 microseconds", "time", 5e-6),
        ("3 milliseconds", "time", 3e-3),
        ("2 s", "time", 2.0),
        ("814 mm²", "area", 814e-6),
        ("462 cm2", "area", 462e-4),
        ("400 Gb/s", "bandwidth", 50e9),
        ("400GbE", "bandwidth", 50e9),
        ("900 gigabytes per second", "bandwidth", 900e9),
        ("1.979 petaFLOPS", "compute rate", 1.979e15),
        ("96 GiB", "size", 96 * 2**30),
        ("700W", "power", 700.0),
        ("$30,000", "price", 30e3),
        ("25k USD", "price", 25e3),
        ("2 million dollars", "price", 2e6),
        ("$1.5M", "price", 1.5e6),
        ("40 thousand USD", "price", 40e3),
    ],
)
def test_quantities_as_sources_print_them(printed, dimension, value):
    """By the meaning of the prefixes: 8 bits are a byte, a mm2 is 1e-6 m2."""
    assert pytest.approx(value, rel=1e-12) in printed_values(printed, dimension)


@pytest.mark.parametrize(
    ("text", "dimension", "si"),
    [
        ("1 kB", "size", 10**3),
        ("1 MB", "size", 10**6),
        ("1 TB", "size", 10**12),
        ("1 PB", "size", 10**15),
        ("1 EB", "size", 10**18),
        ("1 KiB", "size", 1024),
        ("1 MiB", "size", 1024**2),
        ("1 TiB", "size", 1024**4),
        ("1 PiB", "size", 1024**5),
        ("1 TiB/s", "bandwidth", 1024**4),
        ("8 Mb/s", "bandwidth", 10**6),
        ("1 PFLOP/s", "compute rate", 10**15),
        ("1 EOPS", "compute rate", 10**18),
        ("1 ms", "time", 1e-3),
        ("1 ns", "time", 1e-9),
        ("1 MW", "power", 10**6),
        ("1 cm2", "area", 1e-4),
    ],
)
def test_each_prefix_is_its_power(text, dimension, si):
    assert parse_quantity(text, dimension) == si
