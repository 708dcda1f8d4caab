"""Models deployed on chips of the catalogue, as tests of claims evaluate them."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple, cast

import numpy as np

from fastcalc.catalogue.limits import LIMITS
from fastcalc.catalogue.once import once
from fastcalc.catalogue.schema import Engine, Hardware, Model
from fastcalc.catalogue.store import Catalogue
from fastcalc.core.chip.machine_class import engine_of_class
from fastcalc.core.chosen_layouts import fewest_chips, open_placements
from fastcalc.core.outcome import Outcome, site_of, solve_each
from fastcalc.core.placement.layout import LayoutError
from fastcalc.core.pricing import PriceBasis, Pricing
from fastcalc.core.scenario import Scenario, Sharding
from fastcalc.core.traffic.traffic import Traffic
from fastcalc.errors import InputError
from fastcalc.features.claims.evaluations import SOLVED, Question
from fastcalc.features.claims.finding import DoesNotFitError
from fastcalc.formulas.types import Floats

PROMPT, OUTPUT = 1000.0, 1000.0
"""Prompt and output tokens per request, as in the defaults of ``fastcalc compare``."""


class Place(NamedTuple):
    """A model deployed on a chip type, with the number of chips and the formats."""

    model: str
    on: str
    chips: int | None = None
    weights: str | None = None
    basis: str = "cloud"
    prompt: float = PROMPT
    cache: str | None = None
    context: float | None = None

    def holding(self, catalogue: Catalogue, batch: float) -> "Place":
        """Return the deployment with its specified number of chips, or more if needed."""
        if self.chips is None:
            return self
        scenario = _scenario(catalogue, self._replace(chips=None), (batch,))
        return self._replace(chips=_fewest_chips(scenario, (self.chips,)))


def outcome(catalogue: Catalogue, place: Place, batches: Floats) -> Outcome:
    """Evaluate a deployment at the given batches. Each batch must fit."""
    counts = tuple(batches.tolist())
    scenario = _scenario(catalogue, place, counts)
    # Caches may forget a scenario before it is asked for again, so equal ones are one question.
    entries = id(scenario.hardware), id(scenario.model), id(scenario.engine)
    evaluated = SOLVED.ask(_Question((*entries, *place[2:], *counts), scenario))
    if isinstance(evaluated, InputError):
        raise evaluated
    assert isinstance(evaluated, Outcome)
    if not bool(np.all(evaluated.estimate.fits)):
        raise DoesNotFitError(f"{place.model} at batch {max(batches):,.0f} does not fit {place.on}")
    return evaluated


def outcomes_of(catalogue: Catalogue, deployments: Iterable[Place], batch: float) -> list[Outcome]:
    """Evaluate several deployments at one batch, computed together."""
    batches = np.array([batch])
    return SOLVED.each(
        [partial(outcome, catalogue, deployment, batches) for deployment in deployments]
    )


@dataclass(frozen=True)
class _Question:
    """A request to evaluate a scenario.

    key : What distinguishes the scenario from others: its entries, deployment and batches.
    """

    key: tuple[object, ...]
    scenario: Scenario = field(compare=False)

    def answer_all(self, questions: Sequence[Question]) -> Sequence[Outcome | InputError]:
        """Evaluate each requested scenario, or return its error."""
        return solve_each(
            question.scenario for question in questions if isinstance(question, _Question)
        )


@once
def _fewest_chips(scenario: Scenario, stated: tuple[int]) -> int:
    """Return the smallest chip count that fits the batch, subject to a given minimum.

    If the batch fits on no number of chips, the minimum is returned. More chips can fit less if the
    model divides badly, such as over five chips instead of four.
    """
    site, batch = site_of(scenario, scenario.traffic.reserved), float(scenario.batches[0])
    fewest = int(np.nan_to_num(fewest_chips(site, batch), nan=1.0)[0])
    first = max(*stated, fewest)
    for chips in range(first, 2 * first):
        with suppress(LayoutError):  # the layout with the largest capacity, maybe tightly
            _, placements = open_placements(site, chips)
            roomiest = np.ravel(placements.max_batch).argmax()
            if np.ravel(placements.edge_max_batch)[roomiest] >= batch:
                return chips
    return first


@once
def _scenario(catalogue: Catalogue, deployment: Place, batches: tuple[float, ...]) -> Scenario:
    """Build the scenario of a deployment."""
    if not all(int(count) in LIMITS["chips"] for count in (*batches, deployment.chips or 1)):
        raise InputError(f"chips and batches must be {LIMITS['chips']}")
    chip = catalogue.hardware(deployment.on)
    counts = tuple(int(batch) for batch in batches)
    model, engine = catalogue.model(deployment.model), catalogue.engine(engine_of_class(chip)[0])
    return _requested(chip, model, engine, deployment._replace(model="", on=""), counts)


@once
def _requested(
    chip: Hardware, model: Model, engine: Engine, stated: Place, batches: tuple[int, ...]
) -> Scenario:
    """Build the scenario of a model on a number of chips, with formats, price basis and traffic."""
    context = stated.context or stated.prompt + OUTPUT / 2
    return Scenario(
        hardware=chip,
        model=model,
        engine=engine,
        batches=batches,
        traffic=Traffic(stated.prompt, OUTPUT, context),
        weights=stated.weights,
        kv=stated.cache,
        sharding=Sharding(chips=stated.chips),
        pricing=Pricing(cast(PriceBasis, stated.basis)),
        engine_is_borrowed=engine_of_class(chip)[1],
    )
