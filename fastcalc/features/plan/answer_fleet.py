"""A fleet as a table: what owned chips carry, what is rented on top, what is left."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf
from typing import Any

from fastcalc.core.defaults_used import power_notes
from fastcalc.core.scenario import Scenario, each_warning
from fastcalc.features.plan import notes as plan_notes
from fastcalc.features.plan import records as plan
from fastcalc.features.plan.answer import PlanRow, RankedPlansAnswer
from fastcalc.features.plan.api import api_notes, cheaper_api
from fastcalc.features.plan.decision import FEWER_BITS, Plan
from fastcalc.features.plan.fleet_plan import FleetPlan, Share, fleet_plan, with_next_node
from fastcalc.features.plan.notes import weighted
from fastcalc.features.plan.owned import Fleet
from fastcalc.features.plan.ranked_plan import RankedPlan
from fastcalc.features.plan.refusal import limit_as_option, over_budget, refusal
from fastcalc.features.plan.service import Service
from fastcalc.features.plan.service_asked import phrase
from fastcalc.features.plan.verdict import Verdict
from fastcalc.formulas.money import HOURS_PER_MONTH
from fastcalc.formulas.sequences import sum_if_known
from fastcalc.kit.answer.console import Note, Title
from fastcalc.kit.answer.numbers_as_text import counted, dollars, number
from fastcalc.kit.answer.point_records import Record, plain
from fastcalc.mentions import option
from fastcalc.written import listed

_ALTERNATIVES, _OTHERS = 1, 2
"""Further plans where a fleet has one share, and other chips to rent."""

_KEY = (
    "key: replicas x each decode, prompts inside or on chips of their own; "
    "req/s: the most that the chips carry within the limits, or what they are to; TPOT of "
    "full batches with others' prompts between"
)


@dataclass(frozen=True, eq=False, kw_only=True)
class FleetPlanAnswer(RankedPlansAnswer):
    """What owned chips carry, what is rented on top, and what is left."""

    fleet: FleetPlan

    @property
    def _taken(self) -> list[tuple[Share, Plan]]:
        """What carries any, and the deployment of each."""
        return [(share, share.plan) for share in self.fleet.shares if share.plan]

    @property
    def scenarios(self) -> Sequence[Scenario]:
        """Those of all that is taken."""
        return [scenario for _, chosen in self._taken for scenario in chosen.scenarios]

    @cached_property
    def unrounded(self) -> list[Record]:
        """A record for each plan of each share, the first of each being what is taken."""
        return [
            record
            for share in self.fleet.shares
            for record in plan.unrounded(
                share.decision.plans[: self.request.top],
                share.decision.service,
                self.typed,
                _count(share),
            )
        ]

    def details(self) -> Record:
        """The sum, what is left, what a node adds."""
        return {
            "requests_per_s": plain(self.fleet.requests),
            "rate": plain(self.fleet.service.rate),
            "requests_per_s_with_next_node": {
                chip: plain(carried) for chip, carried in self._grown.items()
            },
            "shares": [
                {
                    "owned_chips": _count(share),
                    "requests_per_s": plain(share.requests),
                    "chips_left": plain(share.chips_left),
                    "assumptions": plan.assumptions(share.decision),
                    **plan.details(Verdict(share.decision), self.typed),
                }
                for share in self.fleet.shares
            ],
        }

    @cached_property
    def _grown(self) -> dict[str, float]:
        """What a node more of each owned chip would make the fleet carry, where all serve."""
        return with_next_node(self.fleet) if self.fleet.service.rate is None else {}

    def title(self) -> Title:
        """What carries how much."""
        fleet = self.fleet
        purpose = phrase(self.request, fleet.service)
        purpose += plan_notes.in_fewer_bits(
            (share.decision, chosen) for share, chosen in self._taken
        )
        purpose += "".join(plan_notes.level_runner_up(share.decision) for share, _ in self._taken)
        purpose += cheaper_api(fleet.service, fleet.requests, fleet.usd_per_month)
        owned, load = [share for share in fleet.shares if share.owned], self._load()
        for share, chosen in self._taken:
            if share.owned:
                continue
            chip = chosen.scenario.hardware.id
            bill = plan_notes.chips_and_price(chosen, share.decision.service)
            if not owned:
                return Title(chip, f"{bill}, carry {load}, for {purpose}", bill)
            requests = sum(share.requests for share in owned)
            bill += in_all(fleet)
            load = f"{number(requests)} requests/s; with {chip} on top, {bill}, {load}"
        answer = f"{carry(fleet)} {load}"
        return Title(_owned_chips(fleet), f"{answer}, for {purpose}", answer)

    def _load(self) -> str:
        """Return what it carries, and how many requests it serves at a time, in a phrase."""
        requests = self.fleet.requests
        at_once = sum(
            RankedPlan(1, chosen, share.decision.service, "").in_flight
            for share, chosen in self._taken
        )
        return (
            f"{number(requests)} requests/s, {number(requests * self.service.output)} output "
            f"tokens/s, {at_once:,.0f} requests at once"
        )

    def key(self) -> str:
        """What replicas, requests and times are."""
        return _KEY

    def rows(self, *, wide: bool) -> list[PlanRow]:
        """Plans of each share, those in fewer bits, and other chips to rent."""
        return [row for share in self.fleet.shares for row in self._rows_of(share, wide=wide)]

    def _rows_of(self, share: Share, *, wide: bool) -> Iterator[PlanRow]:
        """Yield the plans of a share, each with its label."""
        decision, is_alone = share.decision, len(self.fleet.shares) == 1
        most = self.request.top if wide else min(self.request.top, 1 + _ALTERNATIVES)
        plans = decision.plans[: most if is_alone else 1]
        label = "owned" if share.owned else "rented"
        for place, chosen in enumerate(plans, 1):
            numbered = f"{label} {place}" if is_alone else label
            yield PlanRow(numbered, chosen, decision, share.is_owned)
        if not is_alone and not wide:
            return
        for chosen in decision.in_fewer_bits[:FEWER_BITS]:
            yield PlanRow("fewer bits", chosen, decision, share.is_owned)
        if share.owned is None:
            names = {chosen.scenario.hardware.id for chosen in plans}
            others = [p for p in decision.of_each_chip if p.scenario.hardware.id not in names]
            for chosen in others[: None if wide else _OTHERS]:
                yield PlanRow("other chip", chosen, decision)

    def hidden(self, rows: Sequence[PlanRow], *, wide: bool) -> Collection[str]:
        """What drafts bring where no row has any, and a chip that the sentence above names."""
        hidden = {*super().hidden(rows, wide=wide)}
        if not any(row.plan.scenario.traffic.speculation.drafted for row in rows):
            hidden.add("speculation_tokens_per_pass")
        if not wide and len({row.plan.scenario.hardware.id for row in rows}) == 1:
            hidden.add("hardware")
        return hidden

    def notes_of(self, rows: Sequence[PlanRow]) -> Iterator[Note]:
        """What an API, more chips and all owned ones cost or carry, then what each share is."""
        rented = [row.plan for row in rows if not row.is_owned]
        yield from weighted(1, self._against_api())
        yield from weighted(1, self._next_nodes())
        yield from weighted(1, self._bills())
        for share in self.fleet.shares:
            yield from weighted(1, _notes(share))
        yield from weighted(1, plan_notes.other_prices_of_plans(rented))
        yield from weighted(0, plan.service_notes(self.fleet.service))
        for share, chosen in self._taken:
            for note in plan_notes.decision_notes(share.decision, [chosen], [chosen]):
                if not note.is_hint:
                    yield replace(note, weight=0)
        yield from weighted(0, each_warning(row.plan.replica for row in rows))

    def _against_api(self) -> Iterator[str]:
        """Say what an API charges for what it carries; all owned chips count, used or not."""
        fleet = self.fleet
        if fleet.service.tariff.api is None:
            return
        alone = replace(fleet.service, rate=None, budget=inf, max_chips=inf)
        capacity = fleet_plan(fleet.owned, (), alone).requests
        capacity += sum(chosen.requests for share, chosen in self._taken if not share.is_owned)
        yield from api_notes(fleet.service, fleet.requests, capacity, fleet.usd_per_month)

    def _next_nodes(self) -> Iterator[str]:
        """Say what one more node of each kind of owned chip would add, or one more of others."""
        owned = {kind.hardware.id: kind for kind in self.fleet.owned}
        for chip, carried in self._grown.items():
            together = owned[chip].unit(self.fleet.service)
            node = "next node" if together > 1 else "one more"
            yield (
                f"{node}: {counted(together, chip)} more would make it {number(carried)} "
                f"requests/s, {number(carried - self.fleet.requests)} more"
            )

    def _bills(self) -> Iterator[str]:
        """Say what all owned chips cost a month, used or not: of each kind, and together."""
        for kind in self.fleet.owned:
            taken = [(share, chosen) for share, chosen in self._taken if share.owned is kind]
            tokens = self.service.prompt + self.service.output
            tokens *= sum(share.requests for share, _ in taken)
            for _, chosen in taken[:1]:
                yield owning(chosen, kind.chips, tokens)
        yield from owning_all(self.fleet)


def _count(share: Share) -> int | None:
    return share.chips if share.owned else None


def relaxed_options(
    relaxed: dict[str, float], owned: dict[str, int], service: Service
) -> list[str]:
    """Return the options that would let a fleet carry what it is asked, each alone.

    owned : chips by id
    """
    more_owned = [option("own", f"{chip}={count}") for chip, count in owned.items()]
    limits = [limit_as_option(name, value, service) for name, value in relaxed.items()]
    return [*more_owned, *limits]


def refusals(fleet: FleetPlan, most: float, would_do: list[str]) -> list[str]:
    """Say what a fleet that is not enough carries, and what would let it carry all.

    most : requests that it carries within its means [1/s]
    would_do : options that would, each alone
    """
    sentences = over_budget(fleet)
    if fleet.carries_all:
        return sentences
    if most and fleet.service.rate:
        owned = _owned_chips(fleet)
        within = f"{owned} and what may be rented" if owned else "these means"
        carried = f"{number(most)} of {number(fleet.service.rate)} requests/s"
        sentences.append(f"{within} carry {carried}")
    if would_do:
        return [*sentences, f"it would do with {', or '.join(would_do)}"]
    for share in fleet.shares:
        if share.plan is None:
            sentences.append(f"{_chips_of(share)}: {_refusal(share)}")
    return sentences


def _refusal(share: Share) -> str:
    return refusal(share.decision, share.owned.hardware.id if share.owned else None)


def in_all(fleet: Fleet[Any]) -> str:
    """Say what owned chips and those rented on top cost a month together, in a phrase."""
    usd = fleet.usd_per_month
    return "" if usd is None else f" (${dollars(usd)} in all)"


def carry(fleet: Fleet[Any]) -> str:
    """Return the verb of what the owned chips do."""
    return "carries" if sum(kind.chips for kind in fleet.owned) == 1 else "carry"


def _owned_chips(fleet: FleetPlan) -> str:
    """Return the chips that are owned, of each kind together."""
    counts = Counter[str]()
    for share in fleet.shares:
        if share.owned is not None:
            counts[share.owned.hardware.id] += share.chips
    return listed([f"{count:,} {chip}" for chip, count in counts.items()])


def _chips_of(share: Share) -> str:
    if share.owned is None:
        return "chips to rent"
    return f"{share.chips:,} {share.owned.hardware.id}"


def _notes(share: Share) -> Iterator[str]:
    """Say what is left of owned chips, and what to know of how they serve."""
    chosen, owned = share.plan, share.owned
    if chosen is None:
        yield f"{_chips_of(share)} carry nothing: {_refusal(share)}"
        return
    service = share.decision.service
    if owned is None:
        if service.power < inf:
            yield from power_notes(chosen.scenario.hardware)
        return
    if share.chips_left:
        yield f"left: {share.chips_left:,.0f} of {share.chips:,} {owned.hardware.id}"
    yield from (note.text for note in plan_notes.queue_notes(chosen, service) if note.weight)
    yield from plan_notes.slow_end(chosen, service)


def owning_all(fleet: Fleet[Any]) -> Iterator[str]:
    """Say what owned chips of several kinds cost together."""
    usd = sum_if_known(kind.usd_per_month for kind in fleet.owned)
    if usd is not None and len(fleet.owned) > 1:
        yield f"owning all of these chips costs ${dollars(usd)} a month"


def owning(chosen: Plan, chips: int, tokens: float) -> str:
    """Say what all owned chips of a kind cost a month, used or not.

    tokens : prompts and outputs that they carry [1/s]
    """
    chip = chosen.scenario.hardware
    per_hour = chosen.scenario.pricing.per_chip_hour(chip)
    if per_hour is None:
        price = chip.chip_price.purchase
        missing = "purchase price" if price is None else "power"
        bought = "" if price is None else f" (${dollars(price.si)} a chip to buy)"
        return (
            f"no {missing} is known of {chip.id}{bought}, so owning them is not priced: give a "
            f"price of its hour, which may be 0: {option('price', f'{chip.id}=0.10')}"
        )
    usd = per_hour * chips
    month = dollars(usd * HOURS_PER_MONTH)
    basis = ": ".join(plan_notes.prices_of_plans([chosen], in_short=True)).removeprefix("prices, ")
    a_million = f", ${dollars(usd / 3600.0 / tokens * 1e6)}/Mtok in and out" if tokens else ""
    all_chips = f"all {chips:,} {chip.id}" if chips > 1 else f"the {chip.id}"
    return f"owning {all_chips} costs ${month} a month{a_million}; {basis}"
