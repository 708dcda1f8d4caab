"""The passes of real traffic: one that decodes, one with prompts in it, one that begins a request.

Each is a `Load` for the step function; how often each happens makes up TPOT, TTFT and the
served rate (`fastcalc.evaluate`).
"""

import numpy as np

from fastcalc.formulas import serving
from fastcalc.formulas.types import Array, ArrayLike, Floats
from fastcalc.light import Bound, bound_step
from fastcalc.load import Load, Rows, load
from fastcalc.placement import Placement
from fastcalc.step import Component, Step, expected_step
from fastcalc.traffic import Traffic
from fastcalc.wafer import spatial_pass


class Passes:
    """The passes of a placement for every batch.

    Parameters
    ----------
    placement : Placement
        A workload on a layout.
    traffic : Traffic
        What requests look like.
    batch : ndarray
        Sequences decoded together by the whole deployment. [1]

    Attributes
    ----------
    streams : ndarray
        Sequences that one pass decodes: one micro-batch of one replica; regions take all. [1]
    together : ndarray
        Sequences of all replicas that meet in one copy of the experts, in one pass. [1]
    """

    def __init__(self, placement: Placement, traffic: Traffic, batch: Floats) -> None:
        self.placement, self.traffic, self.batch = placement, traffic, batch
        layout, self.machine = placement.layout, placement.machine
        self.is_bound = self.machine.engine.is_bound
        self.is_staged = not (self.is_bound or self.machine.is_spatial)
        shared = layout.dp * layout.pp if self.is_staged else 1
        self.streams = np.maximum(batch / shared, 1.0)
        copies = layout.pp * layout.width / layout.expert_shards
        self.together = np.maximum(batch / (copies if self.is_staged else 1), 1.0)
        self.in_flight = np.maximum(batch / layout.dp, 1.0)

    @property
    def chunk(self) -> Array:
        """Prompt tokens that the engine takes into one pass. [1]"""
        return np.minimum(self.machine.software.prompt_chunk, self.traffic.computed_prompt)

    @property
    def lump(self) -> Array:
        """Prompt tokens of a pass that has any, in steady state. [1]"""
        return serving.prompt_lump(
            batch=self.streams,
            prompt=self.traffic.computed_prompt,
            output=self.traffic.output / self.traffic.speculation.tokens_per_pass,
            chunk=self.chunk,
        )

    @property
    def chunks(self) -> Array:
        """Passes that take in the prompt of one request. [1]"""
        return np.ceil(self.traffic.computed_prompt / self.chunk)

    def decode_load(self, verified: float | None = None) -> Load:
        """Return a pass that decodes only."""
        rows = self._rows(self.streams, self.together, 0.0, 1.0, verified)
        return load(self.placement, rows, self.in_flight)

    def mixed_load(self) -> Load:
        """Return a pass that decodes and takes in a lump of prompts."""
        replicas = self.placement.layout.dp
        rows = self._rows(self.streams, self.together, self.lump, replicas)
        return load(self.placement, rows, self.in_flight)

    def first_load(self) -> Load:
        """Return a pass that takes in a chunk of one request's prompt beside the others."""
        prompt = self.traffic.computed_prompt / self.chunks
        rows = self._rows(
            np.maximum(self.streams - 1.0, 0.0), np.maximum(self.together - 1.0, 0.0), prompt
        )
        return load(self.placement, rows, self.in_flight)

    def prefill_load(self, tokens: ArrayLike) -> Load:
        """Return a pass that takes in prompt tokens of one replica and decodes nothing."""
        none = 0.0 * self.batch
        rows = self._rows(none, none, tokens, self.placement.layout.dp)
        return load(self.placement, rows, 1.0)

    def _rows(
        self,
        sequences: ArrayLike,
        together: ArrayLike,
        prompt: ArrayLike,
        replicas: float = 1.0,
        verified: ArrayLike | None = None,
    ) -> Rows:
        traffic = self.traffic
        return Rows(
            sequences=sequences,
            together=together,
            context=traffic.context,
            spread=traffic.spread,
            prompt=prompt,
            prompt_context=traffic.prompt_context,
            prompt_spread=traffic.prompt_spread,
            prompt_replicas=replicas,
            verified=traffic.speculation.verified if verified is None else verified,
        )

    def light(self, prompt: ArrayLike = 0.0, *, decode: ArrayLike | None = None) -> Bound:
        """Return the speed of light of a pass of the whole deployment.

        With speculation at least the tokens that are kept must be computed.
        """
        everyone = self.batch if decode is None else decode
        kept = self.traffic.speculation.tokens_per_pass
        return bound_step(self.placement, self._rows(everyone, everyone, prompt, 1.0, kept))

    def decode(self) -> Step:
        """Return the pass between two tokens of a stream, and what was drafted for it."""
        light = self.light()
        if self.is_bound:
            return light.as_step()
        step = self.expected(self.decode_load()).then(*self._drafting())
        # The bound is a bound: rounding, or an engine of all ones, must not step over it.
        missing = np.maximum(light.seconds - step.seconds, 0.0)
        return step.then(Component("up to the bound", count=1.0, each=missing))

    def mixed(self) -> Step:
        """Return the pass that decodes and takes in a lump of prompts."""
        if self.is_bound:
            return self.light(self.lump).as_step()
        return self.expected(self.mixed_load()).then(*self._drafting())

    def first(self) -> Step:
        """Return a pass of those that take in the prompt of one request."""
        if self.is_bound:
            nobody = 0.0 * self.batch
            return self.light(self.traffic.computed_prompt, decode=nobody).as_step()
        return self.expected(self.first_load())

    def expected(self, work: Load) -> Step:
        """Return what the engine is expected to take for a pass."""
        chip, software = self.machine.chip, self.machine.software
        one_pass = spatial_pass if self.machine.is_spatial else expected_step
        return one_pass(work, chip, software)

    def _drafting(self) -> tuple[Component, ...]:
        """Return the drafted tokens: a layer each, as multi-token-prediction modules are."""
        drafted = self.traffic.speculation.drafted
        if drafted <= 0.0:
            return ()
        layer = self.expected(self.decode_load(verified=1.0)).seconds / self.placement.work.depth
        return (Component("drafting", count=drafted, each=layer),)
