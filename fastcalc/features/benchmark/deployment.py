"""The deployment to measure: one model on one chip type in one layout."""

from dataclasses import dataclass, replace

import numpy as np

from fastcalc.catalogue.schema.own_rows import OwnRow
from fastcalc.core import timeline
from fastcalc.core.outcome import Outcome, solve, solve_all
from fastcalc.core.own_rows import Places, is_of, measured_on
from fastcalc.core.scenario import Scenario, Sharding
from fastcalc.errors import InputError
from fastcalc.features.benchmark.request import Measure
from fastcalc.features.benchmark.runs import RATES, places_of
from fastcalc.formulas.types import Floats
from fastcalc.kit.request.scenarios import scenarios
from fastcalc.mentions import option


@dataclass(frozen=True, eq=False)
class MeasuredDeployment:
    """Predicts a deployment at the user's batches, with and without its measurements.

    now : The prediction with the existing measurements.
    before : The prediction by the engine alone.
    rows : The measurements of this deployment.
    """

    now: Outcome
    before: Outcome
    rows: tuple[OwnRow, ...]

    @property
    def fitting(self) -> list[int]:
        """The indices of the batches that fit."""
        return np.flatnonzero(self.now.estimate.fits).tolist()

    @property
    def targets(self) -> Places:
        """What to predict at each batch that fits: decode speed, TTFT, TPOT and throughput."""
        return places_of(self.now.estimate, (timeline.token, *RATES), self.fitting)

    @property
    def decode_targets(self) -> Places:
        """The decode predictions, whose ranges the tables show."""
        return places_of(self.now.estimate, (timeline.token,), self.fitting)

    def ends_after(self, widths: Floats) -> tuple[Floats, Floats]:
        """Return the bounds of speed at the batches that fit, around the predicted speed. [1/s]

        widths : The half-widths relative to having no measurements.
        """
        before, now = self.before.estimate, self.now.estimate
        assert before.low is not None
        assert before.high is not None
        places = self.fitting
        speed = now.speed[places]
        below = (before.speed / before.low)[places] ** widths
        above = (before.high / before.speed)[places] ** widths
        return speed / below, np.minimum(speed * above, now.bound[places])


def measured_deployment(request: Measure, notes: list[str]) -> MeasuredDeployment:
    """Find the requested deployment. Raises InputError for several, or an engine without ranges.

    If the batches use different layouts, the layout of the largest batch applies to all.

    notes : The list that receives notes on how the deployment was chosen.
    """
    if not request.on:
        raise InputError(f"name the chip of your server, for example {option('on', 'h100-sxm')}")
    candidates = scenarios(request, notes)
    chips = {scenario.hardware.id for scenario in candidates}
    models = {scenario.model.checkpoint for scenario in candidates}
    if len(chips) > 1 or len(models) > 1:
        raise InputError("a benchmark measures one server: name one model and one chip")
    outcomes = solve_all(candidates)
    if len(outcomes) == 1:
        now = outcomes[0]
    else:
        largest = max(
            (outcome for outcome in outcomes if outcome.fits),
            key=lambda outcome: max(outcome.scenario.batches),
            default=outcomes[0],
        )
        batches = tuple(sorted({batch for scenario in candidates for batch in scenario.batches}))
        notes.append(
            f"all batches use {largest.placement.layout.chips} chips ({largest.placement.layout}), "
            f"which batch {max(largest.scenario.batches):,} needs; set {option('tp')} or "
            f"{option('chips')} to match your server"
        )
        now = solve(replace(_placed(largest), batches=batches))
    if now.estimate.low is None:
        raise InputError(
            f"{now.scenario.engine.id} has no range to narrow: it is the bound; omit "
            f"{option('engine')}, or name the engine of your server"
        )
    engine = now.scenario.engine
    rows = tuple(
        row
        for deployment in measured_on(engine, now.scenario.hardware.id, now.scenario.work)
        if is_of(deployment, now.placement.layout).all()
        for row in deployment.rows
    )
    plain = engine.model_copy(update={"own_deployments": []})
    before = solve(replace(_placed(now), engine=plain)) if rows else now
    return MeasuredDeployment(now, before, rows)


def _placed(outcome: Outcome) -> Scenario:
    """Fix a scenario to the layout that its outcome chose."""
    if outcome.placement.machine.is_spatial:
        return replace(outcome.scenario, sharding=Sharding(pp=outcome.placement.layout.chips))
    return outcome.on_its_layout
