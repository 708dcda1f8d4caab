"""The HTML page of a comparison: headline, table, charts, and assumptions."""

from collections.abc import Iterator, Sequence
from html import escape

from fastcalc.catalogue.schema import Engine, Hardware, Model
from fastcalc.core.outcome import Outcome, chips_by_id
from fastcalc.errors import InputError
from fastcalc.features.compare.answer import CompareAnswer
from fastcalc.features.compare.explain import answer as explain
from fastcalc.features.compare.headline_words import sentences
from fastcalc.features.compare.notes import remarks
from fastcalc.grid.column import TableColumn
from fastcalc.grid.columns import COLUMNS, pick
from fastcalc.kit.answer import outcome_lines, record_tables
from fastcalc.kit.answer.numbers_as_text import capital, number
from fastcalc.kit.answer.parts import TextTable
from fastcalc.kit.answer.point_records import Record
from fastcalc.kit.answer.prices import basis_of, hours_used, price_line, provenance
from fastcalc.kit.charts.outcome_series import model_names
from fastcalc.kit.page.filled_page import (
    FILTER,
    Page,
    all_of,
    as_html,
    drawn,
    filled,
    listed,
    under,
)
from fastcalc.written import ReadingNote

MOST_ROWS = 400
"""Maximum number of rows on a page, and of rows that are explained."""
_MOST_EXPLAINED = 16

_FIRST = pick(
    "hardware chips batch tokens_per_s_per_user tokens_per_s_per_user_low "
    "tokens_per_s_per_user_bound tokens_per_s_total ttft_ms usd_per_mtok_output limiter placement"
)
"""Columns that are visible at first. Readers can show the others."""

_KINDS = {
    "tokens_per_s_per_user": "key-figure",
    "tokens_per_s_per_user_low": "range",
    "usd_per_mtok_output": "price",
}
"""CSS classes of highlighted columns. On narrow screens, prices stay visible and ranges move below
their numbers."""
(_RANGE,) = pick("tokens_per_s_per_user_low")

_READING = (
    "<p class='quiet'>tok/s per user: decode only, with its 80% range; bound: hardware "
    "limit{bound}; $/Mtok: output tokens, input priced separately. "
    "<span class='hint'>Columns shows all others.</span></p>"
)


def document(answer: CompareAnswer, command: str) -> str:
    """Build the HTML page of a comparison. It loads nothing from the network.

    command : The command that recreates the page.

    Raises InputError if the comparison has too many rows for a page.
    """
    outcomes, records, phrases = answer.outcomes, answer.records(), answer.phrases_in_full
    if len(records) > MOST_ROWS:
        raise InputError(
            f"{len(records):,} rows exceed the limit of {MOST_ROWS} for a page; compare fewer, or "
            "write csv or xlsx"
        )
    models = ", ".join(dict.fromkeys(outcome.scenario.model.heading for outcome in outcomes))
    warned = [text for text in answer.reading if isinstance(text, ReadingNote)]
    verdict = [*dict.fromkeys(warned), *_verdict(answer)]
    charts = answer.charts.values() if answer.is_held else ()
    notes = list(dict.fromkeys(note.text for note in remarks(outcomes)))
    sections = {
        "Table": _table(records) + _READING.format(bound=outcome_lines.key_of_bound(outcomes)),
        "Charts": drawn((make().stating(phrases) for make in charts), verdict),
        "Step by step": "".join(_explained(outcomes)),
        "Premises": "".join(_premises(outcomes)) + listed(notes) + all_of(answer.assumptions()),
        "Sources": "".join(_sources(outcomes)),
    }
    title = f"{models} on {', '.join(chips_by_id(outcomes))}"
    heading = outcome_lines.heading_in_full(outcomes[0], phrases)
    return filled(Page(title, verdict, heading, sections, command))


def _verdict(answer: CompareAnswer) -> Iterator[str]:
    for stated, outcomes in answer.by_model:
        yield " ".join(
            [
                *sentences(stated),
                *price_line(
                    stated.priced, others=(outcome for outcome in outcomes if outcome.fits)
                ),
            ]
        )
        if stated.fastest is None:
            continue
        row = stated.fastest.leaders[0]
        low, high = (number(row.record[f"tokens_per_s_per_user_{end}"]) for end in ("low", "high"))
        bound = number(row.record[record_tables.SERIAL_BOUND] or row.record[record_tables.BOUND])
        has_range = row.record["tokens_per_s_per_user_low"] is not None
        ranged = f", 80% interval {low} to {high}" if has_range else ""
        yield (
            f"{capital(row.name)} at batch {row.batch:,}: {number(float(row.speed.expected))} "
            f"tokens/s per user{ranged}; hardware bound {bound}; {row.record['limiter']} takes "
            "most of the step time."
        )


