"""Headlines, rows and notes of fleets and of pools, whose plans a test makes up.

As in `test_plan_sentences`: a chip costs $2,628 per month, and a plan has two.
"""

from dataclasses import replace
from math import inf
from types import SimpleNamespace

import pytest

from fastcalc.core.estimate import site_power
from fastcalc.core.placement.layout import Layout
from fastcalc.features.plan import (
    answer_regret,
    cost_notes,
    latency_notes,
    notes,
    page_tables,
    refusal,
)
from fastcalc.features.plan import headline as plan_headline
from fastcalc.features.plan.allocation import Allocation, Fleet, OwnedChips
from fastcalc.features.plan.answer import PlanAnswer
from fastcalc.features.plan.cost_notes import (
    idle_chips,
    next_nodes,
    one_chip_type,
    other_sharings,
    over_limits,
    owning_each,
)
from fastcalc.features.plan.page_tables import columns, hidden_columns, legend, rows_of
from fastcalc.features.plan.phrases import Weight
from fastcalc.features.plan.request import FindPlans
from fastcalc.features.plan.servers import script
from fastcalc.features.plan.sharing import ReplicaPool, Sharing, in_shared_nodes
from fastcalc.features.plan.verdict import Verdict
from fastcalc.kit.answer import record_tables
from fastcalc.kit.answer.answer import Screen
from fastcalc.kit.answer.commands import Typed
from fastcalc.kit.answer.parts import TextTable
from fastcalc.mentions import as_flags
from tests import made_up
from tests.features.plan.test_plan_sentences import (  # fmt: skip
    API,
    SECOND,
    SERVICE,
    UNPRICED,
    arriving,
    decision,
    owned,
    plan,
)
from tests.helpers import every

ONE = (arriving(1.0),)
TWO = (replace(ONE[0], name="chat"), replace(ONE[0], name="code"))


def pool(*plans, classes=ONE, service=SERVICE, **changes):
    return ReplicaPool(classes, decision(*(plans or [plan()]), service=service, **changes))


def part(*pools, requests=2.0, kind=None, chips=0, **sharing):
    known = {"shared_by_all": None, "one_each": None, "unserved": ()} | sharing
    return Allocation(Sharing(pools, **known), requests, kind, chips)


def answer(*parts, service=SERVICE, kinds=(), classes=ONE, expected=None, **asked):
    request = FindPlans(model="made-up-model", on="c", **asked)
    fleet = Fleet(service, kinds, parts)
    made = PlanAnswer(request=request, reading=[], fleet=fleet, classes=classes)
    verdict = SimpleNamespace(odds=None, regret=None, turns=None, decision=made.decision, grids=())
    made.__dict__.update(verdict=verdict, models=["made-up-model"])
    return made


# Headlines.


def key_of(made, *headings, cell="1"):
    """The key to a table of some columns, with a single cell."""
    return legend(made, rows_of(made, wide=False), [TextTable(headings, [[cell]])])


def headline_of(made):
    title = plan_headline.headline(made)
    return f"{title.name}: {as_flags(title.sentence)}"


OWN = owned(8, 1.0)
LITTLE = replace(SERVICE, power=3.5 * site_power(OWN.hardware))


@every(
    "made,text",
    [
        (answer(part(pool())), "Cheapest plan in bf16: 2 made-up-chip, $5,256 per month"),
        # Without a rate, and where not all of it is served.
        (
            answer(part(pool()), service=replace(SERVICE, is_fleet=True, budget=9e9)),
            "Plan with most requests/s in bf16: 2 made-up-chip, $5,256 per month, sustain "
            "2.00 requests/s, 2,000 output "
            "tokens/s",
        ),
        # Owned chips alone, and with what is rented on top.
        (
            answer(part(pool(), kind=OWN, chips=8), kinds=[OWN]),
            "2 of 8 made-up-chip: enough for 2.00 requests/s, 2,000 output tokens/s",
        ),
        (
            answer(
                part(pool(), requests=1.5, kind=OWN, chips=8),
                part(pool(plan(SECOND)), requests=0.5),
                kinds=[OWN],
            ),
            # $5,840 of owning eight, and $5,256 of renting two.
            "8 made-up-chip: sustain 1.50 of 2.00 requests/s; for the rest, rent 2 "
            "second-chip, $5,256 per month ($11,096 in all)",
        ),
        # The power of three and a half chips runs three of eight.
        (
            answer(part(pool(), kind=OWN, chips=8), kinds=[OWN], service=LITTLE),
            "2 of 8 made-up-chip: enough for 2.00 requests/s, 2,000 output tokens/s; the power limit leaves "
            "5 made-up-chip idle",
        ),
    ],
)
def test_headlines(made, text):
    assert headline_of(made) == text


@every(
    "ttft,share,seconds,texts",
    [
        (inf, 0.99, 0.5, ["no TTFT limit is set (--ttft). The plan's p99 TTFT is 500 ms"]),
        (inf, 0.9, 1.0, ["no TTFT limit is set (--ttft). The plan's p90 TTFT is 1.00 s"]),
        (inf, None, 0.5, []),
        (2.0, 0.99, 0.5, []),
    ],
)
def test_the_first_token_where_no_limit_says_what_it_may_take(ttft, share, seconds, texts):
    service = replace(SERVICE, ttft=ttft, share=share)
    slowest = pool(plan(values={"ttft": seconds})), pool(plan(values={"ttft": seconds / 2}))
    made = answer(part(*slowest), service=service, classes=ONE)
    assert said(latency_notes.unlimited_ttft(made)) == texts


