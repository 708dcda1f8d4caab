"""Which combinations of techniques are searched, from made-up bounds of their costs."""

from math import inf, nan
from types import SimpleNamespace

import numpy as np
import pytest

from fastcalc.core.placement.layout import Layout
from fastcalc.errors import InputError
from fastcalc.features.fastmode import combined, start
from fastcalc.features.fastmode.answer import FastmodeAnswer
from fastcalc.features.fastmode.combined import ModelOnChip
from fastcalc.features.fastmode.factors import factors_of
from fastcalc.features.fastmode.lighter_passes import speculation
from fastcalc.features.fastmode.option import Option
from fastcalc.features.fastmode.smaller_batches import Curve
from fastcalc.features.fastmode.solve import SpeedupOptions
from fastcalc.features.fastmode.start import Base
from tests.helpers import every

BASE = SimpleNamespace(speed=100.0)


@pytest.fixture
def searched(monkeypatch):
    """Names of the candidates that are searched, each with its cost limit."""
    tried = []

    def search(_, choice, below):
        tried.append((choice.name, below))
        return (choice.cost, choice.name) if choice.cost < below else None

    monkeypatch.setattr(combined, "_search", search)
    monkeypatch.setattr(combined, "_look_ahead", lambda _: None)
    return tried


def way(name, usd, hope, near, cost):
    """A candidate: bounds of its cost by chip, by layout and with drafts, and its cost."""
    return SimpleNamespace(
        name=name, usd=usd, cost=cost, hopes=lambda _: np.array([hope, 99.0]),
        near_hopes=lambda *_: np.array([99.0, near]),
    )  # fmt: skip


@every(
    "choices,found,tried",
    [
        ([], None, []),
        ([way("a", 1, 2, 3, 4)], "a", [("a", inf)]),
        ([way("a", 1, 2, 3, inf)], None, [("a", inf)]),
        # The first costs less than any other may.
        ([way("a", 1, 2, 3, 4), way("b", 4, 5, 6, 7)], "a", [("a", inf)]),
        ([way("a", 1, 2, 3, 4), way("b", 2, 4, 6, 7)], "a", [("a", inf)]),
        # The second is bounded lower with its layouts, and is searched first.
        ([way("a", 1, 5, 6, 7), way("b", 2, 3, 3, 4)], "b", [("b", inf)]),
        ([way("a", 1, 2, 5, 7), way("b", 2, 3, 4, 4.5)], "b", [("b", inf)]),
        # A cheaper one is found after a dearer one.
        ([way("a", 1, 2, 3, 9), way("b", 2, 3, 4, 5)], "b", [("a", inf), ("b", 9)]),
        ([way("a", 1, 2, 3, 9), way("b", 2, 3, 4, 11)], "a", [("a", inf), ("b", 9)]),
    ],
)
def test_candidates_are_searched_from_the_lowest_bound(choices, found, tried, searched):
    searched.clear()
    assert combined._cheapest(BASE, choices) == found
    assert searched == tried


def on_chip(**changes):
    usual = {"changes": ("b200",), "is_priced": True, "in_fewest_bits": False, "usd_per_hour": 2.0}
    scenario = SimpleNamespace(model=changes.pop("model", "m"))
    return SimpleNamespace(**usual | {"scenario": scenario} | changes)


def a_way(usd, drafts=0, **changes):
    return combined._Way(usd, 1.0, on_chip(**changes), drafts)


def test_combinations_are_by_number_of_techniques_and_the_cheapest_with_the_same_answers(
    monkeypatch,
):
    """Chips without a price are taken where none with a price reaches the speed."""
    ways = [
        a_way(3.0, 1, changes=("h",)),
        a_way(2.0, 1, changes=("h", "small"), model="small"),
        a_way(1.0, 2, changes=("free",), is_priced=False),
        a_way(1.0, 0, changes=("free", "small", "bits"), model="small", is_priced=False),
        a_way(0.5, 0, changes=("h",)),
    ]
    asked = []

    def cheapest(_, choices):
        asked.append([each.usd for each in choices])
        if not choices:
            return None
        first = choices[0]
        name = combined.COUNTS[first.tricks]
        return Option(name, " + ".join(first.on_chip.changes), "x", tricks=first.tricks)

    monkeypatch.setattr(combined, "_ways", lambda _: ways)
    monkeypatch.setattr(combined, "_cheapest", cheapest)
    base = SimpleNamespace(
        keeps_model=True, scenario=SimpleNamespace(model="m"), may_take=lambda model: model == "m"
    )
    options = combined.combinations(base)
    # Two techniques with a price; three with one; four none. One technique is none of them.
    assert asked == [[3.0], [2.0], [], [], [3.0], [3.0]]
    assert [(each.trick, each.change, each.why_not is None) for each in options] == [
        ("two-tricks", "h", True), ("three-tricks", "h + small", True), ("four-tricks", "", False),
    ]  # fmt: skip
    assert [each.is_ruled_out for each in options] == [False, False, True]
    asked.clear()
    ways[:2] = []
    free, *others = combined.combinations(base)
    assert asked == [[], [1.0], [], [1.0], [], [], [], []]
    assert free.change == "free"
    assert [each.why_not is None for each in others] == [True, False]