def _name(column: TableColumn) -> str:
    key = column.key.replace("_", " ").replace("tokens per s", "tok/s").replace("usd", "$")
    return record_tables.heading(column) or key


def _table(records: Sequence[Record]) -> str:
    head, chosen = [], []
    has_models = len({record["model"] for record in records}) > 1
    shown = [*pick("model"), *_FIRST] if has_models else _FIRST
    columns = [*shown, *(column for column in COLUMNS if column not in shown)]
    for index, column in enumerate(columns):
        away = "" if column in shown else " hidden"
        unit = "" if column.unit in ("text", "count", "yes or no", "list") else f", {column.unit}"
        css_class = _class_of(column)
        below = under(record_tables.heading(_RANGE)) if column.is_key_figure else ""
        about = escape(f"{column.meaning}{unit}", quote=True)
        head.append(
            f'<th scope="col"{away}{css_class}{below}><button title="{about}">'
            f"{escape(_name(column))}</button></th>"
        )
        tick = "" if away else " checked"
        chosen.append(
            f'<label><input type="checkbox" value="{index}"{tick}>{escape(_name(column))}</label>'
        )
    rows = ("".join(_cells(record, columns, len(shown))) for record in records)
    body = "".join(f"<tr>{cells}</tr>" for cells in rows)
    return (
        f"{FILTER}<details class='columns'><summary>Columns</summary><div>{''.join(chosen)}</div>"
        "</details><div class='wide' tabindex='0' role='region' aria-label='Table'>"
        f"<table id='rows' class='rows'><thead><tr>{''.join(head)}</tr></thead>"
        f"<tbody>{body}</tbody></table></div>"
    )


def _class_of(column: TableColumn) -> str:
    """Return the HTML class attribute that aligns and highlights a column."""
    css_classes = ["n"] * (column.unit not in ("text", "list", "yes or no"))
    css_classes += [_KINDS[column.key]] if column.key in _KINDS else []
    return f' class="{" ".join(css_classes)}"' if css_classes else ""


def _cells(record: Record, columns: Sequence[TableColumn], shown: int) -> Iterator[str]:
    """Yield the cells of a row, each with its full value, hiding all but the first few."""
    for index, column in enumerate(columns):
        value, away = record[column.key], "" if index < shown else " hidden"
        words = value if isinstance(value, list) else [value]
        full = "; ".join("" if word is None else str(word) for word in words)
        text = full
        if not isinstance(value, list):
            text = record_tables.row([column], record)[column.key]
        attributes = _class_of(column)
        if column.is_key_figure:
            attributes += under(record_tables.row([_RANGE], record)[_RANGE.key])
        in_order = record_tables.value_of(column, record)
        attributes += f' data-s="{in_order}"' if in_order != value else ""
        yield f'<td{attributes}{away} data-v="{escape(full, quote=True)}">{escape(text)}</td>'


def _explained(outcomes: Sequence[Outcome]) -> Iterator[str]:
    left, models = _MOST_EXPLAINED, model_names(outcomes)
    for outcome in outcomes:
        if left <= 0:
            yield "<p>Other rows are not explained here.</p>"
            return
        left -= len(outcome.scenario.batches)
        model = models[outcome.scenario.model.checkpoint]
        name = f"{model} on {outcome.scenario.hardware.id}"
        body = "".join(as_html(explain.explanation_parts([outcome])))
        yield f"<details><summary>{escape(name)}, step by step</summary>{body}</details>"


def _premises(outcomes: Sequence[Outcome]) -> Iterator[str]:
    pricing = outcomes[0].scenario.pricing
    yield f"<p>Prices are {escape(basis_of(pricing))}{hours_used(pricing)}.</p>"
    rows = []
    for chip in chips_by_id(outcomes).values():
        quote = pricing.quote(chip)
        usd = record_tables.FORMATS["USD"](quote.usd_per_hour)
        note = quote.origin.note if quote.origin else None
        usd = record_tables.marked(usd, is_unsure=quote.is_uncertain)
        rows.append([chip.id, usd, provenance(quote, pricing), note or ""])
    heads = [(name,) for name in ("chip", "$ per chip-hour", "terms, date, confidence", "note")]
    yield from as_html([TextTable(heads, rows)])


def _sources(outcomes: Sequence[Outcome]) -> Iterator[str]:
    entries: dict[str, Hardware | Model | Engine] = {}
    for outcome in outcomes:
        scenario = outcome.scenario
        entries[f"hardware {scenario.hardware.id}"] = scenario.hardware
        entries[f"model {scenario.model.id}"] = scenario.model
        entries[f"engine {scenario.engine.id}"] = scenario.engine
    for name, entry in entries.items():
        lines = []
        for source in entry.sources.values():
            when = f"read {source.accessed}" if source.accessed else ""
            lines.append(", ".join(filter(None, (source.title, source.url, when))))
        if lines:
            yield f"<h3>{escape(name)}</h3>{listed(lines)}"
