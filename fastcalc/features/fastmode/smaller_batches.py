"""The cost of a speed-up by a smaller batch, from every starting batch on the same chips.

Both ends use the best layout, so that no starting point or layout has to be assumed.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from fastcalc.catalogue.schema import Engine, Hardware, Parameters
from fastcalc.catalogue.store import Catalogue
from fastcalc.core.chip.machine import parameters_on
from fastcalc.core.placement.layout import Layout
from fastcalc.core.scenario import Scenario, engine_for
from fastcalc.core.smaller_batch import Batches, speeds
from fastcalc.core.step.schedule import Schedule
from fastcalc.features.fastmode.start import readable
from fastcalc.formulas.solving import first_changed, largest_reaching
from fastcalc.formulas.types import Bools, Floats
from fastcalc.grid.space import Space


@dataclass(frozen=True, eq=False)
class Curve:
    """The cost of a speed-up from each start, for one engine and one pair of formats.

    floor : The time of a single-sequence step without reading, computing and communication, in
        seconds.
    chips, speedup : The number of chips at both ends, and the speed-up requested.
    starts, speed, before : The batch, speed per user and layout at the start.
    batch, faster, after : The same at the end; 0 and NaN if no batch is fast enough.
    alone : The tokens/s of a single user in the best layout for one user. [1/s]
    """

    space: Space
    chips: int
    speedup: float
    floor: float
    starts: Batches
    speed: Floats
    before: Sequence[Layout]
    batch: Batches
    faster: Floats
    after: Sequence[Layout]
    alone: float

    @property
    def multiple(self) -> Floats:
        """The cost per output token at the end relative to the start.

        It is NaN if the speed is never reached.
        """
        return np.asarray(self.starts * self.speed / (np.maximum(self.batch, 1) * self.faster))

    def ends(self, cost: float = np.inf) -> tuple[int, int] | None:
        """Return the smallest and largest starting batch with a cost multiple within a limit.

        Batches between neighboring starts are searched as well. Returns None if there are none. [1]
        """
        paid = np.flatnonzero(self.multiple <= cost)
        if not len(paid):
            return None
        first, last = int(paid[0]), int(paid[-1])
        fewest, largest = int(self.starts[first]), int(self.starts[last])
        if first:
            fewest = self._turn(int(self.starts[first - 1]), fewest, cost)
        if last + 1 < len(self.starts):
            largest = self._turn(int(self.starts[last + 1]), largest, cost)
        return fewest, largest

    def _turn(self, missed: int, paid: int, cost: float) -> int:
        """Bisect for the first start within the cost limit."""
        direction = 1 if paid > missed else -1

        def is_paid(starts: Floats) -> Bools:
            rising = starts[::direction].astype(np.int64)
            between = curve(self.space.scenario, self.chips, rising, self.speedup)
            assert between is not None, "the chips fit all batches in between"
            return np.asarray((between.multiple <= cost)[::direction])

        ends = first_changed(is_paid, missed, paid, points=_TRIED)
        assert ends is not None, "the second end costs no more"
        return int(ends[1])


def curve(scenario: Scenario, chips: int, starts: Batches, speedup: float) -> Curve | None:
    """Compute the cost of a speed-up from each start. Returns None if no batch fits the chips.

    The scenario's own batches and chips are ignored. Raises the InputErrors of `Space.site`.
    """
    space = Space(scenario)
    layouts = space.cuts(chips)
    if not layouts:
        return None
    placements, traffic = space.site.place_all(layouts, axes=1), scenario.traffic
    max_batch = np.broadcast_to(np.asarray(placements.max_batch), (len(layouts), 1))
    user_speeds = speeds(placements, traffic, np.minimum(starts, max_batch).astype(float))
    user_speeds = np.where(starts <= max_batch, user_speeds, 0.0)
    now, rows = user_speeds.max(axis=0), user_speeds.argmax(axis=0)
    goals = now * speedup * (1.0 - 1e-12)
    # Speed falls with the batch, so each end lies between two neighboring starts.
    reaching = np.sum(user_speeds[:, np.newaxis, :] >= goals[:, np.newaxis], axis=2) * (now > 0.0)
    low, high = (np.append([0, *starts], starts[-1] + 1)[reaching + offset] for offset in (0, 1))
    batches = largest_reaching(
        partial(speeds, placements, traffic), goals, low, np.minimum(high, max_batch + 1)
    )
    quick = speeds(placements, traffic, np.maximum(batches, 1).astype(float))
    best_rows = (batches * quick).argmax(axis=0)
    ends = np.arange(len(starts))
    batch = np.where(now > 0.0, batches[best_rows, ends], 0)
    alone = speeds(placements, traffic, 1.0)[:, 0]
    step = Schedule(space.site.place(layouts[int(alone.argmax())]), traffic, np.ones(1)).decode
    return Curve(
        space,
        chips,
        speedup,
        # Serial time: launches, messages, hops.
        float(sum(np.sum(component.by_limiter()[3]) for component in step.components)),
        starts,
        np.where(now > 0.0, now, np.nan),
        [layouts[row] for row in rows],
        batch,
        np.where(batch > 0, quick[best_rows, ends], np.nan),
        [layouts[row] for row in best_rows],
        float(alone.max()),
    )


FLOORS = 2.0 ** np.arange(-3.0, 5.25, 0.5) * 1e-3  # latency floors of a simplified step [s]
_STARTS = 4  # starting batches per octave
_TRIED = 18  # starts per round of the search for an end, including both limits
MEASURED = ("vllm", "tensorrt-llm")  # shown if fitted on the chip, as is the lowest floor


@dataclass(frozen=True, eq=False)
class Study:
    """The cost of a speed-up by a smaller batch on one chip type.

    engines, floors : The curves in native and narrowest formats, and of a simplified step with each
        of `FLOORS`.
    """

    chips: int
    speedup: float
    engines: list[Curve]
    floors: list[Curve]


def study(scenarios: Sequence[Scenario], chips: int, speedup: float) -> Study | None:
    """Compute the curves of scenarios that differ in engine or formats, or None if there are none.

    The first scenario must be in native formats. The floors are applied to it.
    """
    spaces = [Space(scenario) for scenario in scenarios]
    holding = [(space, layouts) for space in spaces if (layouts := space.cuts(chips))]
    if not holding or holding[0][0] is not spaces[0]:
        return None
    max_batch = max(float(np.max(space.site.place_all(cut).max_batch)) for space, cut in holding)
    octaves = 2.0 ** (np.arange(int(np.log2(max_batch) * _STARTS) + 1) / _STARTS)
    starts = np.unique(np.append(np.round(octaves), max_batch)).astype(np.int64)
    engines = [curve(space.scenario, chips, starts, speedup) for space, _ in holding]
    floors = [
        curve(textbook(scenarios[0], floor), chips, starts, speedup) for floor in FLOORS.tolist()
    ]
    drawn = [[line for line in curves if line is not None] for curves in (engines, floors)]
    return Study(chips, speedup, *drawn)


def engines_of(catalogue: Catalogue, hardware: Hardware) -> list[Engine]:
    """Return the engines measured on a chip, including the one with the lowest layer floor."""
    default, _ = engine_for(catalogue, hardware)
    floors = {}
    for engine in readable(catalogue.engine, catalogue.names("engines")):
        floor = float(parameters_on(engine, hardware).decode_layer_floor)
        is_measured = hardware.architecture in engine.fitted_architectures and not engine.is_bound
        if floor and is_measured:
            floors[engine.id] = floor
    lowest = [min(floors, key=lambda name: floors[name])] if floors else []
    names = [name for name in MEASURED if name in floors] + lowest
    return [catalogue.engine(name) for name in dict.fromkeys([default.id, *names])]


def textbook(scenario: Scenario, floor: float) -> Scenario:
    """Replace a scenario's software by one that reaches all peaks, with a latency floor. [s]"""
    parameters = {"decode_layer_floor": f"{floor / scenario.work.depth * 1e6!r} us"}
    engine = Engine(
        id="textbook",
        name="Textbook step with a floor",
        fitted_on="nothing: data-sheet rates for every byte and FLOP, plus a latency floor",
        parameters=Parameters.model_validate(parameters),
    )
    return replace(scenario, engine=engine, engine_is_borrowed=False)
