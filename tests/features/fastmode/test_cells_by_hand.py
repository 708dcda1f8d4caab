"""Cells, factors and layouts of fast modes from made-up numbers."""

import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from fastcalc.catalogue.store import Catalogue
from fastcalc.core.outcome import solve
from fastcalc.core.placement.layout import Layout
from fastcalc.core.scenario import Sharding
from fastcalc.errors import InputError
from fastcalc.features.fastmode import factors, records, run, sentences
from fastcalc.features.fastmode.combined import ModelOnChip, _Way
from fastcalc.features.fastmode.option import Option
from fastcalc.features.fastmode.records import Trial
from fastcalc.features.fastmode.request import Fastmode
from fastcalc.features.fastmode.smaller_batches import textbook
from fastcalc.features.fastmode.smaller_models import _with_fewer_layers, _with_thinner_ffn
from fastcalc.features.fastmode.solve import fastmode
from fastcalc.features.fastmode.start import Base, most_chips
from fastcalc.features.fastmode.waterfall import Factor
from fastcalc.mentions import as_flags
from tests import made_up
from tests.helpers import every, outcome

ENTRIES = Catalogue()


def clocked(*, batch=1, chips=1, model=None):
    return outcome(
        model or made_up.minimal(),
        made_up.clocked(),
        engine=made_up.CLOCK,
        prompt=1,
        output=1,
        batch=(batch,),
        sharding=Sharding(chips=chips),
    )


@every(
    "trick,batch_ratio,name",
    [
        ("smaller-batch", 0.5, "larger batch"),
        ("smaller-batch", 1.0, "smaller batch"),
        ("smaller-batch", 2.0, "smaller batch"),
        ("smaller-batch", None, "smaller batch"),
        ("more-chips", 0.5, "more chips"),
        ("fewer-bits", 2.0, "quantization"),
        ("today", 1.0, "today"),
    ],
)
def test_a_smaller_batch_is_larger_at_a_lower_speed(trick, batch_ratio, name):
    assert records.trick_cell({"trick": trick, "batch_ratio": batch_ratio}) == name


ROW = {
    "trick": "more-chips", "change": "tp2", "changes_answers": False, "cannot": None,
    "usd_per_mtok_output": 1.0, "limiter": "memory", "cost_multiple": 2.0,
}  # fmt: skip


@every(
    "changes,wide,short",
    [
        ({}, "tp2; memory", "tp2"),
        ({"changes_answers": True}, "tp2 *; memory", "tp2 *"),
        ({"usd_per_mtok_output": None}, "tp2; memory; no price", "tp2"),
        # A price of nothing is a price.
        ({"usd_per_mtok_output": 0.0}, "tp2; memory", "tp2"),
        ({"change": None}, "memory", "-"),
        ({"cannot": "too slow"}, "not enough: tp2, too slow", "tp2"),
        ({"cannot": "too slow", "change": None}, "not enough: too slow", "-"),
        ({"trick": "today", "change": None}, "memory", "none (memory-bound)"),
    ],
)
def test_how_a_speed_is_reached(changes, wide, short):
    record = ROW | changes
    assert (records._how(record), records._how_in_short(record)) == (wide, short)


def test_a_cost_multiple_without_a_price_is_a_dash():
    assert factors.cost_multiple_cell({"cost_multiple": None}) == "-"
    assert factors.cost_multiple_cell({"cost_multiple": 0.0}) != "-"
    assert factors.cost_multiple_cell({"cost_multiple": 2.0}) == "2.00x"


def factor(speedup=2.0, cost=1.5, trick="layout", batches=(8, 8), chips=(1, 1)):
    points = [
        SimpleNamespace(
            placement=SimpleNamespace(layout=SimpleNamespace(chips=chip)),
            scenario=SimpleNamespace(batches=(batch,)),
        )
        for batch, chip in zip(batches, chips, strict=True)
    ]
    return SimpleNamespace(
        speedup=speedup, cost_multiple=cost, trick=trick, before=points[0], after=points[1]
    )


@every(
    "several,words",
    [
        ([factor()], "2.00x = 2.00 (layout); cost 1.50x"),
        ([factor(), factor(1.5, 2.0, "batch")], "3.00x = 2.00 (layout) x 1.50 (batch); cost 3.00x"),
        ([factor(), factor(1.5, None, "bits")], "3.00x = 2.00 (layout) x 1.50 (quantization)"),
        ([factor(cost=0.5)], "2.00x = 2.00 (layout); cost 0.50x"),
    ],
)
def test_factors_are_multiplied(several, words):
    assert factors.product(several) == words


