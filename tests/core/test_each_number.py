"""Each printed number alone: a chip or an engine that is better in one of them is never slower."""

import itertools
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fastcalc.catalogue.kinds import Kind
from fastcalc.catalogue.schema import Engine, Hardware, Model
from fastcalc.catalogue.schema.engine_parameters import PARAMETERS
from fastcalc.catalogue.store import Catalogue
from fastcalc.core.chip.host import memory_choice
from fastcalc.core.chip.machine_class import engine_of_class
from fastcalc.core.outcome import locate, solve
from fastcalc.core.scenario import Scenario, Sharding
from fastcalc.core.traffic.traffic import Traffic
from fastcalc.errors import InputError
from tests import strategies
from tests.core.test_properties import traffics
from tests.helpers import outcome

TINY = 1e-9
MORE = ("speed", "low", "high", "bound", "bound_memory", "bound_compute", "served", "total")
LESS = ("tpot", "ttft", "request")
Path = tuple[str | int, ...]


def multiplied(entry: Any, path: Path, factor: float) -> Any:
    """Return an entry with one of its numbers multiplied."""
    if not path:
        return entry.model_copy(update={"si": entry.si * factor})
    key, *rest = path
    if isinstance(entry, (list, dict)):
        changed = entry.copy()
        changed[key] = multiplied(entry[key], tuple(rest), factor)
        return changed
    return entry.model_copy(update={key: multiplied(getattr(entry, key), tuple(rest), factor)})


def printed(chip: Hardware) -> tuple[list[Path], list[Path]]:
    """Return where a chip's numbers stand: those of which more is better, and latencies."""
    tiers = [
        ("memory", i, name) for i in range(len(chip.memory)) for name in ("bandwidth", "capacity")
    ]
    rates = [*tiers, *(("peak", name) for name in chip.peak)]
    rates += [(name,) for name in ("vector", "cores") if getattr(chip, name)]
    sides = [side for side in ("scale_up", "scale_out") if getattr(chip.links, side)]
    rates += [("links", side, "bandwidth") for side in sides]
    slow = [("links", side, "latency") for side in sides if getattr(chip.links, side).latency]
    return rates, slow


def settings_of(engine: Engine) -> tuple[list[Path], list[Path]]:
    """Return where an engine's numbers stand: those of which more is better, and costs."""
    raised: dict[str | None, list[Path]] = {"faster": [], "slower": [], None: []}
    for name, one in PARAMETERS.items():
        if name in engine.parameters.given:
            raised[one.raised].append(("parameters", name))
    return raised["faster"], raised["slower"]


@cache
def shipped(kind: Kind) -> list[Any]:
    entries = Catalogue()
    load = entries.hardware if kind == "hardware" else entries.model
    return [load(name) for name in entries.names(kind)]


@cache
def engine_on(name: str, kind: str, architecture: str | None) -> Engine:
    """An engine as it is on a chip: its parameters, and no overrides."""
    engine = Catalogue().engine(name)
    known = engine.on(kind, architecture)
    return engine.model_copy(update={"parameters": known, "architectures": {}})


@st.composite
def chips(draw: st.DrawFn) -> Hardware:
    """A chip of the catalogue or a random one, any of its numbers changed, maybe of two tiers."""
    chip = draw(st.one_of(st.sampled_from(shipped("hardware")), strategies.hardware()))
    if draw(st.booleans()):
        # A region has a share of the memory on the chip: it is the faster one by far.
        factor = 1.0 if chip.execution == "sequential" else 1e-6
        second = multiplied(
            chip.memory[0].model_copy(update={"where": None}), ("bandwidth",), factor
        )
        chip = chip.model_copy(update={"memory": [*chip.memory, second]})
    for path in itertools.chain(*printed(chip)):
        if draw(st.booleans()):
            chip = multiplied(chip, path, draw(st.floats(0.1, 10.0)))
    return chip


@st.composite
def scenarios(draw: st.DrawFn) -> Scenario:
    """A stated deployment that holds its batch, with everything else at random."""
    chip = draw(chips())
    own, ideal = (
        engine_on(name, chip.kind, chip.architecture)
        for name in (engine_of_class(chip)[0], "ideal")
    )
    engine = draw(st.one_of(st.just(own), strategies.engines(), st.just(ideal)))
    ranks = (1,) if chip.execution == "spatial" else (1, 2, 4, 8)
    scenario = Scenario(
        hardware=chip,
        model=draw(st.one_of(st.sampled_from(shipped("models")), strategies.models())),
        engine=engine,
        batches=(draw(st.sampled_from([1, 2, 7, 32, 200, 1000])),),
        traffic=draw(traffics),
        weights=draw(st.sampled_from([None, "bf16", "fp8", "nvfp4", "mxfp4", "int8", "q4_k_m"])),
        kv=draw(st.sampled_from([None, "bf16", "fp8", "int8"])),
        sharding=Sharding(
            tp=draw(st.sampled_from(ranks)),
            pp=draw(st.sampled_from([1, 2, 3, 8])),
            ep=draw(st.sampled_from([None, *ranks])),
            dp=draw(st.sampled_from(ranks)),
        ),
    )
    try:
        assume(locate(scenario).fits)
    except InputError:
        assume(False)
    return scenario


