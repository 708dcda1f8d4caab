"""Several tricks at once are what brute force finds, and the factors of a speed-up multiply up."""

import json
import os
from dataclasses import replace
from math import inf, prod
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from fastcalc.core.outcome import solve
from fastcalc.core.pricing import Pricing
from fastcalc.core.scenario import Scenario, Sharding
from fastcalc.core.smaller_batch import speeds
from fastcalc.core.traffic.traffic import Speculation, Traffic
from fastcalc.features.fastmode.combined import COUNTS, combinations, nearest
from fastcalc.features.fastmode.lighter_passes import (
    PUBLISHED,
    fewer_bits,
    narrower,
    narrowest,
    speculation,
)
from fastcalc.features.fastmode.smaller_models import smaller_models
from fastcalc.features.fastmode.start import Base, with_model
from fastcalc.features.fastmode.waterfall import waterfall
from fastcalc.grid.space import Space
from tests import made_up
from tests.helpers import run_once as run
from tests.strategies import examples, scaled

SMALL = {"capacity": st.floats(0.02, 0.3), "bandwidth": st.floats(0.005, 0.5)}
"""Memory of a random chip: gigabytes and terabytes a second, so that batches stay in hundreds."""


@st.composite
def chips(draw, name, *, priced=True, **more):
    """A chip of a few tens of megabytes, with a rate for narrow formats or none."""
    memory = {"name": "M", "capacity": f"{draw(SMALL['capacity']):.4f} GB"}
    memory["bandwidth"] = f"{draw(SMALL['bandwidth']):.4f} TB/s"
    peak = {"bf16": f"{draw(st.floats(0.05, 5.0)):.3f} TFLOP/s"}
    for narrow in draw(st.sets(st.sampled_from(["fp8", "fp4"]))):
        peak[narrow] = f"{draw(st.floats(0.05, 20.0)):.3f} TFLOP/s"
    price = {"cloud": f"{draw(st.floats(0.5, 50.0)):.2f} USD/h"} if priced else {}
    return made_up.chip(
        id=name, market="datacenter", memory=[memory], peak=peak, price=price, **more
    )


@st.composite
def models(draw, name):
    """A model of some megabytes whose cache takes as much for a hundred sequences."""
    return made_up.minimal(
        id=name,
        total_parameters=draw(st.integers(1_000_000, 20_000_000)),
        layers=draw(st.integers(2, 12)),
        kv_bytes_per_token=draw(st.integers(5_000, 50_000)),
        hidden_size=64,
    )


@st.composite
def bases(draw):
    """A serving point on one of a few chips, and a speed that some way may reach or none."""
    hardware = [
        draw(chips("a")),
        draw(chips("b", links={"scale_up": {"bandwidth": "50 GB/s", "domain": 2}})),
        draw(chips("c", kind="wafer", execution="spatial", priced=draw(st.booleans()))),
    ]
    found = {one.id: one for one in hardware}
    entries = {one.id: one for one in [draw(models("m-1")), draw(models("m-2"))]}
    micro = st.floats(0.0, 300.0).map(lambda value: f"{value:.2f} us")
    engine = made_up.engine(
        decode_layer_floor=draw(micro),
        sequence_overhead=draw(micro),
        compute_fraction=draw(st.floats(0.2, 1.0)),
        bandwidth_fraction=draw(st.floats(0.2, 1.0)),
    )
    catalogue = SimpleNamespace(
        names=lambda kind: list(found if kind == "hardware" else entries),
        mentioning=lambda kind, _: list(found) if kind == "hardware" else [],
        hardware=lambda name: found[name],
        model=lambda name: entries[name],
        engine=lambda _: engine,
    )
    scenario = Scenario(
        found["a"],
        entries[draw(st.sampled_from(list(entries)))],
        engine,
        (draw(st.integers(1, 30)),),
        Traffic(draw(st.sampled_from([100.0, 300.0])), 100.0, 200.0),
        sharding=Sharding(chips=draw(st.sampled_from([None, 1, 2]))),
        pricing=Pricing(utilization=draw(st.sampled_from([1.0, 0.5]))),
    )
    today = solve(scenario)
    assume(today.fits)
    speedup = draw(st.sampled_from([0.7, 1.5, 3.0, 10.0, 100.0]))
    return Base(today, speedup * float(today.estimate.speed[0]), catalogue)


def every_way(base):
    """Yield every combination: how many tricks, what is served, and the layouts it may have."""
    today, chip = base.scenario, base.scenario.hardware.id
    for name in base.catalogue.names("hardware"):
        on = today if name == chip else replace(today, hardware=base.catalogue.hardware(name))
        for model in base.catalogue.names("models"):
            entry = base.catalogue.model(model)
            is_other = entry.id != today.model.id
            if is_other and not entry.total_parameters.si < today.model.total_parameters.si:
                continue
            own = replace(on, model=entry, weights=None, kv=None) if is_other else on
            for bits, scenario in [(0, own), *((1, one) for _, one in narrowest(own))]:
                for drafts, kept in {0: 1.0, **PUBLISHED}.items():
                    drafted = Speculation(kept, float(drafts))
                    traffic = replace(scenario.traffic, speculation=drafted)
                    served = replace(scenario, traffic=traffic)
                    tricks = (name != chip) + is_other + bits + bool(drafts)
                    # A cut is of the traffic before drafts, as their caches may not fit.
                    space = Space(scenario)
                    yield tricks, served, every_layout(base, space)


