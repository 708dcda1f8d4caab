"""Numbers as text writes them: one reader, whichever flag, key, cell or line they stand in."""

from functools import partial
from typing import ForwardRef, get_args

import pytest

from fastcalc.catalogue.numerals import parse_number
from fastcalc.cli.lazy_commands import _annotation
from fastcalc.errors import InputError
from fastcalc.features import COMMANDS, request_of
from fastcalc.features.plan.service_asked import usd_a_month
from fastcalc.kit.request.fields import declared
from tests.helpers import every, run

NO_NUMBERS = (
    "\uff11\uff12",
    "\u0663",
    "nan",
    "inf",
    "-Infinity",
    "1e400",
    "9" * 5000,
    "1.2.3",
    ",",
    "0x10",
)
BADLY_GROUPED = ("1,5", "1_0", "1,0000", "1,000,00", "1,000_000", "_1", "1__000")


@pytest.fixture
def fastcalc(capsys, monkeypatch):
    return partial(run, capsys=capsys, monkeypatch=monkeypatch)


@every("text", NO_NUMBERS + BADLY_GROUPED)
def test_what_is_no_number(text):
    assert parse_number(text, ",_") is None


@every(
    "text,separators,value",
    [
        ("8", "", 8.0),
        ("-.5e-3", "", -0.0005),
        (" 1.5 ", "", 1.5),
        ("922,496", ",", 922_496.0),
        ("1_000_000.25", "_", 1_000_000.25),
        ("922,496", "_", None),
        ("1_000", ",", None),
        ("1_000", "", None),
    ],
)
def test_digits_are_grouped_by_three_where_it_is_allowed(text, separators, value):
    assert parse_number(text, separators) == value


NUMBERS = ("N", "X", "S", "MS", "H", "P", "USD", "SHARE", "TOKENS", "TOK/S", "USD/KWH", "G/KWH")


def number_flags():
    """Return the flags of every command that take one number, with what reads their text."""
    return [
        (
            f"{command} {field}",
            setting,
            get_args(_annotation(field, kind, setting, ""))[1].parser,
        )
        for command in COMMANDS
        for field, declaration in declared(request_of(command)).items()
        for kind, setting in [(get_args(declaration.annotation)[0], declaration.setting)]
        if setting.metavar in NUMBERS and not isinstance(kind, ForwardRef)
    ]


@pytest.mark.parametrize("text", [*NO_NUMBERS, "1,5k", "1_0"])
def test_every_flag_that_takes_a_number_refuses_what_is_none(text):
    flags = number_flags()
    assert len(flags) > 150
    for _, _, reader in flags:
        with pytest.raises(InputError, match="is not a"):
            reader(text)


def test_every_flag_that_takes_a_number_reads_groups_of_three_the_same_way():
    read = {reader("1_000") for _, setting, reader in number_flags() if setting.metavar != "SHARE"}
    assert read == {1000}


BIG = "9" * 5000


@pytest.mark.parametrize(
    "words",
    [
        ("plan", "--budget", "1,5k"),
        ("plan", "--budget", "1,50/h"),
        ("plan", "--budget", "$1,0000"),
        ("plan", "--rate", "\uff11\uff12/s"),
        ("plan", "--rate", "1e400/s"),
        ("plan", "--api", "0.6/nan/2.4"),
        ("plan", "--api", "0.6/\uff11/2.4"),
        ("plan", "--own", f"h100-sxm={BIG}"),
        ("compare", "--price", "h100-sxm=\uff11\uff12"),
        ("compare", "--price", "h100-sxm=1_0"),
        ("compare", "--price", "h100-sxm=1,5"),
        ("compare", "--batch", "\uff11\uff12"),
        ("compare", "--batch", BIG),
        ("compare", "--speculate", "\uff11"),
        ("compare", "--gpu-memory-utilization", "1e-9"),
        ("sensitivity", "--target", "1,5k"),
        ("compare", "--utilization", "nan"),
        ("sensitivity", "--target", "1e400"),
    ],
)
def test_a_number_that_is_none_is_refused_in_a_sentence(words, fastcalc):
    command, flag, text = words
    ran = fastcalc(command, "llama-3-8b", "--on", "h100-sxm", flag, text)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"fastcalc: {flag}")
    assert len(ran.err) < 300


@pytest.mark.parametrize(
    "command", ["compare", "fit", "sweep", "frontier", "sensitivity", "plan", "fastmode"]
)
def test_a_limit_of_an_engine_is_the_same_for_its_flag(command, fastcalc):
    ran = fastcalc(command, "llama-3-8b", "--gpu-memory-utilization", "1e-9")
    assert ran.code == 2
    assert ran.err.startswith("fastcalc: --gpu-memory-utilization 1e-09 is not a number from 1e-06")


@pytest.mark.parametrize(("typed", "usd"), [("$600,000/year", 50_000), ("1_500", 1_500)])
def test_a_budget_may_group_its_digits(typed, usd):
    assert usd_a_month(typed) == usd


@pytest.mark.parametrize(
    "words", [("--batch", "nan"), ("--years", "1e400"), ("--price-basis", "1,5k"), ("--offer", "8")]
)
def test_what_no_option_of_a_decision_uses_is_read_as_well(words, fastcalc):
    ran = fastcalc("decide", "a=speed=65", *words)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"fastcalc: {words[0]}")
