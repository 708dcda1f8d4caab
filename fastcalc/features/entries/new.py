"""``fastcalc schema`` and ``fastcalc new``: JSON Schemas and templates of catalogue files."""

import os
import re
from datetime import date

from fastcalc.catalogue.json_schema import as_text
from fastcalc.catalogue.schema import Hardware
from fastcalc.catalogue.skeleton import skeleton
from fastcalc.catalogue.store import Catalogue
from fastcalc.core.outcome import solve
from fastcalc.core.scenario import Scenario, engine_for
from fastcalc.core.traffic.traffic import Traffic
from fastcalc.errors import InputError
from fastcalc.features.entries.request import NewEntry, PrintSchema
from fastcalc.kit.answer import output
from fastcalc.kit.answer.numbers_as_text import number
from fastcalc.kit.request import readers
from fastcalc.mentions import option
from fastcalc.written import Json, shown

_KINDS = ("hardware", "model", "engine")


def run_schema(request: PrintSchema) -> None:
    """Print the JSON Schema for a category of files."""
    output.write(as_text(_kind(request.kind, (*_KINDS, "claims"))), request.out)


def run_new(request: NewEntry) -> None:
    """Print a template for a category of files."""
    if not re.fullmatch(r"[a-z0-9][a-z0-9._-]{0,79}", request.name):
        hint = "lower case letters, digits, '.', '-' and '_' only, such as my-chip"
        raise InputError(f"'{shown(request.name)}' cannot be an id: {hint}")
    file = request.out
    if file is not None and os.path.exists(file) and not output.is_stream(file):
        raise InputError(f"{option('out', file)} exists already; 'new' does not overwrite files")
    entry_type = _kind(request.kind)
    speeds = _speeds() if entry_type == "hardware" else []
    output.write(skeleton(entry_type, request.name, date.today(), speeds), file)


def _speeds() -> list[str]:
    """Return the speed of a chip with the same specifications, for each chip type."""
    numbers = f"{_CHIP[0]} at {_CHIP[1]}"
    lines = [f"Tokens/s of llama-3.1-8b for one user on a chip of {numbers}, by chip type:"]
    entries = Catalogue()
    named: dict[str, Json] = {"id": "made-up", "name": "", "vendor": "", "scope": ""}
    memory: Json = {"name": "SRAM", "capacity": _CHIP[0], "bandwidth": _CHIP[1]}
    for entry_type in _KINDS_OF_CHIPS:
        keys: dict[str, Json] = {
            **named,
            "kind": entry_type,
            "memory": [memory],
            "peak": {"bf16": _CHIP[2]},
        }
        chip = entries.made(keys, Hardware)
        engine, is_borrowed = engine_for(entries, chip)
        traffic = Traffic(1000.0, 1000.0, 1500.0)
        scenario = Scenario(chip, entries.model("llama-3.1-8b"), engine, (1,), traffic)
        speed = float(solve(scenario).estimate.speed[0])
        unsure = ", fitted on other chip types" * is_borrowed
        row = f"  {entry_type:<6} {chip.execution:<11} {number(speed):>6}"
        lines.append(f"{row}  (engine {engine.id}{unsure})")
    return lines


_CHIP = ("60 GB", "20 PB/s", "10 PFLOP/s")
_KINDS_OF_CHIPS = ("gpu", "tpu", "npu", "rdu", "lpu", "wafer", "apple", "soc", "cpu")


def _kind(entry_type: str, entry_types: tuple[str, ...] = _KINDS) -> str:
    return readers.choice(
        {"models": "model", "engines": "engine"}.get(entry_type, entry_type), "kind", entry_types
    )
