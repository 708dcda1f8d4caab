"""What must hold for any chip, model, engine and batch."""

import itertools
from dataclasses import replace

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from fastcalc.catalogue.schema import Engine, Hardware, Model
from fastcalc.core.chip.machine import machine
from fastcalc.core.chip.tier import OWN_MEMORY
from fastcalc.core.estimate import evaluate
from fastcalc.core.model.workload import workload
from fastcalc.core.placement.placement import Placement, Site
from fastcalc.core.step.bound import bound_step
from fastcalc.core.step.pass_work import PassInput
from fastcalc.core.step.schedule import Schedule
from fastcalc.core.traffic.traffic import Speculation, Traffic
from tests import strategies

TINY = 1e-9
BATCHES = np.array([1, 2, 3, 4, 7, 8, 16, 31, 64, 128, 500, 1024, 4096], dtype=float)

speculations = st.one_of(
    st.just(Speculation()),
    st.builds(Speculation.keeping, st.floats(1.0, 12.0)),
    st.builds(Speculation.accepting, st.floats(0.01, 1.0), st.integers(1, 12).map(float)),
)
traffics = st.builds(
    lambda prompt, output, hit, drafting: Traffic(
        prompt, output, prompt + output / 2, hit, drafting
    ),
    st.integers(1, 30_000).map(float),
    st.integers(1, 5_000).map(float),
    st.sampled_from([0.0, 0.5, 1.0]),
    speculations,
)


def place(
    chip: Hardware, model: Model, engine: Engine, traffic: Traffic, *, weights: str | None = None
) -> Placement:
    work = workload(model, weights)
    unit = machine(chip, engine, work, OWN_MEMORY)
    placement = Site(unit, work, traffic.reserved).smallest(1)
    assume(placement is not None)
    assert placement is not None
    return placement


@given(strategies.hardware(), strategies.models(), strategies.engines(), traffics)
def test_an_estimate_is_in_order(chip, model, engine, traffic):
    """The range holds the expected speed, the bound is above it, and prompts never make it faster.

    More users at once are slower each, and faster together.
    """
    estimate = evaluate(place(chip, model, engine, traffic), batch=BATCHES, traffic=traffic)
    assert np.all(estimate.low <= estimate.speed)
    assert np.all(estimate.speed <= estimate.high)
    assert np.all(estimate.high <= estimate.bound)
    assert np.all(np.isfinite(estimate.bound))
    if chip.execution == "spatial":
        assert np.all(estimate.speed <= estimate.bound_serial * (1 + TINY))
        assert np.all(estimate.bound_serial <= estimate.bound * (1 + TINY))
    else:
        assert estimate.bound_serial is None
    assert np.all(estimate.low > 0)
    assert np.all(np.diff(estimate.speed) <= TINY * estimate.speed[:-1])
    assert np.all(np.diff(estimate.bound) <= TINY * estimate.bound[:-1])
    assert np.all(np.diff(estimate.total) >= -TINY * estimate.total[:-1])
    assert np.all(estimate.served <= estimate.total * (1 + TINY))
    assert np.all(estimate.prompt_seconds >= -TINY)


@given(strategies.hardware(), strategies.models(), strategies.engines(), traffics)
def test_no_step_is_faster_than_light(chip, model, engine, traffic):
    """The step itself, before anything is cut to the bound."""
    placement = place(chip, model, engine, traffic)
    passes = Schedule(placement, traffic, BATCHES)
    replicas = 1 if placement.machine.is_spatial else placement.layout.dp
    for prompt in (0.0, traffic.computed_prompt):
        decode = passes.decode_work()
        work = replace(
            decode,
            sequences=BATCHES,
            expert_tokens=BATCHES
            * placement.layout.expert_shards
            / placement.layout.tp
            * traffic.speculation.verified,
            prompt=prompt,
            expert_prompt=prompt,
            prompt_flops=decode.prompt_flops._replace(
                kv=placement.work.attention_flops(
                    traffic.prompt_context, spread=traffic.prompt_spread, prompt=True
                )
                / placement.layout.tp
                * passes.attention.ranks  # on one chip
            ),
        )
        everyone = PassInput(
            attention=passes.attention,
            sequences=BATCHES * replicas,
            expert_sequences=BATCHES,
            prompt=prompt,
            verified=traffic.speculation.tokens_per_pass,
        )
        fastest = bound_step(passes.bound_terms, everyone).seconds
        assert np.all(passes.expected(work).seconds >= fastest * (1 - TINY))


