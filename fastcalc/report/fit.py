"""Where models fit: a table, and records."""

from collections.abc import Iterable, Sequence
from itertools import groupby

from fastcalc.core.scenario import Location
from fastcalc.report import console
from fastcalc.report.compare import why
from fastcalc.report.numbers_as_text import number, parameters, size
from fastcalc.report.records import Record, plain

_HEADINGS = [
    ("", "hardware"),
    ("", "batch"),
    ("", "fits"),
    ("", "chips"),
    ("", "where"),
    ("capacity", "alone"),
    ("whole", "layers"),
    ("largest", "batch"),
    ("memory", "used"),
]


def fit_records(locations: Iterable[Location]) -> list[Record]:
    """Return one record for each model on each chip; the keys mean what they do in compare."""
    return [{key: plain(value) for key, value in _record(one).items()} for one in locations]


def _record(location: Location) -> Record:
    scenario, place = location.scenario, location.placement
    work, layout, traffic = place.work, place.layout, scenario.traffic
    batch = min(scenario.batches)
    capacity, whole = location.site.chips_needed(batch)
    per_sequence = float(work.cache_bytes(traffic.reserved))
    return {
        "hardware": scenario.hardware.id,
        "model": scenario.model.id,
        "engine": scenario.engine.id,
        "chips": layout.chips,
        "tp": layout.tp,
        "pp": layout.pp,
        "ep": layout.ep,
        "dp": layout.dp,
        "weight_format": work.weight_format,
        "kv_format": work.kv_format,
        "batch": batch,
        "prompt_tokens": traffic.prompt,
        "output_tokens": traffic.output,
        "context_tokens": traffic.context,
        "fits": location.fits,
        "placement": str(place),
        "min_chips": location.min_chips[scenario.batches.index(batch)],
        "max_batch": place.max_batch,
        "weights_gb": work.weight_bytes / 1e9,
        "kv_gb": batch * per_sequence / 1e9,
        "memory_used_fraction": place.used_fraction(batch),
        "kv_gb_per_sequence": per_sequence / 1e9,
        "memory_tier": place.machine.tier.name,
        "usable_gb_per_chip": place.machine.usable_bytes / 1e9,
        "chips_by_capacity": capacity,
        "chips_by_whole_layers": whole,
        "speculation_tokens_per_pass": traffic.speculation.tokens_per_pass,
    }


def cells(locations: Sequence[Location]) -> tuple[list[str], list[list[str]]]:
    """Return one header and one row for each location."""
    header = ["model", *(" ".join(heading).strip() for heading in _HEADINGS)]
    return header, [[one.scenario.model.id, *_row(one)] for one in locations]


def _row(location: Location) -> list[str]:
    place, batch = location.placement, min(location.scenario.batches)
    capacity, whole = location.site.chips_needed(batch)
    index = location.scenario.batches.index(batch)
    needed = location.min_chips[index]
    fits = "yes" if location.fits else f"needs {needed:,}" if needed else "no"
    return [
        location.scenario.hardware.id,
        f"{batch:,}",
        fits,
        f"{place.layout.chips:,}",
        str(place),
        "-" if capacity is None else f"{capacity:,}",
        "-" if whole is None else f"{whole:,}",
        f"{place.max_batch:,}",
        f"{number(float(100 * place.used_fraction(batch)))} %",
    ]


def table(locations: Sequence[Location], next_command: str, *, to_file: bool) -> str:
    """Return a table for each model, why each takes so many chips, and what to type next."""
    width = console.output_width()
    parts: list[console.Part] = []
    for _, group in groupby(locations, key=lambda one: one.scenario.model.id):
        members = list(group)
        rows = [_row(one) for one in members]
        parts += [_heading(members[0]), ""]
        parts.append(console.Table(*_fitting(rows, width)))
        reasons = dict.fromkeys(f"{one.scenario.hardware.id}: {why(one)}" for one in members)
        parts += ["", console.Notes(list(reasons)), ""]
    parts.append(console.Notes(next_command=next_command))
    return console.render(parts, width, colour=console.wants_colour() and not to_file)


def _fitting(
    rows: list[list[str]], width: int
) -> tuple[list[tuple[str, ...]], list[list[str]], list[int], int]:
    texts = {
        str(place): [*heading, *(row[place] for row in rows)]
        for place, heading in enumerate(_HEADINGS)
    }
    ranks = dict.fromkeys(texts, 0) | {"6": 2, "5": 3, "8": 1}
    shown, gap = console.columns_that_fit(texts, ranks, width)
    places = [int(key) for key in shown]
    left = [number for number, place in enumerate(places) if place in (0, 2, 4)]
    kept = [[row[place] for place in places] for row in rows]
    return [_HEADINGS[place] for place in places], kept, left, gap


def _heading(location: Location) -> str:
    work, traffic = location.placement.work, location.scenario.traffic
    per_sequence = float(work.cache_bytes(traffic.reserved))
    return (
        f"{location.scenario.model.name}: {parameters(work.total_parameters)} parameters; weights "
        f"{work.weight_format} {size(work.weight_bytes)}; KV cache {work.kv_format} "
        f"{size(per_sequence)} for the {traffic.reserved:,.0f} tokens reserved a sequence"
    )
