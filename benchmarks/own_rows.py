"""How much nearer a deployment is predicted from one, two or three rows of its own.

    python -m benchmarks.own_rows            # with the constants of fastcalc
    python -m benchmarks.own_rows --choose   # with constants chosen on the other sources
    python -m benchmarks.own_rows --believed # with errors drawn from what is believed of them

Every point of the shipped evidence is predicted by an engine that was not fitted on its source: by
a fit without it, or held out of all. A deployment is what one source says of one chip, number
of chips, layout, model, format and engine. Of its rows some are taken as its own, and all others
are predicted: those of the same phase (decoding, served traffic, prompts), or all.
"""

import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from math import comb

import numpy as np

from fastcalc.catalogue.schema.own_rows import OwnDeployment, OwnRow
from fastcalc.catalogue.store import Catalogue
from fastcalc.core import own_rows
from fastcalc.evidence import left_out
from fastcalc.evidence.deployments import PointDeployments
from fastcalc.evidence.own_rows import rows_over
from fastcalc.evidence.predict import gather
from fastcalc.evidence.score import Prediction, predictions_of
from fastcalc.evidence.shipped import shipped
from fastcalc.evidence.stacked import rows_of

DRAWS = 10  # sets of own rows that are tried of each deployment
FOLDS = 5  # parts of the sources, each predicted with the constants of the others
NOTICED = (1.0, 1.02, 1.05)  # factors; two runs of the same benchmark may differ by the last
CONTRADICT = 1.2  # a factor between two own rows
GRID = {
    "EVERYWHERE": (0.15, 0.3, 0.5),
    "LENGTH": (np.log(5.0), np.log(10.0), np.log(20.0)),
    "PROMPTS": (1.0, 2.0, 4.0),
}
SHARES = (0.0, 0.05, 0.1, 0.15, 0.2, 0.3)  # of the width of ranges that rows never take away


@dataclass(frozen=True)
class Measured:
    """One row of a deployment: what it says of the engine, and where the engine's range ends."""

    row: OwnRow
    phase: str
    below: float
    above: float
    is_held_out: bool


@dataclass(frozen=True)
class Left:
    """A row that is predicted from others.

    shipped, own : measured over expected time, in logarithms, without own rows and with them
    width : of the range as shipped, in the logarithm, on the side of the measurement
    unexplained : share of the variance that the rows leave [1]
    apart : how far own rows are from each other, as a logarithm
    """

    deployment: int
    source: str
    shipped: float
    own: float
    width: float
    unexplained: float
    apart: float
    is_held_out: bool

    def is_inside(self, share: float) -> bool:
        """Return whether it lies in the narrowed range, of which a share is kept in any case."""
        return abs(self.own) <= self.width * (share + (1.0 - share) * self.unexplained)


def deployments() -> dict[tuple[str, ...], list[Measured]]:
    """Return the rows of each deployment of the evidence that has two or more."""
    evidence = shipped()
    believed = [
        point
        for point in evidence.points
        if not (point.is_offloaded or {point.id} & {*evidence.unpredictable, *evidence.suspect})
    ]
    batches, _ = gather(believed, PointDeployments(Catalogue()))
    members = defaultdict[tuple[str, ...], list[Measured]](list)
    for batch in batches:
        stacked = rows_of([batch])
        honest = left_out.applied(predictions_of(stacked))
        expected = [prediction.expected for prediction in honest]
        is_time = np.array([point.is_time for point in batch.points])
        seconds = np.where(is_time, expected, stacked.tokens / expected)
        placed = batch.deployment
        for row, prediction in zip(rows_over(batch, stacked, seconds), honest, strict=True):
            point = prediction.point
            key = (point.source_key, placed.hardware.id, placed.model.id, prediction.engine_used,
                   placed.work.weight_format, placed.work.kv_format, str(placed.stated),
                   str(batch.placement.layout.chips))  # fmt: skip
            members[key].append(_measured(row, prediction, evidence.is_held_out(point)))
    return {key: rows for key, rows in members.items() if len(rows) > 1}


def _measured(row: OwnRow, prediction: Prediction, is_held_out: bool) -> Measured:
    if prediction.low is None or prediction.high is None:
        return Measured(row, prediction.phase, 0.0, 0.0, is_held_out)
    ends = prediction.high / prediction.expected, prediction.expected / prediction.low
    slow, fast = ends if prediction.point.is_time else ends[::-1]
    return Measured(row, prediction.phase, np.log(slow), np.log(fast), is_held_out)


