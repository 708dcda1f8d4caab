"""Catalogue numbers that claims may use: fields of files, and parameter counts of models."""

from typing import Any, NamedTuple

from fastcalc.catalogue.kinds import SINGULAR
from fastcalc.catalogue.schema import Model, Quantity
from fastcalc.catalogue.store import Catalogue
from fastcalc.core.model.workload import workload
from fastcalc.errors import InputError
from fastcalc.written import shown

MODEL_FIELDS = {
    "parameters": "total_parameters",
    "active_parameters": "active_parameters",
    "layers": "layers",
    "width": "hidden",
    "cache_bytes_per_token": "cache_bytes_per_token",
}
"""Model fields that claims may use, with the workload attribute behind each."""


class CatalogueNumber(NamedTuple):
    """A catalogue number in SI units, with its text in the file and its source."""

    si: float
    text: str
    source: str | None


def number_of(catalogue: Catalogue, name: str, field: str) -> CatalogueNumber:
    """Look up a number of the entry ``hardware/NAME``, ``models/NAME`` or ``engines/NAME``. [SI]

    Hardware fields are, for example, ``memory.bandwidth`` (of the fastest memory), ``peak.fp16`` or
    ``area``. Engines have their parameters, and models the `MODEL_FIELDS`.
    """
    category, _, id_ = name.partition("/")
    if category not in SINGULAR:
        raise InputError(f"'{shown(name)}': entries belong to hardware, models or engines")
    entry = getattr(catalogue, SINGULAR[category])(id_)
    if isinstance(entry, Model):
        if field not in MODEL_FIELDS:
            names = ", ".join(MODEL_FIELDS)
            raise InputError(f"'{shown(field)}' is not a number of a model: {names}")
        number: float | None = getattr(workload(entry), MODEL_FIELDS[field])
        if number is None:
            raise InputError(f"{entry.id} publishes no {field}")
        shape = entry.sources.get(entry.shape_source) if entry.shape_source else None
        return CatalogueNumber(number, f"{number:,.0f}", shape.title if shape else None)
    node: Any = entry.parameters if category == "engines" else entry
    for step in field.split("."):
        if isinstance(node, list):
            node = node[0]
        node = node.get(step) if isinstance(node, dict) else getattr(node, step, None)
    if not isinstance(node, Quantity):
        raise InputError(f"{shown(name)} has no number '{shown(field)}'")
    source = entry.sources.get(node.source) if node.source else None
    return CatalogueNumber(node.si, node.text, source.title if source else None)
