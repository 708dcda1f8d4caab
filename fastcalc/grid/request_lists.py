"""Request types of a block as arrays, and those of an entire sweep, created on demand."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from fastcalc.core.traffic.mix import Mix
from fastcalc.core.traffic.request_class import RequestClass
from fastcalc.core.traffic.traffic import Traffic
from fastcalc.formulas.types import Array, Floats, Ints


@dataclass(frozen=True, eq=False)
class Requests:
    """Request lengths, with one element per request type."""

    prompt: Floats
    output: Floats
    context: Floats

    def __len__(self) -> int:
        return len(self.prompt)

    def __getitem__(self, place: slice | Array) -> "Requests":
        return Requests(self.prompt[place], self.output[place], self.context[place])

    def traffic(self, base: Traffic) -> Traffic:
        """Build traffic like ``base``, but with these lengths along the first axis."""
        lengths = {name: array[:, np.newaxis, np.newaxis] for name, array in vars(self).items()}
        return replace(base, **lengths)


@dataclass(frozen=True, eq=False)
class MixedRequests(Requests):
    """Several request classes in one batch, treated as a single request type."""

    classes: tuple[RequestClass, ...]

    @classmethod
    def of(cls, classes: Sequence[RequestClass]) -> "MixedRequests":
        """Build the mix of several request classes."""
        mix = Mix.of(classes, Traffic.speculation)
        prompt, output, context = (
            np.array([length]) for length in (mix.prompt, mix.output, mix.context)
        )
        return cls(prompt, output, context, tuple(classes))

    def __getitem__(self, place: slice | Array) -> "MixedRequests":
        return self

    def traffic(self, base: Traffic) -> Mix:
        """Build the mix with the speculative decoding of the given traffic."""
        return Mix.of(self.classes, base.speculation)


@dataclass(frozen=True, eq=False)
class OpenRequests:
    """Creates all combinations of prompts, outputs and contexts that a model supports on demand.

    A context of NaN stands for the mean context of each request.
    """

    prompts: Floats
    outputs: Floats
    contexts: Floats
    longest: float

    @cached_property
    def _held(self) -> Floats:
        return self.contexts[~(self.contexts > self.longest)]

    @cached_property
    def _ends(self) -> Ints:
        """The cumulative number of request types after each prompt."""
        outputs = [
            np.count_nonzero(prompt + self.outputs <= self.longest) for prompt in self.prompts
        ]
        return np.cumsum(outputs) * len(self._held)

    def __len__(self) -> int:
        return int(self._ends[-1])

    def __getitem__(self, place: slice) -> Requests:
        start, stop, _ = place.indices(len(self))
        first, last = np.searchsorted(self._ends, [start, stop - 1], side="right")
        prompts = self.prompts[first : last + 1]
        rows, columns = np.nonzero(prompts[:, np.newaxis] + self.outputs <= self.longest)
        before = self._ends[first - 1] if first else 0
        pair, third = np.divmod(np.arange(start, stop) - before, max(len(self._held), 1))
        prompt, output, context = prompts[rows], self.outputs[columns], self._held[third]
        prompt, output = prompt[pair], output[pair]
        mean = prompt + output / 2
        return Requests(prompt, output, np.where(np.isnan(context), mean, context))
