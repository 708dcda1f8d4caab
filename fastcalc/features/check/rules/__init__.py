"""The rules; importing this package registers them all."""

from fastcalc.features.check.rules import (  # noqa: F401 (they register themselves)
    board,
    chip_kinds,
    engines,
    hosts,
    links,
    memory_tiers,
    models,
    provenance,
    published,
    rates,
    structure,
)
