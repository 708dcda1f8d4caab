"""The longest contexts, or the most users, that chips hold: a sentence and a table."""

from collections.abc import Sequence
from itertools import groupby

from fastcalc.core.placement.cache_size import cache_size
from fastcalc.core.scenario import Location
from fastcalc.features.fit.records import fit_records
from fastcalc.features.fit.solve import Solution, Unknown
from fastcalc.grid.columns import Column, TableColumn, pick
from fastcalc.kit.answer import record_tables
from fastcalc.kit.answer.console import Part, Screen
from fastcalc.kit.answer.memories import kept_note
from fastcalc.kit.answer.point_records import Record, named_chips
from fastcalc.kit.answer.why_so_many import engine_limit
from fastcalc.mentions import option
from fastcalc.written import listed

_LISTED = 4
"""Chips that a sentence lists; of more it names both ends. [1]"""

_SHORT = 2
"""Rows of which the lines that an engine prints are shown unasked. [1]"""


def _answer(key: str) -> TableColumn:
    """Column of what was solved for; of a tight fit only where that is more."""

    def cell(record: Record) -> str:
        value = record[key]
        is_more = key == "solution" or value != record["solution"]
        return f"{value:,}" if value and is_more else "-"

    heading = {"solution": ("for", "certain"), "solution_at_edge": ("", "tight")}[key]
    is_certain = key == "solution"
    return Column(key, "count", heading=heading, format=cell, is_key_figure=is_certain)


def _length(record: Record) -> str:
    return f"{record['prompt_tokens'] + record['output_tokens']:,}"


_CHIPS, *_FORMATS = (
    TableColumn(
        "chips",
        heading=("", "chips"),
        format=lambda record: f"{record['chips']:,} x {record['hardware']}",
    ),
    Column(
        "layout",
        heading=("", "layout"),
        format=lambda record: record_tables.layout(record) or "-",
    ),
    *pick("weight_format kv_format"),
)
_ASKED: dict[str, TableColumn] = {
    "context": Column("batch", "count", heading=("", "users")),
    "users": Column("length", "count", heading=("tokens", "each"), format=_length),
}
"""What was given, by what was solved for."""

_ANSWERS = (
    *(_answer(key) for key in ("solution", "solution_at_edge")),
    Column("solution_limited_by", heading=("limited", "by")),
    *pick("memory_used_fraction"),
)
_WIDE = (
    *pick("placement"),
    Column("kv_cache_tokens", "count", heading=("tokens", "cached")),
    Column("max_concurrency", "sequences", heading=("longest", "at once")),
)


def columns(unknown: Unknown, *, wide: bool = False) -> list[TableColumn]:
    """Return the columns of a table of what was solved for, or all that there are."""
    return [_CHIPS, *_FORMATS, _ASKED[unknown], *_ANSWERS, *(_WIDE if wide else ())]


_KEYS = {
    "context": "tokens per sequence, prompt and output, for that many concurrent users",
    "users": "concurrent sequences of all replicas together, prompt and output reserved",
}
_KEY = (
    "; for certain: even if the engine reserves its maximum; tight: only if it reserves its "
    "minimum; limited by: memory, the context of the model, or a limit of the engine"
)
_KEY_OF_LAYOUT = "; layout: the usual one of these chips that holds most"


def markdown(unknown: Unknown) -> list[TableColumn]:
    """Return the columns of a Markdown table, whose rows are of several models."""
    return [*pick("model"), *columns(unknown, wide=True)]


def parts(solutions: Sequence[Solution], next_command: str, screen: Screen) -> list[Part]:
    """Return what was solved for, for each model: in a sentence, and in a table of chips."""
    page: list[Part] = []
    unknown = solutions[0].unknown
    shown = columns(unknown, wide=screen.wide)
    for _, group in groupby(solutions, lambda solution: solution.location.scenario.model.id):
        members = list(group)
        records = fit_records([member.location for member in members], members)
        table = record_tables.table(shown, records, screen.width)
        page += [*[""][: len(page)], _sentence(members), "", table]
    locations = [solution.location for solution in solutions]
    limits = list(dict.fromkeys(map(_limit_note, solutions)))
    lines = [note for note in (*limits, *map(start_note, locations)) if note is not None]
    short_notes = lines if len(lines) <= _SHORT else []
    all_notes = [*lines, *(kept_note(location) for location in locations)]
    is_open = not all(location.scenario.sharding.names_ranks for location in locations)
    key = f"key: {_KEYS[unknown]}{_KEY}{_KEY_OF_LAYOUT * is_open}"
    distinct = list(dict.fromkeys(all_notes))
    return [*page, screen.under_table(key, short_notes, distinct, next_command)]


