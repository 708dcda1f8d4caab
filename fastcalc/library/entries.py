"""Chips, models and engines in Python: from the catalogue, a file or a dictionary."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fastcalc.catalogue.schema import Engine, Hardware, Model
from fastcalc.catalogue.store import Catalogue

EntryKeys = Mapping[str, Any]
"""Keys of an entry's file. With ``extends``, only those that differ from another entry."""


def hardware(entry: str | Path | Hardware | EntryKeys) -> Hardware:
    """Load a chip by its catalogue name or file path, or create one from a dictionary.

    The dictionary has the keys of a hardware file; with ``extends`` it states only what differs
    from another chip. Pass the result to ``on=`` of any function.

    Raises InputError if there is no such chip, or if a key or value is wrong.
    """
    catalogue = Catalogue()
    if isinstance(entry, Mapping):
        return catalogue.made(entry, Hardware)
    return catalogue.hardware(entry)


def model(entry: str | Path | Model | EntryKeys) -> Model:
    """Load a model by its catalogue name or file path, or create one from a dictionary.

    The dictionary has the keys of a model file; with ``extends`` it states only what differs from
    another model. Pass the result wherever a model's name is accepted.

    Raises InputError if there is no such model, or if a key or value is wrong.
    """
    catalogue = Catalogue()
    return catalogue.made(entry, Model) if isinstance(entry, Mapping) else catalogue.model(entry)


def engine(entry: str | Path | Engine | EntryKeys) -> Engine:
    """Load an engine by its catalogue name or file path, or create one from a dictionary.

    The dictionary has the keys of an engine file; with ``extends`` it states only what differs
    from another engine. Pass the result to ``engine=`` of any function.

    Raises InputError if there is no such engine, or if a key or value is wrong.
    """
    catalogue = Catalogue()
    return catalogue.made(entry, Engine) if isinstance(entry, Mapping) else catalogue.engine(entry)
