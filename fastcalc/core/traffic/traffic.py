"""What requests look like, and how many tokens of one a pass may yield."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from fastcalc.formulas import serving
from fastcalc.formulas.speculation import acceptance_needed, draft_length, tokens_per_pass
from fastcalc.formulas.types import Array, ArrayLike, Ints, floats

LIKELY_ACCEPTANCE = 0.86
"""Acceptance by which a draft length that is not stated is taken.

DeepSeek-R1 on eight B200 keeps 1.92, 2.58 and 2.82 tokens per step with one, two and three drafted,
which are acceptances of 0.92, 0.85 and 0.77 (TensorRT-LLM, evidence/measured.csv). This is near
their middle, and finds the last two drafts.
"""


@dataclass(frozen=True)
class Speculation:
    """Tokens drafted ahead and verified together.

    tokens_per_pass : tokens a verified pass yields on average, its own among them [1]
    drafted : tokens drafted before each pass [1]
    """

    tokens_per_pass: ArrayLike = 1.0
    drafted: ArrayLike = 0.0

    @classmethod
    def keeping(cls, tokens: float) -> "Speculation":
        """Speculation with a given number of tokens per step, from the likeliest draft length.

        The draft is the shortest that keeps them with `LIKELY_ACCEPTANCE`, and at most twice
        as long as what is kept.
        """
        return cls(tokens, float(draft_length(yielded=tokens, acceptance=LIKELY_ACCEPTANCE)))

    @classmethod
    def accepting(cls, acceptance: float, drafted: float) -> "Speculation":
        """Return speculation whose drafted tokens are each accepted with some chance."""
        return cls(float(tokens_per_pass(acceptance=acceptance, drafted=drafted)), drafted)

    @property
    def acceptance(self) -> float:
        """Chance that a drafted token is accepted; 0 where none is drafted. [1]"""
        if not self.drafted:
            return 0.0
        return float(acceptance_needed(yielded=self.tokens_per_pass, drafted=self.drafted))

    @property
    def acceptance_as_typed(self) -> float | None:
        """Acceptance of at most six digits that makes the same speculation; None without. [1]

        >>> Speculation.accepting(0.8, 3.0).acceptance_as_typed
        0.8
        >>> Speculation(2.5, 3.0).acceptance_as_typed is None
        True
        """
        fraction = round(self.acceptance, 6)
        return fraction if Speculation.accepting(fraction, float(self.drafted)) == self else None

    @property
    def verified(self) -> ArrayLike:
        """Tokens of one sequence in a pass. [1]"""
        return self.drafted + 1.0


@dataclass(frozen=True)
class Traffic:
    """What requests look like; arrays broadcast with each other and with the batch.

    prompt, output : tokens in and out of a request [1]
    context : mean tokens a decoded token attends to [1]
    prefix_hit : share of the prompt whose cache is already there [1]
    speculation : how decoding drafts ahead; the default does not
    """

    prompt: ArrayLike
    output: ArrayLike
    context: ArrayLike
    prefix_hit: ArrayLike = 0.0
    speculation: Speculation = Speculation()

    def at(self, classes: Ints) -> "Traffic":
        """Requests of some kinds, where lengths are arrays whose first axis is the kind."""
        lengths = (self.prompt, self.output, self.context)
        prompt, output, context = (
            length[classes] if isinstance(length, np.ndarray) and length.ndim else length
            for length in lengths
        )
        return replace(self, prompt=prompt, output=output, context=context)

    @cached_property
    def computed_prompt(self) -> Array:
        """Prompt tokens that must be computed; the last one always. [1]"""
        return np.maximum(self.prompt * (1.0 - self.prefix_hit), 1.0)

    @property
    def prompt_context(self) -> Array:
        """Tokens that a computed prompt token attends to on average (causal). [1]"""
        return (2.0 * self.prompt - self.computed_prompt) / 2.0

    @property
    def spread(self) -> Array:
        """How far the context goes below and above its mean while a request decodes. [1]"""
        return np.minimum(self.output / 2.0, self.context)

    @property
    def prompt_spread(self) -> Array:
        """How far a computed prompt token's context goes below and above its mean. [1]"""
        return self.computed_prompt / 2.0

    def mean_while_decoding(self, count: Callable[[Array, Array], list[Array]]) -> list[Array]:
        """Return the mean over decoded tokens of what is counted at a context and its spread."""
        return count(floats(self.context), self.spread)

    def mean_over_prompts(self, count: Callable[[Array, Array], ArrayLike]) -> ArrayLike:
        """Return the mean over computed prompt tokens of what is counted at a context."""
        return count(self.prompt_context, self.prompt_spread)

    def prompt_lump(self, *, batch: ArrayLike, steps: ArrayLike, chunk: ArrayLike) -> Array:
        """Return the prompt tokens in a step that has any, in steady state. [1]

        steps : passes that an answer takes [1]
        chunk : prompt tokens that the engine takes into a step [1]
        """
        prompt = self.computed_prompt
        return serving.prompt_lump(batch=batch, prompt=prompt, output=steps, chunk=chunk)

    @property
    def has_random_prompts(self) -> bool:
        """Whether attention replicas prefill at random; else they do so in the same passes."""
        return False

    @property
    def longest_each(self) -> Array:
        """Tokens of a sequence at its end. [1]"""
        return np.maximum(self.prompt + self.output, self.context)

    @property
    def longest(self) -> float:
        """The most of all requests. [1]"""
        return float(self.longest_each.max())

    @property
    def reserved_each(self) -> Array:
        """Tokens for which a sequence's cache is reserved; drafted ones need it, too. [1]"""
        return self.longest_each + self.speculation.drafted

    @property
    def reserved(self) -> float:
        """The most of all requests. [1]"""
        return float(self.reserved_each.max())
