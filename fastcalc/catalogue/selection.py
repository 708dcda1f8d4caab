"""Selection of chips by pattern, vendor, rent or all, and exclusion of chips."""

import fnmatch
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path

from fastcalc.catalogue.schema import Hardware
from fastcalc.catalogue.store import Catalogue
from fastcalc.errors import InputError
from fastcalc.mentions import option
from fastcalc.written import shown

ALL, RENTABLE = "all", "rentable"

ChipName = str | Path | Hardware


def selected(entries: Catalogue, names: Sequence[ChipName]) -> list[Hardware]:
    """Chips that names select, each once, in the order of the names.

    A name is that of an entry or of a file, a pattern such as ``mi3*``, a vendor, ``all``, or
    ``rentable`` for those with a known rent; none of these four selects a host. One that begins
    with a minus leaves out what it selects, wherever it stands, and of all where only such names
    are given.
    """
    included = [name for name in names if not _leaves_out(name)] or [ALL]
    left_out = {
        chip.id
        for name in names
        if _leaves_out(name)
        for chip in _selected_by(entries, str(name)[1:])
    }
    chips = {chip.id: chip for name in included for chip in _selected_by(entries, name)}
    remaining = [chip for chip in chips.values() if chip.id not in left_out]
    if not remaining:
        listed = ",".join(str(name) for name in names)
        raise InputError(f"{option('on')} {shown(listed)} leaves no chip; leave out fewer")
    return remaining


def single_names(entries: Catalogue, names: Sequence[ChipName]) -> dict[str, ChipName]:
    """Names that mean one entry or file, by its id: not those of several chips."""
    return {
        entries.hardware(name).id: name
        for name in names
        if not _leaves_out(name) and _is_single(entries, name)
    }


def named(entries: Catalogue, names: Sequence[ChipName]) -> set[str]:
    """Ids of chips that are named, alone or by a pattern: not those of a group."""
    chosen = (name for name in names if not _leaves_out(name))
    return {
        chip.id
        for name in chosen
        if _is_single(entries, name) or _is_pattern(str(name))
        for chip in _selected_by(entries, name)
    }


def _is_pattern(word: str) -> bool:
    return "*" in word or "?" in word


def _leaves_out(name: ChipName) -> bool:
    return isinstance(name, str) and name.startswith("-") and len(name) > 1


def _is_single(entries: Catalogue, name: ChipName) -> bool:
    if not isinstance(name, str):
        return True
    is_file = name.endswith((".yaml", ".yml")) or "/" in name or "\\" in name
    return is_file or entries.knows(name, "hardware")


def _selected_by(entries: Catalogue, name: ChipName) -> list[Hardware]:
    if not isinstance(name, str) or _is_single(entries, name):
        return [entries.hardware(name)]
    word = name.lower()
    if _is_pattern(word):
        ids = fnmatch.filter(entries.names("hardware"), word)
        chips = [chip for chip in map(entries.hardware, ids) if chip.kind != "host"]
        if not chips:
            raise InputError(
                f"{option('on')} {shown(name)}: no chip is called like that; 'fastcalc list "
                "hardware' names all"
            )
        return chips
    listed = map(entries.hardware, entries.names("hardware"))
    rentable = [chip for chip in listed if chip.kind != "host"]
    if word == ALL:
        return rentable
    if word == RENTABLE:
        return [chip for chip in rentable if chip.chip_price.rent is not None]
    vendors = {_word(chip.vendor) for chip in rentable}
    if word not in vendors and (near := get_close_matches(word, vendors, n=1, cutoff=0.75)):
        raise InputError(
            f"no hardware or vendor is called '{shown(name)}'; did you mean the vendor {near[0]}?"
        )
    # Where it is no vendor either, the refusal is that of a name.
    chips = [chip for chip in rentable if _word(chip.vendor) == word]
    return chips or [entries.hardware(name)]


def _word(vendor: str) -> str:
    """Name of a vendor as it is typed."""
    return vendor.lower().replace(" ", "-")
