"""Averages over a batch with requests of several classes.

When replicas are full, a step decodes a sample of the requested tokens: a class occupies slots and
memory in proportion to its output tokens, not to its requests, while prompts arrive in proportion
to requests. Each time therefore uses the appropriate mean, which is exact if the work is linear in
the lengths. Sliding windows are nonlinear and are averaged over the request types.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fastcalc.core.traffic.request_class import Lengths, RequestClass
from fastcalc.core.traffic.traffic import Speculation, Traffic
from fastcalc.formulas.load import passes_with_prompts
from fastcalc.formulas.types import Array, ArrayLike, Floats, floats


@dataclass(frozen=True, eq=False)
class Mix(Traffic):
    """A mix of request classes. The fields of `Traffic` are means over requests.

    Only the context is a mean over tokens.

    classes : The request classes, whose fractions are normalized.
    arriving : The index of the class in prefill while all classes are decoded; None if all classes
        are in prefill.
    is_random : Whether prompts arrive at random, so that some short prompts share a step and
        attention replicas prefill in different steps.
    """

    classes: tuple[RequestClass, ...] = ()
    arriving: int | None = None
    is_random: bool = False

    @classmethod
    def of(
        cls, classes: Sequence[RequestClass], speculation: Speculation, arriving: int | None = None
    ) -> "Mix":
        """Build the mix of several classes."""
        requests = RequestKinds(classes)
        taken_in = requests if arriving is None else RequestKinds([classes[arriving]])
        prompt = float(taken_in.share @ taken_in.prompt)
        computed = float(taken_in.share @ taken_in.computed)
        return cls(
            prompt=prompt,
            output=float(requests.share @ requests.output),
            context=float(requests.held @ requests.context),
            prefix_hit=round(max(1.0 - computed / prompt, 0.0), 12),
            speculation=speculation,
            classes=tuple(classes),
            arriving=arriving,
        )

    @cached_property
    def kinds(self) -> "RequestKinds":
        """The request types of all classes."""
        return RequestKinds(self.classes)

    @cached_property
    def _prompts(self) -> "RequestKinds":
        return self.kinds if self.arriving is None else RequestKinds([self.classes[self.arriving]])

    @property
    def computed_prompt(self) -> Array:
        """The mean number of prompt tokens that are not cached."""
        return floats(float(self._prompts.share @ self._prompts.computed))

    @property
    def prompt_variation(self) -> float:
        """The mean square of uncached prompt lengths over the square of their mean."""
        requests = self.kinds
        return float(
            requests.share @ requests.computed**2 / (requests.share @ requests.computed) ** 2
        )

    def mean_while_decoding(self, count: Callable[[Floats, Floats], list[Array]]) -> list[Array]:
        """Average a function of the context and its spread over decoded tokens."""
        requests = self.kinds
        counted = count(requests.context, np.minimum(requests.output / 2.0, requests.context))
        return [_mean(requests.held, values) for values in counted]

    def mean_over_prompts(self, count: Callable[[Floats, Floats], ArrayLike]) -> ArrayLike:
        """Average a function of the context over uncached prompt tokens."""
        requests = self._prompts
        tokens = requests.share * requests.computed
        counted = count((2.0 * requests.prompt - requests.computed) / 2.0, requests.computed / 2.0)
        return _mean(tokens / tokens.sum(), counted)

    def prompt_lump(self, *, batch: ArrayLike, steps: ArrayLike, chunk: ArrayLike) -> Array:
        """Compute the prompt tokens per mixed step: all prompt tokens over all mixed steps."""
        requests = self.kinds
        computed = float(requests.share @ requests.computed)
        steady = floats(batch) * computed / steps
        if self.is_random:
            is_short = requests.computed < np.max(chunk)
            long = float((requests.share * requests.computed)[~is_short].sum() / np.max(chunk))
            short, per_pass = float(requests.share[is_short].sum()), floats(batch) / steps
            return steady / passes_with_prompts(long=long * per_pass, short=short * per_pass)
        lumps = np.maximum(
            steady[..., np.newaxis],
            np.minimum(np.asarray(chunk)[..., np.newaxis], requests.computed),
        )
        return floats(computed / ((requests.share * requests.computed) / lumps).sum(axis=-1))

    @property
    def longest(self) -> float:
        """The maximum sequence length over all requests."""
        return float(np.max(self.kinds.prompt + self.kinds.output))

    @property
    def longest_each(self) -> Array:
        """The final length of a sequence, averaged over the sequences being decoded."""
        requests = self.kinds
        return floats(float(requests.held @ (requests.prompt + requests.output)))


class RequestKinds:
    """Lists the request types of all classes, one after another.

    share, held : The fraction of requests, and the fraction of decoded tokens.
    prompt, output, computed, context : The numbers of tokens; ``computed`` is the uncached prompt.
    places : The class index of each type.
    """

    def __init__(self, classes: Sequence[RequestClass]) -> None:
        lengths = Lengths.together(classes)
        self.share, self.prompt, self.output = lengths.share, lengths.prompt, lengths.output
        self.computed = np.concatenate([request_class.computed for request_class in classes])
        sizes = [len(request_class.lengths.share) for request_class in classes]
        self.places = np.repeat(np.arange(len(classes)), sizes)
        self.context = self.prompt + self.output / 2.0
        tokens = self.share * self.output
        self.held = tokens / tokens.sum()


def _mean(weights: Floats, values: ArrayLike) -> Array:
    if np.ndim(values) == 0:
        return floats(values)
    return floats(float(weights @ np.asarray(values)))
