"""Each printed number alone: a chip or an engine that is better in one of them is never slower."""

import itertools
from dataclasses import replace
from functools import cache
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st

from fastcalc.catalogue import Catalogue, Engine, Hardware
from fastcalc.catalogue.store import Kind
from fastcalc.classes import engine_of_class
from fastcalc.errors import InputError
from fastcalc.scenario import Scenario, Sharding, locate, solve
from tests import strategies
from tests.test_properties import traffics

TINY = 1e-9
MORE = ("speed", "low", "high", "bound", "bound_memory", "bound_compute", "served", "total")
LESS = ("tpot", "ttft", "request")
COSTS = (
    "dequantization_operations",
    "collective_latency",
    "decode_layer_floor",
    "prefill_layer_floor",
    "expert_layer_extra",
    "latent_layer_extra",
    "sequence_overhead",
    "request_overhead",
    "expert_correlation",
    "expert_imbalance",
    "minimum_rows",
)
RATES = (
    "bandwidth_fraction",
    "bandwidth_per_core",
    "compute_fraction",
    "compute_per_core",
    "grouped_gemm_fraction",
    "block_gemm_fraction",
    "link_fraction",
    "memory_fraction",
)
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
    given = engine.parameters.given
    rates = [("parameters", name) for name in RATES if name in given]
    return rates, [("parameters", name) for name in COSTS if name in given]


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
        chip = chip.model_copy(update={"memory": [*chip.memory, chip.memory[0]]})
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


def assert_never_slower(scenario: Scenario, better: Scenario) -> None:
    before, after = solve(scenario).estimate, solve(better).estimate
    assert after.fits
    for name in (*MORE, *LESS):
        old, new = getattr(before, name), getattr(after, name)
        if old is not None:
            slower = old / new if name in MORE else new / old
            assert slower <= 1 + TINY, (name, old, new)


@given(scenarios(), st.data(), st.floats(1.01, 10.0))
def test_no_number_of_a_chip_slows_it_when_it_gets_better(scenario, data, factor):
    rates, latencies = printed(scenario.hardware)
    path = data.draw(st.sampled_from([*rates, *latencies]))
    factor = 1 / factor if path in latencies else factor
    better = multiplied(scenario.hardware, path, factor)
    assert_never_slower(scenario, replace(scenario, hardware=better))


@given(scenarios(), st.data(), st.floats(1.01, 10.0))
def test_no_number_of_an_engine_slows_it_when_it_gets_better(scenario, data, factor):
    rates, costs = settings_of(scenario.engine)
    assume(rates or costs)
    path = data.draw(st.sampled_from([*rates, *costs]))
    value = getattr(scenario.engine.parameters, path[1]).si
    if path[1].endswith("_fraction"):
        factor = min(factor, 1 / value)
    if path[1] == "expert_imbalance":
        factor = min(factor, value)
    better = multiplied(scenario.engine, path, 1 / factor if path in costs else factor)
    assert_never_slower(scenario, replace(scenario, engine=better))
