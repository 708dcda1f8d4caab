"""Headlines of comparisons from made-up rows."""

from math import nan
from types import SimpleNamespace

import pytest

from fastcalc.core.ratios import Ranged
from fastcalc.features.compare import headline_words as say
from fastcalc.features.compare.headline import Headline, Statement
from tests.helpers import every


def row(name, *, speed=100.0, usd=0.5, batch=8, chips=1):
    record = {"tokens_per_s_per_user": speed, "usd_per_mtok_output": usd, "undetermined": []}
    quote = SimpleNamespace(price_of=None)
    return SimpleNamespace(
        name=name, record=record, batch=batch, chips=chips, price=usd,
        outcome=SimpleNamespace(scenario=SimpleNamespace(quote=quote)),
    )  # fmt: skip


def compared(over, under, *, ratio=2.0, is_level=False):
    return SimpleNamespace(over=over, under=under, ratio=Ranged(ratio, nan, nan), is_level=is_level)


def headline(fastest=None, cheapest=None, **changes):
    usual = {"model": "m", "smallest_batch": 8, "tried": ("a",), "left_out": (), "has_rivals": True}
    return Headline(fastest=fastest, cheapest=cheapest, **usual | {"is_sized": False} | changes)


A, B, C, D, E = (row(name, speed=100.0 - at, usd=0.5 + at) for at, name in enumerate("abcde"))
TWO = row("two b", chips=2, batch=16)


@pytest.fixture(autouse=True)
def _plain(monkeypatch):
    monkeypatch.setattr(say, "user_speed", lambda record: f"{record['tokens_per_s_per_user']:.0f}")
    monkeypatch.setattr(say, "output_price", lambda record: f"${record['usd_per_mtok_output']:.2f}")


@every(
    "statement,sentence",
    [
        (Statement("speed", (A,), (B,)), "Fastest: a at batch 8, 100 tokens/s per user; b gives 99."),
        (Statement("speed", (A,), (TWO,)), "Fastest: a at batch 8, 100 tokens/s per user; two b give 100 at batch 16."),
        (Statement("speed", (A,), (B, C), compared(A, B)), "Fastest: a at batch 8, 100 tokens/s per user, 2.0x (range undetermined) as fast as b."),
        (Statement("speed", (A,), (B, C), compared(A, C)), "Fastest: a at batch 8, 100 tokens/s per user, 2.0x (range undetermined) as fast as c; b gives 99."),
        (Statement("speed", (A, B)), "Fastest at batch 8: uncertain, a (100 tokens/s per user) or b (99)."),
        (Statement("speed", (A, TWO)), "Fastest: uncertain, a at batch 8 (100 tokens/s per user) or two b at batch 16 (100)."),
    ],
)  # fmt: skip
def test_the_fastest(statement, sentence):
    assert say.speed(headline(statement)) == sentence


@every(
    "statement,sentence",
    [
        (Statement("cost", (A,)), "Cheapest: a at batch 8, $0.50/Mtok; no other has a price."),
        (Statement("cost", (A,), (B,)), "Cheapest: a at batch 8, $0.50/Mtok; b costs $1.50."),
        (Statement("cost", (A,), (TWO,)), "Cheapest: a at batch 8, $0.50/Mtok; two b cost $0.50 at batch 16."),
        (Statement("cost", (A,), (B,), compared(B, A, ratio=3.0)), "Cheapest: a at batch 8, $0.50/Mtok; b costs $1.50, 3.0x (range undetermined) as much."),
        # At another batch: of the same chip, of another one, and tied.
        (Statement("cost", (A,), (B,), compared(B, row("a", batch=8, usd=2.0))), "Cheapest: a at batch 8, $0.50/Mtok; at batch 8, b costs 2.0x (range undetermined) as much."),
        (Statement("cost", (A,), (B,), compared(B, C)), "Cheapest: a at batch 8, $0.50/Mtok; at batch 8, b costs 2.0x (range undetermined) as much as c."),
        (Statement("cost", (A,), (B,), compared(B, C, is_level=True)), "Cheapest: a at batch 8, $0.50/Mtok; at batch 8, b is tied with c."),
        (Statement("cost", (A, B)), "Cheapest at batch 8: uncertain, a ($0.50/Mtok) or b ($1.50)."),
    ],
)  # fmt: skip
def test_the_cheapest(statement, sentence):
    assert say.cost(headline(Statement("speed", (A,)), statement)) == sentence


def test_without_a_price_and_of_one_chip():
    fastest = Statement("speed", (A,))
    assert say.cost(headline(fastest)) == "No price is known."
    assert say.cost(headline(fastest, has_rivals=False)) == ""
    assert say.cost(headline()) == ""
    alone = headline(fastest, Statement("cost", (B,)), has_rivals=False)
    assert say.cost(alone) == "Cheapest at batch 8: $1.50/Mtok at 99 tokens/s per user."
    other = headline(fastest, Statement("cost", (TWO,)), has_rivals=False)
    assert say.cost(other) == "Cheapest at batch 16 on two b: $0.50/Mtok at 100 tokens/s per user."


