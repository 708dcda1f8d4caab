"""Operating-system limits on GPU memory for CPUs and GPUs that share memory."""

from fastcalc.catalogue.once import once
from fastcalc.catalogue.schema import Hardware
from fastcalc.catalogue.schema.quantities import Quantity


@once
def with_raised_limit(hardware: Hardware) -> Hardware:
    """Raise the GPU's memory limit to the full memory, as iogpu.wired_limit_mb does on Macs.

    Chips on other systems have no such limit and are returned unchanged.
    """
    if hardware.kind != "apple":
        return hardware
    all_of_it = {"reported": Quantity(si=1.0, text="1")}
    memory = [one.model_copy(update=all_of_it) for one in hardware.memory]
    return hardware.model_copy(update={"memory": memory})
