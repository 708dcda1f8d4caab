"""Where bytes live takes least of all that there is, or nearly: against a linear program."""

import numpy as np
import pytest
from scipy.optimize import linprog

from fastcalc.core.model.kinds import IN_LAYERS, KINDS, READ
from fastcalc.core.placement.best_split import best_split
from fastcalc.core.placement.split import Costs, Split, least_extra

POINTS = 5


def least_by_scipy(sizes, room, costs, point):
    """What a pass takes at least: the shares of five kinds in all memories, and the largest of them.

    Turns are paid for the largest share of a kind of a layer.
    """
    count, kinds = len(room), len(KINDS)
    cells = np.zeros((kinds, count))
    for tier, row in enumerate(costs.by_memory):
        cells[: len(READ), tier] = [np.broadcast_to(times, POINTS)[point] for times in row]
    price, limits, ends = np.append(cells.ravel(), 0.0), [], []

    def limit(end, at, turns=0.0):
        limits.append(np.append(at.ravel(), turns))
        ends.append(end)

    if costs.turning_memory is not None:
        price[-1] = costs.turn_seconds * costs.layers
        price[KINDS.index("head") * count + costs.turning_memory] += costs.turn_seconds
        for kind in IN_LAYERS:
            there = np.zeros((kinds, count))
            there[KINDS.index(kind), costs.turning_memory] = 1.0
            limit(0.0, there, turns=-1.0)
    held = np.array([sizes[kind][point] for kind in KINDS])
    for tier in range(count):
        limit(room[tier][point] / held.sum(), np.outer(held / held.sum(), np.arange(count) == tier))
    whole = np.zeros((kinds, price.size))
    whole[np.repeat(np.arange(kinds), count), np.arange(price.size - 1)] = 1.0
    scale = np.abs(cells).sum()
    bounds = [(0, None)] * price.size
    found = linprog(price / scale, np.array(limits), ends, whole, np.ones(kinds), bounds)
    return found.fun * scale if found.status == 0 else np.inf


def case(chance, count, *, gains=True):
    """Random kinds and memories, and what a pass takes; a host's cores may gain anywhere."""
    sizes = {kind: chance.random(POINTS) * 10 ** chance.uniform(7, 9) for kind in KINDS}
    total = sum(sizes.values())
    room = [total * part for part in chance.dirichlet(np.ones(count)) * chance.choice([1.05, 2])]
    rates = np.sort(10 ** chance.uniform(8, 11, count))[::-1]
    picked = chance.random(len(READ))
    cells = [[sizes[kind] * part / rate for kind, part in zip(READ, picked, strict=True)]
             for rate in rates]  # fmt: skip
    place = chance.choice([None, *range(1, count)]) if gains else None
    if place is not None:
        cells[place] = [one * chance.uniform(0.01, 2, POINTS) for one in cells[place]]
    turn = 0.0 if place is None else chance.choice([0.0, 1e-5, 1e-3])
    return sizes, room, Costs(cells, place, turn, float(chance.integers(1, 60)))


def solved(sizes, room, costs):
    """The split of a case, and what it takes."""
    near = [np.float64(tier == 0) for tier in range(len(room))]
    start = Split(tuple(range(len(room))), 1, sizes, dict.fromkeys(KINDS, near))
    found = best_split(start, (), room, costs.seconds, [[costs]])
    return found, np.broadcast_to(costs.seconds(found), POINTS)


@pytest.mark.parametrize(("count", "share"), [(2, 1e-9), (3, 0.1), (4, 0.1)])
def test_hardly_any_split_takes_less_than_the_one_that_is_taken(count, share):
    """Slow hosts and hosts faster than the chip, with turns and without, full memories and not."""
    chance = np.random.default_rng(17 * count)
    for _ in range(6):
        sizes, room, costs = case(chance, count)
        found, seconds = solved(sizes, room, costs)
        for tier in range(count):
            held = sum(sizes[kind] * found.shares[kind][tier] for kind in KINDS)
            assert np.all(held <= room[tier] * (1 + 1e-9))
        for kind in KINDS:
            assert sum(found.shares[kind]) == pytest.approx(1.0, rel=1e-9)
        least = np.array([least_by_scipy(sizes, room, costs, point) for point in range(POINTS)])
        assert np.all(seconds >= least * (1 - 1e-9))
        assert np.all(seconds <= least * (1 + share))


@pytest.mark.parametrize("count", [2, 3, 4])
def test_a_linear_program_loses_no_less_than_the_least(count):
    """Of two memories and no turns of a host's cores it loses just that."""
    chance = np.random.default_rng(29 * count)
    for repeat in range(6):
        sizes, room, costs = case(chance, count, gains=repeat % 2 == 1)
        least = sum(costs.by_memory[0]) + least_extra([costs], sizes, room)
        by_scipy = np.array([least_by_scipy(sizes, room, costs, point) for point in range(POINTS)])
        assert np.all(least <= by_scipy * (1 + 1e-9))
        if count == 2 and costs.turning_memory is None:
            assert least == pytest.approx(by_scipy, rel=1e-9)


def test_kinds_that_gain_nothing_and_nothing_to_place_stay_near():
    """The table of embeddings is never read: it takes as long anywhere."""
    sizes, room, costs = case(np.random.default_rng(1), 3, gains=False)
    room = [10 * one for one in (sum(sizes.values()), *room[1:])]
    found, _ = solved(sizes, room, costs)
    assert all(np.all(found.shares[kind][0] == 1.0) for kind in KINDS)