@every(
    "requests,rate,classes,text",
    [
        (2.0, 2.0, ONE, "2.00 requests/s, 2,000 output tokens/s"),
        (2.0, None, TWO, "2.00 requests/s of t.yaml"),
        (2.0, 2.0, TWO, "2.00 requests/s of t.yaml"),
        (1.5, 2.0, TWO, "1.50 of 2.00 requests/s (75.0%) of t.yaml"),
    ],
)
def test_what_is_served(requests, rate, classes, text):
    made = answer(
        part(pool(), requests=requests),
        service=replace(SERVICE, rate=rate),
        classes=classes,
        traffic="t.yaml",
    )
    assert plan_headline._load(made) == text


def test_an_api_that_charges_less_is_in_the_headline_of_a_rate_or_a_fleet():
    """$21,024 per month of 2 requests/s."""
    dear = pool(plan(values={"chips": 9.0}))
    for changes, is_said in (({}, True), ({"rate": None}, False), ({"is_fleet": True}, True)):
        service = replace(SERVICE, tariff=API, **changes)
        made = answer(part(dear), service=service)
        assert ("the API charges less, $21,024" in plan_headline._remarks(made)) is is_said


@every(
    "key,has_expected,says",
    [("one", False, False), ("one", True, True), ("fleet", False, False), ("mix", True, False)],
)
def test_keys_of_plans(key, has_expected, says):
    expected = decision(plan()) if has_expected else None
    made = {
        "one": answer(part(pool(expected=expected))),
        "fleet": answer(part(pool(expected=expected), kind=OWN, chips=8), kinds=[OWN]),
        "mix": answer(part(pool(expected=expected)), classes=TWO),
    }[key]
    text = key_of(made, *[("chips", "expected")] * has_expected)
    assert ("chips, TTFT, TPOT: for slow servers" in text) is says
    assert text.startswith("key: pool") is (key == "mix")
    assert "over its limit" not in text


@every("share", [0.99, 0.9, None])
@every("is_owned", [True, False])
def test_keys_say_at_which_load_times_are(share, is_owned):
    """Percentiles are at the load that the replicas have; without one the batch is full."""
    owned = ({"kind": OWN, "chips": 8}, {"kinds": [OWN]}) if is_owned else ({}, {})
    made = answer(part(pool(), **owned[0]), service=replace(SERVICE, share=share), **owned[1])
    text = key_of(made, ("TTFT", "p99 ms"))
    assert ("TTFT: without queueing" in text) is (share is None)
    assert ("TPOT: at full batch, prefill stalls included" in text) is (share is None)


@every(
    "prefill,heading,says",
    [(Layout(), "chips", True), (Layout(), "prefill", False), (None, "chips", False)],
)
def test_keys_say_that_chips_include_those_of_prefill_without_a_column(prefill, heading, says):
    text = key_of(answer(part(pool(plan(prefill_layout=prefill)))), (heading,))
    assert ("chips include separate prefill replicas" in text) is says


@every(
    "replicas,ranks,chip,cell",
    [
        (None, 1, None, "shared"),
        (1.0, 1, None, "1 x 1 chip"),
        (12.0, 1, None, "12 x 1 chip"),
        (1.0, 2, None, "1 x tp2"),
        (3.0, 2, "b200", "3 x tp2 b200"),
        (3.0, 1, "b200", "3 x b200"),
    ],
)
def test_the_cell_of_prefill_replicas(replicas, ranks, chip, cell):
    (column,) = (column for column in columns(SERVICE) if column.key == "prompts")
    record = {"prefill_replicas": replicas, "prefill_hardware": chip, "prefill_tp": ranks}
    record |= {"prefill_pp": 1, "prefill_ep": 1, "prefill_dp": 1}
    assert column.format(record) == cell


# Rows.


def labels(made, *, wide=False):
    return [
        f"{row.label} {row.plan.scenario.hardware.id}{'' if row.is_shown else ' hidden'}"
        for row in rows_of(made, wide=wide)
    ]


PLANS = [plan(cost=1.0)]
OTHERS = [plan(SECOND, cost=3.0), plan(UNPRICED, cost=4.0)]


def test_rows_of_one_class():
    many = [*PLANS, *OTHERS, *(plan(replace_id(f"chip-{at}"), cost=5.0 + at) for at in range(2))]
    made = answer(part(pool(*many)), top=5)
    first = ["1 made-up-chip", "2 second-chip"]
    assert labels(made) == [
        *first,
        *("other chip unpriced-chip", "other chip chip-0", "other chip chip-1 hidden"),
    ]
    five = [*first, "3 unpriced-chip", "4 chip-0", "5 chip-1"]
    assert labels(made, wide=True) == five
    assert labels(answer(part(pool(*many)), top=1))[:2] == [
        "1 made-up-chip",
        "other chip second-chip",
    ]


