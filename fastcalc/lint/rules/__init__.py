"""The rules; importing this package registers them all."""

from fastcalc.lint.rules import (
    board,
    engines,
    hosts,
    links,
    models,
    provenance,
    published,
    rates,
    structure,
)
from fastcalc.lint.rules import memory_tiers as memory

__all__ = [
    "board",
    "engines",
    "hosts",
    "links",
    "memory",
    "models",
    "provenance",
    "published",
    "rates",
    "structure",
]