def test_the_fastest_combination_is_found_from_the_highest_bound(monkeypatch):
    """Bounds of 50, 40 and 20: 30 and 35 are reached, so the third is not tried."""
    tried = []

    def made(name, fastest, drafts, alone, reached):
        def with_drafts(_):
            tried.append(name)
            return name, SimpleNamespace(traffic="traffic", reached=reached)

        layouts = alone and SimpleNamespace(
            layouts=["l"], user_speeds=np.array([[alone, 99.0], [1.0, 99.0]])
        )
        chip = SimpleNamespace(on_layouts=layouts, with_drafts=with_drafts)
        return combined._Way(1.0, fastest, chip, drafts)

    ways = [
        made("c", 20.0, 0, 20.0, 99.0),
        made("a", 50.0, 0, 31.0, 30.0),
        made("no layout", 45.0, 0, None, 99.0),
        # With a draft token 1.92 times as fast at most: 15 are 28.8, 20 are 38.4.
        made("slow", 42.0, 1, 15.0, 99.0),
        made("b", 40.0, 1, 20.0, 35.0),
    ]
    monkeypatch.setattr(combined, "_ways", lambda _: ways)

    class Space(SimpleNamespace):
        def __init__(self, scenario):
            super().__init__(
                site=SimpleNamespace(place_all=lambda *_, **__: scenario.reached),
                holding=lambda layouts: layouts,
            )

    monkeypatch.setattr(combined, "Space", Space)
    monkeypatch.setattr(combined, "speeds", lambda reached, *_: np.array([reached, 1.0]))
    assert combined.nearest(BASE) == (35.0, "b")
    assert tried == ["a", "b"]


def test_what_a_candidate_costs(monkeypatch):
    """Two chips for 2 USD/h each give 1,000 tokens/s: 4 / 3.6 USD a million."""
    point = SimpleNamespace(
        placement=SimpleNamespace(layout=SimpleNamespace(chips=2)),
        estimate=SimpleNamespace(total=np.array([1000.0])),
    )
    asked = []

    def cheapest(_, hopeful, speed, below):
        asked.append((hopeful, speed, below))
        return SimpleNamespace(outcome=point)

    monkeypatch.setattr(combined, "cheapest", cheapest)
    monkeypatch.setattr(combined, "Space", lambda scenario: scenario)
    choice = SimpleNamespace(
        on_chip=SimpleNamespace(
            on_layouts=SimpleNamespace(layouts=["a", "b", "c"]), usd_per_hour=2.0,
            with_drafts=lambda _: ("words", "scenario"),
        ),
        near_hopes=lambda *_: np.array([1.0, 5.0, 4.9]), drafts=0, tricks=3,
    )  # fmt: skip
    usd, found = combined._search(BASE, choice, 5.0)
    assert usd == pytest.approx(4.0 / 3.6)
    assert (found.trick, found.change, found.tricks) == ("three-tricks", "words", 3)
    # A layout that costs as much at least cannot win.
    assert asked == [(["a", "c"], 100.0, 5.0)]
    choice.on_chip.on_layouts = None
    assert combined._search(BASE, choice, 5.0) is None


def test_layouts_that_do_not_fit_have_no_hope():
    nothing = SimpleNamespace(on_layouts=None)
    assert ModelOnChip.hopes(nothing, 0, 1.0).tolist() == [inf]


def chips(*names):
    return [SimpleNamespace(id=name, kind="wafer" if name == "w" else "gpu") for name in names]