def every_layout(base, space):
    """Return the layouts of any number of chips, and today's own on the same kind of chip."""
    if space.fewest_chips is None:
        return []
    cut, is_same = base.layout, space.scenario.hardware is base.scenario.hardware
    most = max(space.fewest_chips, cut.chips, space.site.domain)
    if space.site.machine.is_spatial:
        most = 64 * space.fewest_chips
    counts = set(range(space.fewest_chips, most + 1))
    counts |= set(range(1, 8 * cut.chips + 1)) if is_same else set()
    own = [cut, *space.cuts(cut.chips)] if is_same else []
    return [*space.layouts(*sorted(counts)), *own]


def every_row(base):
    """Yield each row of one trick: its trick and change, and what may be served, on which layouts.

    Of speculation the cheapest number of drafts is one row.
    """
    today, cut = base.scenario, base.layout
    space, now = Space(today), cut.chips
    yield "smaller-batch", "", [(today, [cut])]
    fewer = [*space.layouts(*range(1, now + 1)), *space.cuts(now)]
    fewer = [one for one in fewer if one != cut]
    yield "other-layout", "", [(today, fewer)]
    more = range(now + 1, max(8 * now, space.site.domain) + 1)
    yield "more-chips", "", [(today, space.layouts(*more))]
    for name in base.catalogue.names("hardware"):
        if name != today.hardware.id:
            on = replace(today, hardware=base.catalogue.hardware(name))
            yield "machine", name, [(on, every_layout(base, Space(on)))]
    for words, narrow in narrower(today):
        yield "fewer-bits", words, [(narrow, every_layout(base, Space(narrow)))]
    drafted = [
        replace(today, traffic=replace(today.traffic, speculation=Speculation(kept, float(drafts))))
        for drafts, kept in PUBLISHED.items()
    ]
    yield "speculation", "", [(one, every_layout(base, Space(one))) for one in drafted]
    for model in base.smaller:
        other = with_model(today, model)
        yield "smaller-model", model.id, [(other, every_layout(base, Space(other)))]


def least(base, served, layouts):
    """Return the least dollars a million tokens at the speed over every batch, and the fastest."""
    best, fastest = inf, 0.0
    space = Space(served)
    price = served.pricing.per_chip_hour(served.hardware) or 1.0
    for layout in space.holding(layouts):
        placed = space.site.place(layout)
        batch = np.arange(1.0, placed.max_batch + 1.0)
        # As many users on each replica, or one at most.
        batch = batch[(batch <= layout.dp) | (batch % layout.dp == 0)]
        each = speeds(placed, served.traffic, batch)
        fastest = max(fastest, float(each[0]))
        total = np.where(each >= base.speed * (1.0 - 1e-12), batch * each, 0.0).max()
        if total:
            hour = price * layout.chips / served.pricing.utilization
            best = min(best, hour / 3600.0 / total * 1e6)
    return best, fastest


def seconds(outcome):
    """Return a price, or as if an hour of the chip cost a dollar."""
    if outcome.usd is not None:
        return float(outcome.usd[1][0])
    hour = outcome.placement.layout.chips / outcome.scenario.pricing.utilization
    return hour / 3600.0 / float(outcome.estimate.total[0]) * 1e6


@pytest.mark.thorough
@examples(3)
@given(bases())
def test_the_cheapest_combination_is_that_of_brute_force(base):
    """For two tricks, three and four; "no combination" only where brute force has none.

    The cheapest that has a price and today's model is there, too.
    """
    options = combinations(base)
    found = {one.tricks: one for one in reversed(options)}
    wanted = dict.fromkeys(COUNTS, (inf, inf))
    fastest, same = 0.0, inf
    for tricks, served, layouts in every_way(base):
        usd, alone = least(base, served, layouts)
        fastest = max(fastest, alone)
        if tricks in wanted:
            priced, without = wanted[tricks]
            is_priced = served.pricing.per_chip_hour(served.hardware) is not None
            if is_priced and served.model is base.scenario.model:
                same = min(same, usd)
            wanted[tricks] = (
                (min(priced, usd), without) if is_priced else (priced, min(without, usd))
            )
    for tricks, (priced, without) in wanted.items():
        best = priced if priced < inf else without
        outcome = found[tricks].outcome
        if best == inf:
            assert outcome is None
        else:
            assert outcome is not None
            assert seconds(outcome) == pytest.approx(best, rel=1e-9)
            assert float(outcome.estimate.speed[0]) >= base.speed * (1.0 - 1e-9)
            assert (outcome.usd is not None) == (priced < inf)
    kept = [
        one.usd
        for one in options
        if one.usd is not None and one.outcome.scenario.model is base.scenario.model
    ]
    assert min(kept, default=inf) == pytest.approx(same, rel=1e-9)
    assert nearest(base)[0] == pytest.approx(fastest, rel=1e-9)