@every(
    "changes,words",
    [
        ({}, "layout"),
        ({"chips": (1, 2)}, "2 chips instead of 1"),
        ({"chips": (2, 1)}, "1 chip instead of 2"),
        ({"trick": "batch", "batches": (1000, 4)}, "batch 4 instead of 1,000"),
        ({"trick": "batch", "batches": (4, 4), "chips": (1, 2)}, "batch"),
        ({"trick": "drafts + bits", "batches": (8, 4)}, "draft tokens + quantization"),
        (
            {"trick": "layout + batch", "batches": (8, 4), "chips": (1, 2)},
            "2 chips instead of 1 + batch 4 instead of 8",
        ),
    ],
)
def test_a_factor_says_which_numbers_change(changes, words):
    assert factors._in_words(factor(**changes)) == words


def point(layout="tp1", batches=(8,), speed=1.0, usd=2.0):
    return SimpleNamespace(
        placement=SimpleNamespace(layout=layout),
        scenario=SimpleNamespace(batches=batches),
        estimate=SimpleNamespace(speed=np.array([speed])),
        usd=usd and (None, np.array([usd])),
    )


@every(
    "trick,after,is_change",
    [
        ("layout", {}, False),
        ("batch", {}, False),
        ("layout", {"layout": "tp2"}, True),
        ("batch", {"batches": (4,)}, True),
        ("layout + batch", {}, True),
        ("machine", {}, True),
    ],
)
def test_a_layout_or_batch_that_stays_is_no_factor(trick, after, is_change):
    step = Factor(trick, "", point(), point(**after), "fitted", "")
    assert step.changes_anything is is_change


def test_a_factor_is_what_comes_after_over_what_was_before():
    step = Factor("batch", "", point(speed=10.0), point(speed=25.0, usd=6.0), "fitted", "")
    assert (step.speedup, step.cost_multiple) == (2.5, 3.0)
    for before, after in ((None, 6.0), (2.0, None)):
        assert replace(step, before=point(usd=before), after=point(usd=after)).cost_multiple is None


def ends(speed, usd, trick="more-chips", low=None, reached=True):
    """An option whose range is from half to twice of a speed, next to 10 tokens/s for 2 USD."""
    ranged = tuple(np.array([each]) for each in (speed, speed / 2, speed * 2))
    certain = tuple(np.array([10.0]) for _ in range(3))
    outcome_ = SimpleNamespace(estimate=SimpleNamespace(ranged_speed=records.Ranged(*ranged)))
    today = SimpleNamespace(estimate=SimpleNamespace(ranged_speed=records.Ranged(*certain)))
    solution = SimpleNamespace(today=today, speed=25.0, same_answers=[])
    row = {"usd_per_mtok_output": usd, "tokens_per_s_per_user_low": low, "batch": 4}
    return Trial(
        solution, Option(trick, "", outcome_ if reached else None), row,
        {"usd_per_mtok_output": 2.0, "batch": 16},
    )  # fmt: skip


def test_a_slow_end_costs_more():
    """20 tokens/s of 10, from 10 to 40, at 6 USD of 2: three times, from 1.5 to six times."""
    trial = ends(20.0, 6.0)
    assert [trial.speedup_end(end) for end in (1, 2)] == pytest.approx([1.0, 4.0])
    assert [trial.cost_multiple_end(end) for end in (1, 2)] == pytest.approx([1.5, 6.0])
    assert (trial.batch_ratio, trial.reaches, trial.changes_answers) == (4.0, True, True)


def test_what_has_no_price_or_reaches_nothing_has_no_ends():
    assert ends(20.0, None).cost_multiple_end(1) is None
    for trial in (ends(20.0, 6.0, "today"), ends(20.0, 6.0, reached=False)):
        assert (trial.reaches, trial.changes_answers) == (False, False)
        assert (trial.speedup_end(1), trial.cost_multiple_end(2)) == (None, None)


@every("low,reaches", [(None, None), (24.9, False), (25.0, True), (26.0, True)])
def test_the_low_end_reaches_a_speed_that_it_just_has(low, reaches):
    assert ends(20.0, 6.0, low=low).low_end_reaches is reaches