def test_rivals_are_for_rent_and_not_todays(monkeypatch):
    """Of a consumer card, one of marketplaces, one without a price and today's, none is taken."""
    quotes = {"card": (1.0, False), "market": (1.0, True), "unpriced": (None, False)}
    pricing = SimpleNamespace(
        quote=lambda chip: SimpleNamespace(
            **dict(
                zip(
                    ("usd_per_hour", "is_marketplace"),
                    quotes.get(chip.id, (1.0, False)),
                    strict=True,
                )
            )
        )
    )
    monkeypatch.setattr(
        start, "class_of", lambda chip: "consumer" if chip.id == "card" else "datacenter"
    )
    monkeypatch.setattr(start, "SRAM_CLASSES", ("wafer",))
    base = SimpleNamespace(
        scenario=SimpleNamespace(hardware=SimpleNamespace(id="today"), pricing=pricing),
        chips=chips("card", "market", "unpriced", "today", "a", "w"),
    )
    assert [chip.id for chip in Base.rivals.func(base)] == ["a", "w"]
    assert [chip.id for chip in Base.sram_machines.func(base)] == ["w"]
    base.scenario.hardware.id = "w"
    assert Base.sram_machines.func(base) == []


def test_layouts_of_another_machine_are_as_many_chips_as_today_or_the_fewest():
    def space(fewest, joined=1, *, is_spatial=False, own=False):
        return SimpleNamespace(
            fewest_chips=fewest, up_to=lambda most: [f"up to {most}"], cuts=lambda most: [f"of {most}"],
            scenario=SimpleNamespace(hardware="h" if own else "other"),
            site=SimpleNamespace(
                chips_joined=joined, machine=SimpleNamespace(is_spatial=is_spatial),
                allows=lambda _: True,
            ),
        )  # fmt: skip

    today = Layout(tp=4)
    base = SimpleNamespace(
        layout=today,
        scenario=SimpleNamespace(hardware="h"),
        beyond_today=lambda _: ["beyond", "of 4"],
    )
    for asked, most in ((space(2), 4), (space(6), 6), (space(2, 8), 8)):
        assert Base._layouts_of(base, asked) == [f"up to {most}"]
    assert Base._layouts_of(base, space(2, is_spatial=True)) == ["up to 128"]
    assert Base._layouts_of(base, space(None)) == []
    assert Base._layouts_of(base, space(2, own=True)) == [today, "up to 4", "of 4", "beyond"]


