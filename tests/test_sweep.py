"""A grid of points holds what each would be alone, to the last bit."""

from dataclasses import replace

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from fastcalc import columns
from fastcalc.catalogue import Catalogue
from fastcalc.errors import InputError
from fastcalc.placement import Layout
from fastcalc.scenario import Pricing, Scenario, Sharding, engine_for, solve
from fastcalc.sweep.grid import Grid, Requests, solve_grid
from fastcalc.traffic import Speculation, Traffic
from tests import strategies

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
        columns.Points(
            outcome.scenario,
            outcome.estimate,
            outcome.usd_per_hour,
            np.array(outcome.min_chips, dtype=float),
            lambda: columns.Words(np.int64(0), (str(outcome.placement),)),
            lambda: columns.Words(np.int64(0), (outcome.warnings,)),
        ).columns(),
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
        requests = grid.requests
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
    site = grid.sites[0]
    for tp in (1, 2, 8):
        for pp in (1, 3):
            for dp in (1, 2):
                layout = Layout(tp, pp, tp * dp if dp > 1 and grid.work.experts else 1, dp)
                try:
                    yield site.check(layout)
                except InputError:
                    continue


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
    for size in (1, 4, 7, 20, 1000):
        parts = list(grid.blocks(size))
        assert all(part.size <= size for part in parts)
        assert [
            one for part in parts for one in columns.records(solve_grid(part), part.shape)
        ] == whole
