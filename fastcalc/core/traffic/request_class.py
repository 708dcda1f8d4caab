"""Classes of requests: their share of all requests, their lengths and their latency limits."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf

import numpy as np

from fastcalc.formulas.types import Floats, floats


@dataclass(frozen=True, eq=False)
class Lengths:
    """Prompt and output lengths of requests, with an element for each request type.

    share : of the requests; the sum is 1 [1]
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
        """List all combinations of prompts and outputs, each given as shares and lengths."""
        fraction = np.outer(prompts[0], outputs[0])
        prompt, output = np.broadcast_arrays(prompts[1][:, np.newaxis], outputs[1])
        return cls(fraction.ravel(), prompt.ravel(), output.ravel())

    @classmethod
    def together(cls, classes: "Sequence[RequestClass]") -> "Lengths":
        """Combine the lengths of all classes' requests."""
        fraction = np.concatenate(
            [request_class.share * request_class.lengths.share for request_class in classes]
        )
        prompt = np.concatenate([request_class.lengths.prompt for request_class in classes])
        output = np.concatenate([request_class.lengths.output for request_class in classes])
        return cls(fraction / fraction.sum(), prompt, output)

    def mean(self, values: Floats) -> float:
        """Mean over requests of a value for each request type."""
        return float(self.share @ values)


_POISSON = (0.8, 1.25)
"""Coefficients of variation of interarrival times that are treated as Poisson's. [1]"""


@dataclass(frozen=True, eq=False)
class RequestClass:
    """A class of requests in the traffic.

    name : its name
    share : of all requests [1]
    lengths : of its requests
    prefix_hit : share of a prompt that is found in the prefix cache [1]
    ttft, tpot : maximum mean TTFT and mean TPOT; infinity for no limit [s]
    variation : standard deviation of its interarrival times over their mean: 1 for Poisson
        arrivals, 0 for regular arrivals [1]
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
        """Whether arrivals are close enough to Poisson for the queueing formulas."""
        low, high = _POISSON
        return low <= self.variation <= high

    @cached_property
    def computed(self) -> Floats:
        """Prompt tokens to compute, for each request type; at least the last token. [1]"""
        return floats(np.maximum(self.lengths.prompt * (1.0 - self.prefix_hit), 1.0))

    @property
    def prompt(self) -> float:
        """Mean prompt length. [1]"""
        return self.lengths.mean(self.lengths.prompt)

    @property
    def output(self) -> float:
        """Mean output length. [1]"""
        return self.lengths.mean(self.lengths.output)