def replace_id(name):
    return SECOND.model_copy(update={"id": name})


def test_rows_of_a_fleet():
    owns = part(pool(), requests=1.0, kind=OWN, chips=8)
    rents = part(pool(*PLANS, *OTHERS), requests=1.0)
    assert labels(answer(owns, rents, kinds=[OWN])) == ["owned made-up-chip", "rented made-up-chip"]
    assert labels(answer(owns, kinds=[OWN])) == ["owned 1 made-up-chip"]
    assert labels(answer(owns, rents, kinds=[OWN]), wide=True)[1:] == [
        "rented made-up-chip",
        "other chip second-chip",
        "other chip unpriced-chip",
    ]
    of_means = replace(SERVICE, rate=None, is_fleet=True)
    most = part(pool(*PLANS, *OTHERS))
    assert labels(answer(most, service=of_means))[0] == "rented 1 made-up-chip"


def test_rows_of_pools_are_numbered():
    owns = part(pool(), kind=OWN, chips=8)
    rents = part(pool(plan(SECOND)), pool())
    made = answer(owns, rents, kinds=[OWN], classes=TWO)
    assert labels(made) == ["1 made-up-chip", "2 second-chip", "3 made-up-chip"]
    assert [row.is_owned for row in rows_of(made, wide=False)] == [True, False, False]


def test_plans_quantized_further_and_in_own_formats_stand_apart():
    asked = replace(SERVICE, any_weights=False)
    narrow = plan(weights="int4", cost=0.5)
    first = pool(plan(cost=1.0), narrow, service=asked)
    rows = rows_of(answer(part(first), service=asked), wide=False)
    assert [(row.label, row.is_marked) for row in rows] == [("1", False), ("quantized", True)]
    dearer = pool(plan(cost=1.0), replace(narrow, cost=2.0), service=asked)
    assert [row.label for row in rows_of(answer(part(dearer), service=asked), wide=False)] == ["1"]
    leads = pool(plan(cost=1.0), narrow)
    rows = rows_of(answer(part(leads), top=1), wide=False)
    assert [(row.label, row.plan.cost) for row in rows] == [("1", 0.5), ("own formats", 1.0)]


@every(
    "changes,owns,wide,hidden",
    [
        ({}, False, False, set()),
        ({"rate": None}, False, False, {"utilization"}),
        ({"rate": None, "share": 0.99}, False, False, set()),
        ({"rate": None, "is_fleet": True, "budget": 9.0}, False, False, {"hardware"}),
        ({}, True, False, {"hardware"}),
        ({}, True, True, set()),
    ],
)
def test_columns_that_say_nothing(changes, owns, wide, hidden):
    kinds = [OWN] if owns else []
    only = part(pool(), kind=OWN if owns else None, chips=8)
    made = answer(only, service=replace(SERVICE, **changes), kinds=kinds)
    always = {"speculation_tokens_per_pass", "service_tpot_ms_low"}
    assert hidden_columns(made, rows_of(made, wide=wide), wide=wide) == always | hidden


# Notes of pools.


def said(sentences):
    return [*map(as_flags, sentences)]


@every(
    "pools,one_each,shared,owns,sentences",
    [
        # One pool for both: what one each would take.
        (
            [pool(classes=TWO)],
            [pool(), pool(plan(SECOND))],
            None,
            False,
            ["a pool for each class would need 4 chips, $10,512 per month (made-up-chip and "
             "second-chip)"],
        ),
        # One each: what one for both would take, or that none would do.
        ([pool(), pool()], [pool(), pool()], [pool(classes=TWO)], False,
         ["one pool for all classes would need 2 chips, $5,256 per month"]),
        ([pool(), pool()], [pool(), pool()], None, False,
         ["no replica meets the limits of all classes together"]),
        ([pool(), pool()], None, [pool(classes=TWO)], False, []),
        ([pool()], [pool()], None, False, []),
        ([pool(classes=TWO), pool()], [pool(), pool(plan(SECOND))], None, False,
         ["no replica meets the limits of all classes together",
          "a pool for each class would cost the same as this plan"]),
        ([pool(classes=TWO)], [pool(), pool()], None, True,
         ["on owned chips, a pool for each class would need 4 chips, $10,512 per month (made-up-chip)"]),
    ],
)  # fmt: skip
def test_what_other_sharings_would_take(pools, one_each, shared, owns, sentences):
    last = part(*pools, one_each=one_each, shared_by_all=shared, kind=OWN if owns else None)
    parts = [part(pool()), last] if owns else [last]
    made = answer(*parts, classes=TWO)
    assert said(other_sharings(made.fleet, made.models)) == sentences


