"""How far two advised measurements narrow a range, next to those at the ends of the batch.

    python -m benchmarks.advice

Deployments are those of `benchmarks.own_rows` with at least four rows of one phase, so that there
is a choice: each row is predicted by an engine that was not fitted on its source. Three questions:

each row in turn
    The user stands where one row was measured, which is left out. Of the other rows two are taken:
    those that `fastcalc measure` advises, or those with the smallest and the largest batch.
its own row, too
    The same, and the row where the user stands may be taken, as whoever runs `fastcalc measure` can
    measure at the load to be served. Errors and cover are then partly of measured rows.
everywhere
    The user stands at all rows of the deployment, and the two serve all of them.

Deployments with three batches or more are counted alone, too: of others, the extremes of the
batch are no choice that differs in it.

The advice sees places, never measured values. Ranges after it are those that `--like` gives with
the measured values. A deployment counts as narrowed as much if its mean width is no larger.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from benchmarks.own_rows import Measured, deployments, draws
from fastcalc.catalogue.schema.own_rows import OwnDeployment
from fastcalc.core.own_rows import Places, effect_of, expected_width

FEWEST_ROWS = 4  # of one phase: two to take, of three or more others
MOST_ROWS = 24  # of a deployment that are tried; of more, an even selection
SAME = 1e-9  # of widths, relative
_NAMES = {"hardware": "h", "model": "m", "weights": "w", "kv": "k", "chips": 1, "file": "f"}


@dataclass(frozen=True)
class Pair:
    """What two rows leave of a deployment's ranges: means of logarithms over the targets.

    width, expected : half-widths over those without rows, as they turn out and as expected
    error : how far off targets then are, and whether they lie in the narrowed range
    """

    width: float
    expected: float
    error: float
    inside: float


def places_of(rows: Sequence[Measured]) -> Places:
    """Return where rows were measured."""
    numbers = [(r.row.batch, r.row.context, r.row.prompt, r.row.decode_share) for r in rows]
    return Places.of(*np.array(numbers).T)


def outcome(pair: Sequence[Measured], targets: Sequence[Measured]) -> Pair:
    """Return what two rows say of some targets."""
    deployment = OwnDeployment.model_construct(**_NAMES, rows=[one.row for one in pair])
    where = places_of(targets)
    effect = effect_of(
        deployment,
        batch=np.exp(where.batch),
        context=np.exp(where.context),
        prompt=np.exp(where.prompt),
        drafted=np.array([target.row.drafted for target in targets]),
    )
    share = where.decode_share
    slower = np.log(share * effect.decode + (1.0 - share) * effect.prompts)
    errors = np.log([target.row.slower for target in targets]) - slower
    widths = np.broadcast_to(effect.narrowed(share), errors.shape)
    reach = np.where(errors > 0, [t.below for t in targets], [t.above for t in targets]) * widths
    return Pair(
        float(np.mean(np.log(widths))),
        float(np.mean(np.log(expected_width(places_of(pair), where)))),
        float(np.median(np.abs(errors))),
        float(np.mean(np.abs(errors) <= reach)),
    )


def advised(candidates: Sequence[Measured], targets: Sequence[Measured]) -> list[Measured]:
    """Return the two rows that are expected to narrow the ranges of some targets most."""
    where = places_of(targets)

    def width(pair: Sequence[Measured]) -> float:
        return float(np.mean(np.log(expected_width(places_of(pair), where))))

    return list(min(combinations(candidates, 2), key=width))


def spread(candidates: Sequence[Measured]) -> list[Measured]:
    """Return the two rows with the smallest and the largest batch."""
    (chosen,) = draws(candidates, 2, "spread")
    return [candidates[place] for place in chosen]


def in_turn(rows: Sequence[Measured], *, is_left_out: bool = True) -> tuple[Pair, Pair]:
    """Return means over the rows, each where the user stands: of the advised two, of the extremes.

    is_left_out : whether that row is none of those that may be taken
    """
    pairs = []
    for place, target in enumerate(rows):
        others = [row for at, row in enumerate(rows) if at != place or not is_left_out]
        pairs.append(
            [outcome(taken, [target]) for taken in (advised(others, [target]), spread(others))]
        )
    advised_ones, extremes = zip(*pairs, strict=True)
    return mean_of(advised_ones), mean_of(extremes)


def everywhere(rows: Sequence[Measured]) -> tuple[Pair, Pair]:
    """Return what the advised two leave of all rows, and what the extremes leave."""
    return outcome(advised(rows, rows), rows), outcome(spread(rows), rows)


def mean_of(pairs: Sequence[Pair]) -> Pair:
    """Return the means of some outcomes."""
    columns = zip(*((p.width, p.expected, p.error, p.inside) for p in pairs), strict=True)
    return Pair(*(float(np.mean(column)) for column in columns))


def by_phase() -> Iterator[tuple[str, list[Measured]]]:
    """Yield the rows of one phase of each deployment, with their source."""
    for key, rows in deployments().items():
        for phase in sorted({row.phase for row in rows}):
            alike = [row for row in rows if row.phase == phase]
            if len(alike) >= FEWEST_ROWS:
                step = -(-len(alike) // MOST_ROWS)
                yield key[0], alike[::step]


def line(name: str, pairs: Sequence[tuple[Pair, Pair]]) -> str:
    """Return the figures of one question: counts, widths, errors and cover of both choices."""
    widths = np.array([[pair.width for pair in both] for both in pairs])
    expected = np.array([[pair.expected for pair in both] for both in pairs])
    as_much = int(np.sum(widths[:, 0] <= widths[:, 1] + SAME))
    more = int(np.sum(widths[:, 0] < widths[:, 1] - SAME))
    mean, forecast = np.exp(widths.mean(axis=0)), np.exp(expected.mean(axis=0))
    errors = np.exp(np.median([[pair.error for pair in both] for both in pairs], axis=0))
    inside = np.mean([[pair.inside for pair in both] for both in pairs], axis=0)
    return (
        f"{name:18} {len(pairs):6} {as_much:5} {as_much / len(pairs):6.1%} {more:5} "
        f"{mean[0]:9.3f} {mean[1]:9.3f} {forecast[0]:9.3f} {forecast[1]:9.3f} "
        f"{errors[0]:8.3f} {errors[1]:8.3f} {inside[0]:7.0%} {inside[1]:7.0%}"
    )


HEAD = (
    "                          as much or more  more         width           expected"
    "           error           in range\n"
    "the user stands    depl.  depl.  share  depl.   advised  extremes   advised  extremes"
    "  advised extremes advised extremes"
)


def main() -> None:
    """Print the figures of both questions."""
    groups = [rows for _, rows in by_phase()]
    print(HEAD)
    print(line("each row in turn", [in_turn(rows) for rows in groups]))
    whole = [in_turn(rows, is_left_out=False) for rows in groups]
    print(line("its own row, too", whole))
    bare = [rows for rows in groups if len({row.row.batch for row in rows}) > 2]
    print(line("  three batches", [in_turn(rows) for rows in bare]))
    print(line("everywhere", [everywhere(rows) for rows in groups]))


if __name__ == "__main__":
    main()
