"""Select the chips of a request by the names that users type."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from fastcalc.catalogue.schema import Hardware
from fastcalc.catalogue.selection import selected, single_names
from fastcalc.catalogue.store import Catalogue
from fastcalc.core.chip.tier import MemoryChoice, own_tiers
from fastcalc.core.chip.tiers import tier_position
from fastcalc.errors import InputError
from fastcalc.importers.instances import printed_chip, stated_count
from fastcalc.kit.request import readers
from fastcalc.kit.request.fields import Request
from fastcalc.kit.request.readers import as_text
from fastcalc.mentions import option
from fastcalc.written import shown

if TYPE_CHECKING:
    from fastcalc.kit.request.given_types import ChipsGiven


def _selected(entries: Catalogue, names: Sequence[Any], notes: list[str]) -> list[Hardware]:
    """Select chips by catalogue names, or by names used by drivers and clouds."""
    try:
        return selected(entries, names)
    except InputError:
        meant = [
            printed_chip(name, entries) or name if isinstance(name, str) else name for name in names
        ]
        if meant == list(names):
            raise
        for name, chip in zip(names, meant, strict=True):
            count = None if name == chip else stated_count(name)
            notes += [f"{name} means {f'{count:,} x ' if count else ''}{chip}"] * (name != chip)
        return selected(entries, meant)


def count_of_names(request: Request) -> int | None:
    """Return the chip count in the chip names, if all counts in them agree."""
    names = readers.names(request.values.get("on"), option("on"))
    counts = {stated_count(name) for name in names if isinstance(name, str)} - {None}
    return counts.pop() if len(counts) == 1 else None


def chips_of(
    entries: Catalogue,
    on: "ChipsGiven",
    memory: MemoryChoice,
    notes: list[str],
    also_changed: Sequence[Hardware] = (),
) -> list[Hardware]:
    """Select chips by name, pattern, vendor, ``all`` or ``rentable``.

    Chips without the memory named in ``--place`` are skipped with a note, if others have it.

    also_changed : Additional chips to which a what-if may apply.

    Raises InputError if a host is named, because a host is not a chip (chips may use its memory).
    """
    names = readers.names(on, option("on"))
    chips = _selected(entries, names, notes)
    for chip in chips:
        if chip.kind == "host":
            text = shown(as_text(single_names(entries, names)[chip.id]))
            raise InputError(
                f"{option('on')} {text}: this is a host; name a chip, and the host with "
                f"{option('host', text)}"
            )
    hosts = [memory.host] if memory.host else []
    entries.refuse_idle_changes("hardware", [*chips, *also_changed, *hosts])
    missing: dict[str, str] = {}
    for chip in chips:
        tiers = (*own_tiers(chip), *(own_tiers(memory.host) if memory.host else ()))
        try:
            for _, name in memory.place:
                tier_position(chip, tiers, name)
        except InputError as error:
            missing[chip.id] = error.sentence
    if len(missing) == len(chips):
        raise InputError(next(iter(missing.values())))
    notes += [f"{text}; it is skipped" for text in missing.values()]
    return [chip for chip in chips if chip.id not in missing]


def names_typed(entries: Catalogue, on: "ChipsGiven") -> dict[str, str]:
    """Map the id of each individually selected chip to the text that the user typed."""
    names = single_names(entries, readers.names(on, option("on")))
    return {chip: as_text(name) for chip, name in names.items()}