@every(
    "pools,on_one_chip,sentence",
    [
        ([pool()], None, []),
        ([pool()], [pool(plan(SECOND, values={"chips": 3.0}), classes=TWO)],
         ["with one chip type, second-chip: 3 chips, $7,884 per month, $2,628 (50%) more"]),
        ([pool()], [pool(plan(UNPRICED), classes=TWO)],
         ["with one chip type, unpriced-chip: 2 chips"]),
        ([pool(plan(UNPRICED))], [pool(plan(SECOND), classes=TWO)],
         ["with one chip type, second-chip: 2 chips, $5,256 per month"]),
    ],
)  # fmt: skip
def test_what_one_kind_of_chip_would_take(pools, on_one_chip, sentence):
    made = answer(part(*pools, on_one_chip=on_one_chip), classes=TWO)
    assert said(one_chip_type(made.fleet)) == sentence


def test_what_the_next_node_would_sustain():
    in_nodes = SECOND.model_copy(update={"id": "in-node", "node": OWN.hardware.node})
    kinds = [OWN, replace(OWN, hardware=in_nodes)]
    made = answer(part(pool(), kind=OWN, chips=8), kinds=kinds)
    assert said(next_nodes(made.fleet, {"made-up-chip": 3.5})) == [
        "one more made-up-chip would raise the sustained rate from 2.00 to 3.50 requests/s"
    ]


@every("chips,left", [(8, ["Idle: 6 of 8 made-up-chip"]), (2, [])])
def test_owned_chips_on_which_nothing_runs(chips, left):
    kind = owned(chips, 1.0)
    rented = part(pool(plan(SECOND)))
    made = answer(part(pool(), kind=kind, chips=chips), rented, kinds=[kind], classes=TWO)
    assert said(idle_chips(made.fleet)) == left


def test_what_owned_chips_cost_for_what_they_serve():
    """$3.60 of 8 chips are $21,024 per month; 4,000 tokens/s of 2 requests/s in two parts."""
    parts = [part(pool(), requests=1.5, kind=OWN), part(pool(), requests=0.5, kind=OWN)]
    made = answer(*parts, kinds=[OWN])
    (cost,) = said(owning_each(made.fleet, made.service))
    assert cost.startswith(
        "owning all 8 made-up-chip costs $21,024 per month, or $2.00/Mtok (input and output). "
    )


@pytest.fixture
def served():
    """Two classes, of which one is over a limit."""

    def of(**over):
        limited = replace(ONE[0], name="chat", ttft=0.5, tpot=0.02)
        return SimpleNamespace(
            pool=2, share=0.99, request_class=limited, over=lambda name: over.get(name)
        )

    return of


def test_classes_over_their_limits(served):
    made = answer(part(pool()), classes=TWO)
    made.__dict__["served"] = [served(), served(ttft=0.75, tpot=0.025)]
    assert said(over_limits(made.served)) == [
        "pool 2, chat: p99 TTFT is 750 ms, above the limit of 500 ms",
        "pool 2, chat: p99 TPOT is 25.0 ms, above the limit of 20.0 ms; the mean TPOT at "
        "full batch is within it",
    ]
    assert key_of(made, cell="750^").endswith("; ^: over its limit")


@every(
    "is_one,text",
    [
        # 2 requests/s of the rented pools, beside 3 that all owned chips sustain alone.
        (False, "10.0% of their throughput"),
        # Of one class, 10 requests/s of the plan.
        (True, "3.85% of their throughput"),
    ],
)
def test_an_api_is_compared_with_all_that_chips_sustain(monkeypatch, is_one, text):
    """$5,256 per month buy half a request per second."""
    monkeypatch.setattr(PlanAnswer, "owned_capacity", 3.0)
    monkeypatch.setattr(Sharing, "requests", 2.0)
    service = replace(SERVICE, tariff=API)
    made = answer(part(pool()), service=service, classes=ONE if is_one else TWO)
    assert text in " ".join(cost_notes.against_api(made))
    assert not [*cost_notes.against_api(answer(part(pool())))]


@every("share,is_known,cell", [(0.99, True, "500"), (0.99, False, "<500"), (None, False, "500")])
def test_a_latency_that_is_an_upper_estimate_is_marked(share, is_known, cell):
    """At half a second, of percentiles without a closed form; full batches have no percentiles."""
    service = replace(SERVICE, share=share)
    known = plan(values={"ttft": 0.5}, has_percentiles=is_known)
    (row,) = rows_of(answer(part(pool(known, service=service)), service=service), wide=False)
    (column,) = (column for column in columns(service) if column.key == "service_ttft_ms")
    table = record_tables.table([column], [row.cells | {"service_ttft_ms": 500.0}], 80)
    assert table.rows == [[cell]]
    made = answer(part(pool(known, service=service)), service=service)
    assert ("<: upper bound" in legend(made, [row], [table])) is cell.startswith("<")


def test_a_mix_says_what_the_next_node_of_owned_chips_would_sustain():
    """2 requests/s today; the sentence and its weight are those of a fleet of one class."""
    kinds = [OWN]
    for classes in (ONE, TWO):
        made = answer(part(pool(), kind=OWN, chips=8), kinds=kinds, classes=classes)
        made.__dict__.update(grown={"made-up-chip": 3.5}, served=[])
        told = {note.text: note.weight for note in notes.notes_of(made, [])}
        text = "one more made-up-chip would raise the sustained rate from 2.00 to 3.50 requests/s"
        weights = {each.lower().rstrip("."): weight for each, weight in told.items()}
        assert weights[text] == Weight.OWNED


