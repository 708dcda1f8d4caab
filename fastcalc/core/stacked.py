"""Evaluation of many deployments at once, as arrays with one row per layout.

For a few points of a single deployment, numpy calls are mostly overhead. The inputs of the steps
are plain numbers, so those of many deployments are joined into arrays and evaluated by the same
`Schedule` and `Timeline` as a single deployment, with bit-identical results.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cached_property
from math import prod
from operator import attrgetter
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np

from fastcalc.core.chip.tier import Tier
from fastcalc.core.estimate import Estimate, evaluate
from fastcalc.core.own_rows import measured_on
from fastcalc.core.placement.layout import AnyLayout, Layouts
from fastcalc.core.placement.placement import AnyPlacement, Placements
from fastcalc.core.placement.split import Split, split_as_asked
from fastcalc.core.step.bound import BoundTerms, Memories, bound_terms
from fastcalc.core.step.pass_work import AttentionWork, PassWork, attention_of
from fastcalc.core.step.schedule import Schedule
from fastcalc.core.timeline import Number, evaluated
from fastcalc.core.traffic.mix import Mix
from fastcalc.core.traffic.traffic import Traffic
from fastcalc.formulas.types import Array, ArrayLike, Floats, floats

BLOCK = 32_768
"""The number of points per stack, chosen so that its arrays fit in a CPU core's caches."""

Numbers = TypeVar("Numbers")
Count: TypeAlias = Callable[[Schedule], Number]
"""A function that derives a number from the steps of a deployment."""


class Evaluation(NamedTuple):
    """A placement to evaluate for some batches and traffic."""

    placement: AnyPlacement
    batch: Floats
    traffic: Traffic


def evaluate_all(
    evaluations: Iterable[Evaluation], together: Sequence[Count] = ()
) -> list[Estimate]:
    """Evaluate many placements at once, like `evaluate`.

    Some cases are evaluated separately: hardware bounds, deployments with measurements or
    explicitly placed bytes, and wafers whose bytes may be placed in several memories.

    together : Numbers to compute together as soon as one of them is read; the components of the
        steps, which take most of the memory, are then dropped. If empty, they are kept.
    """
    estimates = [
        evaluate(placement, batch=batch, traffic=traffic)
        for placement, batch, traffic in evaluations
    ]
    for indices in _stackable([estimate.passes for estimate in estimates]):
        stack = _Stack([estimates[index].passes for index in indices], together)
        for index, rows in zip(indices, stack.rows(), strict=True):
            estimates[index] = StackedEstimate(estimates[index].passes, rows=rows)
            if not rows.passes.has_one_memory:
                rows.passes.find_split = rows.split
    return estimates


@dataclass(frozen=True, eq=False)
class StackedEstimate(Estimate):
    """An estimate whose numbers come from a stack shared with other deployments.

    rows : The rows of this deployment in the stack.
    """

    rows: "_StackRows" = field(kw_only=True)

    def of_passes(self, count: Count) -> Array:
        """Look up a number derived from the steps, with one element per batch."""
        return self.rows.cut(count)


def joined(records: Sequence[Numbers], counts: Sequence[int], *, axes: int = 0) -> Numbers:
    """Join records of numbers into columns, repeating each record for its number of rows.

    Numbers that are equal in all records stay scalars.

    records : Numbers, or dataclasses, tuples and lists of numbers, each of which is a scalar or has
        one element per row of its record.
    counts : The number of rows of each record.
    axes : The number of length-one axes after the row axis.
    """
    numbers: Sequence[Any] = records
    first, column = numbers[0], numbers[0]
    if isinstance(first, float) and len({*map(id, numbers)}) == 1:
        return records[0]  # most parameters of an engine
    if isinstance(first, (tuple, list)):
        each = [joined(member, counts, axes=axes) for member in zip(*numbers, strict=True)]
        column = type(first)(*each) if hasattr(first, "_fields") else type(first)(each)
    elif is_dataclass(first) and not isinstance(first, type):
        names = [part.name for part in fields(first)]
        members = zip(*map(attrgetter(*names), numbers), strict=True)
        each = [joined(member, counts, axes=axes) for member in members]
        column = replace(first, **dict(zip(names, each, strict=True)))
    elif np.ndarray in set(map(type, numbers)):
        column = column_of(numbers, counts).reshape(-1, *(1,) * axes)
    elif first is not None and numbers.count(first) != len(numbers):
        column = np.repeat(np.asarray(numbers, float), counts).reshape(-1, *(1,) * axes)
    record: Numbers = column
    return record


