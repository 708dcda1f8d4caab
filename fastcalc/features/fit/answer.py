"""Where models fit: a sentence, and a table of what fills each memory."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import itemgetter

from fastcalc.core.assumed_share import share_assumed
from fastcalc.core.scenario import Location
from fastcalc.core.verdict import VERDICTS
from fastcalc.features.fit.records import COLUMNS, fit_records
from fastcalc.grid.columns import Column, key_figure, pick
from fastcalc.kit.answer import record_tables
from fastcalc.kit.answer.console import Part, Screen, TextTable
from fastcalc.kit.answer.memories import KEY, LETTERS, bar, filled, kept_note
from fastcalc.kit.answer.numbers_as_text import (
    WORDS,
    counted,
    parameters,
    percent,
    size,
    whole_percent,
)
from fastcalc.kit.answer.point_records import named_chips
from fastcalc.kit.answer.record_tables import numbers, words
from fastcalc.kit.answer.why_so_many import why
from fastcalc.mentions import option
from fastcalc.written import listed

_VERDICT = {"fits": "yes", "edge": "at the edge"}

_SHOWN = pick(
    "hardware batch fits chips placement chips_by_capacity chips_by_whole_layers max_batch "
    "memory_used_fraction",
    [
        *COLUMNS,
        Column(
            "fits",
            heading=("", "fits"),
            format=lambda record: (
                _VERDICT[record["fit_verdict"]]
                if record["fits"]
                else f"needs {record['min_chips']:,}"
                if record["min_chips"]
                else "no"
            ),
        ),
    ],
)
MARKDOWN = (*pick("model"), *_SHOWN)

_FIRST = (
    key_figure(words("|chips", itemgetter(0))),
    words("|lives in", itemgetter(1)),
    numbers("|batch", itemgetter(2)),
    numbers("largest|batch", itemgetter(3)),
    numbers("memory|used", itemgetter(4)),
    words("of each|chip", itemgetter(5)),
    words("|filled with", itemgetter(6)),
)
_KEY = (
    "key: largest batch: the most that these chips hold in any usual layout, prompt and output "
    f"reserved, within the engine's limit; {KEY}"
)
_KEY_OF_NEEDS = "; needs N: it takes N chips in a usual layout"
_KEY_OF_EDGE = "; a..b: a for certain, b if the engine keeps as little as it may"


def _table(locations: Sequence[Location], width: int) -> TextTable:
    """Return a row for each memory of a chip, or what a scenario would need."""
    rows: list[list[str]] = []
    bars: list[list[tuple[str, float]] | str] = []
    for location, record in zip(locations, fit_records(locations), strict=True):
        chip, batch = location.scenario.hardware.id, f"{record['batch']:,}"
        min_chips, max_batch = record["min_chips"], record["max_batch"]
        if not location.fits:
            rows.append([chip, "-", batch, "-", "-", "-"])
            bars.append(f"needs {min_chips:,} chips" if min_chips else "no place")
            continue
        lives = " ".join(filter(None, (location.memories, str(location.placement.layout))))
        percent_used = percent(record["memory_used_fraction"])
        is_edge = record["fit_verdict"] == "edge"
        largest = f"{max_batch:,}..{_at_most(location):,}" if is_edge else f"{max_batch:,}"
        cells = [f"{record['chips']:,} x {chip}", lives, batch, largest, percent_used]
        for name, capacity, contents in filled(location):
            rows.append([*cells, f"{name} {size(capacity)}"])
            bars.append([(LETTERS[kind], share) for kind, share in contents])
            cells = [""] * len(cells)
    # The bars get the room that all else leaves.
    heads = [column.heading for column in _FIRST]
    column_widths = [
        max(map(len, (*head, *column)))
        for head, column in zip(heads, zip(*rows, strict=True), strict=False)
    ]
    bar_width = min(max(width - sum(column_widths) - 2 * len(column_widths), 10), 40)
    for row, segments in zip(rows, bars, strict=True):
        row.append(segments if isinstance(segments, str) else bar(segments, bar_width))
    return record_tables.table(_FIRST, rows, width)


def _what(location: Location) -> tuple[str, str, str]:
    """Return the model in its formats."""
    work = location.placement.work
    return work.model.id, work.weight_format, work.kv_format


def _heading(location: Location, phrases: Sequence[str]) -> str:
    work, traffic = location.placement.work, location.scenario.traffic
    said = (
        f"{work.model.heading}: {parameters(work.total_parameters)} parameters; weights "
        f"{work.weight_format} {size(work.weight_bytes)}; KV cache {work.kv_format} "
        f"{size(float(work.cache_bytes(traffic.reserved)))} for the "
        f"{traffic.reserved:,.0f} tokens reserved a sequence"
    )
    return "; ".join([said, *phrases])


IN_HEADING = "kv speculate"
"""Fields that the heading shows whether they are set or not, or that move nothing here."""


def _verdict(members: Sequence[Location]) -> str:
    model = members[0].scenario.model.asked_name
    batch = min(location.scenario.batches[0] for location in members)
    at_batch = [location for location in members if location.scenario.batches[0] == batch]
    by_verdict = {
        verdict: [location for location in at_batch if location.verdict == verdict]
        for verdict in VERDICTS
    }
    fitting, edge, unfit = by_verdict.values()
    clauses = []
    if fitting:
        max_batches = listed(
            [f"{location.max_batch:,}{_other_layout(location)}" for location in fitting]
        )
        clauses.append(f"fits on {_chips_of(fitting)}; the largest batch there is {max_batches}")
    if edge:
        engines = listed([*dict.fromkeys(location.scenario.engine.id for location in edge)])
        clauses.append(
            f"is at the edge of memory on {_chips_of(edge)}, where it starts only if {engines} "
            f"keeps less than it may{_certain(edge)}"
        )
    if unfit:
        without = listed([location.scenario.hardware.id for location in unfit], "or")
        clauses.append(f"does not fit on {without}")
    return f"At batch {batch:,} {model} {'; it '.join(clauses)}."


def _other_layout(location: Location) -> str:
    """Layout that holds the largest batch, in brackets, where it is not that of the row."""
    layout = location.roomiest.layout
    return f" ({layout})" if layout != location.placement.layout else ""


def _assumed(members: Sequence[Location]) -> Iterator[str]:
    """Say of which chips the number turns on a usable share of memory that is assumed."""
    batch = min(location.scenario.batches[0] for location in members)
    for location in members:
        turns = share_assumed(location) if location.scenario.batches[0] == batch else None
        if turns is not None:
            chip, percent = location.scenario.hardware.id, 100 * turns.share
            counts = [
                f"at {whole_percent(other.share)} or {side} it fits on {_count(other.chips)}"
                for other, side in ((turns.fewer, "more"), (turns.more, "less"))
                if other is not None
            ]
            yield (
                f"That {percent:.0f} % of the memory of {chip} is usable is an assumption: "
                f"{', '.join(counts)} ({option('gpu_memory_utilization')})."
            )


def _count(chips: int) -> str:
    return WORDS.get(chips, f"{chips:,}") if chips else "none"


def _at_most(location: Location) -> int:
    """Sequences that fit if the engine reserves as little as it may. [1]"""
    return int(location.roomiest.edge_max_batch)


def _certain(edge: Sequence[Location]) -> str:
    """Return which chips hold for certain what these hold at the edge, as part of a sentence."""
    counts = [
        counted(location.min_chips[0], location.scenario.hardware.id)
        for location in edge
        if location.min_chips[0] is not None
    ]
    return f"; {listed(counts)} hold it for certain" if counts else ""


def _chips_of(locations: Sequence[Location]) -> str:
    return listed([named_chips(location) for location in locations])


def parts(
    locations: Sequence[Location], phrases: Sequence[str], next_command: str, screen: Screen
) -> list[Part]:
    """Return where each model fits in a sentence, a table of what fills each memory, and why."""
    page: list[Part] = []
    notes: list[str] = []
    reserves: list[str] = []
    groups = [list(group) for _, group in groupby(locations, _what)]
    for members in groups:
        of = f"{' '.join(_what(members[0]))} on " if len(groups) > 1 else ""
        page += [*[""][: len(page)], " ".join([_verdict(members), *_assumed(members)]), ""]
        page += [_heading(members[0], phrases), _table(members, screen.width)]
        if screen.wide or screen.notes:
            page += ["", record_tables.table(_SHOWN, fit_records(members), screen.width)]
        notes += dict.fromkeys(
            f"{of}{location.scenario.hardware.id}: {why(location)}" for location in members
        )
        reserves += dict.fromkeys(f"{of}{kept_note(location)}" for location in members)
    needs = _KEY_OF_NEEDS * any(not location.fits for location in locations)
    edge = _KEY_OF_EDGE * any(location.verdict == "edge" for location in locations)
    return [
        *page,
        screen.under_table(_KEY + needs + edge, notes, [*notes, *reserves], next_command),
    ]