def test_each_allocation_has_its_own_decision_and_the_last_its_confidence():
    """The plans of owned chips and of rented ones have runners-up of their own."""
    third = replace_id("third-chip")
    owns = part(pool(plan(), plan(third)), requests=1.0, kind=OWN, chips=8)
    rents = part(pool(plan(SECOND)), requests=1.0)
    made = answer(owns, rents, kinds=[OWN])
    made.__dict__.update(typed=Typed(), verdict=Verdict(made.decision))
    made.verdict.__dict__["odds"] = SimpleNamespace(chance=0.75, confident=None)
    owned_share, rented_share = made.details()["shares"]
    assert owned_share["runner_up"]["hardware"] == "third-chip"
    assert rented_share["runner_up"] is None
    assert [share["limits_hold_percent"] for share in (owned_share, rented_share)] == [None, 75]
    assert [share["owned_chips"] for share in (owned_share, rented_share)] == [8, None]
    assert [share["chips_left"] for share in (owned_share, rented_share)] == [6, 0]
    # A plan of one allocation has its decision outside.
    alone = answer(part(pool(plan(), plan(third))))
    alone.__dict__.update(typed=Typed(), verdict=Verdict(alone.decision))
    (share,) = alone.details()["shares"]
    assert "runner_up" not in share
    assert alone.details()["runner_up"]["hardware"] == "third-chip"


@every("rate,label", [(2.0, "$ per month"), (None, "$/Mtok, prompts and output")])
def test_a_chart_without_a_rate_has_prices_per_token(rate, label):
    service = replace(SERVICE, rate=rate)
    made = answer(part(pool(plan(), plan(SECOND), service=service)), service=service)
    chart = made.charts["plan"]()
    (panel,) = chart.panels
    assert panel.across.label == label
    assert panel.upward.label == "ms between tokens, in traffic"
    assert [series.name for series in panel.series] == ["2 x made-up-chip", "2 x second-chip"]


WAITS = replace(SERVICE, share=0.99, tariff=API)
"""Requests that arrive at random, next to an API."""


def weighted(made):
    return [
        (note.weight, as_flags(note.text))
        for note in notes.notes_of(made, rows_of(made, wide=False))
    ]


def check_notes(found, expected):
    for (weight, text), (expected_weight, start) in zip(found, expected, strict=True):
        assert (weight, text[: len(start)]) == (expected_weight, start)


def test_notes_of_a_fleet_in_their_order(monkeypatch):
    """$5,840 of eight owned chips and $5,256 of two rented: 0.004 x 2,628,000 s are $10,512 per request/s."""
    monkeypatch.setattr(PlanAnswer, "owned_capacity", 3.0)
    service = replace(WAITS, power=9e9)
    owns = part(pool(plan(), service=service), requests=1.0, kind=OWN, chips=8)
    rents = part(pool(plan(SECOND), plan(UNPRICED, cost=99.0), service=service), requests=1.0)
    made = answer(owns, rents, kinds=[OWN], service=service)
    made.__dict__["grown"] = {"made-up-chip": 3.5}
    made.verdict.odds = SimpleNamespace(chance=0.75, confident=None, relaxed={})
    made.verdict.turns = []
    waits = "percentiles are upper bounds, because utilization is "
    by_text = {text: weight for weight, text in weighted(made)}
    told = {
        "At API prices of $1 (input), $0.1 (cached input) and $3 (output) per million tokens, 2.00 requests/s cost $21,024 per month, and these chips cost $11,096. The chips are "
        "cheaper above 1.06 requests/s (5,548 Mtok per month, ": Weight.API,
        "One more made-up-chip would raise the sustained rate from 2.00 to 3.50 requests/s.": Weight.OWNED,
        "Owning all 8 made-up-chip costs $21,024 per month, or $4.00/Mtok (input and output). ": Weight.OWNED,
        "No TTFT limit is set (--ttft). The plan's p99 TTFT is 500 ms.": Weight.WARNING,
        "Idle: 6 of 8 made-up-chip.": Weight.OWNED,
        "Power including host and cooling of second-chip is not published. Assumed: 2.17 x 1000 W": Weight.POWER,
        "Rented chips: 75% chance of meeting the latency limits.": Weight.ODDS,
        "Rented chips: no plan has a 90% chance of meeting the limits (--confidence 90).": Weight.ODDS,
        "Rented chips: no tipping points: fewer than two chips with colocated prefill": Weight.TIPPING_POINT,
        "TPOT includes prefill of other requests between two tokens; TTFT and TPOT are p99": 0,
        "Disaggregated prefill: ": 0,
        "Quantization may reduce quality; --weights and --kv set the formats.": 0,
        f"Owned made-up-chip: {waits}": 0,
        f"Rented second-chip: {waits}": 0,
        "Second-best chip: unpriced-chip, 9.90 times the cost: 2 chips.": Weight.NEXT_CHIP,
        "Best of 0 deployments: ": 0,
        "The heads of made-up-model are not published": Weight.WARNING,
    }  # fmt: skip
    for start, weight in told.items():
        found = [own for text, own in by_text.items() if text.lower().startswith(start.lower())]
        assert found == [weight], start
    assert len(by_text) == len(told)