def draws(rows: Sequence[Measured], count: int, way: str) -> Iterator[tuple[int, ...]]:
    """Yield positions of own rows: at random, or spread from the smallest batch to the largest."""
    size = len(rows)
    if size <= count:
        return
    if way == "spread":
        order = sorted(range(size), key=lambda at: (rows[at].row.batch, rows[at].row.context))
        places = np.linspace(0, size - 1, count) if count > 1 else [size // 2]
        yield tuple(order[round(place)] for place in places)
    elif comb(size, count) <= DRAWS:
        yield from combinations(range(size), count)
    else:
        chance = np.random.default_rng(size)
        for _ in range(DRAWS):
            yield tuple(chance.choice(size, count, replace=False).tolist())


def predicted(
    members: dict[tuple[str, ...], list[Measured]], count: int, way: str, *, same_phase: bool
) -> list[Left]:
    """Return every row that is predicted from so many others of its deployment."""
    left: list[Left] = []
    for index, (key, rows) in enumerate(members.items()):
        phases = {row.phase for row in rows} if same_phase else {""}
        for phase in sorted(phases):
            alike = [row for row in rows if row.phase == phase or not phase]
            for own in draws(alike, count, way):
                others = [row for place, row in enumerate(alike) if place not in own]
                left += _left(index, key[0], [alike[place].row for place in own], others)
    return left


def _left(index: int, source: str, own: list[OwnRow], others: list[Measured]) -> Iterator[Left]:
    names = {"hardware": "h", "model": "m", "weights": "w", "kv": "k", "chips": 1, "file": "f"}
    effect = own_rows.effect_of(
        OwnDeployment.model_construct(**names, rows=own),
        batch=np.array([other.row.batch for other in others]),
        context=np.array([other.row.context for other in others]),
        prompt=np.array([other.row.prompt for other in others]),
        drafted=np.array([other.row.drafted for other in others]),
    )
    shares = np.array([other.row.decode_share for other in others])
    slower = np.log(shares * effect.decode + (1.0 - shares) * effect.prompts)
    unexplained = effect.unexplained(shares)
    apart = float(np.ptp(np.log([row.slower for row in own])))
    for other, moved, open_share in zip(others, slower.tolist(), unexplained.tolist(), strict=True):
        error = float(np.log(other.row.slower))
        width = other.below if error - moved > 0.0 else other.above
        yield Left(index, source, error, error - moved, width, open_share, apart, other.is_held_out)


def with_constants(
    members: dict[tuple[str, ...], list[Measured]], **constants: float
) -> list[Left]:
    """Return what two rows of each deployment predict with other constants."""
    shipped = {name: getattr(own_rows, name) for name in constants}
    try:
        for name, value in constants.items():
            setattr(own_rows, name, value)
        return [
            left
            for same_phase in (True, False)
            for left in predicted(members, 2, "spread", same_phase=same_phase)
        ]
    finally:
        for name, value in shipped.items():
            setattr(own_rows, name, value)


def choose(members: dict[tuple[str, ...], list[Measured]]) -> list[dict[str, float]]:
    """Return, for each part of the sources, the constants that are best on all other parts.

    Best is the least mean logarithm of the error, each deployment as one.
    """
    sources = sorted({key[0] for key in members})
    fold = {source: place % FOLDS for place, source in enumerate(sources)}
    grid = [dict(zip(GRID, values, strict=True)) for values in product(*GRID.values())]
    losses = np.zeros((len(grid), FOLDS))
    lefts = [with_constants(members, **constants) for constants in grid]
    for place, left in enumerate(lefts):
        by_deployment = defaultdict[tuple[int, int], list[float]](list)
        for row in left:
            error = float(np.log(abs(row.own) + 0.03))  # no benchmark repeats itself more closely
            by_deployment[fold[row.source], row.deployment].append(error)
        for (part, _), errors in by_deployment.items():
            losses[place, part] += float(np.mean(errors))
    chosen = []
    for part in range(FOLDS):
        winner = int((losses.sum(axis=1) - losses[:, part]).argmin())
        training = [left for left in lefts[winner] if fold[left.source] != part]
        aside, fitted = ([x for x in training if x.is_held_out is flag] for flag in (True, False))
        covers = [
            np.mean([np.mean([left.is_inside(share) for left in half]) for half in (aside, fitted)])
            for share in SHARES
        ]
        share = SHARES[int(np.abs(np.array(covers) - 0.8).argmin())]
        chosen.append(grid[winner] | {"LEFT": share})
    return chosen


def line(left: Sequence[Left], share: float) -> str:
    """Return the scores of rows that were predicted: medians, cover, and who is worse off."""
    errors = np.abs([[row.shipped, row.own] for row in left])
    medians, far = np.exp(np.median(errors, axis=0)), np.exp(np.percentile(errors, 90, axis=0))
    inside = np.mean([row.is_inside(share) for row in left])
    groups = defaultdict[int, list[int]](list)
    for place, row in enumerate(left):
        groups[row.deployment].append(place)
    by_deployment = np.array([np.median(errors[places], axis=0) for places in groups.values()])
    lost = by_deployment[:, 1] - by_deployment[:, 0]
    worse = " ".join(f"{np.mean(lost > np.log(factor) + 1e-9):7.0%}" for factor in NOTICED)
    typical = np.exp(np.median(by_deployment, axis=0))
    return (
        f"{len(left):7,} {len(groups):6} {medians[0]:8.3f} {far[0]:6.2f} {medians[1]:8.3f} "
        f"{far[1]:6.2f} {typical[1]:8.3f} {inside:7.0%} {worse}"
    )


HEAD = (
    "own rows                       predicted  depl. shipped  90%      own   90%  a depl. "
    "  cover   worse     2%     5%"
)


def report(members: dict[tuple[str, ...], list[Measured]]) -> Iterator[str]:
    """Yield the scores with the constants of fastcalc, for every way to take own rows."""
    yield HEAD
    for same_phase, way, count in product((True, False), ("random", "spread"), (1, 2, 3)):
        left = predicted(members, count, way, same_phase=same_phase)
        kind = "same phase" if same_phase else "any phase"
        parts = {
            "all": left,
            "held out": [row for row in left if row.is_held_out],
            "apart": [row for row in left if row.apart > np.log(CONTRADICT)],
        }
        for part, rows in parts.items():
            if rows:
                yield f"{f'{count} {way}, {kind}, {part}':32} {line(rows, own_rows.LEFT)}"


def as_believed(
    members: dict[tuple[str, ...], list[Measured]],
) -> dict[tuple[str, ...], list[Measured]]:
    """Return the same rows with errors drawn from what is believed of them before any is known.

    No predictor from them does better than the mean that is taken, and yet it is worse off where
    the deployment is nearly as expected.
    """
    chance = np.random.default_rng(1)
    drawn = {}
    for key, rows in members.items():
        numbers = [(r.row.batch, r.row.context, r.row.prompt, r.row.decode_share) for r in rows]
        places = own_rows.Places.of(*np.array(numbers).T)
        halved = 0.5 ** np.arange(len(own_rows.ROWS))
        shared = chance.choice(own_rows.DEPLOYMENTS) * chance.multivariate_normal(
            np.zeros(len(rows)), places.across(places), check_valid="ignore"
        )
        noise = chance.choice(own_rows.ROWS, p=halved / halved.sum())
        errors = shared + noise * chance.standard_normal(len(rows))
        drawn[key] = [
            replace(row, row=row.row.model_copy(update={"slower": slower}))
            for row, slower in zip(rows, np.exp(errors).tolist(), strict=True)
        ]
    return drawn


def main() -> None:
    """Print the scores, or the constants of each part of the sources and the scores with them."""
    members = deployments()
    if "--choose" not in sys.argv[1:]:
        is_drawn = "--believed" in sys.argv[1:]
        print("\n".join(report(as_believed(members) if is_drawn else members)))
        return
    sources = sorted({key[0] for key in members})
    for part, constants in enumerate(choose(members)):
        held_out = {*sources[part::FOLDS]}
        rows = {key: value for key, value in members.items() if key[0] in held_out}
        names = ", ".join(f"{name} {value:.3g}" for name, value in constants.items())
        share = constants.pop("LEFT")
        print(f"part {part + 1}: {names}\n{line(with_constants(rows, **constants), share)}")


if __name__ == "__main__":
    main()
