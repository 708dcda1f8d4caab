"""A stack of deployments gives each what it would have alone, to the last bit."""

import gc
import itertools
import weakref

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fastcalc.catalogue.store import Catalogue
from fastcalc.core.chip.tier import OWN_MEMORY, MemoryChoice
from fastcalc.core.estimate import OF_TRAFFIC, evaluate
from fastcalc.core.outcome import site_of
from fastcalc.core.placement.layout import Layout
from fastcalc.core.scenario import Scenario, engine_for
from fastcalc.core.stacked import BLOCK, Evaluation, StackedEstimate, evaluate_all, joined
from fastcalc.core.step.component import Component
from fastcalc.core.step.schedule import Schedule
from fastcalc.core.timeline import first_token
from fastcalc.core.traffic.mix import Mix
from fastcalc.core.traffic.request_class import Lengths, RequestClass
from fastcalc.core.traffic.traffic import Speculation, Traffic
from fastcalc.errors import InputError
from tests import made_up, strategies
from tests.helpers import thorough

CATALOGUE = Catalogue()
NUMBERS = (
    "tpot",
    "tpot_in_traffic",
    "ttft",
    "prompts_together",
    "served",
    "low",
    "high",
    "bound",
    "bound_memory",
    "bound_compute",
    "joules",
    "limiter_index",
    "bound_limiter",
)
CHIPS = ("h100-sxm", "b200", "gb200", "rtx-4090", "mi355x", "l40s")
WAFERS = ("wse-3", "groq-lpu")
CHAT_ALONE = Traffic(1000.0, 200.0, 1100.0)
DRAFTS = (Speculation(), Speculation(2.5, 3.0))
CHAT = RequestClass("chat", 3.0, Lengths.fixed(900.0, 300.0))
LONG = RequestClass("long", 1.0, Lengths.fixed(30000.0, 700.0))


def evaluation(scenario, layouts, batch):
    """A deployment on layouts as columns (several) or as one, at batches along a row."""
    traffic = scenario.traffic
    site = site_of(scenario, traffic.reserved)
    placement = site.place_all(layouts, axes=1) if len(layouts) > 1 else site.place(*layouts)
    return Evaluation(placement, np.array(batch, dtype=float), traffic)


def legal(scenario, ranks=(1, 2, 8)):
    site = site_of(scenario, scenario.traffic.reserved)
    for tp, pp, dp in itertools.product(ranks, (1, 3), (1, 2)):
        try:
            yield site.check(Layout(tp, pp, tp * dp if dp > 1 and site.work.experts else 1, dp))
        except InputError:
            continue


def assert_alike(evaluations, numbers=()):
    together = evaluate_all(evaluations, numbers)
    for one, stacked in zip(evaluations, together, strict=True):
        alone = evaluate(one.placement, batch=one.batch, traffic=one.traffic)
        for name in NUMBERS:
            expected, number = getattr(alone, name), getattr(stacked, name)
            if expected is None:
                assert number is None
                continue
            expected, number = np.broadcast_arrays(expected, number)
            assert np.array_equal(expected, number, equal_nan=True), (name, expected, number)
    return together


def first_tokens_of(index):
    """What counts the time to the first token of one class of a mix."""

    def count(passes):
        mix = passes.traffic
        return first_token(passes.joined_by(Mix.of(mix.classes, mix.speculation, index)))

    return count


def scenario_of(chip, model, traffic, weights=None, engine=None, memory=OWN_MEMORY):
    hardware = CATALOGUE.hardware(chip)
    run_by = CATALOGUE.engine(engine) if engine else engine_for(CATALOGUE, hardware)[0]
    entry = CATALOGUE.model(model)
    return Scenario(hardware, entry, run_by, (1,), traffic, weights=weights, memory=memory)


@pytest.mark.thorough
@strategies.examples(10)
@given(
    st.lists(
        st.tuples(strategies.hardware(), strategies.models(), strategies.engines()),
        min_size=2,
        max_size=3,
    ),
    st.lists(st.integers(1, 3000), min_size=1, max_size=5, unique=True),
    st.sampled_from(DRAFTS),
    st.data(),
)
def test_random_deployments_are_the_same_together_and_alone(entries, batches, drafts, data):
    evaluations = []
    for chip, model, engine in entries:
        prompt = float(data.draw(st.integers(1, 100_000)))
        traffic = Traffic(prompt, 500.0, prompt + 250.0, 0.25, drafts)
        scenario = Scenario(chip, model, engine, (1,), traffic)
        if layouts := list(legal(scenario)):
            evaluations += [evaluation(scenario, layouts, batches)]
            evaluations += [evaluation(scenario, layouts[:1], batches[:1])]
    assume(evaluations)
    assert_alike(evaluations)