def test_notes_of_a_mix_in_their_order(served):
    """Eight chips of a node, of which two serve, and two more: $21,024 + $5,256."""
    node = pool(plan(node_chips=8, values={"chips": 8.0}), service=WAITS)
    pools = [node, pool(plan(SECOND), service=WAITS)]
    on_one_chip = [pool(plan(SECOND, values={"chips": 11.0}), classes=TWO)]
    mix = part(*pools, one_each=[pool(), pool()], on_one_chip=on_one_chip)
    made = answer(mix, classes=TWO, service=WAITS)
    made.__dict__.update(grown={}, served=[served(ttft=0.75)])
    waits = "percentiles are upper bounds, because utilization is "
    check_notes(
        weighted(made),
        [
            (Weight.OVER_LIMITS, "Pool 2, chat: p99 TTFT is 750 ms, above the limit of 500 ms."),
            (Weight.API, "At API prices of $1 (input), $0.1 (cached input) and $3 (output) per million tokens, 2.00 requests/s cost $21,024 per month, and these chips cost $26,280. The chips are "
            "cheaper above 2.50 requests/s"),
            (Weight.SHARING, "With one chip type, second-chip: 11 chips, $28,908 per month, $2,628 (10%) more."),
            (Weight.SHARING, "No replica meets the limits of all classes together."),
            (Weight.WARNING, "No TTFT limit is set (--ttft). The plan's p99 TTFT is 500 ms."),
            (Weight.QUEUE, f"Pool 1: {waits}"),
            (Weight.OWNED, "6 made-up-chip are idle, because only whole nodes are rented."),
            (Weight.QUEUE, f"Pool 2: {waits}"),
            (0, "TPOT includes prefill of other requests between two tokens"),
            (0, "Disaggregated prefill: "),
            (0, "Quantization may reduce quality"),
            (Weight.WARNING, "The heads of made-up-model are not published"),
        ],
    )  # fmt: skip
    # Chips that are owned are idle for no price, and say so otherwise.
    owned_node = part(node, kind=OWN, chips=8)
    made = answer(owned_node, classes=TWO, service=WAITS, kinds=[OWN])
    made.__dict__.update(grown={}, served=[], owned_capacity=3.0)
    texts = [text for _, text in weighted(made)]
    assert not any("are idle" in text for text in texts)
    assert "Idle: 6 of 8 made-up-chip." in texts


@every(
    "has_plans,may_lead,is_narrowed",
    [(False, False, False), (True, False, True), (True, True, False)],
)
def test_owned_chips_are_narrowed_where_they_serve_in_narrower_formats_alone(
    has_plans, may_lead, is_narrowed, monkeypatch
):
    plans = [plan(weights=None if may_lead else "int4")] * has_plans
    asked = replace(SERVICE, any_weights=False)
    monkeypatch.setattr(OwnedChips, "filled", lambda *_: decision(*plans, service=asked))
    search = SimpleNamespace(is_of_one_class=True)
    assert replace(OWN, search=search).is_narrowed(asked) is is_narrowed
    # One plan that may lead is enough.
    both = [plan(SECOND), plan(weights="int4")]
    monkeypatch.setattr(OwnedChips, "filled", lambda *_: decision(*both, service=asked))
    assert not replace(OWN, search=search).is_narrowed(asked)
    several = SimpleNamespace(is_of_one_class=False)
    assert not replace(OWN, search=several).is_narrowed(asked)


def cells_of(made, *, wide):
    table, *_ = page_tables.tables_of(made, rows_of(made, wide=wide), Screen(300, wide=wide))
    headings = [" ".join(lines).strip() for lines in table.headings]
    return headings, [dict(zip(headings, row, strict=True)) for row in table.rows]


def test_pools_are_told_apart_by_owner_and_model(monkeypatch):
    """A column of owners where some chips are owned, and of models where there are several."""
    owns = part(pool(), kind=OWN, chips=8)
    rents = part(pool(plan(SECOND)))
    for kinds, models, has_owners, has_models in (
        ([OWN], ["m"], True, False), ([], ["m", "n"], False, True), ([], ["m"], False, False)
    ):  # fmt: skip
        parts = (owns, rents) if kinds else (rents, rents)
        made = answer(*parts, kinds=kinds, classes=TWO)
        made.__dict__.update(models=models, typed=Typed(), served=[])
        headings, rows = cells_of(made, wide=False)
        assert ("model" in headings) is has_models
        owners = [row[name] for row in rows for name in row if row[name] in ("owned", "rented")]
        assert owners == (["owned", "rented"] if has_owners else [])
        assert [row["pool"] for row in rows] == ["1", "2"]
        assert [row["chip"] for row in rows] == [
            "made-up-chip" if kinds else "second-chip",
            "second-chip",
        ]
        assert [record["rank"] for record in made.records()] == [1, 2]
        tables = page_tables.tables_of(made, rows_of(made, wide=False), Screen(300))
        assert len(tables) == 2


