"""The plan is what trying everything finds, and its numbers are those of `compare`."""

import json
import math
import shlex
from dataclasses import replace
from functools import cache, lru_cache

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from fastcalc.catalogue.chip_defaults import MEDIANS
from fastcalc.catalogue.store import Catalogue
from fastcalc.core.estimate import SITE_FACTOR
from fastcalc.core.outcome import solve
from fastcalc.core.placement.layout import Layout
from fastcalc.core.placement.practice import usual_layouts
from fastcalc.core.pricing import Pricing
from fastcalc.core.scenario import Scenario, Sharding, engine_for
from fastcalc.core.step.schedule import Schedule
from fastcalc.core.traffic.traffic import Traffic
from fastcalc.errors import InputError
from fastcalc.features.plan.candidates import cache_choices, candidates, weight_choices
from fastcalc.features.plan.cheapest_plans import decide
from fastcalc.features.plan.random_load import held_limits
from fastcalc.features.plan.relax import least_relaxed
from fastcalc.features.plan.score import score
from fastcalc.features.plan.service import Service
from fastcalc.grid.grid import Grid, Requests
from fastcalc.kit.answer.numbers_as_text import rounded_down, rounded_up
from tests.helpers import run_once as run
from tests.helpers import thorough, words
from tests.strategies import examples

pytestmark = pytest.mark.usefixtures("without_regret")
CATALOGUE = Catalogue()
CHIPS = ["h100-sxm", "mi300x", "b200", "rtx-4090", "wse-3", "l40s", "a100-sxm-80gb"]
MODELS = ["llama-3.1-70b", "llama-3.1-8b", "gpt-oss-120b", "qwen3-30b-a3b"]
# Of several kinds and vendors; the top eight are of few chips anyway.
SOLD = "h100-sxm,gb200,mi355x,rtx-pro-6000-server"
LAYOUTS = [Layout(), Layout(2), Layout(8), Layout(4, 2), Layout(pp=2), Layout(1, 1, 4, 4)]


def scenario(chip, model):
    hardware = CATALOGUE.hardware(chip)
    return Scenario(
        hardware,
        CATALOGUE.model(model),
        engine_for(CATALOGUE, hardware)[0],
        (1,),
        Traffic(1.0, 1.0, 1.0),
    )


def legal(grid, layouts):
    for layout in layouts:
        try:
            yield grid.site.check(layout)
        except InputError:
            continue


def grid_of(chip, model, service, layouts, batches):
    prompt, output = service.prompt, service.output
    kinds = Requests(*np.array([[prompt], [output], [prompt + output / 2]]))
    grid = Grid(scenario(chip, model), (), kinds, np.array(sorted(batches), dtype=float))
    return replace(grid, layouts=tuple(legal(grid, layouts)))


ROWS = ("cost", "chips", "ttft", "tpot", "batch", "layout")


@lru_cache(maxsize=512)
def solved(grid, layout, service):
    """Every whole batch on a layout that memory and engine hold."""
    sharding = Sharding(None, layout.tp, layout.pp, layout.ep, layout.dp)
    if grid.scenario.hardware.execution == "spatial":
        sharding = Sharding(pp=layout.pp)
    traffic = Traffic(service.prompt, service.output, service.prompt + service.output / 2)
    deployment = replace(grid.scenario, sharding=sharding, traffic=traffic)
    outcome = solve(replace(deployment, batches=tuple(range(1, 8194))))
    limit = outcome.placement.machine.software.max_sequences
    usable = outcome.estimate.is_certain & (outcome.estimate.batch <= limit * layout.dp)
    assert not np.any(usable[1:] & ~usable[:-1])
    count = int(usable.sum())
    return solve(replace(deployment, batches=tuple(range(1, count + 1)))) if count else None


def slowness(estimate, service):
    """How many times as long all takes, where an end of the 80% range is nine in ten.

    Slower speeds go with the lower half of the range, faster ones with the upper half.
    """
    low = estimate.speed if estimate.low is None else estimate.low
    high = estimate.speed if estimate.high is None else estimate.high
    to_end = estimate.speed / low if service.deviations > 0 else high / estimate.speed
    return to_end ** (service.deviations / 1.2815515655446004)


