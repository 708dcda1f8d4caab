"""Steps of an engine under traffic: decode, mixed steps with prefill, and first steps.

Each step is a `PassWork` for the step function. `fastcalc.core.timeline` combines them into TPOT,
TTFT and throughput.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property, reduce
from math import prod
from typing import Literal

import numpy as np

from fastcalc.core.chip.machine import EngineParameters
from fastcalc.core.chip.machine import machine as machine_of
from fastcalc.core.chip.tier import OWN_MEMORY, PlaceFor
from fastcalc.core.own_rows import OwnEffect, own_effect
from fastcalc.core.placement.best_split import best_split
from fastcalc.core.placement.placement import AnyPlacement
from fastcalc.core.placement.split import Split, asked_split
from fastcalc.core.step.bound import Bound, BoundTerms, bound_step, bound_terms
from fastcalc.core.step.component import Component, Step, derived
from fastcalc.core.step.host_use import tier_rates
from fastcalc.core.step.open_pass import OpenPass
from fastcalc.core.step.pass_work import (
    AttentionWork,
    PassInput,
    PassWork,
    attention_of,
    count_layer_passes,
    count_pass,
    count_whole_pass,
)
from fastcalc.core.step.spatial import spatial_pass
from fastcalc.core.step.step import expected_step, head_in_first_memory
from fastcalc.core.traffic.mix import Mix
from fastcalc.core.traffic.traffic import Speculation, Traffic
from fastcalc.formulas.load import longest_replica, prefilling_replicas
from fastcalc.formulas.types import Array, ArrayLike, Bools, Floats, floats

DECODE, PROMPTS, FIRST, PREFILL = "decode", "prompts", "first", "prefill"
"""The types of steps: a decode step including its draft tokens; the time that prompts add to a
step; a step with a chunk of one request's prompt; a prefill-only step."""

OWN = "as measured"
"""The component that corrects step times by the deployment's own measurements."""

_ROUNDING = 1e-9

# How far the fullest attention replica exceeds a mean one, relative to prompts spread by chance:
# each goes to the replica with the fewest requests (``python -m benchmarks.plan_limits``).
_UNEVEN = 0.5


def fits_near(placement: AnyPlacement, batch: ArrayLike) -> Bools:
    """Return where weights and caches of a batch fit in the fastest memory alone."""
    room = placement.usable[0]
    cache = placement.sequences(batch) * placement.cache_per_chip
    return np.asarray(placement.weights_per_chip + cache <= room)


