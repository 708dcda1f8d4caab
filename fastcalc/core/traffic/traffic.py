"""Request lengths, prefix hits and speculative decoding, and the tokens per step."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from fastcalc.formulas import serving
from fastcalc.formulas.speculation import acceptance_needed, draft_length, tokens_per_pass
from fastcalc.formulas.types import Array, ArrayLike, Ints, floats

LIKELY_ACCEPTANCE = 0.86
"""The assumed acceptance rate if the number of draft tokens is not specified.

DeepSeek-R1 on eight B200 keeps 1.92, 2.58 and 2.82 tokens per step with one, two and three draft
tokens, or acceptance rates of 0.92, 0.85 and 0.77 (TensorRT-LLM, evidence/measured.csv). The
assumed value is close to their middle and reproduces the last two draft lengths.
"""


@dataclass(frozen=True)
class Speculation:
    """Configuration of speculative decoding: draft tokens that are verified in one step.

    tokens_per_pass : The mean tokens per verification step, including its own token.
    drafted : The draft tokens before each step.
    """

    tokens_per_pass: ArrayLike = 1.0
    drafted: ArrayLike = 0.0

    @classmethod
    def keeping(cls, tokens: float) -> "Speculation":
        """Choose the most likely draft length for a number of tokens per step.

        This is the shortest draft that yields them with `LIKELY_ACCEPTANCE`, but at most twice the
        number of tokens per step.
        """
        return cls(tokens, float(draft_length(yielded=tokens, acceptance=LIKELY_ACCEPTANCE)))

    @classmethod
    def accepting(cls, acceptance: float, drafted: float) -> "Speculation":
        """Build speculation in which each draft token is accepted with the given probability."""
        return cls(float(tokens_per_pass(acceptance=acceptance, drafted=drafted)), drafted)

    @property
    def acceptance(self) -> float:
        """The probability that a draft token is accepted, or 0 without draft tokens."""
        if not self.drafted:
            return 0.0
        return float(acceptance_needed(yielded=self.tokens_per_pass, drafted=self.drafted))

    @property
    def acceptance_as_typed(self) -> float | None:
        """The acceptance rate in six digits or fewer that gives the same speculation, or None.

        >>> Speculation.accepting(0.8, 3.0).acceptance_as_typed
        0.8
        >>> Speculation(2.5, 3.0).acceptance_as_typed is None
        True
        """
        fraction = round(self.acceptance, 6)
        return fraction if Speculation.accepting(fraction, float(self.drafted)) == self else None

    @property
    def verified(self) -> ArrayLike:
        """The tokens of one sequence per step."""
        return self.drafted + 1.0


@dataclass(frozen=True)
class Traffic:
    """The requests of a deployment, as arrays that broadcast with the batch.

    prompt, output : The input and output tokens of a request.
    context : The mean number of tokens that a decoded token attends to.
    prefix_hit : The fraction of the prompt that is already cached.
    speculation : The speculative decoding; none by default.
    """

    prompt: ArrayLike
    output: ArrayLike
    context: ArrayLike
    prefix_hit: ArrayLike = 0.0
    speculation: Speculation = Speculation()

    def at(self, classes: Ints) -> "Traffic":
        """Select request types, if lengths are arrays with the type along the first axis."""
        lengths = (self.prompt, self.output, self.context)
        prompt, output, context = (
            length[classes] if isinstance(length, np.ndarray) and length.ndim else length
            for length in lengths
        )
        return replace(self, prompt=prompt, output=output, context=context)

    @cached_property
    def computed_prompt(self) -> Array:
        """The prompt tokens that are not cached, at least the last one."""
        return np.maximum(self.prompt * (1.0 - self.prefix_hit), 1.0)

    @property
    def prompt_context(self) -> Array:
        """The mean number of tokens that an uncached prompt token attends to (causal)."""
        return (2.0 * self.prompt - self.computed_prompt) / 2.0

    @property
    def spread(self) -> Array:
        """The half-width of the range of contexts around the mean during decode."""
        return np.minimum(self.output / 2.0, self.context)

    @property
    def prompt_spread(self) -> Array:
        """The half-width of the range of an uncached prompt token's context around its mean."""
        return self.computed_prompt / 2.0

    def mean_while_decoding(self, count: Callable[[Array, Array], list[Array]]) -> list[Array]:
        """Average a function of the context and its spread over decoded tokens."""
        return count(floats(self.context), self.spread)

    def mean_over_prompts(self, count: Callable[[Array, Array], ArrayLike]) -> ArrayLike:
        """Average a function of the context over uncached prompt tokens."""
        return count(self.prompt_context, self.prompt_spread)

    def prompt_lump(self, *, batch: ArrayLike, steps: ArrayLike, chunk: ArrayLike) -> Array:
        """Compute the prompt tokens per mixed step in steady state.

        steps : The decode steps per output.
        chunk : The engine's maximum prompt tokens per step.
        """
        prompt = self.computed_prompt
        return serving.prompt_lump(batch=batch, prompt=prompt, output=steps, chunk=chunk)

    @property
    def longest_each(self) -> Array:
        """The final length of a sequence in tokens."""
        return np.maximum(self.prompt + self.output, self.context)

    @property
    def longest(self) -> float:
        """The maximum length over all requests."""
        return float(self.longest_each.max())

    @property
    def reserved_each(self) -> Array:
        """The tokens for which a sequence's cache is reserved, including draft tokens."""
        return self.longest_each + self.speculation.drafted

    @property
    def reserved(self) -> float:
        """The maximum reserved tokens over all requests."""
        return float(self.reserved_each.max())
