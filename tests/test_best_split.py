"""Where bytes live takes least of all that there is: against another solver, and by hand."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import linprog, minimize_scalar

from fastcalc.core.best_split import placed
from fastcalc.core.split import IN_LAYERS, READ, Costs, Split
from fastcalc.core.tier import KINDS
from fastcalc.formulas.linear_program import least_of

POINTS = 5


def least_by_scipy(sizes, room, costs, point, experts_near=None):
    """What a pass takes at least, the shares of five kinds in all memories and two maxima unknown.

    Turns are paid for the largest share of a kind of a layer; what overlaps takes no less than the
    longest read, nor than all beyond a memory in the fastest of those. Where the share of the
    experts in the first of two memories is given, it and its hits: the unknowns are the others.
    """
    count, kinds = len(room), len(KINDS)
    cells = np.zeros((kinds, count))
    for tier, row in enumerate(costs.cells):
        cells[: len(READ), tier] = [np.broadcast_to(one, POINTS)[point] for one in row]
    turns, longest = kinds * count, kinds * count + 1
    price, limits, ends = np.zeros(kinds * count + 2), [], []
    price[:turns] = (
        cells * np.where(np.arange(count) == costs.place, 1, 1 - costs.overlap)
    ).ravel()
    price[longest] = costs.overlap

    def limit(end, at=None, **named):
        row = np.zeros(price.size)
        row[:turns] = (np.zeros((kinds, count)) if at is None else at).ravel()
        for name, value in named.items():
            row[{"turns": turns, "longest": longest}[name]] = value
        limits.append(row)
        ends.append(end)

    if costs.place is not None:
        price[turns] = costs.turn * costs.layers
        price[KINDS.index("head") * count + costs.place] += costs.turn
        for kind in IN_LAYERS:
            there = np.zeros((kinds, count))
            there[KINDS.index(kind), costs.place] = 1.0
            limit(0.0, there, turns=-1.0)
    held = np.array([sizes[kind][point] for kind in KINDS])
    read = np.arange(count) != costs.place
    for tier in range(count):
        own = np.arange(count) == tier
        limit(room[tier][point] / held.sum(), np.outer(held / held.sum(), own))
        beyond = np.outer(cells[:, tier:].min(axis=1), (np.arange(count) >= tier) & read)
        limit(0.0, cells * (own & read), longest=-1.0)
        limit(0.0, beyond, longest=-1.0)
    whole = np.zeros((kinds, price.size))
    whole[np.repeat(np.arange(kinds), count), np.arange(turns)] = 1.0
    bounds = [(0, None)] * price.size
    constant = 0.0
    if experts_near is not None:
        share, hits = experts_near
        at = KINDS.index("experts") * count
        bounds[at : at + 2] = [(share, share), (1 - share, 1 - share)]
        constant = (hits - share) * (cells[2, 0] - cells[2, 1])
    scale = np.abs(cells).sum()
    found = linprog(price / scale, np.array(limits), ends, whole, np.ones(kinds), bounds)
    return found.fun * scale + constant if found.status == 0 else np.inf


def case(chance, count, *, overlap=0.0, gains=True):
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
    return sizes, room, Costs(cells, overlap, place, turn, float(chance.integers(1, 60)))


def solved(sizes, room, costs, skew=0.0):
    """The split of a case, and what it takes."""
    near = [np.float64(tier == 0) for tier in range(len(room))]
    start = Split(tuple(range(len(room))), 1, sizes, dict.fromkeys(KINDS, near), near)
    software = SimpleNamespace(expert_skew=skew)
    machine = SimpleNamespace(place={}, software=software, usable=lambda _: room)
    found = placed(start, SimpleNamespace(machine=machine), [costs])
    return found, np.broadcast_to(costs.seconds(found), POINTS)


@pytest.mark.parametrize("overlap", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("count", [2, 3, 4])
def test_no_split_takes_less_than_the_one_that_is_taken(count, overlap):
    """Slow hosts and hosts faster than the chip, with turns and without, full memories and not."""
    chance = np.random.default_rng(17 * count + round(2 * overlap))
    for _ in range(6):
        sizes, room, costs = case(chance, count, overlap=overlap)
        found, seconds = solved(sizes, room, costs)
        for tier in range(count):
            held = sum(sizes[kind] * found.shares[kind][tier] for kind in KINDS)
            assert np.all(held <= room[tier] * (1 + 1e-9))
        for kind in KINDS:
            assert sum(found.shares[kind]) == pytest.approx(1.0, rel=1e-9)
        least = [least_by_scipy(sizes, room, costs, point) for point in range(POINTS)]
        assert seconds == pytest.approx(least, rel=1e-9)


@pytest.mark.parametrize("skew", [0.2, 0.9])
def test_experts_picked_unevenly_are_placed_by_the_last_that_goes(skew):
    """Of a share s of them near s^(1 - z) is found there, or far where that takes less."""
    chance = np.random.default_rng(round(10 * skew))
    for number in range(4):
        sizes, room, costs = case(chance, 2, gains=number % 2)
        _, seconds = solved(sizes, room, costs, skew)
        near, far = (cells[READ.index("experts")][0] for cells in costs.cells)

        def takes(share, here=near, there=far, case=(sizes, room, costs)):
            hits = share ** (1 - skew) if here <= there else 1 - (1 - share) ** (1 - skew)
            return least_by_scipy(*case, 0, (share, hits))

        shares = np.linspace(0, 1, 31)
        at = np.argmin([takes(share) for share in shares])
        around = shares[max(at - 1, 0)], shares[min(at + 1, 30)]
        closer = minimize_scalar(takes, bounds=around, method="bounded").fun
        assert seconds[0] <= min(takes(shares[at]), closer) * (1 + 1e-6)


def test_kinds_that_gain_nothing_and_nothing_to_place_stay_near():
    """The table of embeddings is never read: it takes as long anywhere."""
    sizes, room, costs = case(np.random.default_rng(1), 3, gains=False)
    room = [10 * one for one in (sum(sizes.values()), *room[1:])]
    found, _ = solved(sizes, room, costs)
    assert all(np.all(found.shares[kind][0] == 1.0) for kind in KINDS)


def test_a_program_is_solved_at_every_point_alike():
    """Points stand alone: what is solved with others is what is solved by itself, to the bit."""
    chance = np.random.default_rng(3)
    cost, rows = chance.normal(size=(5, 40)), np.abs(chance.normal(size=(6, 5, 40)))
    room = np.where(chance.random((6, 40)) < 0.3, 0.0, chance.random((6, 40)))
    found = least_of(cost=cost, rows=rows, room=room)
    for point in range(40):
        alone = slice(point, point + 1)
        one = least_of(cost=cost[:, alone], rows=rows[:, :, alone], room=room[:, alone])
        assert np.array_equal(found[:, alone], one)
        by_scipy = linprog(cost[:, point], rows[:, :, point], room[:, point])
        assert cost[:, point] @ found[:, point] == pytest.approx(by_scipy.fun, abs=1e-12)
