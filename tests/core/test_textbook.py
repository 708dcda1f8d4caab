"""The step of textbooks is core's own, with all reading and computing at once."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastcalc.catalogue.store import Catalogue
from fastcalc.core.chip.machine import EngineParameters, machine
from fastcalc.core.chip.tier import OWN_MEMORY
from fastcalc.core.model.kinds import Kinds
from fastcalc.core.model.workload import workload
from fastcalc.core.placement.layout import Layout
from fastcalc.core.placement.placement import Placement
from fastcalc.core.pricing import Pricing
from fastcalc.core.step.pass_work import PassInput, attention_of, count_pass
from fastcalc.core.step.step import expected_step
from fastcalc.core.step.textbook import textbook_step
from fastcalc.core.traffic.traffic import Traffic
from fastcalc.features.claims.premium import Case
from fastcalc.features.infer.two_tiers import COMPUTE_REACH, ChipArrays, machines, slow_tier
from tests import made_up
from tests.strategies import dice, examples, hardware, models


@st.composite
def software(draw):
    """Shares of the peaks and a floor."""
    luck = draw(dice)
    return EngineParameters(
        bandwidth_fraction=luck.number(0.1, 1.0),
        compute_fraction=luck.number(0.1, 1.0),
        decode_layer_floor=luck.number(0.0, 1e-4),
    )


def decode(chip, model, layout, batch, context):
    """Return a pass that decodes, and the chip that it runs on."""
    unit = machine(chip, made_up.engine(), workload(model), OWN_MEMORY)
    placement = Placement(unit, workload(model), layout, context)
    attention = attention_of(placement, Traffic(context, 0.0, context))
    return count_pass(placement, PassInput(attention, batch, batch), in_flight=1.0), unit.chip


chips = hardware(spatial=False).map(lambda chip: chip.model_copy(update={"ranks": None}))


@examples(40)
@given(chips, models(), software(), st.sampled_from([1, 2, 8]), dice)
def test_it_is_the_step_of_an_engine_of_those_shares(chip, model, shares, tp, luck):
    """Component by component; the larger of reading and computing is between part and whole.

    Where a chip computes or reads in no time, nothing overlaps, and the two are the same.
    """
    batch, context = float(luck.whole(1, 4096)), luck.number(1.0, 100_000.0)
    work, numbers = decode(chip, model, Layout(tp=tp), batch, context)
    step, parts = textbook_step(work, numbers, shares), expected_step(work, numbers, shares)
    reading, computing = (
        sum(getattr(part, name) for part in parts.components)
        for name in ("memory_time", "compute_time")
    )
    assert step.weights + step.caches == pytest.approx(reading)
    assert step.computing == pytest.approx(computing)
    assert step.seconds <= parts.seconds * (1.0 + 1e-12)
    hidden = min(reading, computing)
    assert parts.seconds <= (step.seconds + hidden) * (1.0 + 1e-12)
    products = Kinds(*(product._replace(peak=1e35) for product in numbers.products))
    for free in (replace(numbers, products=products), replace(numbers, bandwidth=1e35)):
        alone = textbook_step(work, free, shares).seconds
        assert alone == pytest.approx(float(expected_step(work, free, shares).seconds))


@pytest.mark.thorough
@examples(40)
@given(chips, models(), software(), dice)
def test_claims_take_it(chip, model, shares, luck):
    """A case of one chip is that step; of several it reads and computes so many times as fast."""
    batch, context = float(luck.whole(1, 4096)), luck.number(1.0, 100_000.0)
    work, numbers = decode(chip, model, Layout(), batch, context)
    unit = machine(chip, made_up.engine(), workload(model), OWN_MEMORY)
    single, several = (
        Case(unit, workload(model), chips, context, chip).step(np.array([batch]), shares)
        for chips in (1.0, 8.0)
    )
    assert single.seconds[0] == pytest.approx(float(textbook_step(work, numbers, shares).seconds))
    for name in ("weights", "caches", "computing"):
        assert 8.0 * getattr(several, name) == pytest.approx(getattr(single, name))
    assert several.waiting == pytest.approx(single.waiting)
    assert several.sending >= single.sending == 0.0


@examples(40)
@given(chips, software(), dice)
def test_infer_takes_it(chip, shares, luck):
    """A service is a model of totals alone, in 8 bits and in layers of which only the sum counts."""
    active, total, layers = luck.whole(10**10, 10**11), luck.whole(10**11, 10**12), 50
    batch, cache = float(luck.whole(1, 4096)), 1000 * luck.whole(50_000, 10_000_000)
    model = made_up.minimal(
        total_parameters=total,
        active_parameters=active,
        layers=layers,
        kv_format="fp8",
        weight_format="fp8",
        kv_bytes_per_token=cache // 1000,
    )
    work, numbers = decode(chip, model, Layout(), batch, 1000.0)
    step = textbook_step(work, numbers, replace(shares, compute_fraction=COMPUTE_REACH))
    kinds = ChipArrays(
        (chip.id,),
        bandwidth=np.array([numbers.bandwidth]),
        memory=np.array([chip.memory[0].capacity.si]),
        rate=np.array([numbers.products.experts.peak]),
        usd=np.array([1.0]),
    )
    values = {"active": active, "sparsity": total / active, "cache": cache, "batch": batch}
    values |= {"floor": layers * shares.decode_layer_floor, "reach": shares.bandwidth_fraction}
    values |= {"chips": 1.0, "chip": 0, "kept": 1.0}
    tier = slow_tier({name: np.array([value]) for name, value in values.items()}, kinds)
    # A scale of 32 bits for each block of 128 x 128 is in core's bytes alone.
    assert 1.0 / tier.speed[0] == pytest.approx(float(step.seconds), rel=2.5e-4)


def test_every_chip_that_runs_layer_after_layer_has_one():
    """Apple's chips print 16-bit rates of fp16 alone."""
    kinds = machines([Catalogue().hardware("apple-m1")], Pricing(user_prices={"apple-m1": 1.0}))
    assert kinds.rate == Catalogue().hardware("apple-m1").rate("fp16").si