@pytest.mark.thorough
@pytest.mark.parametrize("drafts", DRAFTS)
@pytest.mark.parametrize("model", ["llama-3.1-70b", "deepseek-r1", "qwen3-next-80b-a3b"])
def test_shipped_deployments_share_stacks(model, drafts):
    traffic = Traffic(2000.0, 300.0, 2150.0, 0.0, drafts)
    evaluations = []
    for chip in (*CHIPS, *WAFERS):
        scenario = scenario_of(chip, model, traffic)
        layouts = list(legal(scenario))
        evaluations += [evaluation(scenario, layouts, (1, 7, 64))]
        evaluations += [evaluation(scenario, [layout], (1, 2)) for layout in layouts[:3]]
    together = assert_alike(evaluations)
    assert all(isinstance(estimate, StackedEstimate) for estimate in together)
    # GPUs with pipeline stages and without, and regions; what is drafted passes layers of each kind.
    stacks = {id(estimate.rows.stack) for estimate in together}
    assert len(stacks) == (2 if drafts.drafted else 3)


def test_models_of_unlike_layers_share_a_stack_without_stages():
    traffic = Traffic(2000.0, 300.0, 2150.0)
    models = ("llama-3.1-8b", "deepseek-r1", "gpt-oss-120b")
    wide = [
        evaluation(scenario_of("b200", model, traffic), [Layout(8)], (1, 9)) for model in models
    ]
    together = assert_alike(wide)
    assert len({id(estimate.rows.stack) for estimate in together}) == 1


def test_a_mix_of_classes_shares_a_stack_with_itself_alone():
    mix = Mix.of([CHAT, LONG], Speculation())
    other = Mix.of([CHAT], Speculation())
    evaluations = [
        evaluation(scenario_of(chip, "gpt-oss-120b", traffic), [Layout(8)], (4, 32))
        for traffic in (mix, other)
        for chip in ("h100-sxm", "b200")
    ]
    together = assert_alike(evaluations)
    assert together[0].rows.stack is together[1].rows.stack
    assert together[2].rows.stack is together[3].rows.stack
    assert together[0].rows.stack is not together[2].rows.stack


@pytest.mark.parametrize("drafts", DRAFTS)
@pytest.mark.parametrize("model", ["llama-3.1-70b", "deepseek-r1"])
def test_each_class_of_a_mix_has_its_first_token_as_alone(model, drafts):
    """Passes that decode are those of all classes; long prompts take longer."""
    mix, counts = Mix.of([CHAT, LONG], drafts), [first_tokens_of(0), first_tokens_of(1)]
    scenarios = [scenario_of(chip, model, mix) for chip in ("h200-sxm", "b200", "mi355x")]
    evaluations = [evaluation(one, list(legal(one)), (2, 16, 70)) for one in scenarios]
    for one, stacked in zip(evaluations, evaluate_all(evaluations, counts), strict=True):
        assert isinstance(stacked, StackedEstimate)
        alone = evaluate(one.placement, batch=one.batch, traffic=one.traffic)
        chat, long = (alone.of_passes(count) for count in counts)
        assert (chat < long).all()
        assert np.array_equal(chat, stacked.of_passes(counts[0]))
        assert np.array_equal(long, stacked.of_passes(counts[1]))


def test_numbers_that_are_computed_together_keep_no_components():
    traffic = Traffic(2000.0, 300.0, 2150.0)
    chips = [scenario_of(chip, "deepseek-r1", traffic) for chip in ("h200-sxm", "mi355x")]
    evaluations = [evaluation(one, list(legal(one)), (1, 7, 64)) for one in chips]
    together = assert_alike(evaluations, OF_TRAFFIC)
    assert all(isinstance(estimate, StackedEstimate) for estimate in together)
    fresh, kept = evaluate_all(evaluations, OF_TRAFFIC), evaluate_all(evaluations)
    for estimates, has_passes in ((fresh, False), (kept, True)):
        assert estimates[0].ttft.all()
        assert ("passes" in vars(estimates[0].rows.stack)) == has_passes


def test_hardware_bounds_are_evaluated_alone():
    traffic = Traffic(1000.0, 200.0, 1100.0)
    evaluations = [
        evaluation(scenario_of(chip, "llama-3.1-8b", traffic, engine="ideal"), [Layout()], (1, 8))
        for chip in ("h100-sxm", "b200")
    ]
    assert not any(isinstance(estimate, StackedEstimate) for estimate in assert_alike(evaluations))


