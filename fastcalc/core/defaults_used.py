"""Notes on default values used in place of numbers missing from a chip's file."""

from math import inf

from fastcalc.catalogue.chip_defaults import HOST_LINK, MEDIANS, Default, defaults_of
from fastcalc.catalogue.schema import Hardware
from fastcalc.core.chip.tiers import link_to_host
from fastcalc.core.placement.legal import link_domain
from fastcalc.core.placement.placement import Placement
from fastcalc.core.pricing import Pricing
from fastcalc.mentions import option


def default_notes(
    hardware: Hardware, host: Hardware | None, placement: Placement, pricing: Pricing
) -> list[str]:
    """Return notes on default values that affect the answer."""
    entries = [hardware, *([host] if host else [])]
    notes = [
        default_note(entry, default)
        for entry in entries
        for default in defaults_of(entry)
        if _moves(default, placement)
    ]
    if host and hardware.links.fastest is None and link_to_host(hardware, host):
        taken = HOST_LINK.quantity.text
        notes.append(
            f"the file of {hardware.id} specifies no link, so its link to the host is assumed to "
            f"reach {taken}, the {HOST_LINK.basis}; set links.scale_up in a file that extends it"
        )
    if pricing.quote(hardware).terms == "ownership":  # which includes electricity
        notes += power_notes(hardware)
    if placement.machine.hardware.cores is None and _limits_cores(placement):
        notes.append(
            f"{hardware.id}: per-core limits of bandwidth and compute are not modeled; the engine "
            f"file {placement.machine.engine.id} has such limits only for GPUs"
        )
    return notes


def default_note(entry: Hardware, default: Default) -> str:
    """Return a note on a default value, and how to replace it."""
    return (
        f"{MEDIANS[default.row].name} of {entry.id} is not published. Assumed: "
        f"{default.quantity.text} ({default.basis}); set it with "
        f"{option('set', f'{entry.id}:{default.path}=VALUE')}"
    )


def power_notes(hardware: Hardware) -> list[str]:
    """Return notes on a chip's assumed power including host and site, if its file omits it."""
    return [
        default_note(hardware, default)
        for default in defaults_of(hardware)
        if default.row == "power.all_in"
    ]


def _limits_cores(placement: Placement) -> bool:
    software = placement.machine.software
    return bool(min(software.compute_per_core, software.bandwidth_per_core) < inf)


def _moves(default: Default, placement: Placement) -> bool:
    machine, layout = placement.machine, placement.layout
    chip, software = machine.chip, machine.software
    if default.row == "cores":
        return _limits_cores(placement)
    if default.row == "vector":
        unpacks = any(product.is_unpacked for product in chip.products[:3])
        return bool(software.dequantization_operations) and unpacks
    if default.row == "links.scale_out.latency":
        return layout.chips > (1 if machine.is_spatial else link_domain(machine.hardware))
    if default.path.startswith("links."):
        return layout.chips > 1
    if default.row == "power.all_in":
        return False  # affects no speed: noted along with energy or ownership cost
    return any(not tier.is_near for tier in machine.tiers)