@every(
    "above,below,ratio", [(6, 2, 3.0), (None, 2, None), (6, None, None), (6, 0, None), (0, 2, 0)]
)
def test_ratios_of_known_numbers(above, below, ratio):
    assert records._ratio({"a": above}, {"a": below}, "a") == ratio


def made(**changes):
    """A record of `rows`, of which the law of batches has its numbers."""
    usual = {
        "speedup": 2.0, "batch_ratio": 8.0, "cost_multiple": 4.0, "batch": 4,
        "cost_multiple_total": None,
    }  # fmt: skip
    return usual | changes


@every(
    "changes,end",
    [
        (
            {},
            "32 / (4 x 2.00) = 4.00, at the same utilization",
        ),
        # Without a price the cost is that of the law.
        (
            {"cost_multiple": None, "speedup": 4.0},
            "32 / (4 x 4.00) = 2.00, at the same utilization",
        ),
        ({"cost_multiple_total": 1.5}, "a token costs 1.50 times as much, and twice that if the "),
    ],
)
def test_the_law_of_batches_in_numbers(changes, end, monkeypatch):
    monkeypatch.setattr(sentences, "rows", lambda *_: [made(batch=32), made(**changes)])
    options = [Option("more-chips", "", "x"), Option("smaller-batch", "", "x")]
    assert end in sentences.law_of_batches(SimpleNamespace(options=options))


def test_the_law_of_batches_without_a_batch():
    said = sentences.law_of_batches(SimpleNamespace(options=[Option("smaller-batch", "")]))
    assert said.endswith(". Here, no batch is fast enough")


@every(
    "reaching,named",
    [
        ((True, False, None), "only quantization (fp8) still reach it"),
        ((False, None, True), "only larger batch still reach it"),
        ((True, True, True), "only quantization (fp8), more chips, larger batch still reach it"),
        ((None, False, False), "none of them reaches it"),
    ],
)
def test_options_whose_low_end_reaches_the_speed_are_named(reaching, named, monkeypatch):
    options = [
        Option("fewer-bits", "fp8"),
        Option("more-chips", "tp2"),
        Option("smaller-batch", ""),
    ]
    listed = [
        {"trick": option.trick, "batch_ratio": 0.5, "low_end_reaches": is_low}
        for option, is_low in zip(options, reaching, strict=True)
    ]
    monkeypatch.setattr(sentences, "rows", lambda *_: [{}, *listed])
    said = sentences.low_end(SimpleNamespace(reached=["x"]), options)
    assert said.endswith(f"low end of the 80% range, {named}")


@every(
    "trick,change,tricks,record,technique,cost",
    [
        ("more-chips", "tp2", 1, {}, "more chips (tp2)", "at 2.00x today's cost"),
        ("more-chips", "", 1, {}, "more chips", "at 2.00x today's cost"),
        ("smaller-batch", "", 1, {}, "a smaller batch", "at 2.00x today's cost"),
        ("newer-hardware", "b200", 1, {}, "b200", "at 2.00x today's cost"),
        ("two-tricks", "b200 + fp8", 2, {}, "b200 + fp8", "at 2.00x today's cost"),
        ("more-chips", "tp2", 1, {"cost_multiple": None}, "more chips (tp2)", "without a known price"),
        # Today's chips have no price, but others may.
        (
            "newer-hardware", "b200", 1, {"cost_multiple": None, "usd_per_mtok_output": 0.022},
            "b200", "at $0.022/Mtok",
        ),
        (
            "more-chips", "", 1, {"cost_multiple_low": 1.5, "cost_multiple_high": 3.0},
            "more chips", "at 2.00x today's cost (80% range 1.5 to 3.0)",
        ),
    ],
)  # fmt: skip
def test_an_option_and_its_cost_in_words(
    trick, change, tricks, record, technique, cost, monkeypatch
):
    usual = (
        {"trick": trick, "batch_ratio": 2.0, "cost_multiple": 2.0}
        | dict.fromkeys(("cost_multiple_low", "cost_multiple_high", "usd_per_mtok_output"))
        | {"undetermined": [], "low_confidence": []}
    )
    monkeypatch.setattr(sentences, "rows", lambda *_: [{}, usual | record])
    found = sentences._means_and_cost(None, Option(trick, change, tricks=tricks))
    assert found == (technique, cost)