@pytest.mark.parametrize("drafts", DRAFTS)
@pytest.mark.parametrize("use", [None, "compute", "stream"])
@pytest.mark.parametrize("model", ["llama-3.1-70b", thorough("deepseek-r1")])
def test_deployments_with_the_memory_of_a_host_share_a_search(model, use, drafts):
    """Host and disk: bytes of each live where they would live if it were evaluated alone."""
    traffic = Traffic(2000.0, 300.0, 2150.0, 0.0, drafts)
    memory = MemoryChoice(CATALOGUE.hardware("ddr5-2ch-nvme"), use=use)
    evaluations = []
    for chip in ("h100-sxm", "rtx-4090", "mi300x"):
        scenario = scenario_of(chip, model, traffic, memory=memory)
        layouts = list(legal(scenario))
        evaluations += [evaluation(scenario, [Layout()], (1, 7, 64))]
        evaluations += [evaluation(scenario, layouts, (1, 2))]
    together = assert_alike(evaluations)
    stacked = [
        (one, estimate)
        for one, estimate in zip(evaluations, together, strict=True)
        if isinstance(estimate, StackedEstimate)
    ]
    assert len({id(estimate.rows.stack) for _, estimate in stacked}) < len(stacked)
    for one, estimate in stacked:
        alone = evaluate(one.placement, batch=one.batch, traffic=one.traffic).passes.split
        shared = estimate.passes.split
        assert (alone is None) == (shared is None)
        for kind, fractions in alone.shares.items() if alone else ():
            for own, fraction in zip(fractions, shared.shares[kind], strict=True):
                assert np.array_equal(np.broadcast_to(own, fraction.shape), fraction), kind


def test_several_kinds_of_requests_on_several_layouts_are_evaluated_alone():
    """Requests and layouts on an axis each are no rows; requests on one axis are."""
    lengths = np.array([1000.0, 2000.0, 3000.0])[:, np.newaxis, np.newaxis]
    traffic = Traffic(lengths, 200.0, lengths + 100.0)
    site = site_of(scenario_of("h100-sxm", "llama-3.1-8b", CHAT_ALONE), 3200.0)
    layouts, batches = [Layout(), Layout(2)], np.array([1.0, 4.0])
    both = [Evaluation(site.place_all(layouts, axes=1), batches, traffic)] * 2
    each = [Evaluation(site.place_all(layouts, axes=1), lengths, traffic)] * 2
    one = [Evaluation(site.place_all(layouts[:1], axes=1), batches, traffic)] * 2
    together = assert_alike([*both, *each, *one])
    stacked = [isinstance(estimate, StackedEstimate) for estimate in together]
    assert stacked == [False] * 4 + [True] * 2


def test_no_stack_is_larger_than_a_block():
    traffic = Traffic(1000.0, 200.0, 1100.0)
    scenario = scenario_of("h100-sxm", "llama-3.1-8b", traffic)
    third = np.arange(1, BLOCK // 3 + 1)
    together = evaluate_all([evaluation(scenario, [Layout()], third) for _ in range(5)])
    sizes = [sum(map(np.size, estimate.rows.stack.passes.batch)) for estimate in together]
    assert max(sizes) <= BLOCK
    assert sum(isinstance(estimate, StackedEstimate) for estimate in together) == 5


def test_records_are_joined_row_by_row():
    """Two records of two rows and of one: 1 and 2, then 3; what all have stays a number."""
    first = Component("read", bytes=np.array([[1.0], [2.0]]), bandwidth=4.0)
    second = Component("read", bytes=3.0, bandwidth=4.0)
    column = joined([(first.bytes, 4.0), (second.bytes, 4.0)], [2, 1], axes=1)
    assert column[0].tolist() == [[1.0], [2.0], [3.0]]
    assert column[1] == 4.0
    assert joined([(1.0, None), (2.0, None)], [2, 1])[0].tolist() == [1.0, 1.0, 2.0]


def test_the_passes_of_a_placement_are_freed_with_their_last_reference():
    """Their components are most of the memory of a search, which makes thousands of them."""
    passes = made_up.random_load([(1, 1000, 200)], 4, 1.0).passes
    copy = Schedule(passes.placement, passes.traffic, passes.batch)
    assert copy.decode.seconds.size == 4
    freed = weakref.ref(copy)
    gc.disable()
    try:
        del copy
        assert freed() is None, "it refers to itself"
    finally:
        gc.enable()
