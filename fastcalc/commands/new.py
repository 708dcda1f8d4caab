"""``fastcalc schema`` and ``fastcalc new``: what a file may hold, and one to fill in."""

import os
import re
from datetime import date

from fastcalc.catalogue.json_schema import as_text
from fastcalc.catalogue.skeleton import skeleton
from fastcalc.commands import output
from fastcalc.errors import InputError
from fastcalc.mentions import option
from fastcalc.requests import readers
from fastcalc.requests.catalogue import NewEntry, PrintSchema
from fastcalc.written import shown

_KINDS = ("hardware", "model", "engine")


def run_schema(request: PrintSchema) -> None:
    """Write the JSON Schema of a kind of file."""
    output.write(as_text(_kind(request.kind, (*_KINDS, "claims"))), request.out)


def run_new(request: NewEntry) -> None:
    """Write a skeleton of a kind of file."""
    if not re.fullmatch(r"[a-z0-9][a-z0-9._-]{0,79}", request.name):
        hint = "lower case letters, digits, '.', '-' and '_' only, such as my-chip"
        raise InputError(f"'{shown(request.name)}' cannot be an id: {hint}")
    file = request.out
    if file is not None and os.path.exists(file) and not output.is_stream(file):
        raise InputError(f"{option('out')} {file} exists already; 'new' overwrites nothing")
    output.write(skeleton(_kind(request.kind), request.name, date.today()), file)


def _kind(kind: str, kinds: tuple[str, ...] = _KINDS) -> str:
    return readers.choice({"models": "model", "engines": "engine"}.get(kind, kind), "kind", kinds)
