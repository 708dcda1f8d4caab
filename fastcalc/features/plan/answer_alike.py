"""The cheapest deployments for requests that are alike, and why not the others."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from fastcalc.core.own_formats import own_formats
from fastcalc.core.scenario import Scenario, each_warning
from fastcalc.features.plan.answer import PlanRow, RankedPlansAnswer
from fastcalc.features.plan.answer_regret import regret_notes
from fastcalc.features.plan.answer_turns import turn_notes
from fastcalc.features.plan.api import cheaper_api
from fastcalc.features.plan.decision import FEWER_BITS, Decision, Plan
from fastcalc.features.plan.notes import (
    Weight,
    break_even,
    chips_and_price,
    crossing_note,
    decision_notes,
    in_fewer_bits,
    level_runner_up,
    times_the_cost,
    weighted,
)
from fastcalc.features.plan.records import (
    assumptions,
    details,
    prompts_command,
    service_notes,
    unrounded,
)
from fastcalc.features.plan.service_asked import phrase
from fastcalc.features.plan.verdict import Verdict
from fastcalc.kit.answer.answer import Charts
from fastcalc.kit.answer.console import Note, Title
from fastcalc.kit.answer.point_records import Record

if TYPE_CHECKING:
    from fastcalc.kit.charts.drawing import Chart

_FIRST, _OTHERS = 2, 2
"""Plans, and other chips, that a first screen has room for."""

_KEY = (
    "key: replicas x each decode, prompts inside or on chips of their own; TTFT and TPOT of this "
    "traffic, the latter's 80 % range"
)
_OF_SLOW_CHIPS = "; chips and times are those of slow chips, chips expected by expected speeds"


@dataclass(frozen=True, eq=False, kw_only=True)
class AlikePlansAnswer(RankedPlansAnswer):
    """The cheapest deployments for requests that are alike.

    verdict : what was decided, how sure it is, and what would turn it
    """

    verdict: Verdict

    @property
    def decision(self) -> Decision:
        """What was decided."""
        return self.verdict.decision

    @property
    def chosen(self) -> Plan:
        """The cheapest."""
        return self.decision.plans[0]

    @property
    def scenarios(self) -> Sequence[Scenario]:
        """Those of the cheapest plan."""
        return self.chosen.scenarios

    @property
    def break_even(self) -> str:
        """At which price the next chip wins."""
        return break_even(self.decision)

    @cached_property
    def unrounded(self) -> list[Record]:
        """A record for each of the first plans."""
        return unrounded(self.decision.plans[: self.request.top], self.service, self.typed)

    def premises(self) -> Record:
        """Traffic, prices, engines, and how the times are meant."""
        return assumptions(self.decision)

    def details(self) -> Record:
        """Why others lost, the runner-up, what would help."""
        return details(self.verdict, self.typed)

    @property
    def charts(self) -> Charts:
        """Time of a token against price."""
        return {"plan": self.chart}

    def chart(self) -> "Chart":
        """The first plans and the best of each chip: time of a token against price."""
        from fastcalc.features.plan.chart import plans

        return plans(self.decision, self.request.top)

    def title(self) -> Title:
        """What the cheapest takes, and whether the next or an API is as good."""
        decision, chosen = self.decision, self.chosen
        bill = chips_and_price(chosen, self.service)
        answer = f"{bill} for {phrase(self.request, self.service)}"
        answer += in_fewer_bits([(decision, chosen)])
        answer += level_runner_up(decision)
        if self.service.rate is not None:
            answer += cheaper_api(self.service, self.service.rate, chosen.usd_per_month)
        if decision.expected is not None:
            cheapest = decision.expected.plans[0]
            expected = cheapest.scenario.hardware.id, chips_and_price(cheapest, self.service)
            differs = expected != (chosen.scenario.hardware.id, bill)
            answer += f"; by expected speeds {', '.join(expected)}" * differs
        return Title(chosen.scenario.hardware.id, answer, bill)

    def key(self) -> str:
        """What replicas and times are."""
        return _KEY + _OF_SLOW_CHIPS * (self.decision.expected is not None)

    def rows(self, *, wide: bool) -> list[PlanRow]:
        """The first plans, those in fewer bits and in the model's own formats, and other chips."""
        decision, top = self.decision, self.request.top
        plans = decision.plans[: top if wide else min(top, _FIRST)]
        labelled = [(f"{place}", plan) for place, plan in enumerate(plans, 1)]
        labelled += [("fewer bits", plan) for plan in decision.in_fewer_bits[:FEWER_BITS]]
        labelled += [("own formats", plan) for plan in self._in_own_formats]
        chips = {plan.scenario.hardware.id for plan in plans}
        others = [plan for plan in decision.of_each_chip if plan.scenario.hardware.id not in chips]
        unlike = decision.on_unlike_chips
        if unlike is not None and unlike not in [plan for _, plan in labelled]:
            others = [unlike, *(plan for plan in others if plan is not unlike)]
        rows = [PlanRow(label, plan, decision) for label, plan in labelled]
        return rows + [
            PlanRow("other chip", plan, decision, is_shown=wide or place < _OTHERS)
            for place, plan in enumerate(others)
        ]

    def hidden(self, rows: Sequence[PlanRow], *, wide: bool) -> Collection[str]:
        """What drafts bring where no plan has any, too."""
        is_drafted = any(plan.scenario.traffic.speculation.drafted for plan in self.decision.plans)
        drafts = () if is_drafted else ("speculation_tokens_per_pass",)
        return {*super().hidden(rows, wide=wide), *drafts}

    def notes_of(self, rows: Sequence[PlanRow]) -> Iterator[Note]:
        """What the plans rest on, what came second, why others lost, and what would turn it."""
        unlike = self.decision.on_unlike_chips
        if unlike is not None:
            command = prompts_command(unlike, self.typed)
            yield Note(crossing_note(unlike, command), Weight.KV_TRANSFER)
        yield from weighted(0, map(self._own_formats_note, self._in_own_formats))
        listed = [row.plan for row in rows]
        yield from decision_notes(self.decision, listed, [row.plan for row in rows if row.is_shown])
        yield from weighted(Weight.TIPPING_POINT, turn_notes(self.verdict))
        yield from regret_notes(self.verdict)
        yield from weighted(0, service_notes(self.service))
        for warning in each_warning(plan.replica for plan in listed):
            yield Note(warning, Weight.WARNING if warning in self.chosen.replica.warnings else 0)

    @property
    def _in_own_formats(self) -> list[Plan]:
        """The best plan in the model's own formats, where the cheapest has fewer bits."""
        own = self.decision.in_own_formats if self.chosen.is_narrowed else None
        return [own] if own else []

    def _own_formats_note(self, plan: Plan) -> str:
        weights, cache = own_formats(plan.scenario.model)
        cost, bill = times_the_cost(self.decision, plan), chips_and_price(plan, self.service)
        return f"in the model's own formats ({weights}, cache {cache}), {cost}: {bill}"