@every("kind,sentence", [(OWN, "with --own made-up-chip=4"), (None, "with --max-chips 4")])
def test_more_chips_of_a_kind_that_is_owned_are_owned(kind, sentence):
    """What no deployment serves would be served by four chips, owned or rented."""
    unserved = ReplicaPool(ONE, decision(candidates=3, relaxed={"chips": 4.0}))
    refused = part(unserved=(unserved,), kind=kind, chips=2)
    assert as_flags(refusal.refusal_of(refused)).endswith(sentence)
    mixed = part(kind=kind, chips=2, needed={"chips": 4.0})
    fleet = SimpleNamespace(service=SERVICE, used=lambda _: 0.0)
    assert said(refusal._mix_reasons(fleet, mixed)) == [f"all classes together would {sentence}"]


IN_NODES = made_up.clocked(id="noded-chip", node={"name": "n", "chips": 8})
WHOLE = replace(SERVICE, in_nodes=True)


def sized(replicas, chip=IN_NODES):
    """Replicas of two chips each, for a dollar of cost per chip."""
    chips = 2.0 * replicas
    made = plan(
        chip, layout=Layout(tp=2), replicas=float(replicas), values={"chips": chips}, cost=chips
    )
    return pool(made, service=WHOLE)


@every(
    "replicas,chips",
    [
        # Four replicas fill a node, and five take a second, of which the last pool has the rest.
        ((3, 1), [6, 2]),
        ((3, 2), [6, 10]),
        ((1, 1, 1), [2, 2, 4]),
        ((4,), [8]),
        ((5,), [16]),
    ],
)
def test_pools_share_nodes_and_the_last_has_their_idle_chips(replicas, chips):
    pools = in_shared_nodes([*map(sized, replicas)])
    assert [one.chips for one in pools] == chips
    assert [one.cost for one in pools] == chips
    assert {one.plan.node_chips for one in pools} == {8}
    # Chips without nodes are counted one by one, whatever stands between them.
    mixed = in_shared_nodes([sized(3), sized(1, SECOND), sized(2)])
    assert [one.chips for one in mixed] == [6, 2, 10]
    assert mixed[1].plan.node_chips == 1


def test_pools_sustain_what_the_first_to_be_full_does():
    """5 of 2 requests/s in one pool, and 6 of 3 in the other: twice as much of all five."""
    services = (replace(SERVICE, rate=2.0), replace(SERVICE, rate=3.0))
    pools = [
        pool(plan(requests=most), service=asked)
        for most, asked in zip((5.0, 6.0), services, strict=True)
    ]
    both = Sharing(tuple(pools), None, None, ())
    assert (both.rate, both.requests) == (5.0, 10.0)
    assert (Sharing((), None, None, ()).rate, Sharing((), None, None, ()).requests) == (0.0, 0.0)


@every(
    "plans,servers",
    [
        ([(4, 3), (2, 5)], [2, 0]),
        ([(4, 1), (2, 5)], [1, 2]),
        ([(2, 1), (2, 1), (4, 1)], [1, 1, 1]),
        # A server over two hosts fills each of them; other chips are in other hosts.
        ([(16, 2), (1, 1)], [1, 0]),
        ([(4, 1), (2, 5, SECOND), (4, 3)], [1, 0, 1]),
    ],
)
def test_a_host_of_eight_chips_starts_servers_of_the_first_pools(plans, servers):
    made = [
        plan(chip[0] if chip else None, layout=Layout(tp=tp), replicas=float(count))
        for tp, count, *chip in plans
    ]
    found = script._pools_on_host(made)
    assert [(each.index, each.servers) for each in found] == [*enumerate(servers, 1)]


def test_a_script_of_several_pools_tells_them_apart(monkeypatch):
    """One pool has a script of its own; of several each is told its number and its servers."""
    monkeypatch.setattr(script, "script", lambda *known: f"section {known[-1] and known[-1].index}")
    monkeypatch.setattr(script, "commands_of", lambda *_: [])
    one, two = answer(part(pool())), answer(part(pool(), pool()), classes=TWO)
    for made in (one, two):
        made.__dict__.update(typed=Typed(), served=[])
    assert script.scripts(one, "vllm") == "section None"
    assert script.scripts(two, "vllm").splitlines() == [
        "# 2 pools: run this on each host, with the number of its servers of pool 1 as SERVERS_1, of "
        "pool 2 as SERVERS_2 and so on (0 if it has none)",
        "chip=0 port=8000", "", "section 1", "section 2", "wait",
    ]  # fmt: skip


def test_first_tokens_of_each_class_of_a_pool():
    """Those of pool 2 alone; without a percentile of one class, none is told."""
    times = SimpleNamespace(ttft=SimpleNamespace(percentiles=[0.1, 0.25]))
    known = SimpleNamespace(request_class=TWO[0], pool=2, percentiles=times)
    other = SimpleNamespace(request_class=TWO[1], pool=1, percentiles=times)
    unknown = SimpleNamespace(request_class=TWO[1], pool=2, percentiles=None)
    told = script._first_tokens(SimpleNamespace(served=[other, known]), 2)
    assert told == " of 99% within: chat 250 ms"
    assert script._first_tokens(SimpleNamespace(served=[known, unknown]), 2) is None


