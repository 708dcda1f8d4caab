"""One server of a plan, in terms common to all engines."""

from dataclasses import dataclass
from typing import Literal

from fastcalc.core.placement.layout import HOST_CHIPS, Layout
from fastcalc.quoting import ShellText

RANK, HEAD = "NODE_RANK", "HEAD"
"""Shell variables: the index of this host, and the address of the first host."""


def variable(name: str, ending: str = "") -> ShellText:
    """Script argument with the quoted value of a variable and the text that follows it."""
    return ShellText(f'"${name}"{ending}')


EVERY_ADDRESS = "0.0.0.0"  # noqa: S104  (servers of one host answer a router on another)
"""Address at which a server is reached from other hosts."""

Role = Literal["all", "prefill", "decode"]
"""Role of a server: the whole request, prefill only, or decode only."""


@dataclass(frozen=True)
class Server:
    """One server: its checkpoint, its layout, and the limits that a prediction assumes.

    checkpoint : repository or folder of the weights
    quantized_to : format to which the engine quantizes the weights on loading, if any
    cache : format of the KV cache
    sequences : maximum sequences per step on each attention replica; None if unlimited [1]
    tokens : maximum tokens per sequence [1]
    chunk : maximum prompt tokens per step; None for the engine's default [1]
    memory_share, cache_share : share of a chip's memory that the engine may use, and share of the
        rest after weights that its KV cache uses [1]
    drafts : draft tokens from the model's own prediction layers [1]
    split_mode : flag that chooses the layout, for an engine that has few
    """

    checkpoint: str
    quantized_to: str | None
    cache: str
    layout: Layout
    sequences: int | None
    tokens: int
    chunk: int | None
    memory_share: float
    cache_share: float
    drafts: int = 0
    role: Role = "all"
    split_mode: str | None = None

    @property
    def hosts(self) -> int:
        """Hosts of eight chips that the server spans. [1]"""
        return -(-self.layout.chips // HOST_CHIPS)
