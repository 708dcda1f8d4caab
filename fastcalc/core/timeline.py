"""What users wait for, as sums of passes: a token, the first one, a token in traffic, a served run.

Every published time is a few passes, each a number of times, and a constant for each
request. They are listed here and nowhere else: an estimate prices them at once, a fit counts them
once and prices them again and again, an explanation writes them out, and a plan reads the result.
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
    """A time as a sum of passes.

    passes : the passes that there are, for every batch
    counts : which of them, in order, and how many of each [1]
    requests : requests whose own overhead is inside [1]
    per : tokens among which the whole is divided [1]
    loading : time to load what is cached of a prompt, whatever else is done [s]
    """

    passes: Schedule
    counts: tuple[tuple[str, ArrayLike], ...]
    requests: float = 0.0
    per: ArrayLike = 1.0
    loading: ArrayLike = 0.0

    @property
    def overhead(self) -> Array:
        """The constant: what its requests cost, whatever their length. [s]"""
        return floats(self.requests * self.passes.machine.software.request_overhead)

    @property
    def seconds(self) -> Floats:
        """What the engine is expected to take. [s]"""
        terms = (count * self.passes.seconds(name) for name, count in self.counts)
        return floats((self.overhead + self.loading + sum(terms)) / self.per)

    @property
    def decode_share(self) -> Floats:
        """Share of it in which passes decode. [1]"""
        terms = (count * self.passes.seconds(name) for name, count in self.counts if name == DECODE)
        return floats(sum(terms, 0.0) / (self.per * self.seconds))

    @property
    def narrowed(self) -> ArrayLike:
        """Half-width of a range by rows of this deployment, over that without them. [1]"""
        return self.passes.narrowed(self.decode_share) if self.passes.own else 1.0

    def works(self) -> Iterator[tuple[PassWork, Array]]:
        """Yield the work of its passes, and how many of each it takes. [1]"""
        for name, count in self.counts:
            for work, times in self.passes.works(name):
                yield work, floats(count * times / self.per)


Number: TypeAlias = ArrayLike | Timeline
"""A number of passes, or the timeline whose seconds are one."""


def evaluated(count: Callable[[Schedule], Number], passes: Schedule) -> ArrayLike:
    """A number of passes, for every batch."""
    number = count(passes)
    return number.seconds if isinstance(number, Timeline) else number


def token(passes: Schedule) -> Timeline:
    """Time per output token of decode alone."""
    return Timeline(passes, ((DECODE, 1.0),), per=passes.traffic.speculation.tokens_per_pass)


def first_token(passes: Schedule, runs: ArrayLike = 0.0) -> Timeline:
    """Time to the first token of a request that joins the others.

    It waits for the pass that is under way, half of one on average, and for what of its prompt is
    cached in another memory.

    passes : with the batch that it joins
    runs : earlier runs that it waits for, where memory cannot hold it yet [1]
    """
    wait = where((passes.batch > 1.0) & (not passes.is_bound), 0.5, 0.0)
    own_passes = ((DECODE, wait), (FIRST, passes.chunks))
    if not np.any(runs):
        return Timeline(passes, own_passes, requests=1.0, loading=passes.loading)
    queue = tuple((name, count * runs) for name, count in served_run(passes).counts)
    return Timeline(passes, own_passes + queue, requests=1.0, loading=passes.loading)


def served_run(passes: Schedule) -> Timeline:
    r"""Time in which a request of a closed loop is served, the prompts of all inside.

    .. math:: T = O \, T_0 + \frac{b P}{s} \left(T_s - T_0\right)

    As many passes :math:`T_0` as its answer of :math:`O` takes; the prompts :math:`P` of all
    :math:`b` streams, in lumps of :math:`s`, lengthen some of them to :math:`T_s` [1]_.

    References
    ----------
    .. [1] A. Agrawal et al., "Taming throughput-latency tradeoff in LLM inference with
       Sarathi-Serve," arXiv:2403.02310 (hybrid batches; the sum over a run is our own,
       docs/method.md).
    """
    return Timeline(passes, ((DECODE, passes.steps), (PROMPTS, passes.lumps)))


def token_in_traffic(passes: Schedule) -> Timeline:
    """Time per output token while the prompts of others come between.

    Of the prompts in a run, a request's own are before its first token. One output token has
    nothing after it.
    """
    output = floats(passes.traffic.output)
    prompts = passes.prompts_in_turn
    share_of_others = where(output > 1.0, (prompts - 1.0) / prompts, 0.0)
    return Timeline(
        passes, ((DECODE, passes.steps), (PROMPTS, passes.lumps * share_of_others)), per=output
    )


def prompts_together(passes: Schedule) -> Timeline:
    """Prefill time of a prompt while every replica prefills one."""
    counts = ((DECODE, passes.chunks), (PROMPTS, passes.chunks))
    return Timeline(passes, counts, loading=passes.loading)


def prefill(passes: Schedule) -> Timeline:
    """Time to prefill a whole batch, decoding nothing."""
    return Timeline(passes, ((PREFILL, passes.prefill_passes),))


def first_token_of_burst(passes: Schedule) -> Timeline:
    """Mean time to the first tokens of a whole batch whose prompts come at once.

    They are prefilled one after another: of n passes a prompt waits for (n + 1)/2 on average.
    """
    waited = (passes.prefill_passes + 1.0) / 2.0
    return Timeline(passes, ((PREFILL, waited),), requests=1.0)


def static_run(passes: Schedule) -> Timeline:
    """Time of one batch, all prompts first, run to its end."""
    tokens_kept = passes.traffic.speculation.tokens_per_pass
    steps = (np.asarray(passes.traffic.output) - 1.0) / tokens_kept
    return Timeline(passes, (*prefill(passes).counts, (DECODE, steps)))
