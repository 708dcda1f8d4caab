"""Automatic choice of the usual layout with the highest throughput.

If no number of chips is given, each batch uses the fewest chips that fit it safely, which depends
on the engine's maximum memory reserve and on its sequence limit.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import inf
from typing import NamedTuple, TypeAlias

import numpy as np

from fastcalc.catalogue.once import Answer, Arguments
from fastcalc.core.chip.formats_run import refused_formats
from fastcalc.core.estimate import Estimate
from fastcalc.core.placement.layout import Layout, LayoutError
from fastcalc.core.placement.legal import MOST_CHIPS
from fastcalc.core.placement.placement import Placement, Placements, Site
from fastcalc.core.placement.practice import copies_run_by_people, run_by_people, usual_layouts
from fastcalc.core.stacked import Evaluation, evaluate_all
from fastcalc.core.start_checks import certain_check
from fastcalc.core.traffic.traffic import Traffic
from fastcalc.formulas.types import Array, ArrayLike, Bools, Floats, Ints, floats
from fastcalc.mentions import option


def _once_a_site(
    count: Callable[[Site, *Arguments], Answer],
) -> Callable[[Site, *Arguments], Answer]:
    """Cache results for sites with a single request type. Other results are too large."""
    cached = lru_cache(maxsize=256)(count)

    def counted(site: Site, *arguments: *Arguments) -> Answer:
        if isinstance(site.reserved_tokens, float):
            return cached(site, *arguments)
        return count(site, *arguments)

    return counted


class Chosen(NamedTuple):
    """The layout that was chosen for each batch.

    layouts : The candidate layouts.
    positions : The index of the layout of each batch.
    max_batch : The largest batch that fits safely on the same chips in their best layout.
    """

    layouts: list[Layout]
    positions: Ints
    max_batch: Floats

    @property
    def first(self) -> Layout:
        """The layout of the first batch."""
        return self.layouts[int(self.positions[0])]


def layouts_on_offer(site: Site, chips: Collection[int] | None = None) -> list[Layout]:
    """List the layouts with a single copy of the weights that fit a sequence and start.

    Only usual layouts are listed, or the smallest legal layout that fits a sequence if no usual one
    does.

    chips : The allowed numbers of chips, or None for any.

    Raises LayoutError if the engine has no kernel for the weights.
    """
    check_start(site)
    holding_layouts = holding(site, usual_layouts(site))
    if not holding_layouts:
        smallest = site.smallest(1)
        holding_layouts = [smallest.layout] if smallest else []
    return [layout for layout in holding_layouts if chips is None or layout.chips in chips]


def check_start(site: Site) -> None:
    """Raise an error if a format has no kernel, or if the requested memory share may not be free.

    The LayoutError suggests which formats or memory share to use instead.
    """
    machine = site.machine
    if why := refused_formats(machine.engine, machine.hardware, site.work):
        raise LayoutError("the engine has no kernel for these formats there", why)
    start = certain_check(site.place(Layout()))
    if start.is_share_taken and start.line:
        give = f"give {option('gpu_memory_utilization', start.share_to_give)}"
        stops = f"{machine.engine.id} may stop on {machine.hardware.id} with '{start.line}'"
        raise LayoutError(
            "the system uses part of the memory that the engine would ask for", f"{stops}; {give}"
        )


def open_layouts(site: Site, chips: int) -> list[Layout]:
    """List the usual layouts on a number of chips, or any legal ones if none of these fits.

    Raises LayoutError if there are none.
    """
    if practised := practised_layouts(site, chips):
        return practised
    if layouts := list(site.exactly(chips)):
        return layouts
    why = "" if site.is_joined(Layout(pp=chips * site.machine.ranks)) else f"{site.unjoined}; "
    ranks = f"{option('tp')}, {option('pp')} and {option('dp')}, or another {option('chips')}"
    engine = site.machine.engine
    give = (
        f"give {ranks}"
        if site.defaults_to("dp")
        else (
            f"{engine.name} starts a server for each copy of the model: give the {option('chips')} "
            "of one"
        )
    )
    raise LayoutError(
        "chips beyond what the model can be laid out over",
        f"{site.work.model.id} cannot be laid out over {chips} chips of "
        f"{site.machine.hardware.id}; {why}{give}",
    )


def practised_layouts(site: Site, chips: int) -> list[Layout]:
    """List the usual layouts on a number of chips that fit the weights and one token."""
    layouts = list(dict.fromkeys(copies_run_by_people(site, chips)))
    one_token, reserves = replace(site, reserved_tokens=1.0), site.machine.reserve.above
    return _holding(layouts, lambda: one_token.place_all(layouts, axes=1).held_beside(reserves))


def on_fewer_chips(site: Site, chips: int) -> Placement | None:
    """Place the workload on the next smaller usual number of chips, in its largest-capacity layout.

    Returns None if every usual layout needs at least as many chips.
    """
    for count in range(chips - 1, 0, -1):
        if layouts := practised_layouts(site, count) or list(run_by_people(site, count)):
            placements = site.place_all(layouts)
            holding_layouts = np.broadcast_to(placements.edge_batch, (len(layouts),))
            free = np.broadcast_to(placements.available, (len(layouts),))
            return site.place(layouts[int(np.lexsort((free, holding_layouts))[-1])])
    return None


def holding(site: Site, layouts: Sequence[Layout]) -> list[Layout]:
    """Filter the layouts that start and fit a sequence of at least one request type."""
    return _holding(layouts, lambda: site.place_all(layouts, axes=1).max_batch)


def _holding(layouts: Sequence[Layout], count: Callable[[], Array | int]) -> list[Layout]:
    """Filter layouts by how many sequences each fits.

    count : Counts them, one row for each layout.
    """
    if not layouts:
        return []
    largest = np.max(np.atleast_2d(count()), axis=-1)
    is_held = np.broadcast_to(largest >= 1, (len(layouts),))
    return [layout for layout, fits in zip(layouts, is_held, strict=True) if fits]


class LayoutQuestion(NamedTuple):
    """A request to choose a layout for each of several batches.

    site : A workload on a chip type. For several request types, the reserved tokens are an array
        with the types along the first of three axes and length one along the others.
    chips : The number of chips, or None for the fewest that fit each batch.
    """

    site: Site
    chips: int | None
    batches: Floats
    traffic: Traffic


def chosen_layouts(site: Site, chips: int | None, batches: Floats, traffic: Traffic) -> Chosen:
    """Choose a layout for each batch, on a number of chips or on the fewest that fit the batch.

    Among the layouts that fit the batch safely, or else tightly, the one with the highest
    throughput, including prefill, is chosen. If none fits, the layout with the largest capacity is
    chosen. If no number of chips fits the batch, a single chip is used.

    Raises LayoutError if no layout exists for this number of chips.
    """
    (chosen,) = choose_all([LayoutQuestion(site, chips, batches, traffic)])
    if isinstance(chosen, LayoutError):
        raise chosen
    return chosen


def choose_all(questions: Iterable[LayoutQuestion]) -> list[Chosen | LayoutError]:
    """Choose layouts for many deployments at once, like `chosen_layouts`.

    The result for a deployment is an error if no layout exists for its number of chips.
    """
    answered: list[tuple[LayoutQuestion, list[_Choice] | Chosen | LayoutError]] = []
    for question in questions:
        try:
            answered.append((question, _chosen_before(question) or list(_choices(question))))
        except LayoutError as error:
            answered.append((question, error))
    candidates = [choice for _, of_one in answered if isinstance(of_one, list) for choice in of_one]
    evaluations = [choice.tried for choice in candidates if choice.tried is not None]
    estimates = iter(evaluate_all(evaluations))
    return [
        _kept(question, _chosen(question, of_one, estimates))
        if isinstance(of_one, list)
        else of_one
        for question, of_one in answered
    ]


_Choices: TypeAlias = dict[tuple[int | None, float, int], tuple[Traffic, Chosen]]


@_once_a_site
def _choices_made(site: Site) -> _Choices:  # noqa: ARG001  (the key)
    """Return a cache of choices by number of chips, batch and traffic."""
    return {}


def _kept(question: LayoutQuestion, chosen: Chosen) -> Chosen:
    """Cache the choice for each batch, which is the same if the batch is alone."""
    site, chips, batches, traffic = question
    layouts, positions, max_batch = chosen
    for at, batch in enumerate(batches.tolist() if positions.ndim == 1 else []):
        alone = Chosen(layouts, positions[at : at + 1], max_batch[at : at + 1])
        _choices_made(site)[chips, batch, id(traffic)] = traffic, alone
    return chosen


def _chosen_before(question: LayoutQuestion) -> Chosen | None:
    """Look up the choice for a single batch, such as one of an earlier question."""
    site, chips, batches, traffic = question
    if np.shape(batches) != (1,):
        return None
    return _choices_made(site).get((chips, float(batches[0]), id(traffic)), (traffic, None))[1]


def _chosen(
    question: LayoutQuestion, choices: "Sequence[_Choice]", estimates: Iterator[Estimate]
) -> Chosen:
    """Combine the layouts chosen for the batches of a question.

    A single chip is used for batches that no number of chips fits.

    estimates : The estimates of the candidate layouts, in order.
    """
    candidates = [choice.best(next(estimates) if choice.tried else None) for choice in choices]
    is_here = choices[0].is_here if len(choices) == 1 else np.zeros(1, dtype=bool)
    if is_here is None or (is_here.ndim == 1 and is_here.all()):
        return candidates[0]  # all batches use the same number of chips
    site, rows = question.site, np.shape(question.site.reserved_tokens)[:1]
    shape = (*rows, *np.atleast_1d(question.batches).shape)
    layouts, positions = [site.counted(Layout())], np.zeros(shape, dtype=np.intp)
    max_batch = np.zeros(shape)
    for choice, subset in zip(choices, candidates, strict=True):
        assert choice.is_here is not None
        positions[choice.is_here] = subset.positions.ravel() + len(layouts)
        max_batch[choice.is_here] = subset.max_batch.ravel()
        layouts += subset.layouts
    if not positions.all():
        alone = floats(site.place_all(layouts[:1], axes=1).max_batch)[..., 0]
        max_batch = np.where(positions, max_batch, alone)
    return Chosen(layouts, positions, max_batch)


def _choices(question: LayoutQuestion) -> "Iterator[_Choice]":
    """Yield the candidate layouts for each number of chips used by any batch."""
    site, chips, batches, traffic = question
    if chips is not None:
        yield _choice(site, chips, batches, traffic)
        return
    counts = fewest_chips(site, batches)
    for count in _different(counts[np.isfinite(counts)]):
        is_here = counts == count
        if is_here.ndim == 1:
            choice = _choice(site, count, batches[is_here], traffic)
        else:  # the requests and batches that use this number of chips
            rows, columns = np.nonzero(is_here)
            subset = replace(site, reserved_tokens=floats(site.reserved_tokens)[rows])
            points = batches[columns][:, np.newaxis, np.newaxis]
            choice = _choice(subset, count, points, traffic.at(rows))
        yield replace(choice, is_here=is_here)


@_once_a_site
def open_placements(site: Site, chips: int) -> tuple[list[Layout], Placements]:
    """List the layouts allowed on a number of chips, and place the workload on all of them."""
    layouts = open_layouts(site, chips)
    return layouts, site.place_all(layouts, axes=1)


@dataclass(frozen=True, eq=False)
class _Choice:
    """The candidate layouts on a number of chips, from which each batch gets one.

    limits : The largest batch that fits safely in each layout.
    rate : The score of layouts whose throughput is not evaluated.
    is_tried, holds : The layouts whose throughput is evaluated, and whether they fit each batch.
    tried : The layouts to evaluate, or None if there is no choice.
    is_here : The batches on this number of chips, or None for all of them.
    """

    layouts: list[Layout]
    limits: Floats
    rate: Floats
    is_tried: Bools
    holds: Bools
    tried: Evaluation | None
    is_here: Bools | None = None

    def best(self, estimate: Estimate | None) -> Chosen:
        """Choose the layout with the highest throughput for each batch."""
        rate, is_tried = self.rate, self.is_tried
        if estimate is not None:
            subset = rate[..., is_tried, :]
            rate[..., is_tried, :] = np.where(self.holds[..., is_tried, :], estimate.served, subset)
        return Chosen(self.layouts, rate.argmax(axis=-2), self.limits.max(axis=-2))


def _choice(site: Site, chips: int, batches: Floats, traffic: Traffic) -> _Choice:
    layouts, placements = open_placements(site, chips)
    shape = np.broadcast_shapes(
        np.shape(placements.max_batch), np.shape(batches), (len(layouts), 1)
    )
    limits, at_edge = (
        np.broadcast_to(limit, shape) for limit in (placements.max_batch, placements.edge_max_batch)
    )
    is_safe = limits >= batches
    holds = np.where(is_safe.any(axis=-2, keepdims=True), is_safe, at_edge >= batches)
    rate = -1.0 / np.maximum(limits, 0.5)  # if no layout fits the batch, the largest capacity wins
    is_tried = np.atleast_1d(holds.any(axis=(*range(holds.ndim - 2), -1)))
    evaluation: Evaluation | None = None
    if is_tried.sum() > 1:
        chosen = [layout for layout, fits in zip(layouts, is_tried, strict=True) if fits]
        fitting = placements if is_tried.all() else site.place_all(chosen, axes=1)
        evaluation = Evaluation(fitting, batches, traffic)
    return _Choice(layouts, limits, rate, is_tried, holds, evaluation)


def fewest_chips(site: Site, batches: ArrayLike) -> Floats:
    """Return the smallest usual chip count that fits each batch, or NaN if none does.

    Each copy of the weights adds the same batch. If the model fits in no usual layout, the default
    legal layouts are used.

    site : The site, whose reserved tokens have the shape required by `LayoutQuestion`.
    batches : The batches of the whole deployment, along a single axis.
    """
    sequences = floats(np.atleast_1d(batches))
    counts, largest = _held(site, True)
    copies = np.where(largest > 0.0, np.ceil(sequences / np.maximum(largest, 1.0)), inf)
    if site.machine.is_spatial or not site.defaults_to("dp"):
        copies = np.where(copies > 1.0, inf, copies)
    fewest = (counts * copies).min(axis=0, initial=inf)
    fewest = _beside_shared_memory(site, np.where(fewest <= MOST_CHIPS, fewest, inf), sequences)
    if not np.isfinite(fewest).all():
        counts, largest = _held(site, False)
        by_default = np.where(largest >= sequences, counts, inf).min(axis=0, initial=inf)
        fewest = np.where(np.isfinite(fewest), fewest, by_default)
    return np.where(np.isfinite(fewest), fewest, np.nan)


@_once_a_site
def _held(site: Site, is_usual: bool) -> tuple[Floats, Floats]:
    """List chip counts, and the capacity of one copy of the weights on each.

    is_usual : Whether usual or default layouts are listed.
    """
    layouts = usual_layouts(site) if is_usual else site.default_layouts
    largest = site.place_all(layouts, axes=1).max_batch
    shape = (*np.shape(site.reserved_tokens)[:1], len(layouts), 1)
    largest = np.broadcast_to(floats(largest), shape)
    chips = np.array([layout.chips for layout in layouts])
    order = np.argsort(chips, kind="stable")
    starts = np.flatnonzero(np.diff(chips[order], prepend=0))
    fitting = np.maximum.reduceat(largest[..., order, :], starts, axis=-2)
    fitting = np.moveaxis(fitting, -2, 0)
    counts = chips[order[starts]].astype(float)
    return counts.reshape(-1, *(1,) * (fitting.ndim - 1)), fitting


def _different(counts: Floats | Ints) -> list[int]:
    # numpy.unique imports masked arrays, which takes longer than computing a short answer.
    return sorted({int(count) for count in counts.tolist()})


def _beside_shared_memory(site: Site, fewest: Floats, batches: Floats) -> Floats:
    """Find the fewest chips if copies share a memory and each fits less than a lone copy."""
    if all(tier.shared_by == 1.0 for tier in site.machine.tiers):
        return fewest
    is_open = np.isfinite(fewest)
    while is_open.any():
        for count in _different(fewest[is_open]):
            is_short = is_open & (fewest == count)
            if layouts := practised_layouts(site, int(count)):
                fitting = site.place_all(layouts, axes=1).max_batch
                largest = np.broadcast_to(floats(fitting), (*fewest.shape[:-1], len(layouts), 1))
                is_short &= largest.max(axis=-2) < batches
            is_open &= (fewest != count) | is_short
            fewest = np.where(is_short, fewest + 1.0, fewest)
        is_open &= fewest <= MOST_CHIPS
    return np.where(fewest <= MOST_CHIPS, fewest, inf)
