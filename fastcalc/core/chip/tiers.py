"""The memory tiers that a chip reads: its own, its host's, and those that links reach."""

from collections.abc import Sequence
from dataclasses import replace
from math import inf

from fastcalc.catalogue.chip_defaults import HOST_LINK
from fastcalc.catalogue.formats import NumberFormat
from fastcalc.catalogue.schema import Hardware
from fastcalc.catalogue.schema.quantities import Quantity
from fastcalc.core.chip.host import WRITTEN
from fastcalc.core.chip.rates import working_rate
from fastcalc.core.chip.tier import MemoryChoice, Tier, own_tiers
from fastcalc.core.model.kinds import KINDS, Kinds
from fastcalc.errors import InputError
from fastcalc.mentions import option
from fastcalc.written import shown


def largest_memory(hardware: Hardware) -> Tier:
    """Return the memory of a chip from which the engine takes its reserve."""
    return max(own_tiers(hardware), key=lambda tier: tier.capacity)


def read_first(tiers: Sequence[Tier]) -> Tier:
    """Return the memory to which `Chip.bandwidth` refers: the on-chip memory, or the first one.

    tiers : The memories in filling order.
    """
    return next((tier for tier in tiers if tier.where == "chip"), tiers[0])


def tiers_of(
    hardware: Hardware, memory: MemoryChoice, formats: Kinds[NumberFormat]
) -> tuple[Tier, ...]:
    """List the memories in which a workload may be placed, in filling order.

    A memory is omitted if every category of bytes is explicitly placed in another one.

    formats : The stored format of each category, for products on the host's cores.
    """
    chip_tiers = own_tiers(hardware)
    if memory.host is None and not memory.place:
        return chip_tiers
    host, tiers = memory.host, list(chip_tiers)
    if host is not None:
        link = link_to_host(hardware, host)
        rates = Kinds(*(working_rate(host, stored).peak for stored in formats))
        for shared in own_tiers(host):
            tier = replace(shared, link=min(shared.link, link.si if link else inf))
            has_cores = tier.where == "host" and hardware.execution == "sequential"
            computes = has_cores and memory.use != "stream"
            streams = memory.use != "compute"
            own_cores = replace(tier, flop_rates=rates, streams=streams)
            tiers.append(own_cores if computes else tier)
    tiers.sort(key=Tier.order)
    if {group for group, _ in memory.place} == set(KINDS):
        used_places = {tier_position(hardware, tiers, name) for _, name in memory.place}
        if memory.prefix_tier is not None:
            used_places.add(
                tier_position(hardware, tiers, memory.prefix_tier, option("prefix_tier"))
            )
        tiers = [tier for index, tier in enumerate(tiers) if index in used_places]
    return tuple(tiers)


def link_to_host(hardware: Hardware, host: Hardware) -> Quantity | None:
    """Return the chip's limit on its link to the host, or None if a flag defines the link."""
    if hardware.links.fastest is None and host.id == WRITTEN:
        return None
    return hardware.links.fastest or HOST_LINK.quantity


def tier_position(
    hardware: Hardware, tiers: Sequence[Tier], name: str, flag: str = option("place")
) -> int:
    """Find the index of a memory given its name or a location such as ``host``.

    name : The name of the memory, case-insensitive.
    flag : The flag to mention in error messages.
    """
    for index, tier in enumerate(tiers):
        if name.lower() in (tier.name.lower(), tier.where):
            return index
    names = ", ".join(tier.name for tier in tiers)
    hint = f"; {option('host')} adds that of a host" if all(tier.is_near for tier in tiers) else ""
    raise InputError(f"{flag}: {hardware.id} has no memory '{shown(name)}'; it has {names}{hint}")
