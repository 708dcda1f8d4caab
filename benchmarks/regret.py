"""What plans by expected speeds cost above the best in hindsight, and what one advised row saves.

    python -m benchmarks.regret

A question is a model, its format and lengths of requests, measured on two chips or more that have a
price. Each chip is predicted by fits without the source of its points (or set aside from all). A
plan buys replicas for as many tokens a second as ten of the fastest serve, of the chip that costs
least by what is expected; at the speed that was measured more are bought where those are too few.
The advised row is that of the chip whose measurement lowers the expected regret most: its speed is
then known, the others' are as expected.
"""

import sys
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from math import log

import numpy as np

from benchmarks.table import markdown
from fastcalc.catalogue.store import Catalogue
from fastcalc.core.own_rows import after_one_row
from fastcalc.core.speed_range import TO_LOW_END
from fastcalc.evidence import left_out
from fastcalc.evidence.deployments import PointDeployments
from fastcalc.evidence.predict import gather
from fastcalc.evidence.score import predictions_of
from fastcalc.evidence.shipped import shipped
from fastcalc.evidence.stacked import rows_of
from fastcalc.formulas.regret import expected_regret, regret_after
from fastcalc.formulas.types import Floats

COMPARED = 3  # plans of the chips that cost least by what is expected, as `plan` compares them
REPLICAS = 10  # of the fastest, whose tokens a second are to be served
AT = np.linspace(-3.0, 3.0, 61)  # standard deviations of a speed


@dataclass(frozen=True)
class Option:
    """A chip for a question: one replica as it was measured.

    usd : price of a replica for an hour [USD/h]
    expected, measured : output tokens a second [1/s]
    spread : standard deviation of the logarithm of the error by its range [1]
    """

    hardware: str
    source: str
    usd: float
    expected: float
    measured: float
    spread: float

    def cost(self, load: float, speed: Floats | float) -> Floats:
        """Return the price of the replicas that carry a load at speeds. [USD/h]"""
        return np.asarray(self.usd * np.ceil(load / np.asarray(speed) - 1e-9))


def questions() -> list[list[Option]]:
    """Return the chips of each question, the fewest dollars a token by what is expected first."""
    evidence, catalogue = shipped(), Catalogue()
    believed = [
        point
        for point in evidence.points
        if not (point.is_offloaded or {point.id} & {*evidence.unpredictable, *evidence.suspect})
    ]
    best = defaultdict[tuple[object, ...], dict[str, Option]](dict)
    for batch in gather(believed, PointDeployments(catalogue))[0]:
        chip, chips = batch.deployment.hardware, batch.placement.layout.chips
        price = chip.price.rent if chip.price else None
        for prediction in left_out.applied(predictions_of(rows_of([batch]))):
            point, low = prediction.point, prediction.low
            if prediction.phase != "served" or price is None or low is None or point.is_time:
                continue
            per = chips if point.metric == "tokens_per_s_per_chip" else 1.0
            spread = log(prediction.expected / low) / TO_LOW_END
            speeds = per * prediction.expected, per * point.value
            option = Option(chip.id, point.source_key, price.si * chips, *speeds, spread)
            asked = (point.model, point.weights, point.prompt, point.output, point.kind)
            known = best[asked].get(chip.id, option)
            best[asked][chip.id] = min(known, option, key=lambda one: one.usd / one.expected)
    listed = (
        sorted(options.values(), key=lambda one: one.usd / one.expected)[:COMPARED]
        for options in best.values()
    )
    return [options for options in listed if len(options) > 1]


@dataclass(frozen=True)
class Outcome:
    """What plans for a question cost above the best in hindsight, over that. [1]

    foretold : expected regret of the plan by expected speeds
    plain, advised, other : of the plan, with the advised row, with another row on average
    """

    foretold: float
    plain: float
    advised: float
    other: float
    is_other_chip: bool
    source: str


def outcome(options: Sequence[Option]) -> Outcome:
    """Return the regret of the plans for a question."""
    load = REPLICAS * max(option.expected for option in options)
    costs = np.array(
        [one.cost(load, one.expected * np.exp(-one.spread * AT)) for one in options], dtype=float
    )
    least = min(float(one.cost(load, one.measured)) for one in options)

    def regret(known: int | None) -> tuple[float, int]:
        """Return the regret of who knows the speed of one chip, and the chip that is bought."""
        speeds = [one.measured if place == known else one.expected
                  for place, one in enumerate(options)]  # fmt: skip
        bought = [float(one.cost(load, speed)) for one, speed in zip(options, speeds, strict=True)]
        chosen = int(np.argmin(bought))
        return max(bought[chosen], float(options[chosen].cost(load, options[chosen].measured))) / (
            least
        ) - 1.0, chosen

    before, chosen = regret(None)
    foretold = expected_regret(costs=costs, at=AT, held=0.0)[chosen] / least
    left = [
        regret_after(costs=costs, at=AT, held=0.0, measured=place, error=after_one_row(one.spread))
        for place, one in enumerate(options)
    ]
    advised = int(np.argmin(left))
    others = [regret(place)[0] for place in range(len(options)) if place != advised]
    best = int(np.argmin([float(one.cost(load, one.measured)) for one in options]))
    return Outcome(
        foretold, before, regret(advised)[0], float(np.mean(others)), best != chosen,
        options[0].source,
    )  # fmt: skip


def table(outcomes: Sequence[Outcome]) -> str:
    """Return the mean regret by what is known, over questions and with each source as one."""
    groups = defaultdict[str, list[Outcome]](list)
    for result in outcomes:
        groups[result.source].append(result)
    lines = []
    for name, words in (
        ("foretold", "foretold by the ranges"),
        ("plain", "by expected speeds"),
        ("other", "with another row"),
        ("advised", "with the advised row"),
    ):
        values = [getattr(result, name) for result in outcomes]
        by_source = [
            np.mean([getattr(result, name) for result in members]) for members in groups.values()
        ]
        lines.append([words, f"{np.mean(values):.1%}", f"{np.percentile(values, 90):.1%}",
                      f"{np.mean(by_source):.1%}"])  # fmt: skip
    return markdown(("plan", "regret", "one in ten above", "each source as one"), lines)


def main() -> None:
    """Print the regret of plans with and without the advised row."""
    outcomes = [outcome(options) for options in questions()]
    wrong = sum(result.is_other_chip for result in outcomes)
    sources = len({result.source for result in outcomes})
    sys.stdout.write(
        f"{len(outcomes)} questions of {sources} sources; {wrong} plans by expected speeds are of "
        f"another chip than the best\n\n{table(outcomes)}\n"
    )


if __name__ == "__main__":
    main()