@every(
    "changes,sentence",
    [
        ({}, "m does not fit on a at batch 8."),
        ({"tried": tuple("abcdef")}, "m does not fit on a, b, c, d or 2 more at batch 8."),
        ({"left_out": (("a", {8: 4}),)}, "m does not fit on a at batch 8. It needs 4 a at batch 8."),
        ({"stopped": ("a",)}, "m does not start on a at batch 8."),
        ({"stopped": ("a",), "left_out": (("a", {8: 4}),)}, "m does not start on a at batch 8. It starts on 4 a at batch 8."),
        ({"tried": ("a", "b"), "stopped": ("a",), "left_out": (("b", {8: 4}),)}, "m does not start on a and does not fit on b at batch 8. It needs 4 b at batch 8."),
        ({"left_out": (("a", {8: 4, 16: 8}),)}, "m does not fit on a at batch 8. It needs 4 a at batch 8 and 8 at batch 16."),
        ({"left_out": (("a", {8: 4, 16: 4}), ("b", {8: 2}), ("c", {8: 1}))}, "m does not fit on a at batch 8. It needs 4 a at batch 8, 2 b at batch 8 and 1 more."),
    ],
)  # fmt: skip
def test_what_fits_nowhere_says_what_it_needs(changes, sentence):
    assert say.speed(headline(**changes)) == sentence


@every(
    "batches,hint",
    [
        ((), []),
        ((("a", {16: 2, 32: 4}),), ["more chips hold larger batches, which may be cheaper: 16 and 32 on a"]),
        (tuple((chip, {16: 2}) for chip in "abcd"), ["more chips hold larger batches, which may be cheaper: 16 on a; 16 on b; 16 on c; 16 on d"]),
        (tuple((chip, {16: 2}) for chip in "abcdef"), ["more chips hold larger batches, which may be cheaper: 16 on a; 16 on b; 16 on c; 16 on d; some on 2 more"]),
    ],
)  # fmt: skip
def test_batches_that_need_more_chips(batches, hint):
    assert say.hints(headline(Statement("speed", (A,), (B,)), left_out=batches)) == hint
    assert say.hints(headline(left_out=batches)) == []


@every(
    "counts,chips",
    [((1, 1), None), ((1, 2), "2"), ((4, 6), "8"), ((1, 8), "8"), ((1, 9), None), ((3, 25), None), ((3, 24), "24")],
)  # fmt: skip
def test_equal_numbers_of_chips_are_at_most_eight_times_the_fewest(counts, chips):
    first, second = (row("r", chips=count) for count in counts)
    found = say.hints(headline(Statement("speed", (first,), (second,))))
    assert len(found) == (chips is not None)
    if chips:
        assert found[0].startswith("to compare equal numbers of chips, add ")
        assert chips in found[0]
    for changes in ({"is_sized": True}, {"has_rivals": False}):
        assert say.hints(headline(Statement("speed", (first,), (second,)), **changes)) == []


def test_four_chips_are_named_with_the_last_that_is_compared():
    others = (B, C, D, E)
    assert say._others(Statement("speed", (A,), others)) == [B]
    assert say._others(Statement("speed", (A,), others, compared(A, D))) == [B, C, D]
    assert say._others(Statement("speed", (A,), others, compared(A, E))) == [B, C, E]
    assert say._others(Statement("speed", (A, B), others)) == []


def test_clauses_that_do_not_fit_in_a_hundred_characters_are_dropped():
    first = "x" * 90
    assert say._in_a_line([first, "y" * 7]) == f"{first}; {'y' * 7}"
    assert say._in_a_line([first, "y" * 8, "z"]) == first
    names = tuple(row(name * 20) for name in "abcd")
    said = say._level(Statement("speed", names))
    assert said.endswith("or 2 more")
    assert len(say._level(Statement("speed", tuple(row(name) for name in "abcd")))) < 100


def test_leaders_in_short():
    assert say._in_short(None) == ""
    assert say._in_short(Statement("speed", (A,))) == "a, 100 tokens/s per user"
    assert say._in_short(Statement("cost", (A,))) == "a, $0.50/Mtok"
    assert say._in_short(Statement("cost", (A, B, C, D, E))) == "a, b, c and d, tied"


@every("fastest,cheapest", [(True, False), (False, True), (False, False), (True, None)])
def test_a_headline_has_a_ratio_where_either_statement_compares(fastest, cheapest):
    statements = (
        None if compares is None else SimpleNamespace(comparison=compares)
        for compares in (fastest, cheapest)
    )
    assert headline(*statements).has_ratio is (fastest or bool(cheapest))