@every("today,tried", [((1, 8), 8), ((2, 8), 16), ((1, 4), 8), ((1, 72), 72), ((16, 72), 128)])
def test_eight_times_as_many_chips_are_tried_or_a_domain(today, tried, monkeypatch):
    chips, domain = today
    monkeypatch.setattr("fastcalc.features.fastmode.start.link_domain", lambda _: domain)
    now = SimpleNamespace(
        placement=SimpleNamespace(layout=Layout(tp=chips)), scenario=SimpleNamespace(hardware=None)
    )
    assert most_chips(now) == tried
    space = SimpleNamespace(up_to=lambda most: [Layout(tp=tp) for tp in (1, 2, 4, most)])
    beyond = Base.beyond_today(SimpleNamespace(layout=Layout(tp=chips), today=now), space)
    assert [layout.chips for layout in beyond] == [n for n in (1, 2, 4, tried) if n > chips]


def test_other_layouts_on_as_many_chips_and_fewer_each_once():
    layouts = [Layout(), Layout(tp=2), Layout(pp=2)]
    base = SimpleNamespace(
        layout=layouts[1],
        space=SimpleNamespace(
            up_to=lambda chips: layouts[:chips], cuts=lambda chips: layouts[chips - 2 :]
        ),
    )
    assert Base.up_to_today(base) == [layouts[0], layouts[2]]


@every(
    "models,is_own,may",
    [(None, True, True), (None, False, False), ([], False, False), (["m"], False, True)],
)
def test_models_that_keep_the_answers_are_todays_or_named(models, is_own, may):
    own, other = made_up.minimal(), made_up.minimal()
    base = SimpleNamespace(scenario=SimpleNamespace(model=own), models=models)
    assert Base.may_take(base, own if is_own else other) is may
    assert Base.keeps_model.fget(base) is (models == [])


@every(
    "released,sizes,taken",
    [
        # As new and as large in total is enough; fewer active parameters are needed.
        (("2025-01", "2025-01"), (1000, 299), True),
        (("2025-01", "2025-02"), (1000, 299), True),
        (("2025-01", "2024-12"), (1000, 299), False),
        (("2025-01", "2025-01"), (1001, 299), False),
        (("2025-01", "2025-01"), (1000, 300), False),
        ((None, None), (1000, 299), True),
        (("2025-01", None), (1000, 299), False),
    ],
)
def test_smaller_models_of_a_family(released, sizes, taken, monkeypatch):
    monkeypatch.setattr("fastcalc.features.fastmode.start.workload", lambda model: model)
    total, active = sizes
    other = SimpleNamespace(released=released[1], total_parameters=total, active_parameters=active)
    entries = SimpleNamespace(names=lambda _: ["glm-1", "glm-2", "qwen-2"], model=lambda _: other)
    base = SimpleNamespace(
        scenario=SimpleNamespace(model=SimpleNamespace(id="glm-1", released=released[0])),
        today=SimpleNamespace(placement=SimpleNamespace(
            work=SimpleNamespace(total_parameters=1000, active_parameters=300)
        )),
        models=None, catalogue=entries,
    )  # fmt: skip
    assert Base.smaller.func(base) == [other] * taken


@every("fraction,width,shared", [(0.5, 50, 20), (0.25, 25, 10), (0.001, 1, 0), (0.99, 99, 40)])
def test_thinner_layers_keep_a_column(fraction, width, shared):
    block = {
        "count": 1, "attention": {"kind": "gqa", "heads": 4, "kv_heads": 2, "head_dim": 16},
        "ffn": {
            "kind": "moe", "experts": 4, "active_experts": 1, "width": 100, "shared_width": 40,
        },
    }  # fmt: skip
    model = _with_thinner_ffn(made_up.blocks(blocks=[block]), fraction)
    ffn = model.blocks[0].ffn
    assert (ffn.width, ffn.shared_width, model.hypothetical) == (width, shared, True)
    dense = _with_thinner_ffn(made_up.blocks(), fraction).blocks[0].ffn
    assert dense.width == max(round(128 * fraction), 1)


@every("fraction,layers", [(0.5, 5), (0.04, 1), (0.26, 3)])
def test_fewer_layers_are_one_at_least(fraction, layers):
    assert _with_fewer_layers(made_up.blocks(layers=10), fraction).blocks[0].count == layers
    shrunk = _with_fewer_layers(made_up.minimal(), fraction)
    assert shrunk.layers == layers
    assert shrunk.total_parameters.si == pytest.approx(500_000 * fraction)
    assert shrunk.kv_bytes_per_token.si == pytest.approx(fraction)
    assert shrunk.hypothetical


