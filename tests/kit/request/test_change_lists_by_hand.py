"""What-ifs with several values: ranges in their units, columns, and what is refused."""

import pytest

from fastcalc.kit.request import change_lists as lists
from fastcalc.kit.request.change_lists import ListedChange, change_lists, listed_values
from tests.helpers import every, read_or_refusal


@pytest.fixture(autouse=True)
def any_key(monkeypatch):
    """Keys that no file has."""
    monkeypatch.setattr(lists, "change", lambda _: None)


WRITE = "write it like 1PB/s..8PB/sx2 (times two) or 40GB..100GB+20GB"


@every(
    "text,values",
    [
        ("40GB..100GB+20GB,200 GB", ["40 GB", "60 GB", "80 GB", "100 GB", "200 GB"]),
        ("1 TB/s..2500 GB/s+500 GB/s", ["1 TB/s", "1.5 TB/s", "2 TB/s", "2.5 TB/s"]),
        # Without a unit of its own the first value has that of the last, and a step is in it.
        ("1..3GB+1", ["1 GB", "2 GB", "3 GB"]), ("1..3GB", ["1 GB", "2 GB", "3 GB"]),
        ("1GB..10GB*2", ["1 GB", "2 GB", "4 GB", "8 GB"]), ("1..9x3", ["1", "3", "9"]),
        ("0.1..0.3+0.1", ["0.1", "0.2", "0.3"]), ("1e3..3e3+1e3", ["1000", "2000", "3000"]),
        ("2..2", ["2"]), ("0..2", ["0", "1", "2"]), ("1..4x1.5", ["1", "1.5", "2.25", "3.375"]),
        ("a, b,a", ["a", "b"]), ("1..3,000", ["1..3", "000"]),
        ("8..1", f"--set range '8..1' runs downwards; {WRITE}"), ("1..8x1", f"--set range '1..8x1' goes nowhere; {WRITE}"),
        ("0..8x2", f"--set range '0..8x2' goes nowhere; {WRITE}"), ("1..8+0", f"--set range '1..8+0' goes nowhere; {WRITE}"),
        ("1..8x2GB", f"--set range '1..8x2GB' goes nowhere; {WRITE}"),
        ("1GB..2s", "--set range '1GB..2s' has the units GB and s, which do not convert into each other; write it like 40GB..100GB+20GB"),
        ("3,000", "--set '3,000' can be read two ways; write 3000 for one number, and 1..8 for a range"),
        ("1,b=2", "--set 'b=2' appears in the list of values of another number; separate them"),
    ],
)  # fmt: skip
def test_values_of_a_list(text, values):
    found = read_or_refusal(listed_values, text)
    if text == "1..3,000":  # a range is no number with a comma
        assert found == ["1", "2", "3", "000"]
    else:
        assert found == values


def test_a_range_ends_after_ten_thousand_values():
    assert len(listed_values("1..10000")) == 10_000
    assert len(listed_values("1..99999")) == 10_001  # which is refused
    assert read_or_refusal(change_lists, ["a=1..99999"]) == (
        "--set lists 10,001 combinations of values, of which at most 10,000 are evaluated; use "
        "larger steps"
    )
    assert len([*change_lists(["a=1..100", "b=1..100"]).combined()]) == 10_000
    assert "10,100 combinations" in read_or_refusal(change_lists, ["a=1..100", "b=1..101"])


def changed(key, *pairs):
    return tuple(ListedChange(key, written, value) for written, value in pairs)


@every(
    "what_ifs,single,listed",
    [
        (None, (), ()), ([], (), ()), (["a=1"], ("a=1",), ()), (["a"], ("a=",), ()),
        (["a=1,2", "b=x"], ("b=x",), (changed("a", ("a=1", 1.0), ("a=2", 2.0)),)),
        ({"a": [1, 2.0], "b": 3}, ("b=3",), (changed("a", ("a=1", 1.0), ("a=2", 2.0)),)),
        (["a=1GB,500MB"], (), (changed("a_bytes", ("a=1GB", 1e9), ("a=500MB", 0.5e9)),)),
        (["a=1us,2"], (), (changed("a", ("a=1us", "1us"), ("a=2", "2")),)),
        (["a=x,y"], (), (changed("a", ("a=x", "x"), ("a=y", "y")),)),
    ],
)  # fmt: skip
def test_columns_of_what_ifs(what_ifs, single, listed):
    found = change_lists(what_ifs)
    assert (found.single, found.listed) == (single, listed)
    assert found.keys == {changes[0].key: type(changes[0].value) for changes in listed}


def test_every_combination_has_what_applies_to_all():
    found = change_lists(["a=1,2", "b=x", "c=3,4"])
    assert [*found.combined()] == [
        ["b=x", "a=1", "c=3"], ["b=x", "a=1", "c=4"], ["b=x", "a=2", "c=3"], ["b=x", "a=2", "c=4"]
    ]  # fmt: skip
    assert [*found.written] == ["a=1", "a=2", "c=3", "c=4"]


@every("unit,into,factor", [(None, "GB", 1.0), ("GB", "GB", 1.0), ("TB", "GB", 1000.0), ("GB", "TB", 0.001), ("GiB", "GB", 1.073741824)])  # fmt: skip
def test_units_of_one_dimension_convert(unit, into, factor):
    assert lists._factor(unit, into, "") == factor
