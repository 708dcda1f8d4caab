"""Split a speed-up into factors: machine, model, precision, speculation, layout and batch.

Each factor is a step from one serving point to the next, so their product is exact. A step that has
no point of its own is merged with the next one.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import NamedTuple

from fastcalc.core.outcome import Outcome, solve
from fastcalc.core.scenario import Scenario, Sharding
from fastcalc.errors import InputError
from fastcalc.features.fastmode.lighter_passes import DRAFTED_BY, PUBLISHED_BY


@dataclass(frozen=True, eq=False)
class Factor:
    """A step from one serving point to the next. If it combines changes, ``+`` joins their names.

    evidence, source : The weakest evidence (``fitted`` on measurements of similar chips,
        ``published`` or ``assumed``) and its source.
    """

    trick: str
    change: str
    before: Outcome
    after: Outcome
    evidence: str
    source: str

    @property
    def changes_anything(self) -> bool:
        """Whether the step changes anything, or False if the layout or batch stays the same."""
        if self.trick not in ("layout", "batch"):
            return True
        positions = [
            (point.placement.layout, point.scenario.batches) for point in (self.before, self.after)
        ]
        return positions[0] != positions[1]

    @property
    def speedup(self) -> float:
        """The speed per user after the step relative to before."""
        return float(self.after.estimate.speed[0] / self.before.estimate.speed[0])

    @property
    def cost_multiple(self) -> float | None:
        """The cost per output token after the step relative to before, or None without a price."""
        if self.before.usd is None or self.after.usd is None:
            return None
        return float(self.after.usd[1][0] / self.before.usd[1][0])


EVIDENCE = ("fitted", "published", "assumed")  # the strongest first


class _Step(NamedTuple):
    trick: str
    change: str
    scenario: Scenario
    evidence: str
    source: str


def waterfall(today: Outcome, end: Outcome) -> list[Factor]:
    """Return the factors from today's point to another. Their product is the total speed-up."""
    factors: list[Factor] = []
    before, joined = today, list[_Step]()
    for step in _steps(today, end):
        joined.append(step)
        after = end if step.trick == "batch" else _point(step.scenario, today, end)
        if after is not None:
            weakest = max(joined, key=lambda change: EVIDENCE.index(change.evidence))
            words = zip(*((item.trick, item.change) for item in joined), strict=True)
            trick, change = map(" + ".join, words)
            factors.append(Factor(trick, change, before, after, weakest.evidence, weakest.source))
            before, joined = after, []
    return [factor for factor in factors if factor.changes_anything]


def _steps(today: Outcome, end: Outcome) -> Iterator[_Step]:
    """Yield the changes in order. The batch comes last, even if it stays the same."""
    last, software = end.scenario, _evidence_of_engine(end)
    scenario = replace(today.scenario, kv=today.placement.work.kv_format, sharding=Sharding())
    if last.hardware.id != scenario.hardware.id:
        memory = replace(scenario.memory, host=last.memory.host, use=last.memory.use)
        moved = replace(scenario, hardware=last.hardware, engine=last.engine, memory=memory)
        scenario = replace(moved, engine_is_borrowed=last.engine_is_borrowed)
        yield _Step("machine", last.hardware.id, scenario, *software)
    if last.model.id != scenario.model.id:
        scenario, model = replace(scenario, model=last.model, weights=None, kv=None), last.model
        rests = ("assumed", f"the shape of {model.id} is not published")
        is_known = not model.hypothetical and model.confidence not in ("low", "memory")
        if is_known and model.sources:
            rests = ("published", next(iter(model.sources.values())).title)
        yield _Step("model", model.id, scenario, *rests)
    work, end_work = scenario.work, end.placement.work
    if (work.weight_format, work.kv_format) != (end_work.weight_format, end_work.kv_format):
        scenario = replace(scenario, weights=last.weights, kv=last.kv)
        rate = (
            f"data-sheet rates of {last.hardware.id}; the effect of quantization on answers "
            "is not computed"
        )
        words = f"{end_work.weight_format}, kv {end_work.kv_format}"
        yield _Step("bits", words, scenario, "published", rate)
    drafts = last.traffic.speculation
    if drafts != scenario.traffic.speculation:
        scenario = replace(scenario, traffic=last.traffic)
        words = f"{drafts.drafted:g} draft tokens, {drafts.tokens_per_pass:g} tokens per step"
        assumption = f"as published for {DRAFTED_BY}: {PUBLISHED_BY}"
        is_its_own = last.model.id == DRAFTED_BY
        rests = ("published", PUBLISHED_BY) if is_its_own else ("assumed", assumption)
        yield _Step("drafts", words, scenario, *rests)
    layout = end.placement.layout
    fixed = replace(scenario, sharding=Sharding.of(layout))
    yield _Step("layout", str(layout) or "one chip", fixed, *software)
    yield _Step("batch", f"{last.batches[0]:,}", last, *software)


def _point(scenario: Scenario, today: Outcome, end: Outcome) -> Outcome | None:
    """Evaluate a step at today's batch. Returns None if no layout fits.

    Today's chips keep their layout. Other chips use the best layout on today's number of chips, or
    else on the final number.
    """
    counts = [today.placement.layout.chips, end.placement.layout.chips, None]
    layouts = [Sharding(chips=count) for count in counts]
    if scenario.hardware is today.scenario.hardware:
        layouts.insert(0, Sharding.of(today.placement.layout))
    for layout in [scenario.sharding] if scenario.sharding.names_ranks else layouts:
        with suppress(InputError):  # a layout that is impossible for this model or chip
            outcome = solve(replace(scenario, sharding=layout))
            if outcome.fits:
                return outcome
    return None


def _evidence_of_engine(end: Outcome) -> tuple[str, str]:
    """Describe the evidence for a machine's speed: was its engine fitted on its architecture?"""
    engine, chip = end.scenario.engine, end.scenario.hardware
    if engine.is_bound:
        return "assumed", "hardware bound, without software"
    if end.scenario.engine_is_borrowed or chip.architecture not in engine.fitted_architectures:
        return "assumed", f"{engine.id}, not fitted on {chip.architecture or chip.id}"
    return "fitted", f"{engine.id}: {engine.fitted_on}"
