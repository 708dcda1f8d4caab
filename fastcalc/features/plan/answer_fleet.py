"""A fleet as a table: what owned chips carry, what is rented on top, what is left."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import inf
from typing import Any

from fastcalc.core.defaults_used import power_notes
from fastcalc.features.plan import answer as plan_table
from fastcalc.features.plan import notes as plan_notes
from fastcalc.features.plan import records as plan
from fastcalc.features.plan.api import api_notes, cheaper_api
from fastcalc.features.plan.decision import FEWER_BITS, Plan
from fastcalc.features.plan.fleet_plan import FleetPlan, Share, fleet_plan, with_next_node
from fastcalc.features.plan.owned import Fleet
from fastcalc.features.plan.ranked_plan import RankedPlan, tpot_range
from fastcalc.features.plan.refusal import limit_as_option, over_budget, refusal
from fastcalc.features.plan.service import Service
from fastcalc.features.plan.verdict import Verdict
from fastcalc.formulas.money import HOURS_PER_MONTH
from fastcalc.formulas.sequences import sum_if_known
from fastcalc.grid.columns import TableColumn
from fastcalc.kit.answer import record_tables
from fastcalc.kit.answer.commands import Typed, compare_command
from fastcalc.kit.answer.console import Part, Screen, TextTable, Title, on_one_screen
from fastcalc.kit.answer.numbers_as_text import counted, dollars, number
from fastcalc.kit.answer.point_records import Record, plain, plainly
from fastcalc.kit.answer.prices import price_line
from fastcalc.mentions import option
from fastcalc.written import listed

_ALTERNATIVES, _RENTED, _OTHERS = 1, 1, 2
"""Further plans of chips that are owned, rented plans where some are, and other chips to rent."""


def unrounded(fleet: FleetPlan, top: int, typed: Typed) -> list[Record]:
    """Return a record for each plan of each share, with all digits."""
    return [
        record
        for share in fleet.shares
        for record in plan.unrounded(
            share.decision.plans[:top], share.decision.service, typed, _count(share)
        )
    ]


def records(fleet: FleetPlan, top: int, typed: Typed) -> list[Record]:
    """Return a record for each plan of each share, the first of each being what is taken."""
    return [plainly(record) for record in unrounded(fleet, top, typed)]


def details(fleet: FleetPlan, typed: Typed) -> Record:
    """Return what stands alongside the records: the sum, what is left, what a node adds."""
    return {
        "requests_per_s": plain(fleet.requests),
        "rate": plain(fleet.service.rate),
        "requests_per_s_with_next_node": {
            chip: plain(carried) for chip, carried in _grown(fleet).items()
        },
        "shares": [
            {
                "owned_chips": _count(share),
                "requests_per_s": plain(share.requests),
                "chips_left": plain(share.chips_left),
                **plan.details(Verdict(share.decision), typed),
            }
            for share in fleet.shares
        ],
    }


def _count(share: Share) -> int | None:
    return share.chips if share.owned else None


def _grown(fleet: FleetPlan) -> dict[str, float]:
    """Return what a node more of each owned chip would make the fleet carry, where all serve."""
    return with_next_node(fleet) if fleet.service.rate is None else {}


def options(relaxed: dict[str, float], owned: dict[str, int], service: Service) -> list[str]:
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


def parts(fleet: FleetPlan, top: int, phrase: str, typed: Typed, screen: Screen) -> list[Part]:
    """Return the answer in a sentence, a table of the shares, a key and notes."""
    labelled = [row for share in fleet.shares for row in _rows_of(fleet, share, top, screen)]
    shown, table = [chosen for _, chosen, _ in labelled], _table(fleet, labelled, typed, screen)
    changed = plan_table.CHANGED if any("*" in label for label, *_ in labelled) else ""
    nodes = plan_table.IN_NODES if any(chosen.node_chips > 1 for chosen in shown) else ""
    key = plan_table.with_marks(_KEY + nodes + changed, table)
    short_notes = [
        *_against_api(fleet),
        *_next_nodes(fleet),
        *_bills(fleet),
        *(note for share in fleet.shares for note in _notes(share)),
        *plan_notes.other_prices_of_plans(
            [chosen for _, chosen, share in labelled if share.owned is None]
        ),
    ]
    every_note = [*short_notes, *plan.notes(fleet.service)]
    for share in fleet.shares:
        if share.plan is not None:
            every_note += plan_notes.reported(share.decision, [share.plan])
    every_note += [line for chosen in shown for line in chosen.replica.warnings]
    command = compare_command(shown[0].scenario, typed)

    priced = price_line(
        scenario for share in fleet.shares if share.plan for scenario in share.plan.scenarios
    )

    def page(count: int) -> list[Part]:
        notes = list(dict.fromkeys(every_note))
        under = screen.under_table(key, short_notes[:count], notes, command)
        return [_title(fleet, phrase), *priced, "", table, under]

    return on_one_screen(page, screen)


_KEY = (
    "key: replicas x each decode, prompts inside or on chips of their own; "
    "req/s: the most that the chips carry within the limits, or what they are to; TPOT of "
    "full batches with others' prompts between"
)


def _title(fleet: FleetPlan, phrase: str) -> Title:
    taken = [(share.decision, share.plan) for share in fleet.shares if share.plan]
    phrase += plan_notes.in_fewer_bits(taken)
    phrase += "".join(plan_notes.level_runner_up(decision) for decision, _ in taken)
    phrase += cheaper_api(fleet.service, fleet.requests, fleet.usd_per_month)
    owned = [share for share in fleet.shares if share.owned]
    rented = [share.plan for share in fleet.shares if share.owned is None and share.plan]
    load = _load(fleet)
    for chosen in rented:
        service, chip = fleet.shares[-1].decision.service, chosen.scenario.hardware.id
        bill = plan_notes.chips_and_price(chosen, service)
        if not owned:
            return Title(chip, f"{bill}, carry {load}, for {phrase}", bill)
        requests = sum(share.requests for share in owned)
        bill += in_all(fleet)
        load = f"{number(requests)} requests/s; with {chip} on top, {bill}, {load}"
    answer = f"{carry(fleet)} {load}"
    return Title(_owned_chips(fleet), f"{answer}, for {phrase}", answer)


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


def _load(fleet: FleetPlan) -> str:
    """Return what a fleet carries, and how many requests it serves at a time, in a phrase."""
    tokens, at_once = number(fleet.requests * fleet.service.output), 0.0
    for share in fleet.shares:
        if share.plan is not None:
            at_once += RankedPlan(1, share.plan, share.decision.service, "").in_flight
    return (
        f"{number(fleet.requests)} requests/s, {tokens} output tokens/s, {at_once:,.0f} requests "
        "at once"
    )


def _chips_of(share: Share) -> str:
    if share.owned is None:
        return "chips to rent"
    return f"{share.chips:,} {share.owned.hardware.id}"


def _rows_of(
    fleet: FleetPlan, share: Share, top: int, screen: Screen
) -> Iterator[tuple[str, Plan, Share]]:
    """Yield the plans of a share that a screen shows, each with its label."""
    decision, is_alone = share.decision, len(fleet.shares) == 1
    count = (top if screen.wide else min(top, 1 + _ALTERNATIVES)) if is_alone else 1
    for place, chosen in enumerate(decision.plans[:count], 1):
        label = "owned" if share.owned else "rented"
        label = f"{label} {place}" if is_alone else label
        yield label + " *" * (not decision.may_lead(chosen)), chosen, share
    if not is_alone and not screen.wide:
        return
    for chosen in decision.in_fewer_bits[:FEWER_BITS]:
        yield "fewer bits *", chosen, share
    if share.owned is None:
        names = {chosen.scenario.hardware.id for chosen in decision.plans[:count]}
        other_chips = [p for p in decision.of_each_chip if p.scenario.hardware.id not in names]
        for chosen in other_chips[: None if screen.wide else _OTHERS]:
            yield "other chip" + " *" * (not decision.may_lead(chosen)), chosen, share


def _table(
    fleet: FleetPlan, labelled: Sequence[tuple[str, Plan, Share]], typed: Typed, screen: Screen
) -> TextTable:
    """Return the table of the plans of a fleet, each with its label."""
    labels, shown, _ = zip(*labelled, strict=True)
    records_shown = [
        record
        for _, chosen, share in labelled
        for record in plan.unrounded([chosen], share.decision.service, typed)
    ]
    fitting = plan_table.with_formats(_columns(fleet, shown, screen), labels, records_shown)
    columns = [record_tables.words("|plan", lambda _: ""), *fitting]
    rows = [
        record_tables.row(columns, record) | {"|plan": label}
        for label, record in zip(labels, records_shown, strict=True)
    ]
    (table,) = record_tables.tables(columns, [rows], screen.width)
    return table


def _columns(fleet: FleetPlan, shown: Sequence[Plan], screen: Screen) -> list[TableColumn]:
    service = replace(fleet.service, is_fleet=True)
    hidden = set()
    if not any(chosen.scenario.traffic.speculation.drafted for chosen in shown):
        hidden.add("speculation_tokens_per_pass")
    if all(tpot_range(chosen) is None for chosen in shown):
        hidden.add("service_tpot_ms_low")
    if not screen.wide and len({chosen.scenario.hardware.id for chosen in shown}) == 1:
        hidden.add("hardware")  # the sentence above names it
    return plan_table.columns_but(service, hidden, wide=screen.wide)


def _against_api(fleet: FleetPlan) -> Iterator[str]:
    """Say what an API charges for what a fleet carries; all owned chips count, used or not."""
    if fleet.service.tariff.api is None:
        return
    alone = replace(fleet.service, rate=None, budget=inf, max_chips=inf)
    rented = (share.plan for share in fleet.shares if not share.is_owned)
    capacity = fleet_plan(fleet.owned, (), alone).requests
    capacity += sum(chosen.requests for chosen in rented if chosen)
    yield from api_notes(fleet.service, fleet.requests, capacity, fleet.usd_per_month)


def _next_nodes(fleet: FleetPlan) -> Iterator[str]:
    """Say what one more node of each kind of owned chip would add, or one more of single ones."""
    owned = {kind.hardware.id: kind for kind in fleet.owned}
    for chip, carried in _grown(fleet).items():
        together = owned[chip].unit(fleet.service)
        node = "next node" if together > 1 else "one more"
        yield (
            f"{node}: {counted(together, chip)} more would make it {number(carried)} requests/s, "
            f"{number(carried - fleet.requests)} more"
        )


def _notes(share: Share) -> Iterator[str]:
    """Say what is left of owned chips, what one more node adds, and what it all costs."""
    chosen, owned = share.plan, share.owned
    if chosen is None:
        yield f"{_chips_of(share)} carry nothing: {_refusal(share)}"
        return
    if owned is None:
        if share.decision.service.power < inf:
            yield from power_notes(chosen.scenario.hardware)
        return
    chip, service = owned.hardware.id, share.decision.service
    if share.chips_left:
        yield f"left: {share.chips_left:,.0f} of {share.chips:,} {chip}"
    yield from plan_notes.at_random(chosen, service, in_short=True)
    yield from plan_notes.slow_end(chosen, service)


def _bills(fleet: FleetPlan) -> Iterator[str]:
    """Say what all owned chips cost a month, used or not: of each kind, and together."""
    for kind in fleet.owned:
        shares = [share for share in fleet.shares if share.owned is kind]
        tokens = fleet.service.prompt + fleet.service.output
        tokens *= sum(share.requests for share in shares)
        for chosen in [share.plan for share in shares if share.plan][:1]:
            yield owning(chosen, kind.chips, tokens)
    yield from owning_all(fleet)


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
