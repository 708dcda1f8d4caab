"""Which entry of the catalogue a device is, by the name that its driver gives."""

import re

from fastcalc.catalogue.schema import Hardware
from fastcalc.catalogue.store import Catalogue
from fastcalc.errors import InputError

_MAKER = {"nvidia", "amd", "geforce", "instinct", "tesla", "quadro", "blackwell"}
SAYS_NOTHING = _MAKER | {"graphics", "gpu", "generation", "edition", "workstation", "oam"}
_MEMORY = re.compile(r"\d+gb|\d+gib|hbm\d*e?|gddr\d*x?")
_LEAST, _MOST = 0.85, 1.02
"""Of the memory that the catalogue has, what a driver shows: it keeps some for itself, and for
error correction where the memory has none of its own."""


def words(name: str) -> frozenset[str]:
    """Return the words of a name; ``SXM4`` and ``SXM5`` are one."""
    found = re.findall(r"[a-z0-9]+", name.lower())
    return frozenset(re.sub(r"^sxm\d$", "sxm", word) for word in found)


def guess(device: str, memory_bytes: float, catalogue: Catalogue) -> str | None:
    """Return the id of the entry that a driver's name means, or None where that is not sure.

    Every word of an id or alias must be in the name, every other word of the name must be one
    that tells no two chips apart, and the memory must be the entry's.

    Parameters
    ----------
    device : str
        As the driver writes it, for example ``"NVIDIA A100-SXM4-80GB"``.
    memory_bytes : float
        That the driver shows. [byte]
    catalogue : Catalogue
        Where to look.
    """
    said = words(device)
    sure: dict[int, set[str]] = {}
    for name in catalogue.names("hardware"):
        entry = catalogue.hardware(name)
        for alias in (entry.id, *entry.aliases):
            rest = said - words(alias) - SAYS_NOTHING
            is_named = words(alias) <= said and all(_MEMORY.fullmatch(word) for word in rest)
            if is_named and _same_memory(entry, memory_bytes):
                sure.setdefault(len(words(alias)), set()).add(entry.id)
    best = sure[max(sure)] if sure else set()
    return best.pop() if len(best) == 1 else None


def _same_memory(entry: Hardware, memory_bytes: float) -> bool:
    return _LEAST <= memory_bytes / entry.memory[0].capacity.si <= _MOST


def hardware_id(
    given: str | None, device: str, memory_bytes: float, *, is_cpu: bool, catalogue: Catalogue
) -> str:
    """Return the id that rows carry: the one given, or the one that the device's name means.

    Raises
    ------
    InputError
        If the device is not known, or the one given cannot be the device.
    """
    if given is None and is_cpu:
        return "cpu"
    found = given or guess(device, memory_bytes, catalogue)
    if found is None:
        raise InputError(
            f"no chip of the catalogue is surely '{device}'; --hardware ID says which it is"
        )
    entry = catalogue.hardware(found)
    if is_cpu != (entry.kind == "cpu"):
        ran = "a CPU" if is_cpu else f"'{device}'"
        raise InputError(f"--hardware {entry.id} is a {entry.kind}, but the steps run on {ran}")
    if not is_cpu and not _same_memory(entry, memory_bytes):
        raise InputError(
            f"--hardware {entry.id} has {entry.memory[0].capacity.text} of memory, but '{device}' "
            f"shows {memory_bytes / 2**30:.1f} GiB"
        )
    return entry.id
