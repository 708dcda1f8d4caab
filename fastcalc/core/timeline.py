"""Latencies as sums of steps: TPOT, TTFT, TPOT under load, and time per request served.

Every reported time is a weighted sum of a few steps, plus a constant per request. The sums are
defined only here: estimates evaluate them for all batches at once, fits count the steps once and
evaluate them repeatedly, explanations print them, and plans use the result.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from fastcalc.core.step.pass_work import PassWork
from fastcalc.core.step.schedule import DECODE, FIRST, PREFILL, PROMPTS, Schedule
from fastcalc.formulas.types import Array, ArrayLike, Floats, floats, where


@dataclass(frozen=True, eq=False)
class Timeline:
    """A latency that is computed as a sum of engine steps.

    passes : The available steps, for every batch.
    counts : The steps in the sum, in order, and how often each occurs.
    requests : The number of requests whose overhead is included.
    per : The number of tokens by which the total is divided.
    loading : The time to load cached prefixes, independent of other work, in seconds.
    """

    passes: Schedule
    counts: tuple[tuple[str, ArrayLike], ...]
    requests: float = 0.0
    per: ArrayLike = 1.0
    loading: ArrayLike = 0.0

    @property
    def overhead(self) -> Array:
        """The constant time added per request, regardless of its length, in seconds."""
        return floats(self.requests * self.passes.machine.software.request_overhead)

    @property
    def seconds(self) -> Floats:
        """The expected value of the latency, in seconds."""
        terms = (count * self.passes.seconds(name) for name, count in self.counts)
        return floats((self.overhead + self.loading + sum(terms)) / self.per)

    @property
    def decode_share(self) -> Floats:
        """How much of the latency is spent on decode steps, as a fraction."""
        terms = (count * self.passes.seconds(name) for name, count in self.counts if name == DECODE)
        return floats(sum(terms, 0.0) / (self.per * self.seconds))

    @property
    def narrowed(self) -> ArrayLike:
        """The half-width of a range, relative to that without measurements."""
        return self.passes.narrowed(self.decode_share) if self.passes.own else 1.0

    def works(self) -> Iterator[tuple[PassWork, Array]]:
        """Yield the work of each step and how often the step occurs."""
        for name, count in self.counts:
            for work, times in self.passes.works(name):
                yield work, floats(count * times / self.per)


Number: TypeAlias = ArrayLike | Timeline
"""A value, or a timeline whose seconds are the value."""


def evaluated(count: Callable[[Schedule], Number], passes: Schedule) -> ArrayLike:
    """Evaluate a function of the steps for every batch."""
    number = count(passes)
    return number.seconds if isinstance(number, Timeline) else number


def token(passes: Schedule) -> Timeline:
    """Compute the time per output token (TPOT) of a server that only decodes."""
    return Timeline(passes, ((DECODE, 1.0),), per=passes.traffic.speculation.tokens_per_pass)


def first_token(passes: Schedule, runs: ArrayLike = 0.0) -> Timeline:
    """Compute the time to first token (TTFT) of a request that joins a running batch.

    The request waits for the current step to end, which takes half a step on average, and for its
    cached prompt tokens to be loaded from another memory.

    passes : The steps with the batch that the request joins.
    runs : The number of earlier runs to wait for if memory cannot fit the request yet.
    """
    wait = where((passes.batch > 1.0) & (not passes.is_bound), 0.5, 0.0)
    own_passes = ((DECODE, wait), (FIRST, passes.chunks))
    if not np.any(runs):
        return Timeline(passes, own_passes, requests=1.0, loading=passes.loading)
    queue = tuple((name, count * runs) for name, count in served_run(passes).counts)
    return Timeline(passes, own_passes + queue, requests=1.0, loading=passes.loading)


def served_run(passes: Schedule) -> Timeline:
    r"""Compute how long a closed-loop batch of requests takes, including prefill.

    .. math:: T = O \, T_0 + \frac{b P}{s} \left(T_s - T_0\right)

    An answer of :math:`O` tokens takes :math:`O` steps of :math:`T_0`. The prompts :math:`P` of all
    :math:`b` sequences, in chunks of :math:`s`, lengthen some of these steps to :math:`T_s` [1]_.

    References
    ----------
    .. [1] A. Agrawal et al., "Taming throughput-latency tradeoff in LLM inference with
       Sarathi-Serve," arXiv:2403.02310 (hybrid batches; the sum over a run is our own,
       docs/method.md).
    """
    return Timeline(passes, ((DECODE, passes.steps), (PROMPTS, passes.lumps)))


def token_in_traffic(passes: Schedule) -> Timeline:
    """Compute the time per output token if other requests are prefilled in between.

    A request's own prompt precedes its first token, so it is not counted. A single-token request
    has no later tokens.
    """
    output = floats(passes.traffic.output)
    prompts = passes.prompts_in_turn
    share_of_others = where(output > 1.0, (prompts - 1.0) / prompts, 0.0)
    return Timeline(
        passes, ((DECODE, passes.steps), (PROMPTS, passes.lumps * share_of_others)), per=output
    )


def prompts_together(passes: Schedule) -> Timeline:
    """Return the prefill time of a prompt while every replica prefills one prompt."""
    counts = ((DECODE, passes.chunks), (PROMPTS, passes.chunks))
    return Timeline(passes, counts, loading=passes.loading)


def prefill(passes: Schedule) -> Timeline:
    """Compute how long it takes to prefill a whole batch without any decode."""
    return Timeline(passes, ((PREFILL, passes.prefill_passes),))


def first_token_of_burst(passes: Schedule) -> Timeline:
    """Compute the mean time to first token if a whole batch of requests arrives at once.

    Prompts are prefilled one after another: of n steps, a prompt waits for (n + 1)/2 on average.
    """
    waited = (passes.prefill_passes + 1.0) / 2.0
    return Timeline(passes, ((PREFILL, waited),), requests=1.0)


def static_run(passes: Schedule) -> Timeline:
    """Compute the duration of a static batch, which prefills all prompts and then decodes."""
    tokens_kept = passes.traffic.speculation.tokens_per_pass
    steps = (np.asarray(passes.traffic.output) - 1.0) / tokens_kept
    return Timeline(passes, (*prefill(passes).counts, (DECODE, steps)))