def assert_never_slower(scenario: Scenario, betters: Iterator[tuple[Path, Scenario]]) -> None:
    before = solve(scenario).estimate
    for path, better in betters:
        after = solve(better).estimate
        assert after.fits, path
        for name in (*MORE, *LESS):
            old, new = getattr(before, name), getattr(after, name)
            if old is not None:
                slower = old / new if name in MORE else new / old
                assert slower <= 1 + TINY, (path, name, old, new)


@pytest.mark.thorough
@strategies.examples(12)
@given(scenarios(), st.floats(1.01, 10.0))
def test_no_number_of_a_chip_slows_it_when_it_gets_better(scenario, factor):
    rates, latencies = printed(scenario.hardware)

    def betters():
        for path in [*rates, *latencies]:
            by = 1 / factor if path in latencies else factor
            yield path, replace(scenario, hardware=multiplied(scenario.hardware, path, by))

    assert_never_slower(scenario, betters())


@pytest.mark.thorough
@strategies.examples(12)
@given(scenarios(), st.floats(1.01, 10.0))
def test_no_number_of_an_engine_slows_it_when_it_gets_better(scenario, factor):
    rates, costs = settings_of(scenario.engine)

    def betters():
        for path in [*rates, *costs]:
            value = getattr(scenario.engine.parameters, path[1]).si
            limit = PARAMETERS[path[1]].reader.limit
            if not value:
                continue
            free = scenario.engine.parameters.given.get("free_fraction")
            is_share = path[1] == "memory_fraction"  # a larger one than is free does not start
            most = free.si if is_share and free else limit.maximum
            by = min(factor, value / limit.minimum if path in costs else most / value)
            better = multiplied(scenario.engine, path, 1 / by if path in costs else by)
            yield path, replace(scenario, engine=better)

    assert_never_slower(scenario, betters())


@pytest.mark.parametrize(
    ("chip", "model", "weights", "ranks"),
    [
        ("h100-sxm", "llama-3.1-70b", "fp8", Sharding(tp=4)),
        ("mi300x", "muse-glimmer-30b", None, Sharding(tp=1)),
    ],
)
def test_a_rate_that_no_product_runs_at_changes_nothing(chip, model, weights, ranks):
    """Weights in fp8 or bf16, the rest in bf16: fp16 is not used, whatever it is."""
    given = {"weights": weights, "batch": (64,), "prompt": 4000, "sharding": ranks}
    hardware = Catalogue().hardware(chip)
    doubled = multiplied(hardware, ("peak", "fp16"), 2.0)
    before = outcome(model, hardware, **given).estimate
    after = outcome(model, doubled, **given).estimate
    assert (after.ttft[0], after.speed[0]) == (before.ttft[0], before.speed[0])


@pytest.mark.parametrize(
    ("chip", "engine", "weights", "peak"),
    [
        ("rtx-4090", "vllm", "fp16", 165.2e12),
        ("rtx-4090", "vllm", "q8_0", 165.2e12),
        ("rtx-4090", "llama-cpp", "fp16", 330.3e12),
        ("rtx-4090", "llama-cpp", "bf16", 165.2e12),
        ("t4", "vllm", "fp16", 65e12),
    ],
)
def test_fp16_is_twice_as_fast_on_geforce_only_where_an_engine_sums_in_16_bits(
    chip, engine, weights, peak
):
    """NVIDIA's Ada white paper: 165.2 TFLOP/s with FP32 accumulate, 330.3 with FP16 accumulate."""
    found = outcome("llama-3.1-8b", chip, engine=engine, weights=weights).placement.machine.chip
    assert found.products.dense.peak == peak


def test_products_reach_what_their_own_peak_and_width_allow():
    """10 cores fed 1 TFLOP/s at 16 bits each, 2 at 8; a share of a half: times add.

    8 bits: 40 TFLOP/s x 0.5 = 20 alongside 20 fed make 10. 16 bits: 20 x 0.5 = 10 alongside 10: 5.
    """
    engine = Engine.model_validate(
        {
            "id": "fed",
            "name": "Fed",
            "fitted_on": "nothing",
            "parameters": {"compute_fraction": 0.5, "compute_per_core": "1 TFLOP/s"},
        }
    )
    hardware = Catalogue().hardware("h100-sxm")
    peaks = {"bf16": 20e12, "fp16": 123e12, "fp8": 40e12}
    for name, peak in peaks.items():
        hardware = multiplied(hardware, ("peak", name), peak / hardware.peak[name].si)
    hardware = multiplied(hardware, ("cores",), 10 / hardware.cores.si)
    one = outcome("llama-3.1-8b", hardware, engine=engine, weights="fp8").placement.machine
    assert one.software.rate(one.chip, one.chip.products.dense) == pytest.approx(10e12)
    assert one.software.rate(one.chip, one.chip.products.kv) == pytest.approx(5e12)