@cache
def nodes_for(node_chips, large, small, many, few):
    """Return the fewest nodes that hold stages of two sizes, by trying what the first one holds."""
    if many <= 0 and few <= 0:
        return 0
    return 1 + min(
        nodes_for(node_chips, large, small, many - held, few - (node_chips - held * large) // small)
        for held in range(0 if few > 0 else 1, max(min(node_chips // large, many), 0) + 1)
    )


def chips_of(grid, service, *kinds):
    """Return the chips of layouts with so many replicas each, of whole nodes where those count."""
    node_chips = service.node_chips(grid.scenario.hardware)
    if node_chips == 1:
        return sum(layout.chips * replicas for layout, replicas in kinds)
    stages = []
    for layout, replicas in kinds:
        width = layout.chips // layout.pp
        parts = -(-width // node_chips)
        stages.append((-(-width // parts), layout.pp * parts * np.asarray(replicas, dtype=int)))
    (large, many), (small, few) = sorted([*stages, (1, np.array(0))][:2], key=lambda one: -one[0])
    assume(np.max(many) + np.max(few) < 120)
    many, few = np.broadcast_arrays(many, few)
    held = zip(many.ravel().tolist(), few.ravel().tolist(), strict=True)
    nodes = [nodes_for(node_chips, large, small, *counts) for counts in held]
    return np.reshape(nodes, many.shape) * node_chips


def replicas_for(rate, seconds):
    return np.maximum(np.ceil(rate * seconds - 1e-9), 1)


def together(grid, service):
    """Return every deployment whose prompts are inside, a column for each."""
    found = []
    for number, layout in enumerate(grid.layouts):
        outcome = solved(grid, layout, service)
        if outcome is None:
            continue
        estimate, batch = outcome.estimate, outcome.estimate.batch
        run_time = batch * service.output / estimate.served
        # Where layers have regions of their own, prompts pass by all sequences, not by a micro-batch.
        lanes = min(layout.pp, grid.site.machine.software.micro_batches)
        shared = 1 if grid.site.machine.is_spatial else layout.dp * lanes
        others = 1 - 1 / np.maximum(batch / shared, 1)
        between = estimate.tpot + others * (run_time / service.output - estimate.tpot)
        passes, ttft = Schedule(outcome.placement, outcome.scenario.traffic, batch), estimate.ttft
        mixed = passes.chunks * np.maximum(passes.mixed.seconds, estimate.tpot)
        often = np.minimum(batch / run_time * ttft, 1) * (layout.dp - 1) / layout.dp
        ttft = ttft + often * np.maximum(mixed - ttft, 0)
        rate = service.rate / service.utilization
        slow = slowness(estimate, service)
        chips = chips_of(grid, service, (layout, replicas_for(rate, run_time * slow / batch)))
        price = cost(grid.scenario, service, chips)
        times = ttft * slow, between * slow
        found.append([price, chips, *times, batch, np.full(len(batch), number)])
    return np.concatenate([np.zeros((6, 0)), *found], axis=1)


def cost(one, service, chips):
    hardware = one.hardware
    if service.objective == "chips":
        return chips
    if service.objective == "watts":
        if hardware.power is None:
            return math.nan
        power, is_whole_box = hardware.power, hardware.kind in ("wafer", "apple")
        site = SITE_FACTOR if is_whole_box else MEDIANS["power.all_in"].by_kind["gpu"]
        return chips * (power.all_in.si if power.all_in else power.chip.si * site)
    price = Pricing().per_chip_hour(hardware)
    return chips * (math.nan if price is None else price)


services = st.builds(
    Service,
    prompt=st.sampled_from([100.0, 2000.0]),
    output=st.sampled_from([50.0, 500.0]),
    ttft=st.sampled_from([0.05, 0.3, 2.0, math.inf]),
    tpot=st.sampled_from([0.005, 0.02, 0.1]),
    rate=st.sampled_from([0.5, 7.0, 90.0]),
    max_chips=st.sampled_from([4, 32, math.inf]),
    utilization=st.sampled_from([1.0, 0.7]),
    objective=st.sampled_from(["usd", "watts", "chips"]),
    deviations=st.sampled_from([0.0, 0.0, 1.28, -1.0]),
)


def apart(grid, service, taking=None):
    """Return every layout and batch with every layout that may take in its prompts.

    taking : the grid of these, of another chip
    """
    unlike, taking = taking is not None, taking or grid
    if taking.site.machine.is_spatial or None in map(link_of, (grid, taking)):
        return np.zeros((6, 0))
    others, pools = sides(grid, service)[0], sides(taking, service)[1]
    found = []
    for decoding, received, times, number in others:
        for prompts, alone, sent in pools:
            ttft = np.full(len(times[0]), alone + max(sent, received))
            which = np.full(len(ttft), number)
            if unlike:
                parts = chips_of(grid, service, decoding), chips_of(taking, service, prompts)
                chips = parts[0] + parts[1]
                price = cost(grid.scenario, service, parts[0])
                price = price + cost(taking.scenario, service, parts[1])
            else:
                chips = chips_of(grid, service, decoding, prompts)
                price = cost(grid.scenario, service, chips)
            found.append([price, chips, ttft, *times, which])
    return np.concatenate([np.zeros((6, 0)), *found], axis=1)


def link_of(grid):
    return grid.scenario.hardware.links.scale_out


def sides(grid, service):
    """Return what each layout takes that decodes, and that takes in prompts."""
    work, rate = grid.scenario.work, service.rate / service.utilization
    speed = link_of(grid).bandwidth.si * grid.site.machine.software.link_fraction
    pools, others = [], []
    for number, layout in enumerate(grid.layouts):
        outcome = solved(grid, layout, service)
        if outcome is None:
            continue
        estimate = outcome.estimate
        kept = float(work.cache_bytes(service.prompt, ranks=layout.tp))
        sent = kept * math.ceil(work.layers / layout.pp) / work.layers / speed
        slow = slowness(estimate, service)
        alone = estimate.ttft[0] * slow[0]
        pools.append(((layout, replicas_for(rate, max(alone, sent))), alone, sent))
        busy = np.maximum(service.output / estimate.total * slow, sent / layout.dp)
        times = estimate.tpot * slow, estimate.batch
        others.append(((layout, replicas_for(rate, busy)), sent, times, number))
    return others, pools


def met_of(everything, service):
    """Return the columns that meet a service."""
    row = dict(zip(ROWS, everything, strict=True))
    met = (row["chips"] <= service.max_chips) & (row["ttft"] <= service.ttft)
    return everything[:, met & (row["tpot"] <= service.tpot) & ~np.isnan(row["cost"])]


@pytest.mark.thorough
@example(  # llama.cpp decodes both sequences in one batch, also over two stages
    ["rtx-4090", "l40s"],
    "llama-3.1-8b",
    Service(2000.0, 50.0, ttft=2.0, tpot=0.02, rate=7.0, deviations=-1.0),
    [Layout(pp=2)],
    2,
)
@examples(20)
@given(
    st.lists(st.sampled_from(CHIPS), min_size=1, max_size=2, unique=True),
    st.sampled_from(MODELS),
    services,
    st.lists(st.sampled_from(LAYOUTS), min_size=1, max_size=3, unique=True),
    st.sampled_from([2, 4, 10]),
)
def test_it_is_what_trying_everything_finds(chips, model, service, layouts, step):
    """Of all batches, though few were given, and of all pairs where prompts are apart."""
    batches = [step**power for power in range(13) if step**power <= 4096]
    grids = [grid_of(chip, model, service, layouts, batches) for chip in chips]
    grids = [grid for grid in grids if grid.layouts]
    found = decide(grids, service)
    kinds = [kind(grid, service) for grid in grids for kind in (together, apart)]
    everything = np.concatenate([np.zeros((6, 0)), *kinds], axis=1)
    met = met_of(everything, service)
    assert bool(met.size) == bool(found.plans)
    if met.size:
        best = found.plans[0]
        assert (best.cost, best.values["chips"]) == pytest.approx(
            min(zip(*met[:2], strict=True)), rel=1e-12
        )
        assert max(best.misses.values()) <= 1.0
    elif not service.deviations:
        assert_relaxed(least_relaxed(grids, service), everything, service)
    lost = sum(found.reasons.values())
    assert lost + bool(met.size) == found.candidates >= sum(grid.size for grid in grids)


@pytest.mark.parametrize("limit", [0.7, 1.1, 5.0])
def test_what_is_planned_to_meet_a_percentile_meets_it_however_it_is_rounded(limit):
    """A replica is as busy as its limit allows: all that are in time without waiting stay so."""
    service = Service(1000.0, 1000.0, ttft=limit, tpot=math.inf, rate=None, share=0.9)
    grid = grid_of("mi355x", "llama-3.1-8b", service, [Layout(), Layout(8)], range(1, 1024))
    (scored,) = score(grid, service)
    in_time = scored.replica.ttft < limit
    assert in_time.sum() > 500
    assert np.all(scored.misses["ttft"][in_time] <= 1.0)


@pytest.mark.thorough
@examples(30)
@given(
    st.sampled_from(["h100-sxm", "mi300x", "b200", "l40s"]),
    st.sampled_from(MODELS),
    services,
    st.lists(st.sampled_from(LAYOUTS), min_size=1, max_size=3, unique=True),
    st.integers(1, 8),
)
def test_in_whole_nodes_it_is_what_trying_everything_finds(chip, model, service, layouts, node):
    """Stages of each replica lie inside nodes; prompts and decoding may share one."""
    service = replace(service, in_nodes=True, rate=min(service.rate, 7.0))
    batches = [*range(1, 17), 64, 512, 4096]
    grid = in_nodes_of(node, grid_of(chip, model, service, layouts, batches))
    assume(grid.layouts)
    decision = decide([grid], service)
    met = met_of(np.concatenate([together(grid, service), apart(grid, service)], axis=1), service)
    assert bool(met.size) == bool(decision.plans)
    if met.size:
        best = decision.plans[0]
        least = min(zip(*met[:2], strict=True))
        assert (best.cost, best.values["chips"]) == pytest.approx(least, rel=1e-12)
        assert best.values["chips"] % node == 0
        assert best.idle_chips >= 0
    else:
        everything = np.concatenate([together(grid, service), apart(grid, service)], axis=1)
        assert_relaxed(least_relaxed([grid], service), everything, service)


@pytest.mark.thorough
@example(
    ["l40s", "h100-sxm"],
    ["mi300x"],
    "gpt-oss-120b",
    Service(100.0, 50.0, ttft=0.3, tpot=0.02, rate=7.0, max_chips=32, deviations=1.28),
    [Layout(8)],
    1,
)
@examples(20)
@given(
    st.lists(st.sampled_from(CHIPS), min_size=1, max_size=2, unique=True),
    st.lists(st.sampled_from(CHIPS), min_size=1, max_size=2, unique=True),
    st.sampled_from(MODELS),
    services,
    st.lists(st.sampled_from(LAYOUTS), min_size=1, max_size=3, unique=True),
    st.sampled_from([1, 1, 8]),
)
def test_prompts_on_other_chips_are_what_trying_all_pairs_finds(
    chips, taking, model, service, layouts, node
):
    """Also where each chip is bought in nodes, prompts and decoding in nodes of their own."""
    service = replace(service, in_nodes=node > 1, rate=min(service.rate, 7.0))
    grids, others = (
        [
            grid
            for chip in names
            if (
                grid := in_nodes_of(
                    node, grid_of(chip, model, service, layouts, [1, 2, 3, 16, 256, 4096])
                )
            ).layouts
        ]
        for names in (chips, taking)
    )
    decision = decide(grids, service, taking=others)
    kinds = [kind(grid, service) for grid in grids for kind in (together, apart)]
    kinds += [
        apart(grid, service, other)
        for grid in grids
        for other in others
        if grid.scenario.hardware.id != other.scenario.hardware.id
        and grid.scenario.work.kv_format == other.scenario.work.kv_format
    ]
    met = met_of(np.concatenate([np.zeros((6, 0)), *kinds], axis=1), service)
    assert bool(met.size) == bool(decision.plans)
    if met.size:
        best = decision.plans[0]
        least = min(zip(*met[:2], strict=True))
        assert (best.cost, best.values["chips"]) == pytest.approx(least, rel=1e-12)
    unlike = [*kinds[2 * len(grids) :], np.zeros((6, 0))]
    unlike = met_of(np.concatenate(unlike, axis=1), service)
    best = decision.on_unlike_chips
    assert bool(unlike.size) == (best is not None)
    if best is not None:
        assert best.cost == pytest.approx(unlike[0].min(), rel=1e-12)


@pytest.mark.thorough
def test_prompts_on_other_chips_are_what_both_commands_print(capsys, monkeypatch):
    """80 layers of keys and values of 8 heads of 128, over four links of 50 GB/s: on both sides."""
    words = ["plan", "llama-3.1-70b", "--on", "h200-sxm", "--prompts-on", "h100-sxm,wse-3"]
    words += ["--prompt", 8000, "--output", 1000, "--ttft", "3s", "--tpot", "40ms"]
    asked = [*words, "--rate", "5/s", "--load", 1]
    ask = {"capsys": capsys, "monkeypatch": monkeypatch}
    plan, *others = json.loads(run(*asked, "--format", "json", **ask).out)["records"]
    assert (plan["prefill_hardware"], plan["prefill_tp"]) == ("h100-sxm", 4)
    assert {other["prefill_hardware"] for other in others} == {None}
    decoding, taking = (
        json.loads(run(*shlex.split(plan[key])[1:], "--format", "json", **ask).out)["records"][0]
        for key in ("command", "prefill_command")
    )
    share = CATALOGUE.engine("vllm").parameters.link_fraction.si
    sending = 8000 * 80 * 2 * 8 * 128 * 2 / 4 / (50e9 * share) * 1e3
    assert plan["prefill_sending_ms"] == pytest.approx(sending)
    assert plan["service_ttft_ms"] == pytest.approx(taking["ttft_ms"] + sending)
    assert plan["service_tpot_ms"] == decoding["tpot_ms"]
    assert plan["prefill_replicas"] == math.ceil(5 * taking["ttft_ms"] / 1e3)
    assert plan["prefill_chips"] == 4 * plan["prefill_replicas"]
    prices = [CATALOGUE.hardware(chip).price.rent.si for chip in ("h100-sxm", "h200-sxm")]
    chips = (plan["prefill_chips"], plan["chips_total"] - plan["prefill_chips"])
    assert plan["service_usd_per_hour"] == pytest.approx(np.dot(prices, chips))
    script = run(*asked, "--emit", "vllm", **ask).out
    assert "servers for prefill, on tp4 of h100-sxm each" in script
    assert "servers for decode, on tp4 of h200-sxm each" in script
    for flags, sentence in (
        (words, "--prompts-on needs a rate"),
        ([*asked, "--prompts-on", "wse-3"], "none of them can send caches"),
    ):
        refused = run(*flags, **ask)
        assert (refused.code, sentence in refused.err) == (2, True)


def in_nodes_of(node_chips, grid):
    """Return a grid of the same chip, sold in nodes of so many."""
    hardware = grid.scenario.hardware.changed(node={"chips": node_chips})
    return replace(grid, scenario=replace(grid.scenario, hardware=hardware))


def assert_relaxed(relaxed, everything, service):
    """Each limit is relaxed to the least of everything, or would not help alone."""
    limits = {"chips": "max_chips", "ttft": "ttft", "tpot": "tpot"}
    for row, (name, limit) in enumerate(limits.items(), 1):
        met = met_of(everything, replace(service, **{limit: math.inf}))
        assert relaxed.get(name, math.inf) == pytest.approx(np.min(met[row], initial=math.inf))


@pytest.mark.thorough
@examples(12)
@given(st.sampled_from(CHIPS), st.sampled_from(MODELS), services)
def test_the_batch_is_the_smallest_that_needs_no_more_replicas(chip, model, service):
    service = replace(service, max_chips=math.inf)
    grid = grid_of(chip, model, service, [Layout(), Layout(8)], [1, 6, 40, 250, 1024, 4096])
    assume(grid.layouts)
    found = decide([grid], service)
    assume(found.plans)
    best = found.plans[0]
    kind = together if best.prefill_layout is None else apart
    _, chips, _, _, batch, layout = met_of(kind(grid, service), service)
    same = (chips == best.values["chips"]) & (layout == grid.layouts.index(best.layout))
    assert best.batch == batch[same].min()


@pytest.mark.parametrize(("chip", "limit"), [("tpu-v6e", math.inf), ("gb200", 0.01)])
def test_few_batches_between_are_tried_where_most_layouts_serve_as_much(chip, limit):
    """Compute is the bound of all large batches, at one price: none between is any cheaper."""
    one = replace(scenario(chip, "step-3.5-flash"), engine=CATALOGUE.engine("ideal"))
    grid = candidates(one, prompt=1000, output=1000)
    first = len(grid.layouts) * (len(grid.batches) + 1)
    found = decide([grid], Service(1000.0, 1000.0, tpot=limit))
    assert found.plans
    assert found.candidates <= 1.1 * first


def test_prompts_wait_for_links_that_take_in_their_caches():
    """64k-token caches of 10.5 GB at 20 a second are more than one chip's link takes in."""
    service = Service(64_000.0, 20.0, ttft=60.0, tpot=0.06, rate=20.0)
    grid = grid_of("mi355x", "llama-3.1-70b", service, [Layout()], [1, 2, 8])
    plan = next(one for one in decide([grid], service).plans if one.prefill_layout)
    cache = 64_000 * 80 * 2 * 8 * 128 * 2  # tokens, layers, keys and values of 8 heads in 16 bits
    link = grid.scenario.hardware.links.scale_out.bandwidth.si
    share = grid.site.machine.software.link_fraction
    assert plan.replicas >= 20 * cache / (link * share)
    assert plan.values["ttft"] >= cache / (link * share)


def test_prompts_apart_are_counted_as_by_hand():
    """Both pools are what the rate asks of one replica's time, alone and decoding."""
    service = Service(4000.0, 1000.0, ttft=1.0, tpot=0.025, rate=20.0)
    grid = grid_of("mi355x", "deepseek-r1", service, [Layout(8)], [1, 8, 64])
    plan = next(one for one in decide([grid], service).plans if one.prefill_layout)
    traffic = Traffic(4000.0, 1000.0, 4500.0)
    batches = (1, int(plan.batch))
    estimate = solve(
        replace(grid.scenario, batches=batches, sharding=Sharding(tp=8), traffic=traffic)
    ).estimate
    assert plan.prefill_replicas == math.ceil(20 * estimate.ttft[0])
    assert plan.replicas == math.ceil(20 * 1000 / estimate.total[1])
    assert plan.values["tpot"] == estimate.tpot[1]
    assert plan.values["chips"] == 8 * (plan.replicas + plan.prefill_replicas)
    # 576 elements of 16 bits in 61 layers, whole on each rank; 4,000 tokens over the other link.
    link = grid.scenario.hardware.links.scale_out.bandwidth.si
    sent = 4000 * 61 * 576 * 2 / (link * grid.site.machine.software.link_fraction)
    assert plan.values["ttft"] == pytest.approx(estimate.ttft[0] + sent, rel=1e-9)


LOADED = ("--host", "epyc-9005-12ch", "--prefix-tier", "host")
LOADED += ("--on", "gb200,rtx-pro-6000-server")  # with host_use null and compute


@pytest.mark.usefixtures("without_regret")
@pytest.mark.parametrize(
    ("model", "rate"),
    [
        ("llama-3.1-70b", ()),
        thorough("deepseek-r1", ("--load", 0.7)),
        thorough(
            "gpt-oss-120b",
            ("--load", 0.3, "--price-basis", "tco", "--percentile", 99),
        ),
        thorough("gpt-oss-120b", ("--rate", "5/s", "--load", 0.7, "--price-basis", "tco")),
        thorough("llama-3.1-70b", ("--rate", "5/s", "--speculate", "none,0.8x3")),
        thorough("deepseek-r1", ("--rate", "5/s", "--load", 1, "--prefix-hit", "60%", *LOADED)),
    ],
)
def test_every_offered_plan_is_what_compare_says(model, rate, capsys, monkeypatch):
    asked = (
        "--on",
        SOLD,
        "--prompt",
        2000,
        "--output",
        500,
        "--tpot",
        "40ms",
        "--ttft",
        "2s",
        *rate,
    )
    ran = run(
        "plan",
        model,
        *asked,
        "--by",
        "chip",
        "--format",
        "json",
        "--top",
        8,
        capsys=capsys,
        monkeypatch=monkeypatch,
    )
    assert ran.code == 0, ran.err
    plans = json.loads(ran.out)["records"]
    assert plans
    for plan in plans:
        words = shlex.split(plan["command"])[1:]
        ran = run(*words, "--format", "json", capsys=capsys, monkeypatch=monkeypatch)
        (record,) = json.loads(ran.out)["records"]
        assert record["fits"]
        assert "usd_per_mtok_total" in record.keys() & plan.keys()
        assert {"ttft_ms", "tpot_ms"} <= plan.keys()
        is_apart = plan["prefill"] == "apart"
        for key in record.keys() & plan.keys() - {"low_confidence"}:
            assert plan[key] == record[key], key
        assert {*record["low_confidence"]} <= {*plan["low_confidence"]}  # its own amounts, too
        if "--rate" not in rate:
            assert plan["cost"] == pytest.approx(record["usd_per_mtok_total"], rel=1e-9)
        if is_apart:
            assert plan["service_tpot_ms"] == record["tpot_ms"]
            continue
        if plan["dp"] == 1 and plan["service_ttft_percentile"] is None:
            assert plan["service_ttft_ms"] == record["ttft_ms"]
        assert plan["service_ttft_ms"] >= record["ttft_ms"]
        alone, batch = record["tpot_ms"], record["batch"]
        mixed = record["served_request_s"] * 1e3 / 500
        streams = max(batch / (plan["dp"] * plan["pp"]), 1)
        between = alone + (1 - 1 / streams) * (mixed - alone)
        if plan["service_ttft_percentile"] is None:  # else of the load that there is
            assert plan["service_tpot_ms"] == pytest.approx(between, rel=1e-9)
        carried = record["served_tokens_per_s_total"] / 500 * plan["replicas"]
        if "--rate" in rate:
            assert carried >= 5 * (1 - 1e-8)
        chips = plan["replicas"] * record["chips"]
        assert plan["chips_total"] == chips
        hour = plan["replicas"] * record["usd_per_hour"]
        assert plan["service_usd_per_hour"] == pytest.approx(hour)
        assert plan["usd_per_month"] == pytest.approx(hour * 730)


@pytest.mark.thorough
def test_one_output_token_has_no_prompts_between_tokens(capsys, monkeypatch):
    """A step reads between 15 GB of weights and a full memory of 86 GB at 3.35 TB/s: 4 to 26 ms.

    Three times that is slower than any engine; a thousand prompts would take ten seconds.
    """
    asked = ("plan", "llama-3.1-8b", "--on", "h100-sxm", "--weights", "bf16", "--output", 1)

    def planned(*flags):
        ran = run(
            *asked, *flags, "--top", 12, "--format", "json", capsys=capsys, monkeypatch=monkeypatch
        )
        return ran.code, json.loads(ran.out)

    code, found = planned()
    assert code == 0
    assert "a single output token" in found["assumptions"]["notes"][0]
    for plan in found["records"]:
        assert plan["service_tpot_ms"] == plan["tpot_ms"]
        words = shlex.split(plan["command"])[1:]
        ran = run(*words, "--format", "json", capsys=capsys, monkeypatch=monkeypatch)
        (record,) = json.loads(ran.out)["records"]
        assert plan["service_tpot_ms"] == record["tpot_ms"]
        assert 15e9 / 3.35e12 < record["tpot_ms"] / 1e3 < 3 * 86e9 / 3.35e12
    for flags in (("--tpot", "12ms"), ("--min-speed", 1 / 0.012)):
        code, found = planned(*flags)
        assert code == 0
        assert all(plan["service_tpot_ms"] <= 12.0 for plan in found["records"])
    # Eight chips read the weights no faster than this.
    code, found = planned("--min-speed", 8 * 3.35e12 / 15e9 + 1)
    assert code == 1
    assert found["records"] == []


@pytest.mark.parametrize(
    "flags", [("--price-basis", "tco"), ("--price", "my-chip=1.5"), ("--objective", "watts")]
)
def test_the_command_repeats_files_and_prices(flags, tmp_path, capsys, monkeypatch):
    """Own files go by their paths and prices stay, or `compare` would say something else."""
    files = {}
    for kind, name in (("models", "llama-3.1-8b"), ("hardware", "gaudi-3")):
        mine = {"models": "my-model", "hardware": "my-chip"}[kind]
        (path,) = (one / f"{name}.yaml" for one in CATALOGUE.folders(kind)[-1:])
        files[kind] = tmp_path / f"{mine}.yaml"
        text = path.read_text().replace(f"id: {name}", f"id: {mine}", 1)
        kept = (line for line in text.splitlines() if not line.startswith("aliases"))
        files[kind].write_text("\n".join(kept) + "\n")
    asked = (files["models"], "--on", files["hardware"], *flags, "--format", "json")
    ran = run("plan", *asked, capsys=capsys, monkeypatch=monkeypatch)
    assert ran.code == 0, ran.err
    plan = json.loads(ran.out)["records"][0]
    words = shlex.split(plan["command"])[1:]
    ran = run(*words, "--format", "json", capsys=capsys, monkeypatch=monkeypatch)
    assert ran.code == 0, ran.err
    (record,) = json.loads(ran.out)["records"]
    for key in ("usd_per_mtok_total", "tokens_per_s_per_user", "joules_per_token"):
        assert plan[key] == record[key], key
    assert plan["service_usd_per_hour"] == record["usd_per_hour"]


@pytest.mark.thorough
def test_the_title_and_the_next_command_say_what_was_typed(capsys, monkeypatch):
    asked = ("plan", "llama-3.1-8b", "--on", "l4,h100-sxm", "--rate", "300/min")
    monkeypatch.setenv("COLUMNS", "140")
    ran = run(*asked, "--speculate", "0.8x3", capsys=capsys, monkeypatch=monkeypatch)
    lines = ran.out.splitlines()
    assert "1,000 tokens, speculative decoding 0.8x3, 300 requests/min" in lines[1]
    assert " --speculate 0.8x3 " in lines[-1]


@pytest.mark.thorough
def test_without_a_rate_plans_show_what_they_are_ranked_by(capsys, monkeypatch):
    asked = ("plan", "llama-3.1-8b", "--on", "h100-sxm,l40s", "--format")
    ran = run(*asked, "markdown", capsys=capsys, monkeypatch=monkeypatch)
    head, _, *lines = [line.strip("| ").split("|") for line in ran.out.splitlines()]
    header = [cell.strip() for cell in head]
    assert "$/Mtok in+out" in header
    shown = [float(line[header.index("$/Mtok in+out")]) for line in lines]
    assert shown == sorted(shown)
    ran = run(*asked, "markdown", "--rate", "5/s", capsys=capsys, monkeypatch=monkeypatch)
    assert "| replicas |" in ran.out


def test_a_chip_without_a_price_says_how_to_give_one(capsys, monkeypatch):
    asked = ("plan", "llama-3.1-8b", "--on", "h20")
    ran = run(*asked, capsys=capsys, monkeypatch=monkeypatch)
    assert ran.code == 1
    assert "--price h20=USD" in ran.err
    ran = run(*asked, "--objective", "chips", capsys=capsys, monkeypatch=monkeypatch)
    assert ran.code == 0


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (("--ttft", "1"), "--ttft '1' is not a time with its unit"),
        (("--tpot", "0ms"), "--tpot '0ms' is not a time with its unit"),
        (("--rate", "many"), "--rate 'many' is not a rate"),
        (("--rate", "0/s"), "--rate '0/s' is not a rate"),
        (("--min-speed", "-1"), "--min-speed -1 is not a number from 1e-12"),
        (("--objective", "euro"), "--objective 'euro' is unknown"),
        (("--prompt", "10000000"), "exceeds the"),
        (("--top", "0"), "--top 0"),
        (("--speculate", "9/2"), "--speculate 9/2"),
        (("--weights", "fp5"), "'fp5' is not a weight format"),
    ],
)
def test_bad_requests_are_one_sentence(flags, sentence, capsys, monkeypatch):
    ran = run(
        "plan", "llama-3.1-70b", "--on", "h100-sxm", *flags, capsys=capsys, monkeypatch=monkeypatch
    )
    assert ran.code == 2
    assert sentence in ran.err
    assert ran.err.count("\n") == 1


def test_formats_are_those_the_chip_is_made_for():
    model = CATALOGUE.model("llama-3.1-70b")
    found = {
        chip: weight_choices(model, CATALOGUE.hardware(chip), scenario(chip, model.id).engine)
        for chip in ("a100-sxm-80gb", "h100-sxm", "b200", "rtx-4090")
    }
    assert found["a100-sxm-80gb"] == [None]
    assert found["h100-sxm"] == [None, "fp8"]
    assert found["b200"] == [None, "fp8", "nvfp4"]
    assert found["rtx-4090"] == [None, "q8_0", "q4_k_m"]
    hopper = CATALOGUE.hardware("h100-sxm")
    assert cache_choices(model, hopper, CATALOGUE.engine("vllm"), None) == [None, "fp8"]


@pytest.mark.parametrize("chip", ["h100-sxm", "gb200", "wse-3", "rtx-4090", "tpu-v5p"])
@pytest.mark.parametrize("model", ["llama-3.1-70b", "deepseek-r1"])
def test_layouts_are_legal(chip, model):
    site = Grid(scenario(chip, model), (), Requests(*np.ones((3, 1))), np.ones(1)).site
    found = list(usual_layouts(site))
    assert len(set(found)) == len(found)
    assert [site.check(layout) for layout in found] == found


def test_a_model_that_fits_nowhere_has_no_candidates():
    assert candidates(scenario("apple-m1", "deepseek-r1"), prompt=1000.0, output=1000.0) is None


@given(st.floats(1e-6, 1e9))
def test_rounding_up_never_goes_below(value):
    assert value <= rounded_up(value) <= value * 1.0101


@given(st.floats(1e-6, 1e9))
def test_rounding_down_never_goes_above(value):
    assert value * 0.9899 <= rounded_down(value) <= value


def random_arrivals(capsys, monkeypatch, *more, model="llama-3.1-70b", chips="h100-sxm,mi355x"):
    asked = ("--prompt", 2000, "--output", 500, "--rate", "20/s", "--tpot", "40ms")
    ran = run(
        "plan",
        model,
        "--on",
        chips,
        *asked,
        *more,
        "--format",
        "json",
        capsys=capsys,
        monkeypatch=monkeypatch,
    )
    assert ran.code == 0, ran.err
    return json.loads(ran.out)["records"]


@pytest.mark.parametrize("percentile", [50, thorough(99)])
def test_random_arrivals_are_given_as_many_replicas_as_their_limit_asks(
    percentile, capsys, monkeypatch
):
    """Within the limit as printed, with prompts inside and apart; at that percentile, no other."""
    asked = ("--ttft", "1s", "--percentile", percentile, "--top", 40)
    plans = random_arrivals(capsys, monkeypatch, *asked)
    assert {plan["prefill"] for plan in plans} == {"together", "apart"}
    for plan in plans:
        assert plan["service_ttft_ms"] <= 1000 * (1 + 1e-9)
        assert plan["service_tpot_ms"] <= 40 * (1 + 1e-9)
        assert plan["service_ttft_percentile"] == percentile
        assert plan["utilization"] <= 0.8 * (1 + 1e-9)  # what percentiles are planned for


@pytest.mark.thorough
@examples(10)
@given(
    st.sampled_from(["h100-sxm", "mi300x", "l40s"]),
    st.sampled_from([0.2, 0.5, 2.0]),
    st.sampled_from([0.02, 0.04, math.inf]),
    st.floats(1.0, 40.0),
)
def test_a_limit_that_is_printed_as_met_is_met_and_with_a_replica_less_is_not(
    chip, ttft, tpot, rate
):
    """By the closed form itself, at the load of each replica."""
    service = Service(2000.0, 300.0, ttft=ttft, tpot=tpot, rate=rate, share=0.99, utilization=0.8)
    grid = grid_of(chip, "llama-3.1-8b", service, [Layout(), Layout(2)], [1, 4, 16, 64, 256])
    assume(grid.layouts)
    for plan in decide([grid], service, shown=1).reported(1):
        if plan.prefill_layout is None:
            limits = held_limits(plan, service)
            assert limits.are_met
            assert plan.values["ttft"] == pytest.approx(limits.times[0].ttft(0.99))
            assert plan.values["tpot"] == pytest.approx(limits.times[0].tpot(0.99))
            fewer = plan.replicas - 1
            if fewer:
                busy = plan.busy * plan.replicas / fewer
                at_more = limits.at(rate / fewer)
                assert max(busy, at_more.load.utilization) > 0.8 or not at_more.are_met


@pytest.mark.thorough
def test_more_certainty_never_costs_less(capsys, monkeypatch):
    levels = [("--load", 1), *(("--percentile", one) for one in (50, 99.9))]
    costs = [
        random_arrivals(
            capsys, monkeypatch, "--ttft", "700ms", "--rate", "99/s", *level, chips="h100-sxm"
        )[0]["cost"]
        for level in levels
    ]
    assert costs == sorted(costs)
    assert costs[-1] > costs[0]


def test_without_a_rate_a_percentile_leaves_a_replica_partly_idle(capsys, monkeypatch):
    asked = ("plan", "llama-3.1-8b", "--on", "h100-sxm", "--ttft", "100ms", "--format", "json")
    even, late = (
        json.loads(run(*asked, *more, capsys=capsys, monkeypatch=monkeypatch).out)["records"][0]
        for more in ((), ("--percentile", "99"))
    )
    assert even["utilization"] == 1.0
    assert 0.3 < late["utilization"] < 1.0
    assert late["cost"] > even["cost"]
    assert late["cost"] == pytest.approx(late["usd_per_mtok_total"])


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        (
            ("--percentile", "99"),
            "--percentile needs a TTFT limit or a request rate; give --ttft 1s",
        ),
        (("--ttft", "1s", "--percentile", "100"), "not from 50 to 99.99"),
        (("--ttft", "1s", "--percentile", "0.99"), "write for example 99"),
        (("--ttft", "1s", "--percentile", "nan"), "is not a number"),
    ],
)
def test_a_percentile_that_cannot_be_is_refused(asked, sentence, capsys, monkeypatch):
    ran = run("plan", "llama-3.1-8b", *asked, capsys=capsys, monkeypatch=monkeypatch)
    assert ran.code == 2
    assert sentence in ran.err


@pytest.mark.thorough
@pytest.mark.parametrize("limit", ["20ms", thorough("60ms")])
def test_what_a_refusal_says_of_a_percentile_is_enough(limit, capsys, monkeypatch):
    asked = ("plan", "llama-3.1-70b", "--on", "h100-sxm,mi300x", "--rate", "3/s", "--prompt", 4000)
    asked += ("--percentile", 99)
    ran = run(*asked, "--ttft", limit, capsys=capsys, monkeypatch=monkeypatch)
    assert ran.code == 1
    flag, value = ran.err.split("one would meet them with ")[1].split()[:2]
    assert flag == "--ttft"
    ran = run(*asked, "--ttft", value.rstrip(","), capsys=capsys, monkeypatch=monkeypatch)
    assert ran.code == 0, ran.err


def test_prompts_that_cost_nothing_alongside_the_bound_leave_nothing_undefined(capsys, monkeypatch):
    asked = ("plan", "llama-3.1-8b", "--engine", "ideal", "--rate", "3/s", "--ttft", "1s")
    asked += ("--percentile", 99, "--on", "h100-sxm,l4", "--format", "json")
    ran = run(*asked, capsys=capsys, monkeypatch=monkeypatch)
    assert ran.code == 0, ran.err
    assert all(plan["utilization"] > 0.1 for plan in json.loads(ran.out)["records"])


@pytest.mark.thorough
def test_a_percentile_never_lets_replicas_do_more_than_is_allowed(capsys, monkeypatch):
    asked = ("plan", "llama-3.1-8b", "--on", "h100-sxm", "--rate", "1/s", "--load", "1e-7")
    found = [
        json.loads(run(*asked, *more, capsys=capsys, monkeypatch=monkeypatch).out)["records"][0]
        for more in (("--format", "json"), ("--ttft", "1s", "--percentile", 99, "--format", "json"))
    ]
    assert found[1]["utilization"] <= 1e-7
    assert found[1]["cost"] >= found[0]["cost"]


@pytest.mark.thorough
@pytest.mark.parametrize("limits", [("41ms", 2), ("30ms", 3), ("20ms", 2)])
def test_what_is_said_to_be_enough_with_prompts_apart_is(limits, capsys, monkeypatch):
    asked = ("plan", "llama-3.1-70b", "--on", "h100-sxm,mi355x", "--prompt", 1, "--rate", "0.01/s")
    asked += ("--percentile", 99.9, "--tpot", "25ms", "--max-chips", limits[1])
    asked += ("--by", "chip", "--ttft")
    ran = run(*asked, limits[0], capsys=capsys, monkeypatch=monkeypatch)
    if ran.code == 1:
        value = ran.err.split("--ttft ")[1].split()[0].rstrip(",")
        ran = run(*asked, value, capsys=capsys, monkeypatch=monkeypatch)
    assert ran.code == 0, ran.err


def test_an_empty_file_name_is_refused(capsys, monkeypatch):
    ran = run("plan", "llama-3.1-8b", "-o", "", capsys=capsys, monkeypatch=monkeypatch)
    assert ran.code == 2
    assert "-o names no file" in ran.err


@pytest.mark.thorough
def test_a_limit_of_as_many_chips_as_a_plan_has_does_not_hide_it(capsys, monkeypatch):
    """Two replicas of eight chips hold it as published; in fp8 eight chips do, which come second."""
    asked = ("plan", "llama-3.3-70b", "--on", "h100-sxm", "--prompt", 2000, "--output", 400)
    asked += ("--ttft", "800ms", "--tpot", "40ms", "--rate", "8/s", "--format", "json")
    free, limited = (
        json.loads(run(*asked, *more, capsys=capsys, monkeypatch=monkeypatch).out)["records"][0]
        for more in ((), ("--max-chips", 16))
    )
    assert limited["weight_format"] == "bf16"
    assert {**limited, "command": ""} == {**free, "command": ""}


@pytest.mark.thorough
def test_bursts_are_not_said_to_hold_a_percentile(capsys, monkeypatch, tmp_path):
    """Queues are computed for Poisson arrivals, whose times vary by their mean.

    Bursts wait longer, so that they take no fewer chips than Poisson arrivals do.
    """
    workload = (
        "aggregate_rate: 10\nclients:\n  - {id: chat, rate_fraction: 1, input_distribution: 2000,\n"
        "     output_distribution: 400, ttft: 150ms, arrival: {process: gamma, cv: %s}}\n"
    )
    said, records = {}, {}
    for variation in (1, 3):
        path = tmp_path / f"cv{variation}.yaml"
        path.write_text(workload % variation)
        asked = ("plan", "llama-3.1-8b", "--on", "h100-sxm", "--by", "chip", "--traffic", path)
        said[variation] = words(run(*asked, capsys=capsys, monkeypatch=monkeypatch).out)
        printed = run(*asked, "--format", "json", capsys=capsys, monkeypatch=monkeypatch).out
        records[variation] = json.loads(printed)
    poisson, bursts = (records[variation]["records"][0] for variation in (1, 3))
    assert bursts["chips_total"] >= poisson["chips_total"]
    assert records[1]["percentiles"]
    assert records[3]["percentiles"] is None
    assert "chance of meeting" in said[1]
    assert "chance of meeting" not in said[3]
    assert "p99 ms" in said[1]
    assert "p99" not in said[3]
    assert "coefficient of variation" not in said[1]
    assert "chat: requests arrive in bursts (coefficient of variation 3.00; 1" in said[3]
