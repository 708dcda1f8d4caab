"""The comparison as a table: where it lives, how fast, at what price, and what limits it."""

from collections.abc import Sequence
from dataclasses import dataclass

from fastcalc.catalogue.schema import Hardware
from fastcalc.core.estimate import SITE_FACTOR
from fastcalc.core.scenario import USD_PER_KWH, YEARS, Location, Outcome, Pricing
from fastcalc.report.console import Notes, Part, Table, Title, columns_that_fit
from fastcalc.report.numbers_as_text import dollars, number, parameters, size


@dataclass(frozen=True)
class _Column:
    """A column: its heading in two lines, and how readily it makes room (0 never)."""

    heading: tuple[str, str]
    gives_way: int = 0


_COLUMNS = {
    "batch": _Column(("", "batch")),
    "user": _Column(("tok/s", "per user")),
    "range": _Column(("80 %", "range")),
    "bound": _Column(("speed of", "light")),
    "total": _Column(("tok/s", "total"), 4),
    "served": _Column(("tok/s", "served"), 8),
    "tpot": _Column(("TPOT", "ms"), 7),
    "ttft": _Column(("TTFT", "ms"), 5),
    "input": _Column(("$/Mtok", "input"), 6),
    "output": _Column(("$/Mtok", "output"), 3),
    "blend": _Column(("$/Mtok", "total"), 2),
    "joules": _Column(("J per", "token"), 9),
    "limiter": _Column(("limited", "by"), 1),
}


_VERDICTS = {
    "needs": "needs N: the batch does not fit these chips; N would hold it",
    "recut": "recut N: the batch does not fit chips cut so; N of them would hold it, cut otherwise",
    "no": "no place: no layout of these chips holds the batch",
}


def tables(outcomes: Sequence[Outcome], width: int) -> tuple[list[list[Part]], list[str]]:
    """Return title and table of each outcome, with the columns that fit, and those left out.

    Parameters
    ----------
    outcomes : sequence of Outcome
        In the order they are shown.
    width : int
        Characters in a line.
    """
    cells = [_cells(outcome) for outcome in outcomes]
    rows = [row for table in cells for row in table]
    shown, gap = columns_that_fit(
        {key: (*column.heading, *(row[key] for row in rows)) for key, column in _COLUMNS.items()},
        {key: column.gives_way for key, column in _COLUMNS.items()},
        width,
    )
    headings = [_COLUMNS[key].heading for key in shown]
    left = [place for place, key in enumerate(shown) if key == "limiter"]
    found: list[list[Part]] = [
        [
            Title(outcome.scenario.hardware.id, _placed(outcome)),
            Table(headings, [[row[key] for key in shown] for row in table], left, gap),
        ]
        for outcome, table in zip(outcomes, cells, strict=True)
    ]
    return found, [" ".join(_COLUMNS[key].heading) for key in _COLUMNS if key not in shown]


def heading(outcome: Outcome) -> str:
    """Return what is compared: the model in its formats, and the traffic."""
    work, traffic = outcome.placement.work, outcome.scenario.traffic
    name = outcome.scenario.model.name
    active = ""
    if work.active_parameters < work.total_parameters:
        active = f", {parameters(work.active_parameters)} active"
    return (
        f"{name}: {parameters(work.total_parameters)} parameters{active}; weights "
        f"{work.weight_format} {size(work.weight_bytes)}, KV cache {work.kv_format} "
        f"{size(work.cache_bytes_per_token)} a token; prompt {traffic.prompt:,.0f}, output "
        f"{traffic.output:,.0f}, mean context {traffic.context:,.0f} tokens"
    )


def markdown_rows(outcomes: Sequence[Outcome]) -> tuple[list[str], list[list[str]]]:
    """Return one header and the rows of all outcomes, for a Markdown table."""
    header = [
        "model",
        "hardware",
        "chips",
        *(" ".join(c.heading).strip() for c in _COLUMNS.values()),
    ]
    rows = [
        [
            outcome.scenario.model.id,
            outcome.scenario.hardware.id,
            str(outcome.placement.layout.chips),
            *(row[key] for key in _COLUMNS),
        ]
        for outcome in outcomes
        for row in _cells(outcome)
    ]
    return header, rows


