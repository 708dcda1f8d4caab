"""Request classes: their fraction of all requests, lengths and latency limits."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf

import numpy as np

from fastcalc.formulas.types import Floats, floats


@dataclass(frozen=True, eq=False)
class Lengths:
    """The prompt and output lengths of requests, with one element per request type.

    share : The fraction of requests, which add up to 1.
    prompt, output : The numbers of tokens.
    """

    share: Floats
    prompt: Floats
    output: Floats

    @classmethod
    def fixed(cls, prompt: float, output: float) -> "Lengths":
        """Build lengths for requests that all have the same prompt and output."""
        return cls(np.ones(1), np.array([prompt]), np.array([output]))

    @classmethod
    def independent(
        cls, prompts: tuple[Floats, Floats], outputs: tuple[Floats, Floats]
    ) -> "Lengths":
        """List all combinations of prompts and outputs, each given as fractions and lengths."""
        fraction = np.outer(prompts[0], outputs[0])
        prompt, output = np.broadcast_arrays(prompts[1][:, np.newaxis], outputs[1])
        return cls(fraction.ravel(), prompt.ravel(), output.ravel())

    @classmethod
    def together(cls, classes: "Sequence[RequestClass]") -> "Lengths":
        """Combine the lengths of all classes."""
        fraction = np.concatenate(
            [request_class.share * request_class.lengths.share for request_class in classes]
        )
        prompt = np.concatenate([request_class.lengths.prompt for request_class in classes])
        output = np.concatenate([request_class.lengths.output for request_class in classes])
        return cls(fraction / fraction.sum(), prompt, output)

    def mean(self, values: Floats) -> float:
        """Average a value per request type over all requests."""
        return float(self.share @ values)


_POISSON = (0.8, 1.25)
"""The coefficients of variation of interarrival times that count as Poisson."""


@dataclass(frozen=True, eq=False)
class RequestClass:
    """A class of requests in the traffic.

    name : The name of the class.
    share : The class's fraction of all requests.
    lengths : The lengths of its requests.
    prefix_hit : The fraction of the prompt found in the prefix cache.
    ttft, tpot : The limits on mean TTFT and mean TPOT, or infinity for no limit, in seconds.
    variation : The coefficient of variation of interarrival times: 1 for Poisson arrivals, 0 for
        regular arrivals.
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
        """The uncached prompt tokens of each request type, at least the last token."""
        return floats(np.maximum(self.lengths.prompt * (1.0 - self.prefix_hit), 1.0))

    @property
    def prompt(self) -> float:
        """The mean prompt length."""
        return self.lengths.mean(self.lengths.prompt)

    @property
    def output(self) -> float:
        """The mean output length."""
        return self.lengths.mean(self.lengths.output)