@every(
    "node,chips,cost,changes,is_told",
    [
        (8, 8.0, 0.5, {}, True),
        (8, 8.0, 0.51, {}, False),  # more than half
        (8, 8.0, None, {}, False),
        (8, 16.0, 0.5, {}, False),  # two nodes
        (1, 1.0, 0.5, {}, False),
        (8, 8.0, 0.5, {"in_nodes": False}, False),
        (8, 8.0, 0.5, {"rate": None}, False),
    ],
)
def test_single_chips_are_worth_a_line_where_half_of_a_node_is_enough(
    node, chips, cost, changes, is_told, monkeypatch
):
    service = replace(WHOLE, **changes)
    chosen = plan(IN_NODES, node_chips=node, values={"chips": chips}, cost=8.0)
    smaller = plan(IN_NODES, values={"chips": 3.0}, cost=8.0 * (cost or 1.0))
    asked = []

    def decide(grids, service, *, shown):
        asked.append((grids, service.in_nodes, shown))
        return SimpleNamespace(plans=[smaller] if cost else [])

    monkeypatch.setattr(notes, "decide", decide)
    found = decision(chosen, service=service)
    monkeypatch.setattr(type(found), "grids_to_lead", lambda _, grids, chip: [*grids, chip])
    told = [*notes.single_chip_notes(found, ["grid"])]
    assert [as_flags(note.text) for note in told] == [
        "With --by chip, single noded-chip chips would be enough: 3 chips, $7,884 per month."
    ] * is_told
    assert all(one == (["grid", "noded-chip"], False, 0) for one in asked)
    assert [*notes.single_chip_notes(found, [])] == []


@every(
    "changes,words",
    [
        # Evenly spaced requests without a queue, and random ones with a percentile.
        ({}, ["between two tokens; TTFT assumes evenly", "Disaggregated", "Quantization"]),
        ({"output": 1.0}, ["one decode step at that batch", "Disaggregated", "Quantization"]),
        ({"share": 0.9}, ["TTFT and TPOT are p90", "the p90 waits of the prefill and decode queues", "Quantization"]),
        ({"share": 0.99, "tpot": 0.02}, ["are p99", "must also be met at full batch", "the p99 waits", "Quantization"]),
        ({"tpot": 0.02}, ["evenly", "Disaggregated", "Quantization"]),
        # A cap of utilization, where there is a load.
        ({"utilization": 0.8}, ["evenly", "80% (--load), as headroom for Poisson arrivals", "Disaggregated", "Quantization"]),
        ({"utilization": 0.8, "share": 0.9}, ["are p90", "80% (--load); percentile estimates are valid up to 85%", "p90 waits", "Quantization"]),
        ({"utilization": 0.8, "rate": None}, ["evenly", "Disaggregated", "Quantization"]),
        ({"utilization": 0.8, "rate": None, "is_fleet": True}, ["evenly", "80% (--load)", "Disaggregated", "Quantization"]),
    ],
)  # fmt: skip
def test_what_the_latencies_of_a_plan_are(changes, words):
    told = [as_flags(text) for text in latency_notes.service_notes(replace(SERVICE, **changes))]
    for text, word in zip(told, words, strict=True):
        assert word.lower() in text.lower()
    (queues,) = (text for text in told if text.startswith("disaggregated"))
    assert ("waits of the prefill and decode queues" in queues) is ("share" in changes)


@every(
    "cost,chance,deviations,words",
    [
        # As cheap as at expected speeds: nothing is to be told.
        (10.0, 0.6, 1.0, None),
        # One deviation is 84.1%: less is short of it, and more is what is asked for.
        (20.0, 0.6, 1.0, "60%"),
        (20.0, 0.84, 1.0, "84%"),
        (20.0, 0.85, 1.0, "85%. More chips keep utilization within 80% at slow speeds as well"),
        # Above three times the cost the limit to relax is named, too.
        (30.0, 0.6, 1.0, "60%"),
        (
            30.1,
            0.6,
            1.0,
            "60%. With --ttft 1.5s, the requested chance costs at most 3 times as much",
        ),
        (30.1, 0.85, 1.0, "85%. More chips keep utilization within 80% at slow speeds as well"),
    ],
)
def test_why_a_confidence_takes_more_chips(cost, chance, deviations, words):
    """The plan at expected speeds has two chips and costs 10."""
    service = replace(SERVICE, deviations=deviations, utilization=0.8)
    found = decision(plan(SECOND, cost=cost), service=service, expected=decision(plan(cost=10.0)))
    odds = SimpleNamespace(chance=chance, confident=None, relaxed={"ttft": 1.5})
    notes = [*answer_regret.odds_notes(SimpleNamespace(odds=odds, decision=found))]
    assert len(notes) == (words is not None)
    for note in notes:
        text = as_flags(note.written)
        assert text.startswith(
            "sized for expected speeds instead, made-up-chip needs only 2 chips, "
        )
        percent, _, rest = words.partition("%")
        assert text.endswith(f"meets the latency limits with a chance of {percent}%{rest}")
        assert note.weight == Weight.ODDS


def test_chips_that_are_not_owned_sustain_nothing():
    assert answer(part(pool())).owned_capacity == 0.0