def _cells(outcome: Outcome) -> list[dict[str, str]]:
    return [_row(outcome, index) for index in range(len(outcome.scenario.batches))]


def _row(outcome: Outcome, index: int) -> dict[str, str]:
    estimate, batch = outcome.estimate, outcome.scenario.batches[index]
    if not estimate.fits[index]:
        cells = dict.fromkeys(_COLUMNS, "-")
        return cells | {"batch": f"{batch:,}", "limiter": _needs(outcome, index)}
    usd = outcome.usd
    low, high = estimate.low, estimate.high
    spread = "-"
    if low is not None and high is not None:
        spread = f"{number(float(low[index]))}..{number(float(high[index]))}"
    return {
        "batch": f"{batch:,}",
        "user": number(float(estimate.speed[index])),
        "range": spread,
        "bound": number(float(estimate.bound[index])),
        "total": number(float(estimate.total[index])),
        "served": number(float(estimate.served[index])),
        "tpot": number(float(estimate.tpot[index]) * 1e3),
        "ttft": number(float(estimate.ttft[index]) * 1e3),
        "input": dollars(float(usd[0][index])) if usd else "-",
        "output": dollars(float(usd[1][index])) if usd else "-",
        "blend": dollars(float(usd[2][index])) if usd else "-",
        "joules": number(float(estimate.joules[index])),
        "limiter": str(estimate.limiter[index]),
    }


def _needs(outcome: Outcome, index: int) -> str:
    chips = outcome.min_chips[index]
    if chips is None:
        return "no place"
    return f"recut {chips:,}" if chips <= outcome.placement.layout.chips else f"needs {chips:,}"


def _placed(outcome: Outcome) -> str:
    """Say where it lives, on how many chips, how cut, and why that many."""
    place = outcome.placement
    price = outcome.usd_per_hour
    cost = f"; ${dollars(price)}/h" if price is not None else ""
    return f"{place}: {why(outcome)}; holds batch {place.max_batch:,}{cost}"


def why(location: Location) -> str:
    """Say why a model takes so many chips, in a phrase."""
    place, batch = location.placement, min(location.scenario.batches)
    usable, chips = place.machine.usable_bytes, place.layout.chips
    cache = float(place.work.cache_bytes(place.reserved_tokens))
    needed = place.work.weight_bytes + batch * cache
    if place.max_batch < batch:
        links = place.machine.hardware.links
        if links.scale_up is None and links.scale_out is None:
            return f"{size(needed)} do not fit one chip, and no link is stated to join more"
        return f"{size(needed)} do not fit ({size(usable)} usable a chip)"
    if not location.is_default_layout:
        return f"as asked; {size(needed)} over {size(usable)} usable a chip"
    if chips == 1:
        return f"{size(needed)} fit in {size(usable)} usable"
    capacity, whole = location.site.chips_needed(batch)
    if whole is not None and capacity is not None and whole > capacity:
        return f"whole layers ask {whole}, capacity alone {capacity}"
    if capacity is not None and capacity == chips:
        return f"{size(needed)} at {size(usable)} usable a chip ask {chips}"
    return f"{size(needed)} at {size(usable)} usable a chip ask {capacity}, legal layouts {chips}"


def notes(outcomes: Sequence[Outcome], left_out: Sequence[str], next_command: str) -> Notes:
    """Return what a reader must know to trust the table, a line each, and what to type next."""
    lines = [_how_to_read(), *_speculation(outcomes), prices(outcomes)]
    lines += _engines(outcomes)
    lines += _bounds(outcomes)
    verdicts = {row["limiter"].split(" ")[0] for outcome in outcomes for row in _cells(outcome)}
    lines += [told for verdict, told in _VERDICTS.items() if verdict in verdicts]
    shared = [warning for outcome in outcomes for warning in outcome.warnings]
    lines += dict.fromkeys(shared)
    if left_out:
        lines.append(f"left out at this width: {', '.join(left_out)}; --format csv has all")
    return Notes(lines, next_command)