class Schedule:
    """Builds the steps of a placement for every batch.

    batch : The number of sequences decoded concurrently by the whole deployment.
    attention : The attention work of these sequences, if already computed.
    place_for : What the placement of bytes optimizes, or None to use the user's setting.
    find_split : Returns the distribution of bytes from a stack, or None for a separate search.

    streams : The number of sequences decoded per step: one micro-batch of a replica, or all
        sequences on chips with regions.
    expert_sequences : The number of sequences on all replicas that share a copy of the experts.
    lanes : The number of micro-batches of a replica, which are in different stages.
    """

    def __init__(
        self,
        placement: AnyPlacement,
        traffic: Traffic,
        batch: Floats,
        attention: AttentionWork | None = None,
        place_for: PlaceFor | None = None,
    ) -> None:
        self.attention = attention or attention_of(placement, traffic)
        self.placement, self.traffic, self.batch = placement, traffic, batch
        layout, self.machine = placement.layout, placement.machine
        self.place_for = place_for or self.machine.memory.place_for
        # A bound method would be a reference cycle, which keeps the arrays of all steps alive.
        self.find_split: Callable[[], Split | None] | None = None
        self.is_bound = self.machine.engine.is_bound
        self.is_staged = not (self.is_bound or self.machine.is_spatial)
        most = self.machine.software.micro_batches
        self.lanes = np.minimum(layout.pp, most)
        shared = layout.dp * self.lanes if self.is_staged else 1
        self.streams = np.maximum(batch / shared, 1.0)
        copies = self.lanes * layout.width / layout.expert_shards
        self.expert_sequences = np.maximum(batch / (copies if self.is_staged else 1), 1.0)
        self.in_flight = np.minimum(np.maximum(batch / layout.dp, 1.0), most)

    def joined_by(self, traffic: Traffic) -> "Schedule":
        """Build the steps seen by a request of one class that joins a batch of all classes.

        traffic : The mix of all classes, but with the prompts of this class.
        """
        passes = self._of_traffic(traffic)
        passes.split, passes.decode, passes.mixed = self.split, self.decode, self.mixed
        passes._expected_decode = self._expected_decode
        return passes

    def _of_traffic(self, traffic: Traffic) -> "Schedule":
        """Build the steps for other traffic, which a stack does per deployment."""
        return Schedule(self.placement, traffic, self.batch, place_for=self.place_for)

    @cached_property
    def chunk(self) -> Array:
        """The maximum number of prompt tokens per step."""
        return np.minimum(self.machine.software.prompt_chunk, self.traffic.computed_prompt)

    @cached_property
    def lump(self) -> Array:
        """The prompt tokens per mixed step in steady state."""
        chunk = self.machine.software.prompt_chunk
        return self.traffic.prompt_lump(batch=self.streams, steps=self.steps, chunk=chunk)

    @cached_property
    def prefilling_replicas(self) -> ArrayLike:
        """The number of attention replicas that prefill in the same step, if any do."""
        return self._prefilling_at_random if self._is_random else self.placement.layout.dp

    @property
    def _is_random(self) -> bool:
        return isinstance(self.traffic, Mix) and self.traffic.is_random

    @property
    def _prefilling_at_random(self) -> Array:
        """The mean number of replicas that prefill per step if prompts arrive at random."""
        return prefilling_replicas(replicas=self.placement.layout.dp, passes=self.passes_at_random)

    @property
    def passes_at_random(self) -> Array:
        """The fraction of steps in which a replica prefills if prompts arrive at random."""
        return self.streams * self.traffic.computed_prompt / (self.lump * self.steps)

    @property
    def prompts_in_turn(self) -> Array:
        """The number of a batch's prompts that are prefilled one after another."""
        return self._in_turn(self.prefilling_replicas)

    @property
    def in_turn_at_random(self) -> Array:
        """The ratio of prefill delay with random arrivals to that with synchronized ones."""
        return self._in_turn(self._prefilling_at_random) / self.streams

    def _in_turn(self, together: ArrayLike) -> Array:
        layout = self.placement.layout
        apart = self.streams * (layout.dp / together)
        return np.minimum(apart, np.maximum(self.batch / self.lanes, self.streams))

    @property
    def lumps(self) -> Array:
        """The number of mixed steps needed to serve a batch of requests."""
        return self.prompts_in_turn * self.traffic.computed_prompt / self.lump

    @cached_property
    def steps(self) -> Array:
        """The number of decode steps per output."""
        return floats(self.traffic.output) / self.traffic.speculation.tokens_per_pass

    @cached_property
    def chunks(self) -> Array:
        """The number of steps needed to prefill one request."""
        return np.ceil(self.traffic.computed_prompt / self.chunk)

    @property
    def prefill_passes(self) -> Array:
        """The number of steps needed to prefill all requests, with all replicas in parallel."""
        tokens = self._prefill_tokens
        return np.ceil(tokens / np.minimum(self.machine.software.prompt_chunk, tokens))

    @property
    def _prefill_tokens(self) -> Array:
        replicas = self.placement.layout.dp
        return np.maximum(self.batch / replicas, 1.0) * self.traffic.computed_prompt

    def decode_work(self, verified: float | None = None) -> PassWork:
        """Count the work of a decode-only step."""
        return self._count(self._decoded(verified))

    def mixed_work(self) -> PassWork:
        """Count the work of a mixed step in steady state."""
        return self._count(self._mixed_rows)

    def first_work(self) -> PassWork:
        """Count the work of a step that prefills a chunk of one request while others decode."""
        return self._count(self._one_prefilling(self.traffic.computed_prompt / self.chunks))

    def prefill_seconds(self, tokens: Floats) -> Floats:
        """Compute the time of a mixed step in which one lane prefills while the others decode. [s]

        tokens : The prompt tokens, along a separate axis, for a single batch.
        """
        seconds = self.expected(self._count(self._one_prefilling(tokens))).seconds
        return np.ravel(seconds * self._as_measured("prompts"))

    def prefill_work(self, tokens: ArrayLike) -> PassWork:
        """Count the work of a step in which every replica prefills and none decodes."""
        none = 0.0 * self.batch
        rows = self._rows(none, none, tokens, self.placement.layout.dp)
        return self._count(rows, in_flight=1.0)

    def _count(self, rows: PassInput, in_flight: ArrayLike | None = None) -> PassWork:
        flowing = self.in_flight if in_flight is None else in_flight
        return count_pass(self.placement, rows, flowing, self.split)

    @cached_property
    def loading(self) -> ArrayLike:
        """The time to load the cached prefix of a prompt from the memory that stores it. [s]"""
        machine, placement = self.machine, self.placement
        if machine.prefix is None:
            return 0.0
        tier, traffic = machine.tiers[machine.prefix], self.traffic
        capacities = [memory.share(placement.layout.chips) for memory in machine.tiers]
        if self.is_bound:
            rate = np.minimum(tier.bandwidth * capacities[machine.prefix], tier.link)
        else:
            rates = tier_rates(machine.tiers, machine.chip, machine.software, capacities)
            rate = rates[machine.prefix]
        cached = np.maximum(traffic.prompt - traffic.computed_prompt, 0.0)
        return placement.cache_on_chip(cached) * (cached > 0.0) / rate

    @cached_property
    def split(self) -> Split | None:
        """The distribution of bytes over memories, or None if the chip has a single memory."""
        return self.search_split() if self.find_split is None else self.find_split()

    def search_split(self) -> Split | None:
        """Search for the distribution of bytes that minimizes step time."""
        if self.has_one_memory or (
            self.is_all_near and not any(open_pass.gains for open_pass in self._placed_for)
        ):
            return None
        passes = [open_pass.costs for open_pass in self._placed_for if open_pass.costs]
        assigned, rooms = self.machine.place, self.rooms
        return best_split(self.split_as_asked, assigned, rooms, self._seconds_placed_for, passes)

    @property
    def has_one_memory(self) -> bool:
        """Whether the chip's own memory is its only memory."""
        return self._is_own_first and len(self.machine.tiers) == 1

    @property
    def _is_own_first(self) -> bool:
        machine = self.machine
        return machine.tier.where == "chip" if machine.is_spatial else machine.tier.is_near

    @cached_property
    def is_all_near(self) -> bool:
        """Whether weights and all batches fit in the fastest memory and may be placed there."""
        is_open = self._is_own_first and not self.machine.place
        return bool(is_open and np.all(fits_near(self.placement, self.batch)))

    @cached_property
    def rooms(self) -> Sequence[ArrayLike]:
        """The memory per chip in each tier that weights and caches may use, in bytes."""
        return self.placement.usable

    @cached_property
    def split_as_asked(self) -> Split:
        """The split with each category of bytes in its assigned memory, or in the first."""
        return asked_split(self.placement, self.batch)

    @property
    def _placed_for(self) -> list[OpenPass]:
        """The steps whose total time the placement of bytes minimizes."""
        served = [self._mixing] if self.place_for == "served" else []
        return [self._decoding, *served]

    def _seconds_placed_for(self, split: Split) -> Array:
        """Compute the time that the placement minimizes, for a given split, in seconds."""
        drafted = self.traffic.speculation.drafted
        drafting = drafted * self.drafted_layer(split) if self._drafts else 0.0
        decode = self._decoding.seconds(split) + drafting
        if self.place_for == "decode":
            return decode
        mixed = self._mixing.seconds(split) + drafting
        return (self.steps - self.lumps) * decode + self.lumps * np.maximum(decode, mixed)

    def _decoded(self, verified: ArrayLike | None = None) -> PassInput:
        """The sequences of a decode step."""
        return self._rows(self.streams, self.expert_sequences, 0.0, verified=verified)

    @property
    def _mixed_rows(self) -> PassInput:
        """The sequences and prompt tokens of a mixed step in steady state.

        If prompts arrive at random, a step takes as long as on the replica with most of them.
        """
        replicas, longest = self.prefilling_replicas, floats(1.0)
        if self._is_random and np.any(self.placement.layout.dp > 1):
            limit = np.maximum(self.machine.software.prompt_chunk / self.lump, 1.0)
            fullest = longest_replica(
                replicas=self.placement.layout.dp, passes=self.passes_at_random
            )
            longest = np.minimum(1.0 + _UNEVEN * (fullest - 1.0), limit)
            replicas = np.maximum(replicas / longest, 1.0)
        return self._rows(self.streams, self.expert_sequences, self.lump * longest, replicas)

    def _one_prefilling(self, tokens: ArrayLike) -> PassInput:
        """The prompt tokens of one sequence of a lane, while the others decode."""
        decoding = np.maximum(self.streams - 1.0, 0.0), np.maximum(self.expert_sequences - 1.0, 0.0)
        return self._rows(*decoding, tokens)

    def _rows(
        self,
        sequences: ArrayLike,
        expert_sequences: ArrayLike,
        prompt: ArrayLike,
        replicas: ArrayLike = 1.0,
        verified: ArrayLike | None = None,
    ) -> PassInput:
        traffic = self.traffic
        return PassInput(
            attention=self.attention,
            sequences=sequences,
            expert_sequences=expert_sequences,
            prompt=prompt,
            prompt_replicas=replicas,
            verified=traffic.speculation.verified if verified is None else verified,
        )

    def bound(self, prompt: ArrayLike = 0.0, *, decode: ArrayLike | None = None) -> Bound:
        """Compute the bound of a step of the whole deployment.

        With speculative decoding, at least the accepted tokens must be computed.
        """
        everyone = self.batch if decode is None else decode
        tokens_kept = self.traffic.speculation.tokens_per_pass
        return bound_step(
            self.bound_terms, self._rows(everyone, everyone, prompt, 1.0, tokens_kept)
        )

    @cached_property
    def bound_terms(self) -> BoundTerms:
        """The layout-dependent terms of the bound."""
        return bound_terms(self.machine, self.placement.work, self.placement.layout)

    @cached_property
    def decode_bound(self) -> Bound:
        """The bound of the step between two tokens."""
        return self.bound()

    @cached_property
    def serial_bound(self) -> Array | None:
        """The time between two tokens at peak rates if layers run in sequence, in seconds.

        It is None for chips without a region per layer.
        """
        machine = self.machine
        if not machine.is_spatial:
            return None
        work = replace(self._decoding.work, split=self.split)
        at_peaks = spatial_pass(work, machine.chip, EngineParameters()).seconds
        return np.maximum(at_peaks, self.decode_bound.seconds)

    @cached_property
    def own(self) -> list[OwnEffect]:
        """The corrections by measurements of this deployment, one per measured layout."""
        return own_effect(self.placement, self.traffic, self.batch)

    def _as_measured(self, phase: Literal["decode", "prompts"]) -> ArrayLike:
        """Compute the latency factor of a step from the deployment's measurements."""
        is_decode = phase == "decode"
        return floats(prod(own.decode if is_decode else own.prompts for own in self.own))

    def narrowed(self, decode_share: ArrayLike) -> ArrayLike:
        """Compute the half-width of a range, relative to that without measurements.

        decode_share : The fraction of decode steps in the time to which the range applies.
        """
        return prod(effect.narrowed(decode_share) for effect in self.own)

    @cached_property
    def decode(self) -> Step:
        """The step between two tokens of a sequence, including its draft tokens."""
        step = self._expected_decode
        if not self.own:
            return step
        measured = np.maximum(step.seconds * self._as_measured("decode"), self.decode_bound.seconds)
        return step.then(derived(OWN, measured - step.seconds))

    @cached_property
    def _expected_decode(self) -> Step:
        """The step between two tokens, not corrected by measurements."""
        bound = self.decode_bound
        if self.is_bound:
            return bound.as_step()
        step = self._decoding.step(self.split).then(*self._drafting)
        # Neither rounding nor an engine whose parameters are all 1 may beat the bound.
        missing = np.maximum(bound.seconds - step.seconds, 0.0)
        return step.then(derived("up to the bound", missing))

    @cached_property
    def least_decode(self) -> Array:
        """A lower bound on the time of `decode`, which is faster to compute, in seconds.

        It needs no placement of bytes and, with a single memory, no time of the slowest stage.
        """
        machine, drafted = self.machine, self.traffic.speculation.drafted
        is_open = len(machine.tiers) > 1 and machine.tiers[0].is_near and not machine.place
        is_simple = self.has_one_memory and not machine.is_spatial
        if self.is_bound or not (is_open or is_simple):
            return self.decode.seconds
        is_drafting = bool(np.any(drafted)) and not machine.is_spatial
        if is_simple:
            stages = self.placement.layout.pp
            work = count_whole_pass(self._decoded(), self.in_flight)
            # The heaviest stage is no lighter than an average one.
            pipeline = work.pipeline._replace(fullest=1.0 / stages)
            fastest = self.expected(replace(work, pipeline=pipeline)).seconds
            rounding = _ROUNDING * (stages > 1)
        else:
            fastest, rounding = self._decoding.least_seconds(self.split_as_asked.sizes), _ROUNDING
            is_drafting = is_drafting and not self._decoding.gains
        if is_drafting:
            fastest = fastest + drafted * self.drafted_layer(None)
        fastest = fastest * self._as_measured("decode") * (1.0 - rounding)
        return fastest if is_simple else np.maximum(fastest, self.decode_bound.seconds)

    @cached_property
    def mixed(self) -> Step:
        """The mixed step in steady state."""
        if self.is_bound:
            return self.bound(self.lump).as_step()
        return self._mixing.step(self.split).then(*self._drafting)

    @cached_property
    def first(self) -> Step:
        """A step that prefills a chunk of one request."""
        if self.is_bound:
            nobody = 0.0 * self.batch
            return self.bound(self.traffic.computed_prompt, decode=nobody).as_step()
        step = self.expected(self.first_work())
        if not self.own:
            return step
        longer = step.seconds * (self._as_measured("prompts") - 1.0)
        return step.then(derived(OWN, longer))

    def seconds(self, name: str) -> Array:
        """Return the expected time of a step, or the time that prompts add to it, in seconds."""
        if name == PROMPTS:
            decode = self._expected_decode.seconds
            extra = np.maximum(self.mixed.seconds, decode) - decode
            return extra * self._as_measured("prompts")
        if name == PREFILL:
            ((work, _),) = self.works(name)
            return self.expected(work).seconds * self._as_measured("prompts")
        return (self.decode if name == DECODE else self.first).seconds

    def works(self, name: str) -> list[tuple[PassWork, ArrayLike]]:
        """List the work of the given steps, with their weights in a sum."""
        if name == PROMPTS:
            return [(self.mixed_work(), 1.0), (self.decode_work(), -1.0)]
        if name == PREFILL:
            return [(self.prefill_work(self._prefill_tokens / self.prefill_passes), 1.0)]
        if name == FIRST:
            return [(self.first_work(), 1.0)]
        works: list[tuple[PassWork, ArrayLike]] = [(self.decode_work(), 1.0)]
        drafted = np.asarray(self.traffic.speculation.drafted)
        if np.any(drafted):  # one layer per draft token
            plain = self.decode_work(verified=1.0)
            fraction = self.drafted_layer(self.split) / self.expected(plain).seconds
            works.append((plain, drafted * fraction))
        return works

    def _open(self, rows: PassInput, same: OpenPass | None = None) -> OpenPass:
        work = count_pass(self.placement, rows, self.in_flight)
        return OpenPass(self.machine, self.placement.layout.chips, work, same)

    @cached_property
    def _decoding(self) -> OpenPass:
        """The decode step, for any placement of its bytes."""
        return self._open(self._decoded())

    @cached_property
    def _mixing(self) -> OpenPass:
        """The mixed step in steady state, for any placement of its bytes."""
        return self._open(self._mixed_rows, self._decoding)

    @cached_property
    def _drafts(self) -> OpenPass | None:
        """The step of which each draft token needs one layer, for any placement of its bytes."""
        if not np.any(self.traffic.speculation.drafted):
            return None
        return self._open(self._decoded(1.0))

    def expected(self, work: PassWork) -> Step:
        """Compute the expected step from its work."""
        one_pass = spatial_pass if self.machine.is_spatial else expected_step
        return one_pass(work, self.machine.chip, self.machine.software)

    @cached_property
    def _drafting(self) -> tuple[Component, ...]:
        """The drafting components: for each draft token, one layer or one draft-model step."""
        if self._drafts is None:
            return ()
        drafted = self.traffic.speculation.drafted
        return (derived("drafting", drafted * self.drafted_layer(self.split)),)

    @cached_property
    def _draft_step_s(self) -> Array | None:
        """The step time of the draft model on the tensor-parallel ranks of a replica. [s]"""
        machine, draft = self.machine, self.machine.draft
        if draft is None:
            return None
        on_chip = machine_of(machine.hardware, machine.engine, draft, OWN_MEMORY)
        traffic = replace(self.traffic, speculation=Speculation())
        placed = self.placement.of_draft(on_chip, draft)
        return Schedule(placed, traffic, self.batch)._expected_decode.seconds

    @cached_property
    def _drafted_kinds(self) -> list[OpenPass]:
        """The step of a draft token through one layer of each type, for any placement."""
        chips = self.placement.layout.chips
        layers = count_layer_passes(self._decoded(1.0), self.in_flight)
        return [OpenPass(self.machine, chips, layer) for _, layer in layers]

    def drafted_layer(self, split: Split | None) -> Array:
        """Compute the time per draft token: one layer of the slowest type, including attention. [s]

        If layers have regions, the token crosses one more region while other sequences are in the
        others. A separate draft model needs a full step.
        """
        machine, work, drafted = self.machine, self.placement.work, self.traffic.speculation.drafted
        if self._draft_step_s is not None:
            return self._draft_step_s
        if machine.is_spatial:
            plain = replace(self._decoding.work, split=split)
            deeper = self.expected(replace(plain, depth=plain.depth + drafted)).seconds
            return floats((deeper - self.expected(plain).seconds) / drafted)
        if not work.layer_kinds:
            plain = count_pass(self.placement, self._decoded(1.0), self.in_flight, split)
            return floats(self.expected(plain).seconds / plain.depth)
        near_head = head_in_first_memory(split)
        times = (
            layer.seconds_of_layers(near_head) / layer.work.depth for layer in self._drafted_kinds
        )
        return floats(reduce(np.maximum, times))
