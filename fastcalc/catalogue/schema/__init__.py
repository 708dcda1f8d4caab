"""Schemas of hardware, model and engine files: types only, no computation.

A number may be given alone (``3.35 TB/s``) or with its provenance (``{value: 3.35 TB/s, source:
datasheet, printed: "3.35TB/s"}``); both are read into a `Quantity` whose ``si`` is a float.
"""

from fastcalc.catalogue.schema.engines import Engine, Parameters, SpeedRange
from fastcalc.catalogue.schema.hardware import Hardware, Memory
from fastcalc.catalogue.schema.models import (
    AnyAttention,
    AnyFFN,
    Attention,
    Block,
    CompressedAttention,
    DenseFFN,
    Indexer,
    LatentAttention,
    LinearAttention,
    MixtureOfExperts,
    Model,
)
from fastcalc.catalogue.schema.quantities import Entry, NamedEntry, Quantity

__all__ = [
    "AnyAttention",
    "AnyFFN",
    "Attention",
    "Block",
    "CompressedAttention",
    "DenseFFN",
    "Engine",
    "Entry",
    "Hardware",
    "Indexer",
    "LatentAttention",
    "LinearAttention",
    "Memory",
    "MixtureOfExperts",
    "Model",
    "NamedEntry",
    "Parameters",
    "Quantity",
    "SpeedRange",
]