def test_the_bound_fills_the_tier_first_that_is_read_through_soonest():
    """16.06 GB at least on 24 GB at 10 TB/s and 2.4 GB at 9: 2.4 there, 13.66 from the large one.

    Both together read 19 TB/s, which is no bound: the small one is done after 0.27 ms. At 11 TB/s
    it is done sooner, and the large one has as much left.
    """
    hardware = Catalogue().hardware("h100-sxm")
    large = multiplied(hardware, ("memory", 0, "capacity"), 24e9 / hardware.memory[0].capacity.si)
    large = multiplied(large, ("memory", 0, "bandwidth"), 10e12 / large.memory[0].bandwidth.si)
    small = multiplied(large.memory[0], ("capacity",), 0.1)
    found = []
    for bandwidth in (0.9, 1.1):
        tiers = [*large.memory, multiplied(small, ("bandwidth",), bandwidth)]
        chip = large.model_copy(update={"memory": tiers})
        light = outcome("llama-3.1-8b", chip, prompt=1, output=1).estimate.bound_pass
        found.append(light.work.memory_time[0])
        assert light.work.memory_time[0] == pytest.approx((light.work.bytes[0] - 2.4e9) / 10e12)
    assert found[0] == found[1]


@st.composite
def catalogue_scenarios(draw: st.DrawFn, *, with_host: bool = False) -> Scenario:
    """A stated deployment of the catalogue under the engine of its class, maybe with a host."""
    chip = draw(st.sampled_from([chip for chip in shipped("hardware") if chip.kind != "host"]))
    assume(not with_host or chip.execution == "sequential")
    ranks = (1,) if chip.execution == "spatial" else (1, 2, 4, 8)
    host = draw(st.sampled_from(HOSTS)) if with_host else None
    scenario = Scenario(
        hardware=chip,
        model=draw(st.sampled_from(shipped("models"))),
        engine=Catalogue().engine(engine_of_class(chip)[0]),
        batches=(draw(st.sampled_from([1, 2, 8, 32, 200])),),
        traffic=draw(st.sampled_from([Traffic(1000, 1000, 1500), Traffic(8000, 500, 8250)])),
        weights=draw(st.sampled_from([None, "bf16", "fp8", "q4_k_m", "int4"])),
        memory=replace(memory_choice(Catalogue(), host), place_for="decode"),
        sharding=Sharding(tp=draw(st.sampled_from(ranks)), pp=1, dp=draw(st.sampled_from(ranks))),
    )
    try:
        assume(locate(scenario).fits)
    except InputError:
        assume(False)
    return scenario


HOSTS = ["ddr5-2ch", "epyc-9005-12ch", "grace-480gb"]
ENDS = ("low", "speed", "high", "bound")


@pytest.mark.thorough
@strategies.examples(15)
@given(catalogue_scenarios(with_host=True), st.floats(1.05, 5.0))
def test_no_number_of_a_chip_with_a_host_lowers_an_end_of_a_range(scenario, factor):
    """Decoding alone, which bytes are placed for: what frees a model of its host widens nothing."""
    before = solve(scenario).estimate
    for path in printed(scenario.hardware)[0]:
        faster = multiplied(scenario.hardware, path, factor)
        after = solve(replace(scenario, hardware=faster)).estimate
        for end in ENDS:
            if getattr(before, end) is not None:
                assert getattr(after, end)[0] >= getattr(before, end)[0] * (1 - TINY), (path, end)


def larger(model: Model, size: str, times: float) -> Model | None:
    """A model with more of something in every layer; None where it has none of that."""
    if size == "vocabulary":
        return model.model_copy(update={"vocabulary": int(model.vocabulary * times)})
    if not model.blocks:
        return None
    blocks = []
    for block in model.blocks:
        if size == "layers":
            blocks.append(block.model_copy(update={"count": int(block.count * times) + 1}))
            continue
        width = block.ffn and block.ffn.model_copy(update={"width": int(block.ffn.width * times)})
        blocks.append(block.model_copy(update={"ffn": width}))
    return model.model_copy(update={"blocks": blocks})


@pytest.mark.thorough
@strategies.examples(15)
@given(
    catalogue_scenarios(),
    st.sampled_from(["layers", "width", "vocabulary"]),
    st.sampled_from([1.25, 2.0, 3.0]),
)
def test_a_larger_model_raises_no_end_of_a_range(scenario, size, times):
    model = larger(scenario.model, size, times)
    assume(model is not None)
    larger_one = replace(scenario, model=model)
    assume(locate(larger_one).fits)
    before, after = (solve(one).estimate for one in (scenario, larger_one))
    for end in ENDS:
        if getattr(before, end) is not None:
            assert getattr(after, end)[0] <= getattr(before, end)[0] * (1 + TINY), end
