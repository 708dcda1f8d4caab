"""Selection of chips by pattern, vendor or rental availability, and exclusion of chips."""

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
    """Select chips by name, each only once, in the order of the names.

    A name is an entry, a file, a pattern such as ``mi3*``, a vendor, ``all``, or ``rentable`` for
    chips with a known rental price; the last four never select a host. A leading minus excludes the
    chips that the name selects, regardless of position; if all names are exclusions, they apply to
    all chips.
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
    """Map ids to the given names of single entries or files, omitting names for several chips."""
    return {
        entries.hardware(name).id: name
        for name in names
        if not _leaves_out(name) and _is_single(entries, name)
    }


def named(entries: Catalogue, names: Sequence[ChipName]) -> set[str]:
    """Return the ids of chips named individually or by a pattern, but not as part of a group."""
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
    return is_file or (
        not (_is_pattern(name) or name.lower() in (ALL, RENTABLE))
        and entries.knows(name, "hardware")
    )


def _selected_by(entries: Catalogue, name: ChipName) -> list[Hardware]:
    if not isinstance(name, str) or _is_single(entries, name):
        return [entries.hardware(name)]
    word = name.lower()
    if _is_pattern(word):
        ids = fnmatch.filter(entries.names("hardware"), word)
        chips = [chip for chip in map(entries.hardware, ids) if chip.kind != "host"]
        if not chips:
            raise InputError(
                f"{option('on')} {shown(name)}: no chip has such a name; 'fastcalc list "
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
    # If it is not a vendor either, the error reports an unknown name.
    chips = [chip for chip in rentable if _word(chip.vendor) == word]
    return chips or [entries.hardware(name)]


def _word(vendor: str) -> str:
    """Convert a vendor's name to the form that users type."""
    return vendor.lower().replace(" ", "-")
