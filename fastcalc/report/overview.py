"""The first screen of a comparison: a sentence that answers, one table, and how to read it."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from fastcalc.core.chip.machine_class import engine_of_class
from fastcalc.core.chip.tier import OWN_MEMORY
from fastcalc.core.scenario import Outcome, Scenario, chips_by_id
from fastcalc.records.columns import pick
from fastcalc.report import record_tables
from fastcalc.report.compare import key_of_bound, meanings, notes
from fastcalc.report.console import Part, Screen
from fastcalc.report.headline import headline
from fastcalc.report.headline_words import sentences
from fastcalc.report.numbers_as_text import dollars, number, parameters, size, stated_percent
from fastcalc.report.prices import hours_used, other_prices, price_line
from fastcalc.report.records import compare_records

_SHOWN = pick(
    "batch tokens_per_s_per_user tokens_per_s_per_user_low tokens_per_s_per_user_bound "
    "tokens_per_s_total ttft_ms usd_per_mtok_output limiter",
    keep="tokens_per_s_per_user_low tokens_per_s_per_user_bound",
)
_COLUMNS = (
    record_tables.words("|chips", lambda row: row["label"]),
    record_tables.words("|lives in", lambda row: row["lives"], 7),
    *(
        replace(column, format=lambda row: row["batches"]) if column.key == "batch" else column
        for column in _SHOWN
    ),
)
_KEY = (
    "key: tok/s per user: decode speed of one stream, with its 80 % range and the bound, which no "
    "software exceeds; $/Mtok: per million output tokens, prompts priced apart"
)


def parts(outcomes: Sequence[Outcome], next_command: str, screen: Screen) -> list[Part]:
    """Return a sentence that answers, a table for each model, few or all notes, what is next."""
    page: list[Part] = []
    priced: list[Scenario] = []
    models = [
        list(group) for _, group in groupby(outcomes, lambda outcome: outcome.scenario.model.id)
    ]
    rows = [[cells for outcome in group for cells in _rows(outcome)] for group in models]
    tables = record_tables.tables(_COLUMNS, rows, screen.width)
    for group, table in zip(models, tables, strict=True):
        stated = headline(group)
        page += [*[""][: len(page)], sentences(stated), *price_line(stated.priced), ""]
        page += [heading(group), table]
        priced += stated.priced
    key = "; ".join([_KEY + key_of_bound(outcomes), *meanings(rows)])
    key = record_tables.with_mark(key, *tables)
    few, all_notes = notes(outcomes)
    few = [*other_prices(outcomes, priced), *few]
    return [*page, screen.under_table(key, few, all_notes, next_command)]


def heading(outcomes: Sequence[Outcome]) -> str:
    """Return what is compared, in a line: the model as it is held, and what was asked of it.

    outcomes : of one model
    """
    work = outcomes[0].placement.work
    model_text = (
        f"{outcomes[0].scenario.model.heading}: {parameters(work.total_parameters)} parameters, "
        f"{work.weight_format} {size(work.weight_bytes)}"
    )
    return f"{model_text}; {case(outcomes)}"


def case(outcomes: Sequence[Outcome]) -> str:
    """Return the requests, and what else moves the numbers and is not as where nothing is asked."""
    traffic = outcomes[0].scenario.traffic
    tokens = f"prompt {traffic.prompt:,.0f}, output {traffic.output:,.0f} tokens"
    return "; ".join([tokens, *_settings(outcomes)])


def _settings(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Yield what moves the numbers of a table and is not as where nothing is asked."""
    scenario, work = outcomes[0].scenario, outcomes[0].placement.work
    traffic, memory, pricing = scenario.traffic, scenario.memory, scenario.pricing
    if traffic.context != traffic.prompt + traffic.output / 2.0:
        yield f"mean context {traffic.context:,.0f}"
    if traffic.prefix_hit:
        tier = f", in {memory.prefix_tier}" if memory.prefix_tier else ""
        yield f"{stated_percent(float(traffic.prefix_hit))} of prompts cached{tier}"
    if traffic.speculation.drafted:
        tokens_kept = number(float(traffic.speculation.tokens_per_pass))
        yield f"{traffic.speculation.drafted:g} drafted, {tokens_kept} kept a pass"
    if scenario.kv:
        yield f"KV cache {work.kv_format}"
    engines = dict.fromkeys(
        outcome.scenario.engine.id
        for outcome in outcomes
        if outcome.scenario.engine.id != engine_of_class(outcome.scenario.hardware)[0]
    )
    if engines:
        yield f"engine {', '.join(engines)}"
    if memory.host is not None:
        yield f"host {memory.host.id}{f', {memory.use}' if memory.use else ''}"
    if memory.place:
        yield f"placed {', '.join(f'{kind} in {name}' for kind, name in memory.place)}"
    if memory.host is not None and memory.place_for != OWN_MEMORY.place_for:
        yield f"placed for {memory.place_for}"
    if pricing.basis != "cloud":
        yield "cost of ownership"
    if pricing.offer:
        yield f"{pricing.offer} prices"
    if pricing.utilization != 1.0:
        yield hours_used(pricing)
    for chip in chips_by_id(outcomes):
        if chip in pricing.user_prices:
            yield f"{chip} at ${dollars(pricing.user_prices[chip])} a chip-hour"


def _rows(outcome: Outcome) -> Iterator[record_tables.Row]:
    """Yield the cells of each batch; those that do not fit share a row."""
    layout = outcome.placement.layout
    lives = " ".join(filter(None, (outcome.memories, str(layout))))
    label = f"{layout.chips} x {outcome.scenario.hardware.id}"
    for fits, group in groupby(compare_records([outcome]), lambda record: bool(record["fits"])):
        records = list(group)
        for batches_of_row in [[record] for record in records] if fits else [records]:
            shown = {**batches_of_row[0], "label": label, "lives": lives}
            shown["batches"] = ", ".join(f"{record['batch']:,}" for record in batches_of_row)
            cells = (record_tables.row(pick("limiter"), record) for record in batches_of_row)
            first, *further = dict.fromkeys(row["limiter"] for row in cells)
            word = first.rpartition(" ")[0]  # which is said once
            limits_text = ", ".join([first, *(limit.removeprefix(f"{word} ") for limit in further)])
            yield record_tables.row(_COLUMNS, shown) | {"limiter": limits_text}
            label = lives = ""