@pytest.mark.thorough
@settings(max_examples=int(os.environ.get("FASTCALC_REQUESTS", scaled(5))), deadline=None)
@given(bases())
def test_every_row_of_one_trick_is_the_cheapest_of_a_full_sweep(base):
    """Each at the layout, the number of chips and the batch that suit it, or out of reach.

    `FASTCALC_REQUESTS` says how many cases there are: 300 before a release.
    """
    options = base.on_todays_chips() + base.on_other_machines() + fewer_bits(base)
    options += [speculation(base), *smaller_models(base)]
    machines = ("newer-hardware", "other-hardware", "sram-machine")
    known = ("smaller-batch", "other-layout", "more-chips", "speculation")
    rows = {
        (
            "machine" if one.trick in machines else one.trick,
            "" if one.trick in known else one.change,
        ): one
        for one in options
    }
    for trick, change, ways in every_row(base):
        best = min(least(base, served, layouts)[0] for served, layouts in ways)
        outcome = rows[trick, change].outcome
        assert (outcome is None) == (best == inf), (trick, change)
        if outcome is not None:
            assert seconds(outcome) == pytest.approx(best, rel=1e-9), (trick, change)
            assert float(outcome.estimate.speed[0]) >= base.speed * (1.0 - 1e-9)


@pytest.mark.thorough
@examples(4)
@given(bases())
def test_factors_multiply_up_to_the_whole(base):
    for option in combinations(base):
        if option.outcome is None:
            continue
        factors = waterfall(base.today, option.outcome)
        whole = option.outcome.estimate.speed[0] / base.today.estimate.speed[0]
        assert prod(one.speedup for one in factors) == pytest.approx(whole, rel=1e-12)
        costs = [one.cost_multiple for one in factors]
        if None not in costs:
            cost = option.outcome.usd[1][0] / base.today.usd[1][0]
            assert prod(costs) == pytest.approx(cost, rel=1e-12)


@pytest.fixture
def fastcalc(capsys, monkeypatch):
    return lambda *args: run(*args, capsys=capsys, monkeypatch=monkeypatch)


@pytest.mark.thorough
def test_wafers_with_a_smaller_model_are_tried(fastcalc):
    """`compare glm-4.7-flash --on wse-3` has over 1,000 tokens/s, so 718 are not out of reach."""
    asked = ("glm-4.7", "--on", "h100-sxm", "--batch", "16", "--speedup", "15", "--format", "json")
    ran = fastcalc("fastmode", *asked)
    assert ran.code == 0
    document = json.loads(ran.out)
    pair = next(row for row in document["records"] if row["trick"] == "two-tricks")
    assert (pair["hardware"], pair["model"]) == ("wse-3", "glm-4.7-flash")
    assert pair["changes_answers"]
    factors = document["waterfall"]
    assert factors[0]["trick"] == "machine"
    lead = next(
        row
        for row in document["records"]
        if row["trick"] in ("sram-machine", "two-tricks")
        and row["tokens_per_s_per_user"] == factors[-1]["tokens_per_s_per_user"]
    )
    assert not lead["changes_answers"]
    whole = prod(one["speedup"] for one in factors)
    assert whole == pytest.approx(lead["speedup"], rel=1e-9)
    kept = fastcalc("fastmode", *asked, "--smaller", "none")
    (drafted,) = [row for row in json.loads(kept.out)["records"] if row["trick"] == "two-tricks"]
    assert drafted["hardware"] == "wse-3"
    assert drafted["speculation_tokens_per_pass"] > 1.0


@pytest.mark.thorough
def test_where_nothing_reaches_the_nearest_is_said(fastcalc):
    ran = fastcalc("fastmode", "llama-3.1-8b", "--to-speed", "1e8", "--format", "json")
    assert ran.code == 1
    document = json.loads(ran.out)
    assert document["records"] == document["waterfall"] == []
    assert document["reason"].startswith("nothing in the catalogue reaches 100,000,000 tokens/s")


@pytest.mark.thorough
def test_smaller_models_may_be_named(fastcalc):
    asked = ("fastmode", "llama-3.1-8b", "--smaller", "qwen3-4b", "--speedup", "2")
    asked += ("--format", "json")
    rows = json.loads(fastcalc(*asked).out)["records"]
    assert [one["model"] for one in rows if one["trick"] == "smaller-model"] == ["qwen3-4b"]
    wrong = fastcalc("fastmode", "llama-3.1-8b", "--smaller", "nothing")
    assert wrong.code == 2
    assert wrong.err.count("\n") == 1
