"""What no publication determines of a machine, and why."""

from collections.abc import Iterator

from fastcalc.catalogue.schema import Engine
from fastcalc.core.chip.machine import Machine


def is_assumed(engine: Engine) -> bool:
    """Whether an engine states ranges, and no measurement that its numbers depend on."""
    return bool(engine.ranges) and not engine.fitted_architectures


def undetermined(machine: Machine) -> str | None:
    """Return what no publication determines of a machine: its ``engine``, its ``prefill``."""
    if is_assumed(machine.engine):
        return "engine"
    return "prefill" if _takes_prompts_unseen(machine) else None


def undetermined_notes(machine: Machine) -> Iterator[str]:
    """Yield why numbers of a machine are undetermined, in a sentence."""
    chip, engine = machine.hardware.id, machine.engine
    if is_assumed(engine):
        yield (
            f"speeds of {chip} are undetermined (?): no measurement supports {engine.id}, so use "
            "the range, not the expected value"
        )
    elif _takes_prompts_unseen(machine):
        yield (
            f"prefill of {chip} is undetermined (?): TTFT and input prices assume a fraction of "
            "its peak"
        )


def batching_notes(machine: Machine) -> Iterator[str]:
    """Yield what prices of more than one user depend on where nobody has measured that."""
    if machine.is_spatial and not machine.engine.is_bound:
        yield (
            f"No public benchmark shows {machine.hardware.id} serving several users; prices "
            "above batch 1 assume that it scales"
        )


def _takes_prompts_unseen(machine: Machine) -> bool:
    """Whether nobody states how fast regions of layers take prompts."""
    return machine.is_spatial and not machine.engine.is_bound
