"""The first screen of a comparison: a sentence that answers, one table, and how to read it."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from fastcalc.core.scenario import Outcome, Scenario
from fastcalc.features.compare.answer import meanings, notes
from fastcalc.features.compare.headline import headline
from fastcalc.features.compare.headline_words import sentences
from fastcalc.grid.columns import pick
from fastcalc.kit.answer import record_tables
from fastcalc.kit.answer.console import Part, Screen
from fastcalc.kit.answer.outcome_lines import heading, key_of_bound
from fastcalc.kit.answer.point_records import compare_records
from fastcalc.kit.answer.prices import other_prices, price_line

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


def parts(
    outcomes: Sequence[Outcome], phrases: Sequence[str], next_command: str, screen: Screen
) -> list[Part]:
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
        page += [heading(group, phrases), table]
        priced += stated.priced
    key = "; ".join([_KEY + key_of_bound(outcomes), *meanings(rows)])
    key = record_tables.with_mark(key, *tables)
    few, all_notes = notes(outcomes)
    few = [*other_prices(outcomes, priced), *few]
    return [*page, screen.under_table(key, few, all_notes, next_command)]


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
