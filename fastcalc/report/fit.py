"""Where models fit: a table, and records."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from operator import itemgetter
from typing import Any

from fastcalc.core.model.workload import Workload
from fastcalc.core.placement.layout import Layout
from fastcalc.core.placement.placement import Placement
from fastcalc.core.placement.split import near_share
from fastcalc.core.scenario import Location, Scenario
from fastcalc.core.traffic import Traffic
from fastcalc.core.verdict import VERDICTS
from fastcalc.formulas.types import ArrayLike, Floats
from fastcalc.records.columns import NEEDS_FIT, Column, values
from fastcalc.report import record_tables
from fastcalc.report.compare import why
from fastcalc.report.console import Part, Screen, TextTable
from fastcalc.report.headings import TableColumn, pick
from fastcalc.report.memories import KEY, LETTERS, bar, filled, kept_note
from fastcalc.report.numbers_as_text import counted, listed, number, parameters, size
from fastcalc.report.record_tables import numbers, words
from fastcalc.report.records import Record, plainly

COLUMNS: tuple[Column[Any], ...] = (
    *pick(
        "hardware model engine chips tp pp ep dp weight_format kv_format batch prompt_tokens "
        "output_tokens context_tokens fits placement min_chips max_batch weights_gb kv_gb "
        "memory_used_fraction"
    ),
    Column(
        "kv_gb_per_sequence",
        "GB",
        "KV cache of a sequence, prompt and output reserved",
        lambda point: float(point.work.cache_bytes(point.traffic.reserved)) / 1e9,
    ),
    Column(
        "memory_tier",
        "text",
        "the memory that holds weights and cache",
        lambda point: point.alone.memories,
    ),
    Column(
        "usable_gb_per_chip",
        "GB",
        "of that memory, what the engine leaves for them",
        lambda point: sum(point.placement.usable) / 1e9,
    ),
    TableColumn(
        "chips_by_capacity",
        "count",
        "chips needed if bytes could go anywhere",
        lambda point: point.needed[0],
        ("capacity", "alone"),
        3,
    ),
    TableColumn(
        "chips_by_whole_layers",
        "count",
        "chips needed if layers stay whole",
        lambda point: point.needed[1],
        ("whole", "layers"),
        2,
    ),
    *pick("speculation_tokens_per_pass host"),
    *pick("dense_near_fraction experts_near_fraction kv_near_fraction speculation_drafted_tokens"),
    Column(
        "reserved_gb_per_chip",
        "GB",
        "of the chip's memory, what the engine is expected to keep for activations and runtime",
        lambda point: float(point.placement.reserved) / 1e9,
    ),
    Column(
        "available_kv_gb_per_chip",
        "GB",
        "of the usable memory, what the weights leave for caches; below 0 they do not fit",
        lambda point: float(point.placement.available) / 1e9,
    ),
    *pick("fit_verdict"),
)


_VERDICT = {"fits": "yes", "edge": "at the edge"}

_SHOWN = pick(
    "hardware batch fits chips placement chips_by_capacity chips_by_whole_layers max_batch "
    "memory_used_fraction",
    [
        *COLUMNS,
        TableColumn(
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
    words("|chips", itemgetter(0)),
    words("|lives in", itemgetter(1)),
    numbers("|batch", itemgetter(2)),
    numbers("largest|batch", itemgetter(3)),
    numbers("memory|used", itemgetter(4)),
    words("of each|chip", itemgetter(5)),
    words("|filled with", itemgetter(6)),
)
_KEY = f"key: the largest batch that these chips hold, prompt and output reserved; {KEY}"
_KEY_OF_NEEDS = "; needs N: N chips in a usual layout hold it"
_KEY_OF_EDGE = "; a..b: a for certain, b if the engine keeps as little as it may"


@dataclass(frozen=True)
class PlacedBatch:
    """The smallest batch of a location; columns take from it what `EvaluatedPoints` has, too."""

    location: Location

    @property
    def scenario(self) -> Scenario:
        """What was asked."""
        return self.location.scenario

    @property
    def traffic(self) -> Traffic:
        """What requests look like."""
        return self.scenario.traffic

    @property
    def placement(self) -> Placement:
        """The model on its chips."""
        return self.location.placement

    @property
    def layout(self) -> Layout:
        """How it is cut."""
        return self.placement.layout

    @property
    def work(self) -> Workload:
        """The model in its formats."""
        return self.placement.work

    @property
    def batch(self) -> int:
        """Sequences. [1]"""
        return min(self.scenario.batches)

    @cached_property
    def alone(self) -> Location:
        """The location with this batch alone."""
        return replace(self.location, scenario=replace(self.scenario, batches=(self.batch,)))

    @property
    def fits(self) -> bool:
        """Whether memory holds it."""
        return self.location.fits

    @property
    def fit_verdict(self) -> str:
        """Whether memory holds it for certain."""
        return self.location.verdict

    @property
    def used(self) -> Floats:
        """Share of the usable memory that is taken. [1]"""
        return self.placement.used_fraction(self.batch)

    @property
    def host(self) -> str | None:
        """The host whose memory the chips may use."""
        host = self.scenario.memory.host
        return host.id if host else None

    @property
    def needed(self) -> tuple[int | None, int | None]:
        """Chips by capacity alone, and with layers whole. [1]"""
        return self.location.site.chips_needed(self.batch)

    def locations(self) -> str:
        """Return where it lives, in a phrase."""
        return self.alone.where

    def near(self, kind: str) -> ArrayLike:
        """Return the share of a kind of bytes that lives in the fastest memory. [1]"""
        return near_share(self.placement.machine, self.alone.split, kind)

    def min_chips(self) -> int | None:
        """Return the chips of the smallest deployment that holds it. [1]"""
        return self.location.min_chips[self.scenario.batches.index(self.batch)]


def fit_records(locations: Iterable[Location]) -> list[Record]:
    """Return one record for each model on each chip; the keys mean what they do in compare."""
    records = []
    for location in locations:
        point = PlacedBatch(location)
        record = plainly(values(COLUMNS, point))
        records.append(record if point.fits else record | dict.fromkeys(NEEDS_FIT & record.keys()))
    return records


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
        percent_used = f"{number(100 * record['memory_used_fraction'])} %"
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


def _heading(location: Location) -> str:
    work, traffic = location.placement.work, location.scenario.traffic
    return (
        f"{work.model.name}: {parameters(work.total_parameters)} parameters; weights "
        f"{work.weight_format} {size(work.weight_bytes)}; KV cache {work.kv_format} "
        f"{size(float(work.cache_bytes(traffic.reserved)))} for the "
        f"{traffic.reserved:,.0f} tokens reserved a sequence"
    )


def _verdict(members: Sequence[Location]) -> str:
    model = members[0].scenario.model.id
    batch = min(location.scenario.batches[0] for location in members)
    at_batch = [location for location in members if location.scenario.batches[0] == batch]
    by_verdict = {
        verdict: [location for location in at_batch if location.verdict == verdict]
        for verdict in VERDICTS
    }
    fitting, edge, unfit = by_verdict.values()
    clauses = []
    if fitting:
        max_batches = listed([f"{location.placement.max_batch:,}" for location in fitting])
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


def _at_most(location: Location) -> int:
    """Return the sequences that fit if the engine keeps as little as it may. [1]"""
    return int(location.placement.edge_batch)


def _certain(edge: Sequence[Location]) -> str:
    """Return which chips hold for certain what these hold at the edge, as part of a sentence."""
    smallest = [location.site.smallest(min(location.scenario.batches)) for location in edge]
    counts = [
        counted(place.layout.chips, location.scenario.hardware.id)
        for location, place in zip(edge, smallest, strict=True)
        if place is not None
    ]
    return f"; {listed(counts)} hold it for certain" if counts else ""


def _chips_of(locations: Sequence[Location]) -> str:
    return listed(
        [
            counted(location.placement.layout.chips, location.scenario.hardware.id)
            for location in locations
        ]
    )


def parts(locations: Sequence[Location], next_command: str, screen: Screen) -> list[Part]:
    """Return where each model fits in a sentence, a table of what fills each memory, and why."""
    page: list[Part] = []
    notes: list[str] = []
    kept: list[str] = []
    groups = [
        list(group) for _, group in groupby(locations, lambda location: location.scenario.model.id)
    ]
    for members in groups:
        of = f"{members[0].scenario.model.id} on " if len(groups) > 1 else ""
        page += [*[""][: len(page)], _verdict(members), ""]
        page += [_heading(members[0]), _table(members, screen.width)]
        if screen.wide or screen.notes:
            page += ["", record_tables.table(_SHOWN, fit_records(members), screen.width)]
        notes += dict.fromkeys(
            f"{of}{location.scenario.hardware.id}: {why(location)}" for location in members
        )
        kept += dict.fromkeys(f"{of}{kept_note(location)}" for location in members)
    needs = _KEY_OF_NEEDS * any(not location.fits for location in locations)
    edge = _KEY_OF_EDGE * any(location.verdict == "edge" for location in locations)
    return [*page, screen.under_table(_KEY + needs + edge, notes, [*notes, *kept], next_command)]
