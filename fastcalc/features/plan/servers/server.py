"""One server of a plan, in terms that every engine has."""

from dataclasses import dataclass
from typing import Literal

from fastcalc.core.placement.layout import HOST_CHIPS, Layout
from fastcalc.quoting import ShellText

RANK, HEAD = "NODE_RANK", "HEAD"
"""Variables of the shell: which of several hosts this is, and the address of the first."""


def variable(name: str, ending: str = "") -> ShellText:
    """Word of a script that is a variable's value, whatever it holds, and what follows it."""
    return ShellText(f'"${name}"{ending}')


EVERY_ADDRESS = "0.0.0.0"  # noqa: S104  (servers of one host answer a router on another)
"""Address at which a server is reached from other hosts."""

Role = Literal["all", "prefill", "decode"]
"""What a server does: all of a request, its prompt, or its output tokens."""


@dataclass(frozen=True)
class Server:
    """One server: what it loads, how it is cut, and the limits that a prediction assumes.

    checkpoint : repository or folder of the weights
    quantized_to : format that the engine brings the weights to while it loads them, if any
    cache : format of the KV cache
    sequences : in a step, on each attention replica; None where nothing limits them [1]
    tokens : of a sequence at most [1]
    chunk : prompt tokens in a step at most; None where the engine's own limit counts [1]
    memory_share, cache_share : of a chip's memory that the engine may fill, and of what weights
        leave of that which its cache takes [1]
    drafts : tokens drafted ahead by the model's own layers for that [1]
    split_mode : flag that chooses the layout, of an engine that has few
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
        """Hosts of eight chips that it runs over. [1]"""
        return -(-self.layout.chips // HOST_CHIPS)
