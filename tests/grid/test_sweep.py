"""A grid of points holds what each would be alone, to the last bit."""

import csv
import math
from dataclasses import replace
from functools import partial
from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fastcalc.catalogue.store import Catalogue
from fastcalc.core.outcome import solve
from fastcalc.core.placement.layout import Layout
from fastcalc.core.pricing import Pricing
from fastcalc.core.scenario import Scenario, Sharding, engine_for
from fastcalc.core.traffic.traffic import Speculation, Traffic
from fastcalc.errors import InputError
from fastcalc.features.sweep.axes import Axes, Ranks, four_bits, grids
from fastcalc.grid import columns
from fastcalc.grid.blocks import WORKERS, in_order, solve_all
from fastcalc.grid.column import values
from fastcalc.grid.columns import pick
from fastcalc.grid.evaluated_points import CodedColumn, EvaluatedPoints, places
from fastcalc.grid.grid import BLOCK, Grid, Requests, solve_grid
from fastcalc.grid.request_lists import OpenRequests
from tests import strategies
from tests.helpers import ROOT

CATALOGUE = Catalogue()
tokens = st.integers(1, 200_000).map(float)


def alone(scenario, layout, prompt, output, context, batch):
    """Return the record of one point, solved as `compare` does."""
    sharding = Sharding()
    if layout is not None:
        sharding = Sharding(None, layout.tp, layout.pp, layout.ep, layout.dp)
    traffic = replace(scenario.traffic, prompt=prompt, output=output, context=context)
    outcome = solve(replace(scenario, batches=(int(batch),), sharding=sharding, traffic=traffic))
    (record,) = columns.records(
        values(
            columns.COLUMNS,
            EvaluatedPoints(
                outcome.scenario,
                outcome.estimate,
                outcome.usd_per_hour,
                partial(np.array, outcome.min_chips, dtype=float),
                lambda: outcome.max_batch,
                lambda: places(
                    outcome.estimate, np.asarray(0), [outcome.placement.layout], outcome.site
                ),
                lambda: CodedColumn(np.int64(0), (outcome.warnings,)),
            ),
        ),
        (1,),
    )
    return record


def same(one, other):
    return one == other or (one != one and other != other)


def assert_alike(grid, data):
    layouts = grid.layouts or (None,)
    table = list(columns.records(solve_grid(grid), grid.shape))
    assert len(table) == grid.size
    for _ in range(3):
        at = data.draw(st.integers(0, grid.size - 1))
        kind, row, batch = np.unravel_index(at, grid.shape)
        requests = grid.requests[:]
        record = alone(
            grid.scenario,
            layouts[row],
            requests.prompt[kind],
            requests.output[kind],
            requests.context[kind],
            grid.batches[batch],
        )
        assert table[at].keys() == record.keys()
        for key, value in record.items():
            assert same(table[at][key], value), (key, table[at][key], value)


@st.composite
def requests(draw):
    count = draw(st.integers(1, 4))
    columns = [draw(st.lists(tokens, min_size=count, max_size=count)) for _ in range(3)]
    return Requests(*(np.array(column) for column in columns))


batches = st.lists(st.integers(1, 3000), min_size=1, max_size=5, unique=True).map(
    lambda found: np.array(sorted(found), dtype=float)
)
speculations = st.sampled_from([Speculation(), Speculation(2.5, 3.0)])


@pytest.mark.thorough
@strategies.examples(25)
@given(
    strategies.hardware(),
    strategies.models(),
    strategies.engines(),
    requests(),
    batches,
    speculations,
    st.booleans(),
    st.data(),
)
def test_a_grid_holds_the_bits_of_each_point(
    chip, model, engine, kinds, counts, speculation, by_default, data
):
    traffic = Traffic(1.0, 1.0, 1.0, data.draw(st.sampled_from([0.0, 0.5])), speculation)
    scenario = Scenario(chip, model, engine, (1,), traffic, pricing=Pricing("cloud", 0.7))
    grid = Grid(scenario, (), kinds, counts)
    if not by_default:
        grid = Grid(scenario, tuple(legal(grid)), kinds, counts)
        assume(grid.layouts)
    assert_alike(grid, data)


def legal(grid):
    site = grid.site
    for tp in (1, 2, 8):
        for pp in (1, 3):
            for dp in (1, 2):
                layout = Layout(tp, pp, tp * dp if dp > 1 and site.work.experts else 1, dp)
                try:
                    yield site.check(layout)
                except InputError:
                    continue


