"""Lists of numbers, and ways of drafting, as they are typed."""

import pytest

from fastcalc.catalogue.limits import LIMITS
from fastcalc.core.traffic.traffic import Speculation
from fastcalc.kit.request import number_lists
from fastcalc.kit.request.number_lists import numbers
from fastcalc.kit.request.speculate import speculation, speculations
from tests.helpers import every, read_or_refusal

WRITE = "write it like 1..1024x2 (times two) or 8..64+8"
TWO_WAYS = "can be read two ways; write 3000, 3_000 or 3k for one number, and 1..8 for a range"


@every(
    "given,values",
    [
        (8, (8,)),
        ("8,1,8", (1, 8)),
        ([8, "1..2"], (1, 2, 8)),
        ("1..4", (1, 2, 3, 4)),
        ("4..4", (4,)),
        ("1..9x2", (1, 2, 4, 8)),
        ("1..9x3", (1, 3, 9)),
        ("8..24+8", (8, 16, 24)),
        ("8..23+8", (8, 16)),
        ("1k..3k+1k", (1000, 2000, 3000)),
        ("1..3+1", (1, 2, 3)),
        ("1,512", (1, 512)),
        ("4..1", f"-x range '4..1' runs downwards; {WRITE}"),
        ("1..8x1", f"-x range '1..8x1' goes nowhere; {WRITE}"),
        ("3,000", f"-x '3,000' {TWO_WAYS}"),
        ("1-8", f"-x '1-8' {TWO_WAYS}"),
        ([], "-x names no number; give one or several"),
        ("a", "-x 'a' is not a whole number from 1 to 1,000,000; write for example 8, 1k or "
         "1..256x2"),
    ],
)  # fmt: skip
def test_lists_of_numbers(given, values):
    assert read_or_refusal(numbers, given, "-x", LIMITS["sequences"]) == values


@every("given,count", [("1..10", 10), ("1..11", None), ("1..10,7", 10), ("1..10,11", None)])
def test_a_list_of_so_many_numbers(given, count):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(number_lists, "MOST_VALUES", 10)
        found = read_or_refusal(numbers, given, "-x", LIMITS["sequences"])
        many = f"-x {given} has more than 10 values; use larger steps"
        assert found == (many if count is None else tuple(range(1, count + 1)))
        assert read_or_refusal(numbers, list(range(1, 12)), "-x", LIMITS["sequences"]) == (
            "-x has more than 10 values; use larger steps"
        )


HINT = (
    "write tokens per step (2.5), acceptance rate x draft tokens (0.8x3), or accepted/drafted "
    "(2.5/3)"
)


@every(
    "given,tokens,drafted",
    [
        (None, 1.0, 0.0),
        ("2.5/3", 2.5, 3.0),
        ("4/3", 4.0, 3.0),
        # 1 + 0.5 + 0.25 + 0.125 tokens of three drafts, each kept as often as not.
        ("0.5x3", 1.875, 3.0),
        ("1 x 3", 4.0, 3.0),
    ],
)
def test_drafts(given, tokens, drafted):
    found = speculation(given)
    assert (found.tokens_per_pass, found.drafted) == (tokens, drafted)


@every(
    "given,sentence",
    [
        ("a", f"--speculate 'a' is not understood: {HINT}"),
        ("4.1/3", "--speculate 4.1/3: a step yields at most the draft tokens plus one, 4 here"),
        ("2/0", "--speculate: 0 draft tokens is not a whole number from 1 to 1,000"),
        ("2/1.5", "--speculate: 1.5 draft tokens is not a whole number from 1 to 1,000"),
        ("0x3", "--speculate: acceptance 0 is not above 0 and at most 1"),
        ("1.5x3", "--speculate: acceptance 1.5 is not above 0 and at most 1; for tokens per step "
         "write 1.5/3"),
        ("0.8", "--speculate: 0.8 is not a number of tokens per step from 1 to 100; for "
         "acceptance 0.8 write for example 0.8x3"),
        (101.0, "--speculate: 101 is not a number of tokens per step from 1 to 100"),
        (0.0, "--speculate: 0 is not a number of tokens per step from 1 to 100"),
        ("0.5/3", "--speculate: 0.5 is not a number of tokens per step from 1 to 100; for "
         "acceptance 0.5 write for example 0.5x3"),
    ],
)  # fmt: skip
def test_drafts_that_cannot_be(given, sentence):
    assert read_or_refusal(speculation, given) == sentence


def test_several_ways_of_drafting_each_once():
    none, some = Speculation(), Speculation(2.5, 3.0)
    assert speculations(None) == (none,)
    assert speculations("none,2.5/3,none") == (none, some)