@given(
    strategies.hardware(),
    strategies.models(),
    strategies.engines(),
    traffics,
    st.floats(1.01, 10.0),
)
def test_more_bandwidth_never_slows(chip, model, engine, traffic, factor):
    placement = place(chip, model, engine, traffic)
    tier = chip.memory[0]
    wider = tier.model_copy(
        update={"bandwidth": tier.bandwidth.model_copy(update={"si": tier.bandwidth.si * factor})}
    )
    chip_2 = chip.model_copy(update={"memory": [wider]})
    faster = replace(placement, machine=machine(chip_2, engine, placement.work, OWN_MEMORY))
    before = evaluate(placement, batch=BATCHES, traffic=traffic)
    after = evaluate(faster, batch=BATCHES, traffic=traffic)
    for name in ("speed", "bound", "served"):
        assert np.all(getattr(after, name) >= getattr(before, name) * (1 - TINY)), name
    assert np.all(after.ttft <= before.ttft * (1 + TINY))


@given(strategies.hardware(), strategies.models(), traffics)
def test_fewer_bits_never_slow_the_bound(chip, model, traffic):
    ideal = Engine.model_validate({"id": "ideal", "name": "", "fitted_on": "", "is_bound": True})
    placement = place(chip, model, ideal, traffic, weights="bf16")
    bounds = []
    for weights in ("fp32", "bf16", "fp8", "nvfp4", "mxfp4"):
        work = workload(model, weights)
        narrower = replace(placement, work=work, machine=machine(chip, ideal, work, OWN_MEMORY))
        bounds.append(evaluate(narrower, batch=BATCHES, traffic=traffic).bound)
    for wide, narrow in itertools.pairwise(bounds):
        assert np.all(narrow >= wide * (1 - TINY))


@strategies.examples(25)
@given(strategies.hardware(), strategies.models(), strategies.engines(), traffics)
def test_the_vector_equals_the_scalars(chip, model, engine, traffic):
    placement = place(chip, model, engine, traffic)
    together = evaluate(placement, batch=BATCHES, traffic=traffic)
    for index, batch in enumerate(BATCHES):
        alone = evaluate(placement, batch=batch, traffic=traffic)
        for name in (
            "speed",
            "low",
            "high",
            "bound",
            "total",
            "served",
            "ttft",
            "request",
            "joules",
        ):
            wanted, found = getattr(together, name)[index], getattr(alone, name)[0]
            np.testing.assert_allclose(found, wanted, rtol=1e-12, err_msg=name)
        assert alone.limiter[0] == together.limiter[index]


@given(strategies.hardware(spatial=False), strategies.models(), strategies.engines(), traffics)
def test_the_smallest_placement_is_legal_and_no_smaller_one_holds_the_batch(
    chip, model, engine, traffic
):
    placement = place(chip, model, engine, traffic)
    site = Site(placement.machine, placement.work, traffic.reserved)
    for batch in (1, 8, 100):
        smallest = site.smallest(batch)
        for layout in site.default_layouts:
            if smallest is None or layout.chips < smallest.layout.chips:
                assert site.place(layout).certain_batch < batch
        if smallest is not None:
            held = smallest.certain_batch
            assert smallest.used_fraction(held) <= 1 + TINY
            assert smallest.used_fraction(held + smallest.layout.dp) > 1 - TINY


@given(strategies.hardware(), strategies.models(), traffics)
def test_the_ideal_engine_is_the_bound(chip, model, traffic):
    ideal = Engine.model_validate({"id": "ideal", "name": "", "fitted_on": "", "is_bound": True})
    estimate = evaluate(place(chip, model, ideal, traffic), batch=BATCHES, traffic=traffic)
    np.testing.assert_array_equal(estimate.speed, estimate.bound)
    assert estimate.low is None
    assert estimate.high is None
