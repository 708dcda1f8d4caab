"""Distributions of TTFT, TPOT and end-to-end latency."""

from dataclasses import dataclass

import numpy as np

from fastcalc.core.traffic.waits import Waits, mixture_quantile
from fastcalc.formulas.types import Floats


@dataclass(frozen=True, eq=False)
class RequestTimes:
    """Computes the latencies of each request type, for a single class or for all.

    share : The fraction of the requests.
    first : The distribution of TTFT at the expected speed, in seconds.
    first_means, first_variances : The mean and variance of each type's TTFT at the expected speed.
        [s], [s^2]
    further : The number of output tokens after the first.
    expected_tpot, tpot_variance : The mean TPOT, and its variance for each type. [s], [s^2]
    slowness : The ratio of actual to expected latency.
    """

    share: Floats
    first: Waits
    first_means: Floats
    first_variances: Floats
    further: Floats
    expected_tpot: float
    tpot_variance: Floats
    slowness: float

    @property
    def ttft_mean(self) -> float:
        """The mean time to first token, in seconds."""
        return float(self.share @ self.first_means) * self.slowness

    @property
    def tpot_mean(self) -> float:
        """The mean time per output token after the first, in seconds."""
        return self.expected_tpot * self.slowness

    @property
    def request_mean(self) -> float:
        """The mean end-to-end latency, in seconds."""
        return float(self.share @ self._requests) * self.slowness

    @property
    def _requests(self) -> Floats:
        return self.first_means + self.further * self.expected_tpot

    def ttft(self, probability: float) -> float:
        """Compute a quantile of TTFT, in seconds."""
        return self.first.quantile(probability) * self.slowness

    def tpot(self, probability: float) -> float:
        """Compute a quantile of TPOT, or NaN if no request has a second output token. [s]"""
        weights = self.share * (self.further > 0.0)
        means = np.full(len(weights), self.expected_tpot)
        return mixture_quantile(probability, weights, means, self.tpot_variance) * self.slowness

    def request(self, part: float) -> float:
        """Compute a quantile of end-to-end latency, in seconds."""
        varied = self.first_variances + self.further**2 * self.tpot_variance
        return mixture_quantile(part, self.share, self._requests, varied) * self.slowness

    def share_within_ttft(self, limit: float) -> float:
        """Compute the fraction of requests whose TTFT is within a limit."""
        return self.first.share(limit / self.slowness)
