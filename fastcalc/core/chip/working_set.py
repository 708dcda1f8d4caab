"""Memory that an operating system lets a GPU use if CPU and GPU share it."""

from fastcalc.catalogue.once import once
from fastcalc.catalogue.schema import Hardware
from fastcalc.catalogue.schema.quantities import Quantity


@once
def with_raised_limit(hardware: Hardware) -> Hardware:
    """A chip whose user gave the GPU all memory: on Macs, with iogpu.wired_limit_mb.

    Other systems have no limit that a user can raise.
    """
    if hardware.kind != "apple":
        return hardware
    all_of_it = {"reported": Quantity(si=1.0, text="1")}
    memory = [one.model_copy(update=all_of_it) for one in hardware.memory]
    return hardware.model_copy(update={"memory": memory})
