"""Layers from parts, and the type of a family's reader."""

from collections.abc import Callable
from typing import Any

from fastcalc.importers.huggingface.config import Fields
from fastcalc.importers.huggingface.parts import Part

Layer = dict[str, Any]
"""A block of a model file without its count: ``attention``, ``ffn``, ``norms``."""

Reader = Callable[[Fields], list[Layer]]


def uniform(fields: Fields, attention: Part, ffn: Part, **others: Any) -> list[Layer]:
    """Return equal layers."""
    return [{"attention": attention, "ffn": ffn, **others}] * fields.layers()


def mixed(attentions: list[Part], networks: list[Part], **others: Any) -> list[Layer]:
    """Return layers of an attention and a network each."""
    pairs = zip(attentions, networks, strict=True)
    return [{"attention": attention, "ffn": ffn, **others} for attention, ffn in pairs]


def choose(switched: list[bool], on: Part, off: Part) -> list[Part]:
    """Return for each layer one of two parts."""
    return [on if one else off for one in switched]
