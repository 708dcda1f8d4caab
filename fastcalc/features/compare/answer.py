"""The comparison as a table: where it lives, how fast, at what price, and what limits it."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from fastcalc.core.defaults_used import power_notes
from fastcalc.core.estimate import SITE_FACTOR
from fastcalc.core.scenario import Outcome, each_warning
from fastcalc.core.speed_range import range_note
from fastcalc.features.compare.headline import headline
from fastcalc.features.compare.headline_words import sentences
from fastcalc.grid.columns import pick
from fastcalc.kit.answer import record_tables
from fastcalc.kit.answer.console import Notes, Part, Title
from fastcalc.kit.answer.memories import kept_note, lives
from fastcalc.kit.answer.numbers_as_text import dollars, number, whole_percent
from fastcalc.kit.answer.outcome_lines import OUTCOME_COLUMNS, heading_in_full, no_place
from fastcalc.kit.answer.point_records import compare_records, drafter, models_of
from fastcalc.kit.answer.prices import price_line, prices
from fastcalc.kit.answer.why_so_many import why

_MODEL, _HARDWARE, _CHIPS = pick("model hardware chips")
MARKDOWN = (
    *(_MODEL, _HARDWARE, replace(_CHIPS, format=lambda record: str(record["chips"]))),
    *OUTCOME_COLUMNS,
)

_MEANINGS = {
    "needs": "needs N: the batch takes N chips",
    "fits on": "fits on N: the batch fits on N chips, not on these in their layout",
    "no place": "no place: no layout of these chips holds the batch",
}
"""What a cell says that begins so, where a batch does not fit."""


def notes(outcomes: Sequence[Outcome]) -> tuple[list[str], list[str]]:
    """Return what changes how the numbers are read, in short, and all that there is to know."""
    warnings = each_warning(outcomes)
    drafts, drafted = outcomes[0].scenario.traffic.speculation, []
    if drafts.drafted:
        drafters = "; ".join(f"{model.id}: {drafter(model)}" for model in models_of(outcomes))
        drafted = [
            f"speculation: {drafts.drafted:g} tokens drafted and "
            f"{number(float(drafts.tokens_per_pass))} kept a pass, "
            f"which is an acceptance of {drafts.acceptance:.2f}; {drafters}"
        ]
    # What lives on a host changes how a table is read.
    hosted = [
        f"{outcome.scenario.hardware.id}: {placement}"
        for outcome in outcomes
        if outcome.scenario.memory.host is not None and (placement := "; ".join(lives(outcome)))
    ]
    unplaced = [*hosted, *dict.fromkeys(map(no_place, outcomes))]
    hosted = [note for note in unplaced if note is not None]
    short_notes = [*hosted, *drafted, *warnings]
    all_notes = [prices(outcomes), *short_notes, *_notes(outcomes)]
    return short_notes, list(dict.fromkeys(all_notes))


def parts(
    outcomes: Sequence[Outcome],
    phrases: Sequence[str],
    more_parts: Iterable[Part],
    next_command: str,
    width: int,
) -> list[Part]:
    """Return the headline, a table of all columns for each outcome, more parts, and the notes."""
    records = (compare_records([outcome]) for outcome in outcomes)
    rows = [[record_tables.row(OUTCOME_COLUMNS, record) for record in group] for group in records]
    tables = record_tables.tables(
        [replace(column, drop_priority=0) for column in OUTCOME_COLUMNS], rows, width
    )
    page: list[Part] = []
    pairs = zip(outcomes, tables, strict=True)
    for _, group in groupby(pairs, key=lambda pair: pair[0].scenario.model.id):
        members = list(group)
        alike = [outcome for outcome, _ in members]
        stated = headline(alike)
        page += [
            sentences(stated),
            *price_line(stated.priced),
            "",
            heading_in_full(alike[0], phrases),
        ]
        for outcome, table in members:
            price = outcome.usd_per_hour
            cost = f"; ${dollars(price)}/h" if price is not None else ""
            where = f"{outcome.where}: {why(outcome)}; holds batch {outcome.max_batch:,}{cost}"
            page += ["", Title(outcome.scenario.hardware.id, where), table]
        page.append("")
    keys = [*record_tables.key_of_mark(*tables), *notes(outcomes)[1], *meanings(rows)]
    return [*page, *more_parts, Notes(keys, next_command)]


def meanings(rows: Iterable[Iterable[record_tables.Row]]) -> list[str]:
    """Return what the cells of batches that do not fit say."""
    cells = [row["limiter"] for group in rows for row in group]
    return [
        meaning
        for word, meaning in _MEANINGS.items()
        if any(cell.startswith(word) for cell in cells)
    ]


def _notes(outcomes: Sequence[Outcome]) -> Iterator[str]:
    yield (
        "speeds and $ of output are of decode alone, $ of input of the time that prompts add; "
        "served tokens and joules hold the prompts, too; joules are of a chip with its share of "
        f"host and site, of a whole box that of the box x {SITE_FACTOR} (site)"
    )
    scenarios = [outcome.scenario for outcome in outcomes]
    chips = {scenario.hardware.id: scenario.hardware for scenario in scenarios}
    yield from (note for chip in chips.values() for note in power_notes(chip))
    for name, engine in {scenario.engine.id: scenario.engine for scenario in scenarios}.items():
        users = [scenario.hardware.id for scenario in scenarios if scenario.engine.id == name]
        fitted = " ".join(engine.fitted_on.split())
        yield f"engine {name} ({', '.join(dict.fromkeys(users))}): fitted on {fitted}"
    chips_of_range = dict[str, dict[str, None]]()
    for scenario in scenarios:
        if basis := range_note(scenario.engine, scenario.hardware, scenario.model):
            chips_of_range.setdefault(basis, {})[scenario.hardware.id] = None
    yield from (f"80 % range ({', '.join(ids)}): {basis}" for basis, ids in chips_of_range.items())
    for outcome in outcomes:
        chip, near = outcome.scenario.hardware.id, outcome.scenario.memory.host is None
        sentences = (*(lives(outcome) if near else ()), *_prefix(outcome))
        yield from (f"{chip}: {sentence}" for sentence in sentences)
        yield kept_note(outcome)
    for outcome in outcomes:
        estimate = outcome.estimate
        if estimate.bound_serial is None or not estimate.fits[0]:
            continue
        batch = outcome.scenario.batches[0]
        yield (
            f"{outcome.scenario.model.id} on {outcome.scenario.hardware.id}, bound at batch "
            f"{batch:,}: {number(float(estimate.bound_serial[0]))} where a token crosses "
            f"{outcome.placement.work.layers:.0f} layers one after another, each in its own "
            f"region; of all regions at once {number(float(estimate.bound_compute[0]))} by compute "
            f"and {number(float(estimate.bound_memory[0]))} by memory"
        )


def _prefix(outcome: Outcome) -> Iterator[str]:
    """Yield what the cached part of a prompt costs, loaded and computed again."""
    scenario = outcome.scenario
    if scenario.memory.prefix_tier is None or not scenario.traffic.prefix_hit:
        return
    from fastcalc.features.compare.prefix import prefix_cache

    prefix = prefix_cache(outcome)
    sooner = (
        "computing is sooner at any length"
        if prefix.breaks_even is None
        else "loading is sooner at any length"
        if prefix.breaks_even <= 16
        else f"loading is sooner from prompts of {prefix.breaks_even:,} tokens on"
    )
    yield (
        f"{whole_percent(float(scenario.traffic.prefix_hit))} of a prompt is loaded from "
        f"{scenario.memory.prefix_tier} in {number(prefix.loading * 1e3)} ms, and computed again "
        f"in {number(prefix.computing * 1e3)} ms; {sooner}"
    )