def start_note(location: Location) -> str | None:
    """Return the lines on its caches that vLLM should print at start-up; None of other engines."""
    engine, size = location.scenario.engine, cache_size(location.placement)
    if "vllm" not in (engine.id, engine.extends) or size is None or not size.tokens:
        return None
    too_long, replicas = size.concurrency < 1.0, location.placement.layout.dp
    hint = f"; it is expected to start with {option('max_model_len')} {size.tokens}" * too_long
    each = f"each of {replicas} replicas of {engine.id}" if replicas > 1 else engine.id
    return (
        f"{location.scenario.hardware.id}: {each} should print at start-up 'GPU KV cache "
        f"size: {size.tokens:,} tokens' and 'Maximum concurrency for {size.length:,} tokens per "
        f"request: {size.concurrency:.2f}x'{hint}"
    )


def _limit_note(solution: Solution) -> str | None:
    """Say which limit the engine has, where it has the last word."""
    if solution.limited_by != "engine":
        return None
    if solution.unknown == "context" and solution.certain:
        longest = solution.location.placement.machine.memory.longest
        engine = solution.location.scenario.engine.id
        return f"{engine} takes {longest:,.0f} tokens, by {option('max_model_len')}"
    return engine_limit(solution.location)


def _sentence(solutions: Sequence[Solution]) -> str:
    """Say what chips hold: of few each, of many the least and the most."""
    scenario, unknown = solutions[0].location.scenario, solutions[0].unknown
    model, tokens = scenario.model.asked_name, f"{scenario.traffic.longest:,.0f} tokens"
    batches = sorted({min(solution.location.scenario.batches) for solution in solutions})
    users = f"{listed([f'{batch:,}' for batch in batches])} user{'s' * (batches != [1])} of {model}"
    holding = [solution for solution in solutions if solution.certain]
    if not holding:
        chips = listed(list(dict.fromkeys(map(_chips, solutions))), "or")
        subject = f"One user of {model} with {tokens}" if unknown == "users" else users
        is_plural = unknown == "context" and batches != [1]
        if any(solution.edge for solution in solutions):
            verb = "fit" if is_plural else "fits"
            return f"{subject} {verb} on {chips} only tightly: if the engine reserves its minimum."
        return f"{subject} {'do' if is_plural else 'does'} not fit on {chips}."
    formats = {_formats(solution) for solution in solutions}
    amounts = [
        f"{solution.certain:,} on {_chips(solution)}{_replicas(solution)}"
        + _formats(solution) * (len(formats) > 1)
        for solution in holding
    ]
    if len(holding) > _LISTED:
        order = sorted(range(len(holding)), key=lambda at: holding[at].certain)
        amounts = [f"from {amounts[order[0]]} to {amounts[order[-1]]}"]
    if unknown == "users":
        return f"Concurrent users of {model} with {tokens} each: {listed(amounts)}."
    subject = f"one user of {model}" if batches == [1] else f"each of {users}"
    return f"Tokens that {subject} may have: {listed(amounts)}."


def _formats(solution: Solution) -> str:
    work = solution.location.placement.work
    return f" ({work.weight_format}, KV cache {work.kv_format})"


def _replicas(solution: Solution) -> str:
    """Replicas that share the users, in brackets, where there are several."""
    layout = solution.location.placement.layout
    if layout.dp == 1 or solution.unknown == "context":
        return ""
    return f" ({layout}: {layout.dp} replicas of {solution.certain // layout.dp:,})"


def _chips(solution: Solution) -> str:
    return named_chips(solution.location)
