"""The cost of a faster stream from a smaller batch alone, for assumed latency floors per layer.

The engines of the catalogue have fitted floors. Here the floor is an assumption, because it is not
published for servers of closed models. The same step is computed with several floors.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import NamedTuple, TypeAlias, cast

import numpy as np

from fastcalc.catalogue.limits import LIMITS
from fastcalc.catalogue.once import once
from fastcalc.catalogue.schema import Engine, Hardware
from fastcalc.catalogue.store import Catalogue
from fastcalc.core.chip.machine import Chip, EngineParameters, Machine, machine
from fastcalc.core.chip.tier import OWN_MEMORY
from fastcalc.core.model.kinds import Kinds
from fastcalc.core.model.workload import Workload, workload
from fastcalc.core.placement.layout import Layout
from fastcalc.core.placement.legal import EXPERT_TENSOR_CHIPS
from fastcalc.core.placement.placement import Placement
from fastcalc.core.smaller_batch import Batches, cost_multiples
from fastcalc.core.step.pass_work import PassInput, PassWork, attention_of, count_pass
from fastcalc.core.step.textbook import TextbookStep, sending_seconds, textbook_step
from fastcalc.core.traffic.traffic import Traffic
from fastcalc.errors import InputError
from fastcalc.features.claims.evaluations import SOLVED, Question
from fastcalc.features.claims.finding import Finding, FindingRows, finding
from fastcalc.formulas.memory import largest_batch
from fastcalc.formulas.sequences import grouped
from fastcalc.formulas.solving import first_changed, largest_reaching
from fastcalc.formulas.types import Array, ArrayLike, Bools, Floats

PRICE = 6.0
"""Price of the fast mode relative to the standard price, as in all articles."""

_ANY = Engine.model_validate({"id": "any", "name": "Any software", "fitted_on": "nothing"})

_FLOORS = 128  # per round, in two rounds: the floor is found to 1/16384 of its range

Multiples: TypeAlias = tuple[Batches, Batches, Floats]
"""The largest batches at a slow and a fast speed, and the ratio of their costs per token."""


@dataclass(frozen=True, eq=False)
class Case:
    """A model on several chips, treated as one larger and faster chip.

    machine, work : One of the chips, and the model in its formats.
    chips : The number of chips, which also communicate.
    context : Tokens per sequence.
    chip : The chip type as the catalogue has it.
    """

    machine: Machine
    work: Workload
    chips: float
    context: float
    chip: Hardware

    @cached_property
    def _key(self) -> tuple[object, ...]:
        """What distinguishes a case from others: caches may forget it before it is asked again."""
        formats = self.work.weight_format, self.work.formats.kv.cache_bytes
        entries = id(self.chip), id(self.work.model)
        return *entries, *formats, self.chips, self.context

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Case) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def name(self) -> str:
        """The chips, model, context and format, as shown in a table row."""
        served = f"{self.work.model.id}, {self.context / 1024:g}k, {self.work.weight_format}"
        return f"{self.chips:g} {self.machine.hardware.id}, {served}"

    def largest(self, software: EngineParameters) -> int:
        """Return the largest batch that fits."""
        usable = self.chips * self.machine.tier.capacity * software.memory_fraction
        cache = float(self.work.cache_bytes(self.context))
        weights = self.work.weight_bytes
        return int(largest_batch(usable=usable, weights=weights, cache_per_sequence=cache))

    @cached_property
    def layout(self) -> Layout:
        """The layout: tensor parallel up to a limit, then data-parallel attention with experts."""
        chips = int(self.chips)
        if chips <= EXPERT_TENSOR_CHIPS or not self.work.experts:
            return Layout(tp=chips)
        return Layout(dp=chips, ep=chips)

    @cached_property
    def _together(self) -> Chip:
        """A chip with the combined bandwidth and peaks of all chips."""
        chip = self.machine.chip
        products = (product._replace(peak=self.chips * product.peak) for product in chip.products)
        return replace(chip, bandwidth=self.chips * chip.bandwidth, products=Kinds(*products))

    def _decode(self, layout: Layout) -> Callable[[Floats], PassWork]:
        """Return a function that gives the work of a decode step for a batch in a layout."""
        traffic = Traffic(prompt=self.context, output=0.0, context=self.context)
        placement = Placement(self.machine, self.work, layout, self.context)
        attention = attention_of(placement, traffic)

        def count(batch: Floats) -> PassWork:
            rows = PassInput(attention, batch / layout.dp, batch)
            return count_pass(placement, rows, in_flight=1.0)

        return count

    @cached_property
    def _decode_together(self) -> Callable[[Floats], PassWork]:
        """A function that gives the work of a decode step on all chips combined into one."""
        return self._decode(Layout())

    @cached_property
    def _sending_each(self) -> ArrayLike:
        """The communication time per sequence at the link rate, in seconds."""
        work = self._decode(self.layout)(np.ones(1))
        return sending_seconds(work, self.machine.chip, EngineParameters())

    def step(self, batch: Floats, software: EngineParameters) -> TextbookStep:
        """Return a decode step for a batch, with the time of each term."""
        step = textbook_step(self._decode_together(batch), self._together, software)
        return step._replace(sending=batch * self._sending_each)

    def batches(self, software: EngineParameters, slow: ArrayLike, fast: ArrayLike) -> Multiples:
        """Return the largest batches at two speeds, and the cost per token, fast over slow.

        Batch 0 and an infinite cost mean that a speed is not reached. Arrays run over the engines
        compared, each optionally with speeds of its own.
        """

        def speed_at(batch: Floats) -> Floats:
            return 1.0 / self.step(batch, software).seconds

        end = int(min(self.largest(software), LIMITS["sequences"].maximum)) + 1
        no_speed = 0.0 * np.asarray(software.decode_layer_floor)
        goals = np.stack([slow + no_speed, fast + no_speed])
        slow_batches, fast_batches = largest_reaching(speed_at, goals, 0, end)
        return slow_batches, fast_batches, cost_multiples(speed_at, slow_batches, fast_batches)


@dataclass(frozen=True)
class _CostQuestion:
    """A question about the ratio of costs per token at a fast and a slow speed, by software.

    software : The layer floor, bandwidth fraction and compute fraction of each.
    usable : The usable fraction of memory.
    """

    case: Case
    software: tuple[tuple[float, float, float], ...]
    usable: float
    slow: float
    fast: float

    def answer_all(self, questions: Sequence[Question]) -> "Sequence[Multiples | ArithmeticError]":
        """Answer each question with its batches and multiples, or with its error.

        Each case is evaluated as one array.
        """
        asked = [question for question in questions if isinstance(question, _CostQuestion)]
        answers: dict[_CostQuestion, Multiples | ArithmeticError] = {}
        for group in grouped(asked, lambda question: (question.case, question.usable)).values():
            try:
                answers.update(zip(group, _multiples_of(group), strict=True))
            except ArithmeticError as error:  # a chip or model of absurd size
                answers.update(dict.fromkeys(group, error))
        return [answers[question] for question in asked]


def _multiples_of(questions: Sequence[_CostQuestion]) -> Iterator[Multiples]:
    """Answer the questions for one case and one fraction of memory."""
    first, counts = questions[0], [len(question.software) for question in questions]
    floors, bandwidths, computes = np.array(
        [row for question in questions for row in question.software]
    ).T
    engine = engine_of(Software(floors, bandwidths, computes, first.usable))
    slow, fast = (
        np.repeat([float(speed) for speed in speeds], counts)
        for speeds in zip(*((question.slow, question.fast) for question in questions), strict=True)
    )
    with np.errstate(all="ignore"):
        all_tested = first.case.batches(engine, slow, fast)
    ends = np.cumsum(counts)[:-1]
    split = (np.split(numbers, ends) for numbers in all_tested)
    yield from zip(*split, strict=True)


def _costs(case: Case, engine: EngineParameters, slow: float, fast: float) -> Multiples:
    """Compute the batches and multiples of a case, together with other questions about it."""
    varied = (engine.decode_layer_floor, engine.bandwidth_fraction, engine.compute_fraction)
    columns = (np.ravel(numbers).tolist() for numbers in varied)
    rows = tuple(zip(*columns, strict=True))
    answer = SOLVED.ask(_CostQuestion(case, rows, float(engine.memory_fraction), slow, fast))
    if isinstance(answer, ArithmeticError):
        raise answer
    return cast(Multiples, answer)


class Served(NamedTuple):
    """Models and their chips as parallel lists. Weight formats are names, or ``native``."""

    models: list[str]
    machines: list[str]
    chips: ArrayLike
    contexts: ArrayLike
    weights: list[str]


class Software(NamedTuple):
    """How well each engine uses a chip: layer floors, fractions of the peaks, usable memory."""

    floors: ArrayLike
    bandwidth_shares: ArrayLike
    compute_shares: ArrayLike
    usable: float


def cases(catalogue: Catalogue, served: Served) -> list[Case]:
    """Return the cases to compute.

    8-bit weights imply an 8-bit KV cache, unless the cache is latent.
    """
    count = np.zeros(len(served.models))
    chips, contexts, _ = np.broadcast_arrays(served.chips, served.contexts, count)
    if not (np.all(contexts >= 1) and np.all(chips >= 1)):
        raise InputError("contexts and chips are at least 1")
    served_cases = []
    rows = zip(served.models, served.machines, served.weights, chips, contexts, strict=True)
    for model, name, weights, number, context in rows:
        entry = catalogue.model(model)
        caches = "fp8" if weights == "fp8" and not workload(entry).latent_layers else None
        work = workload(entry, None if weights == "native" else weights, caches)
        chip = catalogue.hardware(name)
        unit = machine(_whole(chip), _ANY, work, OWN_MEMORY)
        served_cases.append(Case(unit, work, float(number), float(context), chip))
    return served_cases


@once
def _whole(chip: Hardware) -> Hardware:
    """Treat a chip as one device, even if its cores run as several ranks."""
    return chip.model_copy(update={"ranks": None})


def engine_of(software: Software) -> EngineParameters:
    """Build engine parameters for all engines compared, without other overheads."""
    floors, bandwidth_shares, compute_shares = np.broadcast_arrays(
        np.atleast_1d(software.floors), *software[1:3]
    )
    fractions = (bandwidth_shares, compute_shares, software.usable)
    if np.any(floors < 0) or any(np.any(np.asarray(fraction) <= 0) for fraction in fractions):
        raise InputError("floors are at least 0, shares above 0")
    return EngineParameters(
        bandwidth_fraction=bandwidth_shares,
        compute_fraction=compute_shares,
        decode_layer_floor=floors,
        memory_fraction=software.usable,
    )


def cost_multiples_of(
    *, catalogue: Catalogue, served: Served, software: Software, slow: float, fast: float
) -> Array:
    """Return the cost per token, fast over slow, for every case and floor."""
    engine = engine_of(software)
    asked = [partial(_costs, case, engine, slow, fast) for case in cases(catalogue, served)]
    return np.concatenate([multiples for _, _, multiples in SOLVED.each(asked)])


def cost_table(
    *, catalogue: Catalogue, served: Served, software: Software, slow: float, fast: float
) -> Finding:
    """Tabulate cost multiples with batches, and the floor where each case costs `PRICE` times."""
    table: list[tuple[str, ...]] = []
    values: list[float] = []
    prices: list[float] = []
    engine = engine_of(software)
    for case in cases(catalogue, served):
        cells = []
        for slow_batch, fast_batch, value in zip(*case.batches(engine, slow, fast), strict=True):
            values.append(value)
            never = f"{fast if slow_batch else slow:g}: never"
            cells.append(
                f"{slow_batch:,}->{fast_batch:,} {value:.3g}x"
                if slow_batch and fast_batch
                else never
            )
        at = _floor_for(case, _one_of(engine, -1), slow, fast)
        prices += [1e6 * at] if np.isfinite(at) else []
        table.append((case.name, *cells, f"{1e6 * at:.3g} us" if np.isfinite(at) else "-"))
    reached = [value for value in values if np.isfinite(value)] or [float("inf")]
    floors = np.atleast_1d(software.floors)
    heads = [f"{floor * 1e6:g} us" if floor else "no floor" for floor in floors]
    price_range = (
        f"{PRICE:g}x the cost at a latency floor of {min(prices):.3g} to {max(prices):.3g} us"
        if prices
        else "none"
    )
    return finding(
        np.array(values),
        ("least multiple", min(reached), "x"),
        ("largest multiple", max(reached), "x"),
        ("combinations out of reach", np.sum(~np.isfinite(values))),
        ("combinations tried", len(values)),
        rows=FindingRows(("case", *heads, f"{PRICE:g}x at"), tuple(table)),
        break_even=f"{price_range} per layer, in {len(prices)} of {len(table)} cases"
        if prices
        else price_range,
    )


def _floor_for(case: Case, software: EngineParameters, slow: float, fast: float) -> float:
    """Return the smallest floor at which a token costs `PRICE` times as much. NaN if all do. [s]"""

    def is_as_expensive(floors: Floats) -> Bools:
        with_floors = replace(software, decode_layer_floor=floors)
        return np.asarray(case.batches(with_floors, slow, fast)[2] >= PRICE)

    beyond = 1.0 / fast / case.work.layers  # beyond this floor, the fast speed is not reached
    ends = first_changed(is_as_expensive, 0.0, beyond, points=_FLOORS + 1, rounds=2)
    return ends[1] if ends and ends[1] else float("nan")


def saving_by_flops(
    *, catalogue: Catalogue, served: Served, software: Software, slow: float, fast: float
) -> Finding:
    """Return the fraction of the time saved by a smaller batch that is due to fewer FLOPs."""
    case, engine = cases(catalogue, served)[0], _one_of(engine_of(software), 0)
    batch = np.array(_costs(case, engine, slow, fast)[:2], float)[:, 0]
    if not batch.all():
        raise InputError(f"{case.name} does not reach both speeds")
    step = case.step(batch, engine)
    beyond, seconds = step.beyond_reading, step.seconds
    terms = np.broadcast_arrays(step.caches, step.weights, step.computing, step.waiting)
    return finding(
        (beyond[0] - beyond[1]) / float(seconds[0] - seconds[1]),
        ("batch at the slow speed", batch[0]),
        ("batch at the fast speed", batch[1]),
        *(
            (f"{name}, {speed} speed", float(times[tier]) * 1e3, "ms")
            for name, times in zip(("cache", "weights", "compute", "floor"), terms, strict=True)
            for tier, speed in enumerate(("slow", "fast"))
        ),
    )


def _one_of(engine: EngineParameters, index: int) -> EngineParameters:
    """Return the engine parameters of one case out of several."""
    varied = ("bandwidth_fraction", "compute_fraction", "decode_layer_floor")
    return replace(engine, **{name: np.asarray(engine.value(name))[index] for name in varied})