def test_a_machine_that_is_refused_has_its_reason_in_its_place():
    def deployments(asked):
        if asked == "bad":
            raise InputError("it has no memory of this name")
        return [asked]

    base = SimpleNamespace(deployments=deployments, speed=100.0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(start, "Space", lambda scenario: scenario)
        patch.setattr(start, "cheapest_of_each", lambda searches, _: [name for name, _ in searches])
        patch.setattr(start, "option_of", lambda trick, change, reach, _: (trick, change, reach))
        found = Base.options(base, [("t", "a", "x"), ("t", "b", "bad"), ("t", "c", "y")])
    assert (found[0], found[2]) == (("t", "a", "x"), ("t", "c", "y"))
    assert (found[1].change, found[1].outcome) == ("b", None)
    assert "no memory of this name" in found[1].why_not


def test_the_cheapest_number_of_draft_tokens_is_taken(monkeypatch):
    tried = []

    def options(changes):
        tried.extend(words for _, words, _ in changes)
        return [Option("speculation", words, fastest=float(len(words))) for words in tried]

    monkeypatch.setattr(
        "fastcalc.features.fastmode.lighter_passes.drafting",
        lambda _, drafts: (f"{drafts} drafts", None),
    )
    chosen = speculation(SimpleNamespace(scenario=None, options=options))
    assert tried == [f"{count} drafts" for count in (1, 2, 3, 4, 5)]
    assert chosen.change == "1 drafts"


def curve_of(multiples):
    """A curve whose cost multiples are as given, by starts of 8, 16, 24 and so on."""
    starts = np.arange(8, 8 * len(multiples) + 1, 8)
    made = SimpleNamespace(starts=starts, multiple=np.array(multiples))
    made._turn = lambda missed, paid, _: (missed + paid) // 2
    return made


@every(
    "multiples,cost,ends",
    [
        ([1.0, 2.0, 3.0], 2.0, (8, 20)),
        ([3.0, 2.0, 1.0], 2.0, (12, 24)),
        ([nan, 2.0, 3.0], 2.0, (12, 20)),
        ([1.0], 2.0, (8, 8)),
        ([3.0, 3.0], 2.0, None),
        ([nan, nan], inf, None),
        ([1.0, 2.0], inf, (8, 16)),
    ],
)
def test_the_starts_whose_cost_is_within_a_limit(multiples, cost, ends):
    assert Curve.ends(curve_of(multiples), cost) == ends


def test_nothing_has_no_factors():
    assert factors_of(SimpleNamespace(today=None), None) == []
    assert factors_of(SimpleNamespace(today=None), Option("more-chips", "")) == []


def reaching(trick, chip="h", usd=1.0):
    """An option on a chip at a price; without a price it has none."""
    model = "m"
    outcome = SimpleNamespace(
        scenario=SimpleNamespace(hardware=SimpleNamespace(id=chip), model=model),
        usd=None if usd is None else (None, np.array([usd])),
    )
    return Option(trick, f"{trick} {chip}", outcome)


def answer(options, same=None):
    solution = SpeedupOptions(
        today=reaching("today").outcome, speed=100.0, options=options,
        same_answers=options if same is None else same, drafts=np.ones(1), tokens=np.ones(1),
        acceptance=np.ones(1), fewer_layers=None, thinner_layers=None, nearest=None,
    )  # fmt: skip
    request = SimpleNamespace(everything=False, written_as="table")
    return FastmodeAnswer(request=request, comparison=None, solution=solution)


def test_the_cheapest_on_todays_chips_and_on_others():
    options = [
        reaching("more-chips", usd=3.0), reaching("smaller-batch", usd=2.0),
        reaching("newer-hardware", "b", 1.0), reaching("other-hardware", "c", None),
        Option("fewer-bits", "fp8"),
    ]  # fmt: skip
    solution = answer(options).solution
    assert solution.cheapest is options[2]
    assert solution.on_same_chips is options[1]
    assert solution.on_another_machine is options[2]
    assert solution.reached == options[:4]


def test_a_first_screen_has_one_option_of_each_technique_and_changed_answers_last():
    options = [
        reaching("fewer-bits", usd=0.5), reaching("speculation", "b", 1.0),
        reaching("sram-machine", "w", 1.5), reaching("sram-machine", "c", 2.0), Option("more-chips", "tp2"),
    ]  # fmt: skip
    bits, drafts, sram = options[:3]
    assert answer(options, options[1:])._first == [drafts, sram, bits]
    assert answer(options, options)._first == [bits, drafts, sram]
    assert (answer(options).code, answer(options[4:]).code) == (0, 1)


@every("same,has_star", [((0, 1), False), ((0,), True), ((), True)])
def test_the_star_is_explained_where_answers_change(same, has_star):
    options = [reaching("more-chips"), reaching("fewer-bits"), Option("smaller-model", "")]
    key = answer(options, [options[at] for at in same]).key()
    assert ("; *: " in key) is has_star


@every(
    "reached,change",
    [(None, ""), (Layout(tp=4), ""), (Layout(tp=8), "tp 8"), (Layout(), "one chip")],
)
def test_a_change_of_layout_is_named_where_there_is_one(reached, change, monkeypatch):
    outcome = reached and SimpleNamespace(placement=SimpleNamespace(layout=reached))
    reach = SimpleNamespace(outcome=outcome, is_placed=True, bound=inf, fastest=1.0)
    asked = []

    def each(searches, _):
        asked.extend(layouts for _, layouts in searches)
        return [reach] * 3

    monkeypatch.setattr(start, "cheapest_of_each", each)
    base = SimpleNamespace(
        layout=Layout(tp=4), up_to_today=lambda: ["other"], beyond_today=lambda _: ["more"],
        space="space", speed=100.0,
    )  # fmt: skip
    options = Base.on_todays_chips(base)
    assert asked == [[Layout(tp=4)], ["other"], ["more"]]
    assert [option.trick for option in options] == ["smaller-batch", "other-layout", "more-chips"]
    assert {option.change for option in options} == {change}
    base.up_to_today = list
    assert Base.on_todays_chips(base)[1].why_not == "no other layout exists"
