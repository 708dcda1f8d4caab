"""Chips, models and engines in Python: from the catalogue, a file, or the keys of one."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fastcalc.catalogue.schema import Engine, Hardware, Model
from fastcalc.catalogue.store import Catalogue

EntryKeys = Mapping[str, Any]
"""What a file of an entry would hold; with ``extends``, what differs from another entry."""


def hardware(given: str | Path | Hardware | EntryKeys) -> Hardware:
    """Return the chip of a name or a path, or of the keys of a hardware file.

    Raises InputError if there is none, or a key or a value is wrong.
    """
    catalogue = Catalogue()
    if isinstance(given, Mapping):
        return catalogue.made(given, Hardware)
    return catalogue.hardware(given)


def model(given: str | Path | Model | EntryKeys) -> Model:
    """Return the model of a name or a path, or of the keys of a model file.

    Raises InputError if there is none, or a key or a value is wrong.
    """
    catalogue = Catalogue()
    return catalogue.made(given, Model) if isinstance(given, Mapping) else catalogue.model(given)


def engine(given: str | Path | Engine | EntryKeys) -> Engine:
    """Return the engine of a name or a path, or of the keys of an engine file.

    Raises InputError if there is none, or a key or a value is wrong.
    """
    catalogue = Catalogue()
    return catalogue.made(given, Engine) if isinstance(given, Mapping) else catalogue.engine(given)