@pytest.mark.thorough
@strategies.examples(25)
@given(
    st.sampled_from(["h100-sxm", "d-matrix-corsair", "wse-3", "groq-lpu", "gb200", "rtx-4090"]),
    st.sampled_from(["llama-3.1-70b", "deepseek-v3.2", "gpt-oss-120b", "qwen3-next-80b-a3b"]),
    st.sampled_from([None, "ideal"]),
    batches,
    st.data(),
)
def test_shipped_chips_do_so_too(hardware, model, engine, counts, data):
    chip, entry = CATALOGUE.hardware(hardware), CATALOGUE.model(model)
    found = CATALOGUE.engine(engine) if engine else engine_for(CATALOGUE, chip)[0]
    scenario = Scenario(chip, entry, found, (1,), Traffic(1.0, 1.0, 1.0))
    kinds = Requests(*np.array([[1000.0, 200.0], [500.0, 300.0], [1250.0, 40000.0]]))
    assert_alike(Grid(scenario, (), kinds, counts), data)


@pytest.mark.thorough
def test_blocks_are_the_whole_grid_in_order():
    chip = CATALOGUE.hardware("h100-sxm")
    scenario = Scenario(
        chip,
        CATALOGUE.model("llama-3.1-8b"),
        CATALOGUE.engine("vllm"),
        (1,),
        Traffic(1.0, 1.0, 1.0),
    )
    kinds = Requests(*np.array([[1000.0, 2000.0, 3000.0], [500.0] * 3, [1250.0, 2250.0, 3250.0]]))
    grid = Grid(scenario, (Layout(), Layout(2), Layout(4)), kinds, np.arange(1.0, 6.0))
    whole = list(columns.records(solve_grid(grid), grid.shape))
    for size in (1, 4, 7, 12, 20, 33, 1000):  # 12 and 33 part layouts and kinds unevenly
        parts = list(grid.blocks(size))
        assert all(part.size <= size for part in parts)
        assert [
            one for part in parts for one in columns.records(solve_grid(part), part.shape)
        ] == whole


def test_a_grid_beyond_a_block_has_the_columns_of_the_whole():
    """More points than a block holds, and a second grid after it, as a sweep takes them."""
    chip, model = CATALOGUE.hardware("h100-sxm"), CATALOGUE.model("llama-3.1-8b")
    scenario = Scenario(chip, model, CATALOGUE.engine("vllm"), (1,), Traffic(1.0, 1.0, 1.0))
    kinds = Requests(*np.array([[1000.0], [500.0], [1250.0]]))
    long = Grid(scenario, (Layout(), Layout(2)), kinds, np.arange(1.0, BLOCK + 2.0))
    short = replace(long, batches=np.array([7.0]))
    found = list(solve_all([long, short]))
    assert all(part.size <= BLOCK for part, _ in found)
    assert [part.size for part in long.blocks()] == [part.size for part, _ in found[:-1]]
    for grid, blocks in ((long, found[:-1]), (short, found[-1:])):
        whole = solve_grid(grid)
        for key in ("tp", "batch", "context_tokens", "fits", "ttft_ms", "usd_per_mtok_total"):
            parts = [np.broadcast_to(held[key], part.shape).ravel() for part, held in blocks]
            expected = np.broadcast_to(whole[key], grid.shape).ravel()
            np.testing.assert_array_equal(np.concatenate(parts), expected, err_msg=key)


def test_blocks_are_drawn_as_they_are_taken():
    """So that few of them are in memory, however many there are."""
    drawn = []

    def source():
        for number in range(100):
            drawn.append(number)
            yield number

    for taken, made in enumerate(in_order(lambda number: 2 * number, source()), 1):
        assert made == 2 * (taken - 1)
        assert len(drawn) <= taken + WORKERS
    assert len(drawn) == 100


def test_a_batch_beyond_the_engine_is_one_beyond_it_on_each_replica():
    """Of four attention replicas each takes a fourth of the batch."""
    chip, engine = CATALOGUE.hardware("h100-sxm"), CATALOGUE.engine("vllm")
    scenario = Scenario(chip, CATALOGUE.model("gpt-oss-120b"), engine, (1,), Traffic(1.0, 1.0, 1.0))
    layouts = (Layout(tp=4), Layout(tp=1, ep=4, dp=4))
    most = engine.parameters.max_sequences.si
    counts = np.array([most, most + 1, 4 * most, 4 * most + 1])
    grid = Grid(scenario, layouts, Requests(*np.ones((3, 1))), counts)
    told = [
        any("sequences per replica" in line for line in record["warnings"])
        for record in columns.records(solve_grid(grid), grid.shape)
    ]
    assert told == [False, True, True, True, False, False, False, True]


