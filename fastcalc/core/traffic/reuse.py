"""Prefix-cache hits for any cache size, from a trace or from shared prefixes."""

from dataclasses import dataclass

import numpy as np

from fastcalc.formulas.reuse import characteristic_time, reuse_distances
from fastcalc.formulas.types import Array, ArrayLike, Floats, Ints, floats


@dataclass(frozen=True, eq=False)
class Reuse:
    """Computes the repeated prompt tokens that a prefix cache serves, by cache size.

    block : The tokens per block; a cache consists of whole blocks.
    found : The hit tokens over all prompts for a cache of 0, 1, 2, ... blocks.
    prompts : The tokens of all prompts.
    """

    block: int
    found: Floats
    prompts: float

    @classmethod
    def of(cls, prompt: Floats, blocks: Ints, ends: Ints, block: int) -> "Reuse":
        """Compute the reuse of prompt tokens in a trace.

        blocks, ends : The block identifiers of the prompts, and the cumulative number of blocks per
            prompt.
        block : The tokens per block, except for the last block of a prompt.
        """
        distances = reuse_distances(blocks=blocks, ends=ends)
        sizes = np.diff(ends, prepend=0)
        has_blocks = sizes > 0
        missing = block * sizes[has_blocks] - prompt[has_blocks]
        last = distances[ends[has_blocks] - 1]
        count = int(distances.max(initial=0)) + 1
        tokens = block * np.bincount(distances, minlength=count)
        tokens = tokens - np.bincount(last, weights=missing, minlength=count)
        tokens[0] = 0.0
        return cls(block, np.cumsum(tokens), float(prompt.sum()))

    def hit(self, tokens: ArrayLike) -> Array:
        """Compute the prompt-token hit rate of a cache with a given number of tokens."""
        blocks = np.minimum(floats(tokens) // self.block, len(self.found) - 1)
        return self.found[np.asarray(blocks, dtype=np.int64)] / self.prompts

    @property
    def tokens(self) -> float:
        """The smallest cache that serves all repeated tokens."""
        return float(self.block * (len(self.found) - 1))


@dataclass(frozen=True, eq=False)
class SharedPrefixes:
    """Prefixes that are shared by independent requests, with their popularity.

    rates, sizes : The fraction of requests with each prefix, and the tokens of the prefix.
    prompt : The mean prompt tokens of a request.
    """

    rates: Floats
    sizes: Floats
    prompt: float

    @property
    def _passing(self) -> float:
        return max(self.prompt - float(self.rates @ self.sizes), 0.0)

    def hit(self, tokens: ArrayLike) -> Array:
        """Compute the prompt-token hit rate of a cache with a given number of tokens."""
        time = characteristic_time(
            rates=self.rates, sizes=self.sizes, passing=self._passing, capacity=float(tokens)
        )
        return self.sizes * self.rates @ -np.expm1(-self.rates * time) / self.prompt

    @property
    def tokens(self) -> float:
        """The cache size at which the rarest prefix is a hit in 99% of its requests."""
        time = np.log(100.0) / self.rates.min()
        tokens = self.sizes @ -np.expm1(-self.rates * time) + self._passing * time
        return float(tokens)
