"""Quantities of a machine that no publication determines, with the reasons."""

from collections.abc import Iterator

from fastcalc.catalogue.schema import Engine
from fastcalc.core.chip.machine import Machine


def is_assumed(engine: Engine) -> bool:
    """Check whether an engine has ranges although none of its values depends on a measurement."""
    return bool(engine.ranges) and not engine.fitted_architectures


def undetermined(machine: Machine, *, is_alone: bool = True) -> str | None:
    """Return what is undetermined: the ``engine``, only its ``prefill``, or nothing (None).

    is_alone : Whether the machine serves a single user, since no publication covers several users
        on chips with a region per layer.
    """
    if is_assumed(machine.engine) or (_is_known_for_one_user(machine) and not is_alone):
        return "engine"
    return "prefill" if _is_known_for_one_user(machine) else None


def undetermined_notes(machine: Machine) -> Iterator[str]:
    """Yield the reasons why values for a machine are undetermined, as sentences."""
    chip, engine = machine.hardware.id, machine.engine
    if is_assumed(engine):
        yield (
            f"speeds of {chip} are undetermined (marked ?): no measurement supports {engine.id}, "
            "so use the range, not the expected value"
        )
    yield from prefill_notes(machine)


def prefill_notes(machine: Machine) -> Iterator[str]:
    """Yield the possible error of TTFT if only decode speed is published."""
    if not is_assumed(machine.engine) and _is_known_for_one_user(machine):
        stated = machine.engine.stated_range("prefill")
        yield f"{machine.hardware.id} prefill speed is not published: " + (
            f"TTFT may be {1.0 / stated.above:.1g} to {stated.below:g} times the value shown"
            if stated
            else "TTFT and input prices assume a fraction of its peak FLOP/s"
        )


def batching_notes(machine: Machine) -> Iterator[str]:
    """Yield the assumptions behind multi-user speeds that nobody has measured."""
    if _is_known_for_one_user(machine):
        yield (
            f"no public benchmark shows {machine.hardware.id} serving several users; the low "
            "end of the range assumes that total throughput does not grow with the batch"
        )


def _is_known_for_one_user(machine: Machine) -> bool:
    """Check whether only the single-user decode speed is published, as for chips with regions."""
    return machine.is_spatial and not machine.engine.is_bound
