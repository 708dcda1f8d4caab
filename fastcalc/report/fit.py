"""Where models fit: a table, and records."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from types import SimpleNamespace

from fastcalc.core.columns import Column, pick, values
from fastcalc.core.scenario import Location
from fastcalc.core.split import near
from fastcalc.report import record_tables
from fastcalc.report.compare import why
from fastcalc.report.console import Listing, Notes, Part, TextTable
from fastcalc.report.memories import KEY, picture
from fastcalc.report.numbers_as_text import parameters, size
from fastcalc.report.records import Record, plainly

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
        "of that memory, what the engine leaves for them",
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
    *pick("speculation_tokens_per_pass host"),
    *pick("dense_near_fraction experts_near_fraction kv_near_fraction"),
)
"""Of the records, in order."""


_SHOWN = pick(
    "hardware batch fits chips placement chips_by_capacity chips_by_whole_layers max_batch "
    "memory_used_fraction",
    [
        *COLUMNS,
        Column(
            "fits",
            heading=("", "fits"),
            format=lambda record: (
                "yes"
                if record["fits"]
                else f"needs {record['min_chips']:,}"
                if record["min_chips"]
                else "no"
            ),
        ),
    ],
)
MARKDOWN = (*pick("model"), *_SHOWN)
"""Of one table of all models."""


def fit_records(locations: Iterable[Location]) -> list[Record]:
    """Return one record for each model on each chip; the keys mean what they do in compare."""
    found = []
    for location in locations:
        scenario, place = location.scenario, location.placement
        batch = min(scenario.batches)
        alone = replace(location, scenario=replace(scenario, batches=(batch,)))
        # By the names of `EvaluatedPoints`.
        one = SimpleNamespace(
            scenario=scenario,
            traffic=scenario.traffic,
            placement=place,
            layout=place.layout,
            work=place.work,
            batch=batch,
            fits=location.fits,
            used=place.used_fraction(batch),
            placed=partial(getattr, alone, "where"),
            memories=alone.memories,
            host=scenario.memory.host and scenario.memory.host.id,
            near=partial(near, alone.split),
            min_chips=partial(location.min_chips.__getitem__, scenario.batches.index(batch)),
            needed=location.site.chips_needed(batch),
        )
        found.append(plainly(values(COLUMNS, one)))
    return found


def _pictures(locations: Sequence[Location]) -> list[Part]:
    """Return a bar for each memory of each chip, and what its letters mean."""
    rows = [
        (one.scenario.hardware.id, f"{min(one.scenario.batches):,}", *bar)
        for one in locations
        for bar in picture(one)
    ]
    headings = [("hardware",), ("batch",), ("memory",), ("usable",), ("what fills it",)]
    return [TextTable(headings, rows, left=(0, 2, 4)), Listing([KEY]), ""] if rows else []


def parts(locations: Sequence[Location], next_command: str, width: int) -> list[Part]:
    """Return a table for each model, why each takes so many chips, and what to type next."""
    found: list[Part] = []
    for _, group in groupby(locations, key=lambda one: one.scenario.model.id):
        members = list(group)
        work, traffic = members[0].placement.work, members[0].scenario.traffic
        found += [
            f"{work.model.name}: {parameters(work.total_parameters)} parameters; weights "
            f"{work.weight_format} {size(work.weight_bytes)}; KV cache {work.kv_format} "
            f"{size(float(work.cache_bytes(traffic.reserved)))} for the "
            f"{traffic.reserved:,.0f} tokens reserved a sequence",
            "",
            record_tables.table(_SHOWN, fit_records(members), width),
            "",
            *_pictures([one for one in members if one.fits]),
            Notes(list(dict.fromkeys(f"{m.scenario.hardware.id}: {why(m)}" for m in members))),
            "",
        ]
    return [*found, Notes(next_command=next_command)]