def column_of(numbers: Sequence[ArrayLike], counts: Sequence[int]) -> Floats:
    """Build a column with the rows of all records, repeating scalars for each row.

    counts : The number of rows of each record.
    """
    column, first = np.empty(sum(counts)), 0
    for number, count in zip(numbers, counts, strict=True):
        rows = number.reshape(-1) if isinstance(number, np.ndarray) else number
        column[first : first + count] = rows
        first += count
    return column


def joined_steps(deployments: Sequence[Schedule]) -> Iterator[tuple[list[int], Schedule]]:
    """Yield groups of deployments that share a stack, with the steps of each group.

    The numbers of a group have a row for each layout or request of its deployments. Deployments
    with several memories, and those that fit no stack, are yielded alone.
    """
    simple = [index for index, passes in enumerate(deployments) if passes.has_one_memory]
    alone = dict.fromkeys(range(len(deployments)))
    for members in _stackable([deployments[index] for index in simple]):
        indices = [simple[member] for member in members]
        for index in indices:
            del alone[index]
        yield indices, _Stack([deployments[index] for index in indices], ()).passes
    for index in alone:
        yield [index], deployments[index]


def _stackable(deployments: Sequence[Schedule]) -> Iterator[list[int]]:
    """Group deployments that fit into one stack, and yield the indices of each group."""
    alike: dict[tuple[object, ...], list[int]] = {}
    for index, passes in enumerate(deployments):
        if (common := _common(passes)) is not None:
            alike.setdefault(common, []).append(index)
    for indices in alike.values():
        points = np.cumsum(
            [
                prod(_row_shape(deployments[index])) * _columns(deployments[index])
                for index in indices
            ]
        )
        blocks = ((points - 1) // BLOCK).tolist()
        for block in dict.fromkeys(blocks):
            members = [index for index, at in zip(indices, blocks, strict=True) if at == block]
            if len(members) > 1:
                yield members


def _row_shape(passes: Schedule) -> tuple[int, ...]:
    """Return the shape of a deployment's layouts and requests."""
    traffic = passes.traffic
    lengths = (traffic.prompt, traffic.output, traffic.context, traffic.prefix_hit)
    return _broadcast(*_shapes(passes.placement.layout.tp, *lengths))


def _shapes(*numbers: ArrayLike) -> list[tuple[int, ...]]:
    return [number.shape if isinstance(number, np.ndarray) else () for number in numbers]


def _broadcast(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """Broadcast shapes like numpy, but faster if they are equal or those of scalars."""
    different = {*shapes} - {()}
    return different.pop() if len(different) == 1 else np.broadcast_shapes(*different)


def _columns(passes: Schedule) -> int:
    """Return the number of batches per row, or 1 if each batch has its own layout."""
    if _row_shape(passes)[-1:] not in ((), (1,)):
        return 1
    return int(passes.batch.shape[-1]) if passes.batch.ndim else 1


def _common(passes: Schedule) -> tuple[object, ...] | None:
    """Return a key of the properties that deployments in a stack must share, or None.

    A stack consists of plain numbers for one model without assigned bytes. Each row is a layout or
    a request, with batches along the row, or a batch with its own layout. Chips with regions must
    have a single memory.
    """
    machine, work, traffic = passes.machine, passes.placement.work, passes.traffic
    engine, drafts = machine.engine, traffic.speculation
    is_placed = machine.place or (machine.is_spatial and not passes.has_one_memory)
    if engine.is_bound or is_placed or machine.draft or machine.prefix is not None:
        return None
    rows = _row_shape(passes)
    draft_shape = _broadcast(*_shapes(drafts.drafted, drafts.tokens_per_pass))
    if draft_shape not in ((), rows) or measured_on(engine, machine.hardware.id, work):
        return None
    shape = _broadcast(rows, passes.batch.shape)
    is_one_axis = sum(count > 1 for count in rows) <= 1
    are_rows = shape[:-1] == rows[:-1] and (rows[-1:] in ((), (1,)) or shape == rows)
    if not (is_one_axis and are_rows and 0 < prod(shape) <= BLOCK):
        return None
    is_drafted = bool(np.any(drafts.drafted))
    has_stages = bool(np.any(np.asarray(passes.placement.layout.pp) > 1))
    is_layered = not machine.is_spatial and (has_stages or is_drafted)
    layer_counts = tuple(count for count, _ in work.layer_kinds) if is_layered else None
    requests: tuple[object, ...] = ()
    if isinstance(traffic, Mix):
        requests = (*map(id, traffic.classes), traffic.arriving, traffic.is_random)
    columns = _columns(passes).bit_length()
    common = machine.is_spatial, is_drafted, layer_counts, requests, columns
    if passes.has_one_memory:
        return common
    # Memories may differ in size and rate, but not in their permitted uses.
    tiers = tuple(
        (tier.name, tier.where, tier.shared_by, tier.streams, tier.flop_rates is None)
        for tier in machine.tiers
    )
    sizes = passes.split_as_asked.sizes.items()
    kinds = tuple(kind for kind, size in sizes if np.any(size))
    per_chip = passes.placement.layout.per_chip
    return *common, tiers, kinds, passes.place_for, passes.is_all_near, per_chip


class _JoinedAttention(AttentionWork):
    """The attention work of tokens in many deployments, with one row per layout."""

    def __init__(self, deployments: Sequence[AttentionWork], counts: Sequence[int]) -> None:
        self._deployments, self._counts = deployments, counts
        self.tp = self._joined([work.tp for work in deployments])
        self.ranks = self._joined([work.ranks for work in deployments])
        self.expert_shards = self._joined([work.expert_shards for work in deployments])
        self.cache = self._joined([work.cache for work in deployments])
        self.cache_on_rank = self._joined([work.cache_on_rank for work in deployments])
        self.decode_flops = self._joined([work.decode_flops for work in deployments])
        self.head_flops = self._joined([work.head_flops for work in deployments])

    def _joined(self, records: Sequence[Numbers]) -> Numbers:
        return joined(records, self._counts, axes=1)

    @cached_property
    def idle_pass(self) -> PassWork:
        """A step without sequences."""
        return self._joined([work.idle_pass for work in self._deployments])

    @cached_property
    def prompt_flops(self) -> ArrayLike:
        """The attention FLOPs of a prompt token. [FLOP]"""
        return self._joined([work.prompt_flops for work in self._deployments])

    @cached_property
    def layer_kinds(self) -> list[tuple[float, AttentionWork]]:
        """The number of layers of each type, with the attention work of one layer."""
        columns = zip(*(work.layer_kinds for work in self._deployments), strict=True)
        return [
            (column[0][0], _JoinedAttention([layer for _, layer in column], self._counts))
            for column in columns
        ]


class _JoinedSchedule(Schedule):
    """The steps of many deployments."""

    stack: "_Stack"

    def _of_traffic(self, traffic: Traffic) -> Schedule:
        works = [
            attention_of(passes.placement, replace(traffic, speculation=passes.traffic.speculation))
            for passes in self.stack.members
        ]
        attention = _JoinedAttention(works, self.stack.counts)
        passes = Schedule(self.placement, traffic, self.batch, attention, self.place_for)
        passes.own = []
        return passes

    @cached_property
    def bound_terms(self) -> BoundTerms:
        """The layout terms of the bounds, computed when a bound is first requested."""
        return self.stack.bound_terms()

    @cached_property
    def rooms(self) -> Sequence[ArrayLike]:
        """The memory per chip in each tier that weights and caches may use. [byte]"""
        return self.stack.joined([tuple(passes.rooms) for passes in self.stack.members])

    @cached_property
    def split_as_asked(self) -> Split:
        """The split with each category of bytes in its assigned memory, or in the first."""
        of_each = [passes.split_as_asked.sizes for passes in self.stack.members]
        sizes = {kind: self.stack.points([size[kind] for size in of_each]) for kind in of_each[0]}
        return split_as_asked(self.machine, self.placement.layout.chips, sizes)


class _Stack:
    """The steps of several deployments, joined when a number is first requested."""

    def __init__(self, members: Sequence[Schedule], together: Sequence[Count]) -> None:
        self.members, self.together = members, together
        self.shapes = [_row_shape(passes) for passes in members]
        self.counts = list(map(prod, self.shapes))
        self._numbers: dict[Count, Floats] = {}

    def rows(self) -> "Iterator[_StackRows]":
        """Yield the rows of each deployment."""
        first = 0
        for passes, shape, count in zip(self.members, self.shapes, self.counts, strict=True):
            point_shape = _broadcast(shape, passes.batch.shape)
            rows = slice(first, first + count)
            yield _StackRows(self, passes, rows, _columns(passes), point_shape)
            first += count

    def number(self, count: Count) -> Floats:
        """Compute a number for all steps, as rows by batches."""
        if count not in self._numbers:
            for each in {count, *self.together} - set(self._numbers):
                values = np.asarray(evaluated(each, self.passes))
                self._numbers[each] = np.broadcast_to(values, self.passes.batch.shape)
            if self.together and self.members[0].has_one_memory:
                del self.passes  # the split of several memories must be kept
        return self._numbers[count]

    @cached_property
    def passes(self) -> Schedule:
        """The joined steps of all deployments, using the catalogue entries of the first."""
        members, first = self.members, self.members[0].placement
        machine = replace(
            first.machine,
            tiers=self._tiers(),
            chip=self.joined([passes.machine.chip for passes in members]),
            software=self.joined([passes.machine.software for passes in members]),
        )
        layouts: list[AnyLayout] = [passes.placement.layout for passes in members]
        ranks = ((layout.tp, layout.pp, layout.ep, layout.dp) for layout in layouts)
        tp, pp, ep, dp = (
            column_of(axis, self.counts).astype(int)[:, np.newaxis]
            for axis in zip(*ranks, strict=True)
        )
        layout = Layouts(tp, pp, ep, dp, layouts[0].per_chip)
        placement = Placements(machine, first.work, layout, reserved_tokens=0.0)
        traffic = members[0].traffic
        if isinstance(traffic, Mix):
            drafts = self.joined([passes.traffic.speculation for passes in members])
            traffic = replace(traffic, speculation=drafts)
        else:
            traffic = self.joined([passes.traffic for passes in members])
        attention = _JoinedAttention([passes.attention for passes in members], self.counts)
        batches = self.points([passes.batch for passes in members])
        passes = _JoinedSchedule(placement, traffic, batches, attention)
        passes.stack = self
        passes.own, passes.is_all_near = [], members[0].is_all_near
        return passes

    def joined(self, records: Sequence[Numbers]) -> Numbers:
        """Join the records of all deployments, with one row per layout."""
        return joined(records, self.counts, axes=1)

    def _tiers(self) -> tuple[Tier, ...]:
        """Join the memories of all deployments, or return the first's if each has only one."""
        if self.members[0].has_one_memory:
            return self.members[0].machine.tiers
        columns = zip(*(passes.machine.tiers for passes in self.members), strict=True)
        return tuple(
            replace(
                tiers[0],
                capacity=self.joined([tier.capacity for tier in tiers]),
                bandwidth=self.joined([tier.bandwidth for tier in tiers]),
                link=self.joined([tier.link for tier in tiers]),
                flop_rates=self.joined([tier.flop_rates for tier in tiers]),
            )
            for tiers in columns
        )

    def points(self, numbers: Sequence[Floats]) -> Floats:
        """Join a number per batch; short rows are padded with their last value."""
        rows, widest = [], max(map(_columns, self.members))
        deployments = zip(self.members, self.shapes, self.counts, numbers, strict=True)
        for passes, shape, count, number in deployments:
            columns = _columns(passes)
            point_shape = _broadcast(shape, passes.batch.shape)
            points = np.broadcast_to(number, point_shape).reshape(count, columns)
            rows.append(points[:, np.minimum(np.arange(widest), columns - 1)])
        return np.concatenate(rows)

    def bound_terms(self) -> BoundTerms:
        """Join the layout terms needed for the bounds of all deployments."""
        of_each = [
            bound_terms(passes.machine, passes.placement.work, passes.placement.layout)
            for passes in self.members
        ]
        nothing = Memories(floats(0.0), floats(0.0))
        others = [terms._replace(at_once=nothing, in_turn=nothing) for terms in of_each]
        at_once = in_turn = self._memories([terms.at_once for terms in of_each])
        if any(terms.in_turn is not terms.at_once for terms in of_each):
            in_turn = self._memories([terms.in_turn for terms in of_each])
        return self.joined(others)._replace(at_once=at_once, in_turn=in_turn)

    def _memories(self, of_each: Sequence[Memories]) -> Memories:
        """Join capacities and bandwidths, which have one element per memory on the last axis."""
        by_memory = []
        for numbers in zip(*of_each, strict=True):
            count = numbers[0].shape[-1]
            columns = self.joined(
                [tuple(number[..., at] for at in range(count)) for number in numbers]
            )
            by_memory.append(np.stack(np.broadcast_arrays(*columns), axis=-1))
        return Memories(*by_memory)


@dataclass(frozen=True, eq=False)
class _StackRows:
    """The rows of a stack that belong to one deployment.

    passes : The steps of the deployment.
    rows, columns : The row indices and the number of batches of the deployment.
    shape : The shape of the deployment's numbers.
    """

    stack: _Stack
    passes: Schedule
    rows: slice
    columns: int
    shape: tuple[int, ...]

    def cut(self, count: Count) -> Array:
        """Extract a number for the deployment."""
        return np.atleast_1d(self._own(self.stack.number(count)))

    def split(self) -> Split | None:
        """Extract the distribution of the deployment's bytes from the joint search."""
        of_all = None if self.passes.has_one_memory else self.stack.passes.split
        if of_all is None:
            return None
        shape = self.stack.passes.batch.shape
        shares = {
            kind: [self._own(np.broadcast_to(share, shape)) for share in by_memory]
            for kind, by_memory in of_all.shares.items()
        }
        return replace(self.passes.split_as_asked, shares=shares)

    def _own(self, numbers: Floats) -> Floats:
        return numbers[self.rows, : self.columns].reshape(self.shape)