def test_a_textbook_step_takes_its_floor():
    """A floor of 20 ms over ten layers, and 0.01 ms of work: 49.98 tokens/s."""
    slow = solve(textbook(clocked().scenario, 0.02))
    assert float(slow.estimate.speed[0]) == pytest.approx(1 / 0.02001, rel=1e-5)
    assert not slow.scenario.engine_is_borrowed


@every(
    "changes,drafts,bits,tricks,keeps",
    [
        ((), 0, False, 0, True),
        ((), 3, False, 1, True),
        (("b200",), 0, False, 1, True),
        (("b200", "fewest bits"), 1, True, 3, False),
    ],
)
def test_techniques_of_a_combination_are_counted(changes, drafts, bits, tricks, keeps):
    on_chip = SimpleNamespace(
        changes=changes, in_fewest_bits=bits, scenario=SimpleNamespace(model="m")
    )
    way = _Way(1.0, 1.0, on_chip, drafts)
    assert way.tricks == tricks
    assert way.keeps_answers(SimpleNamespace(may_take=lambda _: True)) is keeps
    assert not way.keeps_answers(SimpleNamespace(may_take=lambda _: False))


def test_draft_tokens_are_named_after_the_other_changes():
    on_chip = SimpleNamespace(changes=("b200", "fp8"), scenario=clocked().scenario)
    assert ModelOnChip.with_drafts(on_chip, 0) == ("b200 + fp8", on_chip.scenario)
    words, drafted = ModelOnChip.with_drafts(on_chip, 2)
    assert words == "b200 + fp8 + 2 draft tokens"
    speculation = drafted.traffic.speculation
    assert (speculation.tokens_per_pass, speculation.drafted) == (2.58, 2.0)


@every(
    "given,refused",
    [
        ({}, ""),
        ({"speedup": 2.0}, ""),
        ({"curve": True}, ""),
        ({"curve": True, "batch": "8"}, "--curve tries every start and every layout: remove --batch"),
        ({"curve": True, "dp": 2}, "--curve tries every start and every layout: remove --dp"),
        ({"curve": True, "to_speed": 90.0}, "--curve tries every start and every layout: remove --to-speed"),
        ({"from_speed": 50.0, "batch": "8"}, "--batch and --from-speed both set the start; give one"),
        ({"from_speed": 50.0}, ""),
        ({"speedup": 2.0, "to_speed": 90.0}, "--speedup and --to-speed both set the target; give one"),
        ({"speedup": 0.0}, "--speedup 0 is not a number from 1e-12 to 1e+09; write for example 2.5"),
        ({"from_speed": 0.0}, "--from-speed 0 is not a number from 1e-12 to 1e+09; write for example 50"),
        ({"to_speed": 0.0}, "--to-speed 0 is not a number from 1e-12 to 1e+09; write for example 150"),
        ({"cost": 0.0}, "--cost 0 is not a number from 1e-12 to 1e+09; write for example 6"),
    ],
)  # fmt: skip
def test_what_cannot_be_asked_of_a_fast_mode(given, refused):
    request = Fastmode(model="m", on="h", **given)
    if not refused:
        return run._check(request)
    with pytest.raises(InputError) as error:
        run._check(request)
    assert as_flags(error.value.args[0]) == refused
    return None


@every(
    "chips,batch,refused",
    [
        (1, 100_000, None),
        (
            1,
            400_000,
            "does not fit 1 made-up-chip chip, which fits at most 125,000: 1.8 MB does not fit (1.25 MB usable per chip); ",
        ),
        (
            2,
            4_000_000,
            "does not fit 2 made-up-chip chips, which fit at most 750,000: each of 2 chips needs 4.5 MB, more than the 1.25 MB usable; ",
        ),
    ],
)
def test_a_batch_that_does_not_fit_is_refused(chips, batch, refused):
    """Two bytes for a sequence: 0.25 MB besides the weights, and 1.5 MB on two chips."""
    small = made_up.clocked(memory=[{"name": "M", "capacity": "1.25 MB", "bandwidth": "1000 TB/s"}])
    scenario = replace(
        clocked().scenario, hardware=small, batches=(batch,), sharding=Sharding(chips=chips)
    )
    if refused is None:
        assert solve(scenario).fits
        return
    with pytest.raises(InputError, match=re.escape(refused)) as error:
        fastmode(scenario, 100.0, ENTRIES)
    needed = solve(scenario).min_chips[0]
    assert needed > chips
    assert str(error.value).endswith(f"chips={needed}")
