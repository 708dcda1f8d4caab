"""Requests of one use, among others: how many of all, how long, and what they must meet."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf

import numpy as np

from fastcalc.formulas.types import Floats, floats


@dataclass(frozen=True, eq=False)
class Lengths:
    """Prompts and outputs of requests that differ, an element for each kind.

    share : of the requests; all of them are 1 [1]
    prompt, output : tokens [1]
    """

    share: Floats
    prompt: Floats
    output: Floats

    @classmethod
    def fixed(cls, prompt: float, output: float) -> "Lengths":
        """Lengths of requests that all have the same prompt and output."""
        return cls(np.ones(1), np.array([prompt]), np.array([output]))

    @classmethod
    def independent(
        cls, prompts: tuple[Floats, Floats], outputs: tuple[Floats, Floats]
    ) -> "Lengths":
        """Return every prompt with every output, each given as shares and lengths."""
        fraction = np.outer(prompts[0], outputs[0])
        prompt, output = np.broadcast_arrays(prompts[1][:, np.newaxis], outputs[1])
        return cls(fraction.ravel(), prompt.ravel(), output.ravel())

    @classmethod
    def together(cls, classes: "Sequence[RequestClass]") -> "Lengths":
        """Return the lengths of the requests of all classes."""
        fraction = np.concatenate(
            [request_class.share * request_class.lengths.share for request_class in classes]
        )
        prompt = np.concatenate([request_class.lengths.prompt for request_class in classes])
        output = np.concatenate([request_class.lengths.output for request_class in classes])
        return cls(fraction / fraction.sum(), prompt, output)

    def mean(self, values: Floats) -> float:
        """Return the mean over requests of what each kind has."""
        return float(self.share @ values)


_POISSON = (0.8, 1.25)
"""Deviations of the times between arrivals, over their mean, that are as good as Poisson's. [1]"""


@dataclass(frozen=True, eq=False)
class RequestClass:
    """A class of traffic.

    name : what it is called
    share : of all requests [1]
    lengths : of its requests
    prefix_hit : share of a prompt that is found in the prefix cache [1]
    ttft, tpot : most mean time to the first token and between two tokens; infinity for any [s]
    variation : standard deviation of the times between its arrivals over their mean: 1 where they
        come at random, 0 where evenly [1]
    """

    name: str
    share: float
    lengths: Lengths
    prefix_hit: float = 0.0
    ttft: float = inf
    tpot: float = inf
    variation: float = 1.0

    @property
    def is_random(self) -> bool:
        """Whether arrivals are near enough to Poisson for queues to be computed so."""
        low, high = _POISSON
        return low <= self.variation <= high

    @cached_property
    def computed(self) -> Floats:
        """Prompt tokens of each kind that must be computed; the last one always. [1]"""
        return floats(np.maximum(self.lengths.prompt * (1.0 - self.prefix_hit), 1.0))

    @property
    def prompt(self) -> float:
        """Mean prompt. [1]"""
        return self.lengths.mean(self.lengths.prompt)

    @property
    def output(self) -> float:
        """Mean output. [1]"""
        return self.lengths.mean(self.lengths.output)
