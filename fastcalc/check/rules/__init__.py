"""The rules; importing this package registers them all."""

from fastcalc.check.rules import (
    board,
    engines,
    links,
    memory,
    models,
    provenance,
    rates,
    structure,
)

__all__ = ["board", "engines", "links", "memory", "models", "provenance", "rates", "structure"]
