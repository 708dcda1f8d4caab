"""What a cache of any size finds of prompts: of those of a trace, or of popular beginnings."""

from dataclasses import dataclass

import numpy as np

from fastcalc.formulas.reuse import characteristic_time, reuse_distances
from fastcalc.formulas.types import Array, ArrayLike, Floats, Ints, floats


@dataclass(frozen=True, eq=False)
class Reuse:
    """Prompt tokens that come again, by the size of the cache that still has them.

    block : tokens of a block; a cache holds whole ones [1]
    found : tokens of all prompts that a cache of 0, 1, 2, ... blocks finds [1]
    prompts : tokens of all prompts [1]
    """

    block: int
    found: Floats
    prompts: float

    @classmethod
    def of(cls, prompt: Floats, blocks: Ints, ends: Ints, block: int) -> "Reuse":
        """Return the reuse of a trace.

        blocks, ends : what identifies each block of its prompts, and how many up to its end [1]
        block : tokens of a block, but for the last of a prompt [1]
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
        """Return the share of prompt tokens that a cache of some tokens finds. [1]"""
        blocks = np.minimum(floats(tokens) // self.block, len(self.found) - 1)
        return self.found[np.asarray(blocks, dtype=np.int64)] / self.prompts

    @property
    def tokens(self) -> float:
        """The smallest cache that finds all that comes again. [1]"""
        return float(self.block * (len(self.found) - 1))


@dataclass(frozen=True, eq=False)
class SharedPrefixes:
    """Beginnings that requests share, by how often each is asked for: independent requests.

    rates, sizes : of each, in every request, and its tokens [1]
    prompt : tokens of a mean request [1]
    """

    rates: Floats
    sizes: Floats
    prompt: float

    @property
    def _passing(self) -> float:
        return max(self.prompt - float(self.rates @ self.sizes), 0.0)

    def hit(self, tokens: ArrayLike) -> Array:
        """Return the share of prompt tokens that a cache of some tokens finds. [1]"""
        time = characteristic_time(
            rates=self.rates, sizes=self.sizes, passing=self._passing, capacity=float(tokens)
        )
        return self.sizes * self.rates @ -np.expm1(-self.rates * time) / self.prompt

    @property
    def tokens(self) -> float:
        """A cache that finds the rarest of them 99 times in a hundred. [1]"""
        time = np.log(100.0) / self.rates.min()
        tokens = self.sizes @ -np.expm1(-self.rates * time) + self._passing * time
        return float(tokens)
