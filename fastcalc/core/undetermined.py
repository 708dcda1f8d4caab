"""Numbers that nothing published determines: which keys of records they are, and why."""

from collections.abc import Iterator

from fastcalc.catalogue.schema import Engine
from fastcalc.core.chip.machine import Machine

RESTS_ON_PREFILL = (
    *("ttft_ms", "tpot_in_traffic_ms", "served_tokens_per_s_total", "request_s"),
    *("served_request_s", "usd_per_mtok_input", "usd_per_mtok_total", "joules_per_token"),
)
"""Keys of numbers that hold the time of prompts."""

RESTS_ON_ENGINE = (
    *("tokens_per_s_per_user", "tokens_per_s_total", "tokens_per_s_per_chip"),
    *("tpot_ms", "usd_per_mtok_output"),
    *RESTS_ON_PREFILL,
)
"""Keys of numbers that turn with what software reaches."""


def is_assumed(engine: Engine) -> bool:
    """Return whether an engine states ranges, and no measurement that its numbers rest on."""
    return bool(engine.ranges) and not engine.fitted_architectures


def undetermined_keys(machine: Machine) -> tuple[str, ...]:
    """Return the keys of a machine's records that nothing published determines."""
    if is_assumed(machine.engine):
        return RESTS_ON_ENGINE
    return RESTS_ON_PREFILL if _takes_prompts_unseen(machine) else ()


def undetermined_notes(machine: Machine) -> Iterator[str]:
    """Yield why numbers of a machine are undetermined, in a sentence."""
    chip, engine = machine.hardware.id, machine.engine
    if is_assumed(engine):
        yield (
            f"speeds of {chip} are undetermined (?): {engine.id} rests on no measurement, so read "
            "the range and not what is expected"
        )
    elif _takes_prompts_unseen(machine):
        yield (
            f"prefill of {chip} is undetermined (?): TTFT and input $ rest on an assumed share of "
            "its peak"
        )


def batching_notes(machine: Machine) -> Iterator[str]:
    """Yield what prices of more than one user rest on where nobody has measured that."""
    if machine.is_spatial and not machine.engine.is_bound:
        yield (
            f"nobody has measured in public how {machine.hardware.id} serves many users: $ beyond "
            "one rest on it"
        )


def _takes_prompts_unseen(machine: Machine) -> bool:
    """Return whether nobody states how fast regions of layers take prompts."""
    return machine.is_spatial and not machine.engine.is_bound
