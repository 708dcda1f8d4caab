"""Values as they are typed: what is read, and what to write instead of what is not."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from fastcalc.catalogue.limits import LIMITS
from fastcalc.errors import InputError
from fastcalc.kit.request import readers
from tests.helpers import every, read_or_refusal


@every("text,example", [("1,234", "1234"), ("12,345,678", "12345678"), ("1,2", "8"), ("x", "8")])
def test_a_number_with_commas_is_to_be_written_without(text, example):
    with pytest.raises(InputError, match=rf"'{text}' is not .*; write for example {example}$"):
        readers.whole(text, "--batch", LIMITS["tokens"])


def test_a_share_is_zero_only_where_it_may_be():
    assert readers.share(0.0, "--prefix-hit", zero=True) == 0.0
    assert readers.share(1.0, "--load") == 1.0
    for value, zero in ((0.0, False), (-0.5, True), (1.5, True)):
        with pytest.raises(InputError, match="is not a share"):
            readers.share(value, "--load", zero=zero)


def test_commas_separate_names_but_in_the_name_of_a_yaml_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a,b", "c,d.yaml"):
        (tmp_path / name).touch()
    assert readers.names("a,b", "--on") == ["a", "b"]
    assert readers.names("x, c,d.yaml,x", "--on") == ["x", "c,d.yaml"]
    assert readers.names("c,e.yaml", "--on") == ["c", "e.yaml"]


SEQUENCES = LIMITS["sequences"]
"""From 1 to 1,000,000."""


@every(
    "given,value",
    [
        (7, 7),
        ("7", 7),
        ("8k", 8000),
        ("1M", 1_000_000),
        ("3_000", 3000),
        ("1000000", 1_000_000),
        *[
            (text, f"--batch '{text}' is not a whole number from 1 to 1,000,000; write for "
             "example 8")
            for text in ("0", "1000001", "2M", "1001k", "3_00", "30_", "k", "1.5", "-1", "8K")
        ],
        (0, "--batch '0' is not a whole number from 1 to 1,000,000; write for example 8"),
        ("1234567890123", "--batch '1234567890123' is not a whole number from 1 to 1,000,000; "
         "write for example 8"),
    ],
)  # fmt: skip
def test_whole_numbers(given, value):
    assert read_or_refusal(readers.whole, given, "--batch", SEQUENCES) == value


@every(
    "value,zero,said",
    [
        (1.0, False, None),
        (100.0, False, None),
        (0.5, False, "--x 0.5 is not a number from 1 to 100; write for example 2"),
        (100.5, False, "--x 100.5 is not a number from 1 to 100; write for example 2"),
        (0, False, "--x 0 is not a number from 1 to 100; write for example 2"),
        (0, True, None),
        (-1, True, "--x -1 is not 0 or a number from 1 to 100; write for example 2"),
    ],
)
def test_numbers_within_a_limit(value, zero, said):
    found = read_or_refusal(readers.number, value, "--x", LIMITS["factor"], 2.0, zero=zero)
    assert found == (value if said is None else said)


def test_a_limit_of_whole_numbers_says_so():
    assert read_or_refusal(readers.number, 1.5, "--x", LIMITS["chips"], 8) == (
        "--x 1.5 is not a whole number from 1 to 1,000,000; write for example 8"
    )


@every(
    "type_,text,value",
    [
        (int, "8", 8),
        (int, 8, 8),
        (int, "8.0", 8),
        (int, "8.5", "--x '8.5' is not a whole number; write for example 8"),
        (int, "9007199254740992", 2**53),
        (int, "9007199254740994", "--x '9007199254740994' is not a whole number; write for "
         "example 8"),
        (float, "8.5", 8.5),
        (float, "1_000", 1000.0),
        (float, "x", "--x 'x' is not a number; write for example 0.5"),
    ],
)  # fmt: skip
def test_numbers_as_users_write_them(type_, text, value):
    found = read_or_refusal(readers.number_of("--x", type_), text)
    assert (found, type(found)) == (value, type(value))


@every(
    "text,value",
    [
        ("0.4", 0.4),
        ("40%", 0.4),
        (" 40% ", 0.4),
        ("1", 1.0),
        (0.4, 0.4),
        ("a", "--x 'a' is not a share; write for example 0.5 or 50%"),
        ("%", "--x '%' is not a share; write for example 0.5 or 50%"),
    ],
)
def test_shares_as_users_write_them(text, value):
    assert read_or_refusal(readers.share_of("--x"), text) == value


@every(
    "text,value",
    [
        ("25ms", 0.025),
        ("1s", 1.0),
        ("0s", None),
        ("1e9s", 1e9),
        ("2e9s", None),
        ("25", None),
        ("25GB", None),
    ],
)
def test_quantities_have_their_unit(text, value):
    said = f"--x '{text}' is not a time with its unit from 1e-12 to 1e+09 s; write for example 1s"
    found = read_or_refusal(readers.quantity, text, "--x", "time", LIMITS["duration"], "1s")
    assert found == (said if value is None else value)


@every(
    "given,zero,priced",
    [
        (["a=2.10", "b=$3"], False, [("a", 2.1), ("b", 3.0)]),
        ([" a = 1_000 "], False, [("a", 1000.0)]),
        ({"a": 2.1}, False, [("a", 2.1)]),
        (None, False, []),
        (["a=0"], True, [("a", 0.0)]),
        ({"a": 0}, True, [("a", 0)]),
        *[
            ([text], zero, f"--price '{text}' is not CHIP=USD per hour, such as h100-sxm=2.10")
            for text, zero in (
                ("a=0", False), ("a=-1", True), ("=2", False), ("a", False), ("a=x", False),
                ("a=2e9", False),
            )
        ],
        ({"a": 0}, False, "--price of a 0 is not a number from 1e-12 to 1e+09; write for example "
         "2.1"),
    ],
)  # fmt: skip
def test_prices_of_chips(given, zero, priced):
    assert read_or_refusal(readers.prices, given, zero=zero) == priced


@every(
    "given,requests",
    [
        ("20/s", 20.0),
        ("300/min", 5.0),
        ("7200/h", 2.0),
        (20, 20.0),
        (0.5, 0.5),
        (None, None),
        ("20", "--rate '20' needs a unit: write 20/s or 20/min"),
        ("0", "--rate '0' is not a rate of requests from 1e-12 to 1e+06 requests/s; write for "
         "example 20/s or 300/min"),
        ("2e6/s", "--rate '2e6/s' is not a rate of requests from 1e-12 to 1e+06 requests/s; "
         "write for example 20/s or 300/min"),
        ("20/day", "--rate '20/day' is not a rate of requests from 1e-12 to 1e+06 requests/s; "
         "write for example 20/s or 300/min"),
    ],
)  # fmt: skip
def test_rates_of_requests(given, requests):
    assert read_or_refusal(readers.rate, given) == requests


@every(
    "format_,file,formats,kind",
    [
        (None, None, ["table", "csv"], "table"),
        ("csv", None, ["table", "csv"], "csv"),
        ("csv", "a.json", ["table", "csv"], "csv"),
        (None, "a.csv", ["table", "csv"], "csv"),
        (None, "a.CSV", ["table", "csv"], "csv"),
        (None, "a.txt", ["table", "csv"], "table"),
        (None, "a", ["table", "csv"], "table"),
        (None, "a.md", ["table", "markdown"], "markdown"),
        (None, "a.json", ["table", "csv"], "-o a.json ends in none of .csv or .txt; name one "
         "with --format"),
        ("xlsx", "a.xlsx", ["table", "xlsx"], "xlsx"),
        ("xlsx", None, ["table", "xlsx"], "xlsx cannot go to standard output: give -o FILE.xlsx"),
        ("json", None, ["table"], "--format 'json' is unknown: one of table"),
    ],
)  # fmt: skip
def test_formats_of_files(format_, file, formats, kind):
    assert read_or_refusal(readers.kind_of, format_, file and Path(file), formats) == kind


def test_files_to_write(tmp_path):
    assert readers.file_of("-") is None
    assert readers.file_of("./-") == Path("./-")
    assert read_or_refusal(readers.file_of, "").startswith("-o names no file")
    (tmp_path / "a").touch()
    assert "ends like a folder but must be a file" in read_or_refusal(
        readers.file_of, f"{tmp_path}/a/"
    )
    assert readers.file_of(f"{tmp_path}/b/") == tmp_path / "b"


@every(
    "value,text",
    [
        (2.0, "2"),
        (2.5, "2.5"),
        ([1, 2.0, "a"], "1,2,a"),
        ({"a": 2.0, "b": "c"}, "a=2,b=c"),
        (SimpleNamespace(id="chip"), "chip"),
    ],
)
def test_values_as_they_are_typed(value, text):
    assert readers.as_text(value) == text


@every(
    "given,listed",
    [
        ("a, b,a", ["a", "b"]),
        (["a", Path("b")], ["a", "b"]),
        (("a",), ["a"]),
        (5, [5]),
        (" , ", "--on names nothing; give one or several separated by commas"),
        ([], "--on names nothing; give one or several"),
    ],
)
def test_names_in_lists(given, listed):
    assert read_or_refusal(readers.names, given, "--on") == listed


def test_a_path_may_have_seven_commas(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for commas in (7, 8):
        path = "a" + ",b" * commas + ".yaml"
        (tmp_path / path).touch()
        assert (readers.names(path, "--on") == [path]) is (commas == 7)