def test_a_model_that_takes_no_request_has_no_grid():
    chip = CATALOGUE.hardware("h100-sxm")
    found, left_out = grids(
        Axes(
            models=[CATALOGUE.model("mistral-7b-v0.1"), CATALOGUE.model("llama-3.1-8b")],
            chips=[(chip, *engine_for(CATALOGUE, chip))],
            prompts=(100_000,),
            outputs=(100,),
            batches=(1, 2),
        )
    )
    assert [(grid.scenario.model.id, grid.size) for grid in found] == [("llama-3.1-8b", 2)]
    assert left_out == {"a context beyond the maximum of mistral-7b-v0.1": 2}


@pytest.mark.parametrize(
    ("chip", "name"),
    [("b200", "nvfp4"), ("gb200", "nvfp4"), ("mi355x", "mxfp4"), ("h100-sxm", None)],
)
def test_four_bits(chip, name):
    assert four_bits(CATALOGUE.hardware(chip)) == name


@given(
    st.lists(st.integers(1, 50), min_size=1, max_size=6, unique=True),
    st.lists(st.integers(1, 50), min_size=1, max_size=6, unique=True),
    st.lists(st.one_of(st.just(math.nan), st.integers(1, 60)), min_size=1, max_size=3),
    st.sampled_from([3.0, 40.0, 60.0, math.inf]),
    st.integers(1, 9),
)
def test_requests_made_when_asked_for_are_those_of_the_whole_product(
    prompts, outputs, contexts, longest, step
):
    kinds = OpenRequests(*(np.array(one, float) for one in (prompts, outputs, contexts)), longest)
    wanted = [
        (prompt, output, prompt + output / 2 if context != context else context)
        for prompt, output, context in product(prompts, outputs, contexts)
        if prompt + output <= longest and not context > longest
    ]
    assert len(kinds) == len(wanted)
    parts = [kinds[start : start + step] for start in range(0, len(wanted), step)]
    found = [row for one in parts for row in zip(one.prompt, one.output, one.context, strict=True)]
    assert found == wanted


def test_of_chips_without_ranks_each_batch_has_the_practised_layout_that_serves_it_most():
    """Brute force: every cut of 1 to 16 ranks, stages and replicas, asked for by its ranks.

    Of a dense model people run groups without stages, and stages of whole nodes of eight. A batch
    that none of these holds has the best of all cuts.
    """
    hardware, model = CATALOGUE.hardware("h100-sxm"), CATALOGUE.model("llama-3.1-70b")
    axes = Axes(
        models=[model],
        chips=[(hardware, *engine_for(CATALOGUE, hardware))],
        prompts=[1000.0, 8000.0],
        outputs=[100.0, 1000.0],
        batches=[1.0, 16.0, 64.0, 512.0],
        ranks=Ranks(chips=(8, 16)),
    )
    ranks = (1, 2, 4, 8, 16)
    for grid in grids(axes)[0]:
        every = replace(axes, ranks=Ranks((grid.chips,), ranks, ranks, None, ranks))
        (cuts,), left_out = grids(every)
        assert left_out["chips other than tp x pp x dp"] > 0
        served = [
            np.where(found["fits"], found["served_tokens_per_s_total"], 0.0)
            for one in (grid, cuts)
            for found in [solve_grid(one, pick("served_tokens_per_s_total fits"))]
        ]
        practised = [cut.pp == 1 or cut.tp == 8 for cut in cuts.layouts]
        of_practised, of_all = served[1][:, practised].max(axis=1), served[1].max(axis=1)
        best = np.where(of_practised > 0.0, of_practised, of_all)
        assert served[0][:, 0] == pytest.approx(best, rel=1e-12)
        assert (of_practised < of_all).any()  # stages of pairs
        assert len(cuts.layouts) > 3
        # In blocks as at once.
        parts = [solve_grid(part, pick("tp"))["tp"] for part in grid.blocks(6)]
        assert len(parts) > 1
        whole = np.broadcast_to(solve_grid(grid, pick("tp"))["tp"], grid.shape)
        assert np.concatenate([np.ravel(one) for one in parts]).tolist() == whole.ravel().tolist()