def _how_to_read() -> str:
    return (
        "speeds are of decode alone; $, served tokens and joules hold the prompts, too; joules are "
        f"of the printed chip power x {SITE_FACTOR} (site), hosts not counted"
    )


def _speculation(outcomes: Sequence[Outcome]) -> list[str]:
    """Say what a pass drafts and keeps, and who drafts."""
    one = outcomes[0].scenario.traffic.speculation
    if not one.drafted:
        return []
    from fastcalc.report.records import drafter, models_of  # loads what a table does not need

    who = "; ".join(f"{model.id}: {drafter(model)}" for model in models_of(outcomes))
    kept = number(float(one.tokens_per_pass))
    return [
        f"speculation: {one.drafted:g} tokens drafted and {kept} kept a pass, "
        f"which is an acceptance of {one.acceptance:.2f}; {who}"
    ]


def prices(outcomes: Sequence[Outcome]) -> str:
    """Return the prices that outcomes rest on, with their dates, in one sentence."""
    pricing = outcomes[0].scenario.pricing
    chips = {one.scenario.hardware.id: one.scenario.hardware for one in outcomes}.values()
    listed = ", ".join(priced(pricing, chip) for chip in chips)
    busy = f"{pricing.utilization * 100:g} % of the hours paid for"
    return f"prices, {basis_of(pricing)}, $ a chip-hour: {listed}; in use {busy}"


def basis_of(pricing: Pricing) -> str:
    """Say what prices are of, in a phrase."""
    if pricing.basis == "cloud":
        return "cloud"
    return f"ownership (purchase and power, no host) over {YEARS:.0f} years at {USD_PER_KWH} $/kWh"


def priced(pricing: Pricing, chip: Hardware, *, in_short: bool = False) -> str:
    """Return the price of a chip-hour with its date, and whether it is of low confidence.

    Parameters
    ----------
    pricing : Pricing
        How it is priced.
    chip : Hardware
        Which.
    in_short : bool
        Leave out why the confidence is low.
    """
    price, origin = pricing.per_chip_hour(chip), pricing.origin(chip)
    if price is None:
        return f"{chip.id} unknown"
    if origin is None:
        return f"{chip.id} {price:,.2f} (given)"
    said = [origin.date]
    if origin.confidence == "low":
        note = f": {origin.note.split(';')[0]}" if origin.note else ""
        said.append("low" if in_short else f"low confidence{note}")
    when = ", ".join(word for word in said if word)
    return f"{chip.id} {price:,.2f}" + (f" ({when})" if when else "")


def _engines(outcomes: Sequence[Outcome]) -> list[str]:
    engines = {one.scenario.engine.id: one for one in outcomes}
    lines = []
    for name, outcome in engines.items():
        users = [one.scenario.hardware.id for one in outcomes if one.scenario.engine.id == name]
        fitted = " ".join(outcome.scenario.engine.fitted_on.split())
        lines.append(f"engine {name} ({', '.join(dict.fromkeys(users))}): fitted on {fitted}")
    return lines


def _bounds(outcomes: Sequence[Outcome]) -> list[str]:
    """Label the two terms of the bound where regions make its memory term look absurd."""
    lines = []
    for outcome in outcomes:
        estimate = outcome.estimate
        if not outcome.placement.machine.is_spatial or not estimate.fits[0]:
            continue
        batch = outcome.scenario.batches[0]
        lines.append(
            f"{outcome.scenario.model.id} on {outcome.scenario.hardware.id}, speed of light at "
            f"batch {batch:,}: by compute "
            f"{number(float(estimate.bound_compute[0]))}, its memory term alone "
            f"{number(float(estimate.bound_memory[0]))}; but a token crosses "
            f"{outcome.placement.work.layers:.0f} layers one after another, each in its own region"
        )
    return lines
