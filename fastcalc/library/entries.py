"""Chips, models and engines in Python: from the catalogue, a file, or the keys of one."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fastcalc.catalogue.schema import Engine, Hardware, Model
from fastcalc.catalogue.store import Catalogue

EntryKeys = Mapping[str, Any]
"""What a file of an entry would hold; with ``extends``, what differs from another entry."""


def hardware(entry: str | Path | Hardware | EntryKeys) -> Hardware:
    """Chip of a name or a path, or of the keys of a hardware file.

    Raises InputError if there is none, or a key or a value is wrong.
    """
    catalogue = Catalogue()
    if isinstance(entry, Mapping):
        return catalogue.made(entry, Hardware)
    return catalogue.hardware(entry)


def model(entry: str | Path | Model | EntryKeys) -> Model:
    """Model of a name or a path, or of the keys of a model file.

    Raises InputError if there is none, or a key or a value is wrong.
    """
    catalogue = Catalogue()
    return catalogue.made(entry, Model) if isinstance(entry, Mapping) else catalogue.model(entry)


def engine(entry: str | Path | Engine | EntryKeys) -> Engine:
    """Engine of a name or a path, or of the keys of an engine file.

    Raises InputError if there is none, or a key or a value is wrong.
    """
    catalogue = Catalogue()
    return catalogue.made(entry, Engine) if isinstance(entry, Mapping) else catalogue.engine(entry)
