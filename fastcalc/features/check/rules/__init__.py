"""The rules. Importing this package registers all of them."""

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
