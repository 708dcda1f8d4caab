"""Create chips, models and engines in Python: from the catalogue, a file or a dictionary."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fastcalc.catalogue.schema import Engine, Hardware, Model
from fastcalc.catalogue.store import Catalogue

EntryKeys = Mapping[str, Any]
"""The keys of an entry's file or, with ``extends``, only those that differ from another entry."""


def hardware(entry: str | Path | Hardware | EntryKeys) -> Hardware:
    """Load a chip from the catalogue or a file, or define a new one as a dictionary.

    The dictionary has the keys of a hardware file or, with ``extends``, only those that differ from
    another chip. Pass the result to ``on=`` of any function.

    Raises InputError if the chip does not exist, or if a key or value is invalid.
    """
    catalogue = Catalogue()
    if isinstance(entry, Mapping):
        return catalogue.made(entry, Hardware)
    return catalogue.hardware(entry)


def model(entry: str | Path | Model | EntryKeys) -> Model:
    """Load a model from the catalogue or a file, or define a new one as a dictionary.

    The dictionary has the keys of a model file or, with ``extends``, only those that differ from
    another model. Pass the result wherever a model's name is accepted.

    Raises InputError if the model does not exist, or if a key or value is invalid.
    """
    catalogue = Catalogue()
    return catalogue.made(entry, Model) if isinstance(entry, Mapping) else catalogue.model(entry)


def engine(entry: str | Path | Engine | EntryKeys) -> Engine:
    """Load an engine from the catalogue or a file, or define a new one as a dictionary.

    The dictionary has the keys of an engine file or, with ``extends``, only those that differ from
    another engine. Pass the result to ``engine=`` of any function.

    Raises InputError if the engine does not exist, or if a key or value is invalid.
    """
    catalogue = Catalogue()
    return catalogue.made(entry, Engine) if isinstance(entry, Mapping) else catalogue.engine(entry)
