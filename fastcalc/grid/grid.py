"""Full grid of request types, layouts and batches for a deployment, evaluated in blocks.

There is no loop over points: values that depend on few axes are computed once and broadcast. Blocks
are small enough for their arrays to stay in the CPU cache.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import floor, inf, prod
from typing import Any

import numpy as np

from fastcalc.core.chosen_layouts import LayoutQuestion, choose_all, fewest_chips, open_layouts
from fastcalc.core.estimate import Estimate
from fastcalc.core.outcome import Location, layout_notes, site_of, warnings_of
from fastcalc.core.overflow import batch_without_host, overflow_note, overflows
from fastcalc.core.placement.layout import Layout, LayoutError, Layouts
from fastcalc.core.placement.placement import Placements, Site
from fastcalc.core.scenario import Scenario, Sharding
from fastcalc.core.stacked import Count, Evaluation, evaluate_all
from fastcalc.core.traffic.traffic import Traffic
from fastcalc.core.verdict import edge_notes
from fastcalc.formulas.types import Floats, Ints
from fastcalc.grid.column import Column, values
from fastcalc.grid.columns import COLUMNS, Columns
from fastcalc.grid.evaluated_points import CodedColumn, EvaluatedPoints, places
from fastcalc.grid.request_lists import OpenRequests, Requests

BLOCK = 16_384  # points: 128 kB per array, so that many arrays fit in the caches
_TRIED = 4  # blocks of points over all candidate layouts, if layouts are not given
_OPEN = 16  # usual number of candidate layouts


@dataclass(frozen=True, eq=False)
class Grid:
    """All combinations of layouts, request types and batches for a deployment.

    scenario : The deployment; its own batches and sharding are ignored.
    layouts : The layouts; if empty, the best layout is chosen for each batch.
    batches : The numbers of sequences decoded together, optionally with a row per layout.
    chips : The number of chips if no layouts are given, or None for the fewest that fit each batch.
    """

    scenario: Scenario
    layouts: tuple[Layout, ...]
    requests: Requests | OpenRequests
    batches: Floats
    chips: int | None = None

    @property
    def shape(self) -> tuple[int, int, int]:
        """The numbers of request types, layouts and batches."""
        return len(self.requests), max(len(self.layouts), 1), self.batches.shape[-1]

    @property
    def size(self) -> int:
        """The number of points."""
        return prod(self.shape)

    @cached_property
    def site(self) -> Site:
        """The model on its chip type, with no cache reserved."""
        return site_of(self.scenario, 0.0)

    def part(self, **axes: Any) -> "Grid":
        """Return the grid for a subset of layouts, requests or batches."""
        return replace(self, **axes)

    def blocks(self, size: int = BLOCK) -> Iterator["Grid"]:
        """Split the grid into blocks of limited size, yielded in order."""
        row_count, layouts, batches = self.shape
        if not self.layouts:  # every layout with as many chips is evaluated
            count = _OPEN if self.chips is None else len(open_layouts(self.site, self.chips))
            size = max(_TRIED * size // count, 1)
        width = min(batches, size)
        high = max(min(layouts, size // width), 1)
        deep = max(min(row_count, size // (width * high)), 1)
        for kind in range(0, row_count, deep):
            for row in range(0, layouts, high):
                for batch in range(0, batches, width):
                    yield self.part(
                        layouts=self.layouts[row : row + high],
                        requests=self.requests[kind : kind + deep],
                        batches=self.batches[batch : batch + width],
                    )


def solved(grid: Grid) -> EvaluatedPoints:
    """Evaluate all points of a grid at once, bit-identical to evaluating each point separately."""
    return solved_all([grid])[0]


def solved_all(grids: Iterable[Grid], together: Sequence[Count] = ()) -> list[EvaluatedPoints]:
    """Evaluate the grids of several deployments at once, bit-identical to separate evaluation.

    together : As in `evaluate_all`.
    """
    placed = _placed(list(grids))
    evaluations = (
        Evaluation(placed_grid.placement, placed_grid.grid.batches, placed_grid.traffic)
        for placed_grid in placed
    )
    estimates = evaluate_all(evaluations, together)
    return [
        placed_grid.evaluated(estimate)
        for placed_grid, estimate in zip(placed, estimates, strict=True)
    ]


@dataclass(frozen=True, eq=False)
class _PlacedGrid:
    """A grid after a layout has been chosen for each point.

    listed, positions : The distinct layouts, and the index of the layout of each point.
    max_batch : The largest batch that fits on the chips of each point, or None if layouts are
        given.
    """

    grid: Grid
    site: Site
    traffic: Traffic
    listed: list[Layout]
    positions: Ints
    max_batch: Floats | None
    placement: Placements

    def evaluated(self, estimate: Estimate) -> EvaluatedPoints:
        """Combine the points with their estimate."""
        grid, site, placement = self.grid, self.site, self.placement
        scenario, chips = grid.scenario, placement.layout.chips
        price = scenario.pricing.per_chip_hour(scenario.hardware)
        return EvaluatedPoints(
            scenario=scenario,
            estimate=estimate,
            usd_per_hour=None if price is None else price * chips,
            min_chips=lambda: np.fmin(
                np.atleast_2d(fewest_chips(site, grid.batches))[:, np.newaxis],
                np.where(placement.max_batch >= grid.batches, chips, np.nan),
            ),
            largest_batch=lambda: placement.max_batch if self.max_batch is None else self.max_batch,
            locations=lambda: places(estimate, self.positions, self.listed, site),
            warnings=lambda: self._warnings(estimate),
        )

    def _warnings(self, estimate: Estimate) -> CodedColumn:
        """Collect the notes on each point, including overflow, tight fits and its layout."""
        scenario, host = self.grid.scenario, self.grid.scenario.memory.host
        notes = _notes_by_size(scenario, self.site, estimate)
        if host is not None and (is_over := overflows(estimate)).any():
            near = np.broadcast_to(batch_without_host(estimate.placement), is_over.shape)
            limits, over = np.unique(np.where(is_over, near, 0.0), return_inverse=True)
            on_over = [
                [overflow_note(host.id, limit)] if limit else [] for limit in limits.tolist()
            ]
            notes = _joined(notes, over.reshape(is_over.shape), on_over)
        notes = _joined(notes, 1 * estimate.is_at_edge, [[], edge_notes(self.site.machine)])
        sharding = Sharding(self.grid.chips)
        of_layouts = [tuple(layout_notes(self.site, layout, sharding)) for layout in self.listed]
        distinct = list(dict.fromkeys(of_layouts))
        kind_of = np.array([distinct.index(note) for note in of_layouts])
        return _joined(notes, kind_of[self.positions], distinct, is_first=False)


def _placed(grids: Sequence[Grid]) -> list[_PlacedGrid]:
    """Place grids on their layouts, choosing those of all grids without any together."""
    traffics = [grid.requests[:].traffic(grid.scenario.traffic) for grid in grids]
    each = (traffic.reserved_each for traffic in traffics)
    reserved = (tokens if tokens.size > 1 else float(tokens.item()) for tokens in each)
    sites = list(map(site_of, (grid.scenario for grid in grids), reserved))
    of_each = list(zip(grids, sites, traffics, strict=True))
    chosen = iter(
        choose_all(
            LayoutQuestion(site, grid.chips, grid.batches, traffic)
            for grid, site, traffic in of_each
            if not grid.layouts
        )
    )
    placed = []
    for grid, site, traffic in of_each:
        listed, max_batch = list(grid.layouts), None
        positions: Ints = np.arange(len(listed))[:, np.newaxis]
        if listed:
            placement = site.place_all(listed, axes=1)
        else:
            choice = next(chosen)
            if isinstance(choice, LayoutError):
                raise choice
            listed, positions = choice.layouts, np.atleast_2d(choice.positions)[:, np.newaxis]
            layouts = Layouts.of(listed).at(positions)
            max_batch = np.atleast_2d(choice.max_batch)[:, np.newaxis]
            placement = Placements(site.machine, site.work, layouts, site.reserved_tokens)
        placed.append(_PlacedGrid(grid, site, traffic, listed, positions, max_batch, placement))
    return placed


def solve_grid(grid: Grid, columns: Sequence[Column[EvaluatedPoints]] = COLUMNS) -> Columns:
    """Evaluate columns for a grid, which broadcast to its shape. Text columns are slow."""
    return solve_grids([grid], columns)[0]


def solve_grids(
    grids: Iterable[Grid], columns: Sequence[Column[EvaluatedPoints]] = COLUMNS
) -> list[Columns]:
    """Evaluate columns for the grids of several deployments at once, like `solve_grid`."""
    return [values(columns, points) for points in solved_all(grids)]


def _notes_by_size(scenario: Scenario, site: Site, estimate: Estimate) -> CodedColumn:
    """Collect the notes that depend on the numbers of chips and sequences.

    These concern the chips' link domain and the engine's limit on sequences.
    """
    limit, layout = float(site.machine.max_sequences), estimate.placement.layout
    is_beyond = estimate.batch / layout.dp > limit
    beyond = floor(limit) + 1 if limit < inf else 1
    size = 1 * (layout.chips > 1) + (layout.chips > site.chips_joined)
    codes = size + 3 * (1 * (estimate.batch > 1) + is_beyond)
    notes: list[list[str]] = [[] for _ in range(9)]
    for code in set(codes.ravel().tolist()):
        batch, chips = (1, 2, beyond)[code // 3], (1, 2, site.chips_joined + 1)[code % 3]
        placement = site.place(Layout(pp=chips * site.machine.ranks))
        one_batch = replace(scenario, batches=(batch,))
        location = Location(one_batch, site, placement, is_default_layout=False)
        notes[code] = list(warnings_of(location))
    return CodedColumn(codes, tuple(notes))


def _joined(
    column: CodedColumn, codes: Ints, further: Sequence[Sequence[str]], *, is_first: bool = True
) -> CodedColumn:
    """Add one of several lists of notes to those of each point, before or after them."""
    words = tuple(
        [*notes, *word] if is_first else [*word, *notes]
        for notes in further
        for word in column.words
    )
    return CodedColumn(column.codes + len(column.words) * codes, words)
