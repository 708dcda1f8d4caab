"""How a value follows from what its source prints: words, chains and counts of a reading."""

from datetime import date
from types import SimpleNamespace

import pytest

from fastcalc.features.check.document import WrittenNumber
from fastcalc.features.check.notes import _chains, _counts, accepted, prints
from fastcalc.features.check.printed import values
from fastcalc.features.check.rules.board import year_is_plausible
from tests.helpers import every


class Sheet:
    """A file of which the rules ask the cores alone."""

    def __init__(self, cores=None):
        self.cores = cores

    def si(self, name):
        return {"cores": self.cores}[name]


def written(text, si, printed="", dimension="bandwidth", **about):
    return WrittenNumber(("x",), dimension, si, text, {"printed": printed, **about})


@every(
    "number,values",
    [
        (written("3.35 TB/s", 3.35e12, "3.35 TB/s"), [3.35e12]),
        # Arithmetic that the source prints itself.
        (written("0.9 TB/s", 0.9e12, "(1.8 TB/s bidir / 2)"), [1.8e12, 0.9e12]),
        (written("0.2 TB/s", 0.2e12, "1.8 TB/s / 12"), [1.8e12]),
        # Numbers without a unit are in that of the value.
        (written("3.35 TB/s", 3.35e12, "bandwidth 3.35"), [3.35e12]),
        (written("5 mm2", 5e-6, "area: 5", "area"), [5e-6]),
        # From a million on they are in SI, but for counts, which have no larger unit.
        (written("1 MB/s", 1e6, "1000000 or 3"), [1e6]),
        (written("1 MB/s", 1e6, "999999"), [999999e6]),
        (written("2000000", 2e6, "2000000 or 3", "number"), [2e6, 3.0]),
        # Nothing is printed, or the value has no unit to read it in.
        (written("3.35 TB/s", 3.35e12), []),
        (written("about 3", 3.0, "3 or 4", "number"), []),
        (written("0 W", 0.0, "3", "power"), []),
    ],
)
def test_what_a_source_prints(number, values):
    assert prints(number) == pytest.approx(values)


@every(
    "reading,product",
    [
        ("40 x 512 x 2.9 GHz", [40 * 512 * 2.9e9]),
        ("8 * 100 MHz", [800e6]),
        ("0.74 times 21 PB/s", [0.74 * 21e12]),
        ("8 chips x 2 dies", [16e12]),
        ("1,024 x 2", [2048e12]),
        # A number alone is no product; one after a semicolon or far away begins another.
        ("2.9 GHz", []),
        ("2 of 3", []),
        ("2 x 3; 4 x 5", [6e12, 20e12]),
        ("2 and in the long run of many years x 3", []),
        ("3 x 4 or 5", [12e12]),
    ],
)
def test_products_that_a_reading_writes_out(reading, product):
    """In the unit of the value, 10^12 of which are printed as 1, or in cycles of a clock."""
    assert [*_chains(written("1 TB/s", 1e12), reading)] == pytest.approx(product)


def test_a_product_without_a_unit_has_that_of_its_clock_alone():
    nameless = written("some", 1e12)
    assert [*_chains(nameless, "2 x 3")] == []
    assert [*_chains(nameless, "2 x 3 GHz")] == [6e9]


@every(
    "reading,counts",
    [
        ("8:1", {8.0, 1 / 8}),
        ("72 trays", {72.0, 1 / 72}),
        ("twelve channels", {12.0, 1 / 12}),
        ("doubled", {2.0, 0.5}),
        ("a third or 999", {3.0, 1 / 3, 999.0, 1 / 999}),
        # No counts: parts of other numbers, powers of two, one, and thousands.
        ("1,979 or 0.74 or 2^30 or 1 or 1000 or x8 or 8.5", set()),
        ("eighteen", set()),
    ],
)
def test_counts_that_a_reading_names(reading, counts):
    assert _counts(Sheet(132.0), reading) == counts


def test_a_share_of_the_cores_is_a_count():
    """48 of 64, and of the 132 of the file; not of themselves."""
    shares = {48 / 64, 64 / 48, 48 / 132, 132 / 48, 64 / 132, 132 / 64}
    whole = {48.0, 64.0, 1 / 48, 1 / 64}
    assert _counts(Sheet(132.0), "48 of 64 Cores") == whole | shares
    assert _counts(Sheet(), "48 of 64 chips") == whole | {48 / 64, 64 / 48}
    assert _counts(Sheet(132.0), "8 GPUs") == {8.0, 1 / 8, 8 / 132, 132 / 8}


@every("reading,values", [("as fp16", {2e12}), ("as listed", set()), ("as fp8", set())])
def test_a_number_that_is_read_as_another_has_the_reading_of_that(reading, values):
    """A rate of 2 TFLOP/s with sparsity; what is no number of the file has no reading."""

    def rate(name, reading):
        return WrittenNumber(
            ("peak", name), "compute rate", 1e12, "1 TFLOP/s", {"printed": "", "reading": reading}
        )

    numbers = {
        "peak.fp16": rate("fp16", "2 TFLOP/s with sparsity"),
        "peak.fp8": rate("fp8", reading),
    }
    sheet = SimpleNamespace(numbers=numbers, si=lambda _: None)
    assert set(accepted(sheet, numbers["peak.fp8"])) >= values
    assert bool(accepted(sheet, numbers["peak.fp8"])) is bool(values)


@every(
    "text,dimension,value",
    [
        *((f"2 {prefix}FLOPS", "compute rate", 2.0 * 10.0**power) for power, prefix in ((6, "mega"), (9, "giga"), (12, "tera"), (15, "peta"), (18, "exa"))),
        ("2 kilobytes/s", "bandwidth", 2e3),
        ("2 Gb/s", "bandwidth", 0.25e9),
        ("2 GbE", "bandwidth", 0.25e9),
        ("2 us", "time", 2e-6), ("2 nanoseconds", "time", 2e-9), ("2 ms", "time", 2e-3),
        ("2 mm2", "area", 2e-6), ("2 cm2", "area", 2e-4),
        ("2 trillion", "number", 2e12), ("2 billion", "number", 2e9), ("2 million", "number", 2e6), ("2k", "number", 2e3),
        ("$2k", "price", 2e3), ("2 million USD", "price", 2e6), ("USD 2", "price", 2.0),
    ],
)  # fmt: skip
def test_prefixes_of_printed_numbers(text, dimension, value):
    assert values(text, dimension)[0] == pytest.approx(value)


@every(
    "year,is_hypothetical,is_plausible",
    [
        (2012, None, True),
        (2011, None, False),
        # Two years from today, and 15 for what is not on sale.
        (2028, None, True),
        (2029, None, False),
        (2029, False, False),
        (2041, True, True),
        (2042, True, False),
        (None, None, True),
    ],
)
def test_years_of_release(year, is_hypothetical, is_plausible):
    sheet = SimpleNamespace(year=year, at=lambda _: is_hypothetical)
    found = [*year_is_plausible(sheet, SimpleNamespace(today=date(2026, 12, 31)))]
    assert len(found) == (not is_plausible)


@every("word,sums", [("less", [124e9, 76e9]), ("plus", [124e9, 76e9]), ("of", [])])
def test_a_reading_may_take_something_off_what_is_printed_or_add_it(word, sums):
    """100 GB/s with 24 GB/s less or more."""
    number = written("76 GB/s", 76e9, "100 GB/s", reading=f"{word} 24 GB/s")
    found = accepted(Sheet(), number)
    assert [value for value in found if value in (76e9, 124e9)] == sums
