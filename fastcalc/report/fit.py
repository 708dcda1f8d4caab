"""Where models fit: a table, and records."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from types import SimpleNamespace

from fastcalc.core.columns import Column, pick, values
from fastcalc.core.scenario import Location
from fastcalc.report import console, record_tables
from fastcalc.report.compare import why
from fastcalc.report.numbers_as_text import parameters, size
from fastcalc.report.records import Record, plain

COLUMNS = (
    *pick(
        "hardware model engine chips tp pp ep dp weight_format kv_format batch prompt_tokens "
        "output_tokens context_tokens fits placement min_chips max_batch weights_gb kv_gb "
        "memory_used_fraction"
    ),
    Column(
        "kv_gb_per_sequence",
        "GB",
        "KV cache of a sequence, prompt and output reserved",
        lambda one: float(one.work.cache_bytes(one.traffic.reserved)) / 1e9,
    ),
    Column(
        "memory_tier",
        "text",
        "the memory that holds weights and cache",
        lambda one: one.memories,
    ),
    Column(
        "usable_gb_per_chip",
        "GB",
        "of it, what the engine leaves for them",
        lambda one: sum(one.placement.machine.usable(one.layout.chips)) / 1e9,
    ),
    Column(
        "chips_by_capacity",
        "count",
        "chips needed if bytes could go anywhere",
        lambda one: one.needed[0],
        ("capacity", "alone"),
        3,
    ),
    Column(
        "chips_by_whole_layers",
        "count",
        "chips needed if layers stay whole",
        lambda one: one.needed[1],
        ("whole", "layers"),
        2,
    ),
    *pick("speculation_tokens_per_pass"),
)
"""Of the records, in order."""


def _fits(record: Record) -> str:
    needed = record["min_chips"]
    return "yes" if record["fits"] else f"needs {needed:,}" if needed else "no"


_SHOWN = pick(
    "hardware batch fits chips placement chips_by_capacity chips_by_whole_layers max_batch "
    "memory_used_fraction",
    [*COLUMNS, Column("fits", heading=("", "fits"), format=_fits)],
)


def fit_records(locations: Iterable[Location]) -> list[Record]:
    """Return one record for each model on each chip; the keys mean what they do in compare."""
    return [
        {key: plain(value) for key, value in values(COLUMNS, _of(one)).items()} for one in locations
    ]


def _of(location: Location) -> SimpleNamespace:
    """Return what the columns are taken from, by the names of `EvaluatedPoints`."""
    scenario, place = location.scenario, location.placement
    batch = min(scenario.batches)
    return SimpleNamespace(
        scenario=scenario,
        traffic=scenario.traffic,
        placement=place,
        layout=place.layout,
        work=place.work,
        batch=batch,
        fits=location.fits,
        used=place.used_fraction(batch),
        placed=lambda: location.where,
        memories=location.memories,
        min_chips=location.min_chips[scenario.batches.index(batch)],
        needed=location.site.chips_needed(batch),
    )


def cells(locations: Sequence[Location]) -> tuple[list[str], list[list[str]]]:
    """Return one header and one row for each location."""
    return record_tables.markdown([*pick("model"), *_SHOWN], fit_records(locations))


def table(locations: Sequence[Location], next_command: str, *, to_file: bool) -> str:
    """Return a table for each model, why each takes so many chips, and what to type next."""
    width = console.output_width()
    parts: list[console.Part] = []
    for _, group in groupby(locations, key=lambda one: one.scenario.model.id):
        members = list(group)
        rows = [record_tables.row(_SHOWN, record) for record in fit_records(members)]
        parts += [_heading(members[0]), ""]
        parts.append(record_tables.table(*record_tables.fitting(_SHOWN, rows, width), rows))
        reasons = dict.fromkeys(f"{one.scenario.hardware.id}: {why(one)}" for one in members)
        parts += ["", console.Notes(list(reasons)), ""]
    parts.append(console.Notes(next_command=next_command))
    return console.render(parts, width, colour=console.wants_colour() and not to_file)


def _heading(location: Location) -> str:
    work, traffic = location.placement.work, location.scenario.traffic
    per_sequence = float(work.cache_bytes(traffic.reserved))
    return (
        f"{location.scenario.model.name}: {parameters(work.total_parameters)} parameters; weights "
        f"{work.weight_format} {size(work.weight_bytes)}; KV cache {work.kv_format} "
        f"{size(per_sequence)} for the {traffic.reserved:,.0f} tokens reserved a sequence"
    )