def test_chips_that_a_model_cannot_be_laid_out_over_are_counted():
    """Seven chips in a domain of eight: seven replicas or stages; 1,009 is a prime beyond both."""
    hardware = CATALOGUE.hardware("h100-sxm")
    axes = Axes(
        models=[CATALOGUE.model("deepseek-r1")],
        chips=[(hardware, *engine_for(CATALOGUE, hardware))],
        prompts=[1000.0],
        outputs=[1000.0],
        batches=[1.0, 2.0],
        ranks=Ranks(chips=(7, 1009)),
    )
    found, left_out = grids(axes)
    assert [grid.chips for grid in found] == [7]
    assert left_out == {"chips beyond what the model can be laid out over": 2}


@pytest.mark.parametrize(
    ("ranks", "count"),
    [
        (Ranks(), 0),
        (Ranks(tp=(1, 2, 4)), 3),
        (Ranks(chips=(8,), tp=(1, 2)), 2),
        (Ranks(tp=(1, 2, 4), pp=(1, 2), ep=(1, 8), dp=(1, 2, 3, 4, 5)), 3 * 2 * 2 * 5),
    ],
)
def test_combinations_of_ranks_are_counted_as_they_are_made(ranks, count):
    """The product of the lists; where nothing is named the placement decides, and none is made."""
    chip = CATALOGUE.hardware("h100-sxm")
    assert ranks.count(chip, is_alone=False) == count
    assert len(ranks.on(chip, is_alone=False)) == max(count, 1)


def test_ranks_of_a_layer_are_not_counted_on_chips_that_pipeline_layers():
    """Alongside other chips, wafers take stages alone: two of the six combinations."""
    ranks, wafer = Ranks(tp=(1, 2, 4), pp=(2, 3)), CATALOGUE.hardware("wse-3")
    assert ranks.count(wafer, is_alone=False) == 2
    assert ranks.count(wafer, is_alone=True) == 6


@pytest.mark.parametrize("ranks", [Ranks(), Ranks(tp=(1, 2, 16)), Ranks(tp=(1, 3), dp=(1, 2))])
@pytest.mark.parametrize("weights", [(None,), (None, "fp8", "fp4")])
def test_every_combination_is_a_point_or_is_counted(ranks, weights):
    """Of two models, two chips, two prompts, an output, three batches and so many ranks.

    One prompt is beyond a context, 16 ranks leave the domain of eight, three do not divide the
    heads, and an A100 has no units for four bits.
    """
    axes = Axes(
        models=[CATALOGUE.model(name) for name in ("mistral-7b-v0.1", "llama-3.1-8b")],
        chips=[
            (chip, *engine_for(CATALOGUE, chip))
            for chip in (CATALOGUE.hardware(name) for name in ("h100-sxm", "a100-sxm-80gb"))
        ],
        prompts=[1000.0, 60_000.0],
        outputs=[500.0],
        batches=[1.0, 8.0, 64.0],
        weights=weights,
        ranks=ranks,
    )
    points, left_out = grids(axes)
    combinations = math.prod(len(listed or (1,)) for listed in vars(ranks).values())
    whole = 2 * 2 * len(weights) * 2 * 1 * 3 * combinations
    assert sum(grid.size for grid in points) + left_out.total() == whole
    # The long prompt of one model: on two chips, at three batches, in each format.
    beyond = 2 * 3 * len(weights) * combinations
    assert left_out["a context beyond the maximum of mistral-7b-v0.1"] == beyond


def test_columns_are_as_their_file_says():
    """One that states no priority never leaves a narrow table."""
    with (ROOT / "fastcalc/grid/columns.csv").open() as file:
        rows = {row["key"]: row for row in csv.DictReader(file)}
    assert len(rows) == len(columns.COLUMNS)
    for column in columns.COLUMNS:
        row = rows[column.key]
        assert column.drop_priority == (int(row["drop_priority"]) if row["drop_priority"] else 0)
        assert column.heading == (row["above"], row["heading"])
        assert (column.unit, column.meaning) == (row["unit"], row["meaning"])
        assert (column.key in columns.NEEDS_FIT) == (row["needs_fit"] == "yes")
