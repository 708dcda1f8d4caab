"""What an engine's caches hold on a placement, as vLLM prints it when it starts."""

from dataclasses import dataclass

import numpy as np

from fastcalc.core.placement.placement import Placement
from fastcalc.formulas.cache_size import cached_tokens, whole_blocks

BLOCK = 16.0
"""Tokens of a block of vLLM, by default. [1]"""


@dataclass(frozen=True)
class CacheSize:
    """What the caches of one replica are expected to hold.

    length : tokens of a sequence at most [1]
    tokens : that they hold, in whole blocks [1]
    concurrency : sequences of that length that they hold [1]
    """

    length: int
    tokens: int
    concurrency: float


def cache_size(placement: Placement) -> CacheSize | None:
    """Return what caches hold: of sequences as long as engine or model take, or else as reserved.

    None where what lives where is the user's own choice, or a sequence keeps no cache.
    """
    machine = placement.machine
    model_length = placement.work.model.max_context
    reserved = float(np.max(placement.reserved_tokens))
    length = int(machine.memory.longest or model_length or reserved)
    in_blocks = float(whole_blocks(tokens=length, block=BLOCK))
    sequence = float(placement.cache_on_chip(in_blocks))
    if machine.place or not sequence:
        return None
    available = float(placement.available)
    tokens = float(
        cached_tokens(available=available, sequence=sequence, tokens=in_blocks, block=BLOCK)
    )
    return CacheSize(length, int(tokens), tokens / in_blocks)
