"""Choose between options: the winner, break-even values, and a map of winners."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from fastcalc.core.ratios import Ranged, cost_range, independent_ratio, is_level
from fastcalc.features.decide.agent_run import (
    Prospect,
    Run,
    Terms,
    prospect,
    routed,
    run_of,
    window_tokens,
)
from fastcalc.features.decide.parameters import PARAMETERS
from fastcalc.formulas.solving import first_changed
from fastcalc.formulas.types import ArrayLike, Bools, Floats, Ints, floats

if TYPE_CHECKING:
    from fastcalc.core.scenario import Scenario

Objective = Literal["total", "time", "cost", "window"]
Numbers = Mapping[str, Any]
"""Values of `Terms` by field."""
Changes = Mapping[str, ArrayLike]
"""Changed values of parameters, by name."""

_REFINEMENTS, _PARTS = 5, 64
"""Rounds, and points per round, of the break-even search: more precise than the printed digits."""

_FLIPPING = ("tools", "check", "repair", "steps", "sessions", "hour", "look-away", "come-back")
_FLIPPING_OF_OPTIONS = {
    "total": ("accuracy", "speed", "price"),
    "cost": ("accuracy", "speed", "price"),
    "time": ("accuracy", "speed"),
    "window": ("speed",),
}
_SECOND: Mapping[str, Objective] = {"time": "cost", "cost": "time", "total": "time"}
"""The metric that decides if options tie on an objective."""
_EQUAL = 1e-9  # relative difference below which options are equal
_WHERE_GIVEN = ("ttft-ms", "plan", "quota")
"""Inputs that count only if options provide them. TTFT counts only if all of them do."""
_WHOLE = ("samples", "retries")


@dataclass(frozen=True, eq=False)
class Contender:
    """An option with its own numbers, or a router that sends steps to two other options.

    Model, hardware and batch describe a computed speed, and the scenario a computed price; None if
    the user gave the numbers. ``speed_ends`` are the ends of the 80% range of a computed speed, if
    it has one. [1/s]
    """

    name: str
    numbers: Numbers
    routes: tuple[str, str] | None = None
    model: str | None = None
    hardware: str | None = None
    batch: int | None = None
    speed_ends: tuple[float, float] | None = None
    scenario: "Scenario | None" = None


@dataclass(frozen=True)
class BreakEven:
    """The value of a parameter above or below which another option wins.

    For a count, it is an integer.
    """

    parameter: str
    now: float
    value: float
    winner: str
    is_above: bool

    @property
    def distance(self) -> float:
        """The logarithmic distance from the present value. Very large if either value is 0."""
        if not 0.0 < self.now < np.inf or self.value <= 0.0:
            return 10.0 + abs(float(np.log10(self.value + 1e-9)))
        return abs(float(np.log(self.value / self.now)))


@dataclass(frozen=True, eq=False)
class Choice:
    """The options, the numbers that they share, and the objective.

    The objective is to minimize ``total`` (tokens, plan and the user's time, in USD), ``time``
    (user's time per success) or ``cost`` (tokens and plan), or to maximize the tokens in a
    ``window`` of a given number of seconds. If the 80% ranges do not tell which option is best, the
    options tie, and the other metric decides: cost if times tie, time if costs tie.
    """

    options: Sequence[Contender]
    shared: Numbers
    objective: Objective = "time"
    window: float | None = None

    @cached_property
    def winner(self) -> Contender | None:
        """The winning option, or None if no option ever succeeds or no price is known."""
        index = int(self.winners())
        return self.options[index] if index >= 0 else None

    @cached_property
    def level(self) -> list[Contender]:
        """The options that tie on the objective: the winner, then by the deciding metric."""
        is_level = self._level(self.ranged_values())
        level = [
            option
            for option, is_level_option in zip(self.options, is_level, strict=True)
            if is_level_option
        ]
        second_objective = _SECOND.get(self.objective, self.objective)
        worth = {
            option.name: float(self.value(option, objective=second_objective)) for option in level
        }
        return sorted(level, key=lambda option: (option is not self.winner, worth[option.name]))

    @property
    def decided_by(self) -> Objective:
        """The objective, or the metric that decides if options tie on the objective."""
        is_tie = len(self.level) > 1
        return _SECOND.get(self.objective, self.objective) if is_tie else self.objective

    def terms(self, option: Contender, changes: Changes | None = None) -> Terms:
        """Collect an option's numbers: changes come before its own, and its own before shared."""
        shared: dict[str, Any] = {}
        specific: dict[str, Any] = {}
        for name, value in (changes or {}).items():
            owner, _, key = name.rpartition(".")
            field = PARAMETERS[key].field
            scaled = floats(value) * PARAMETERS[key].scale
            if owner in ("", option.name):
                (specific if owner else shared)[field] = scaled
        fields = {"speed": 1.0, **self.shared, **shared, **option.numbers, **specific}
        fields.pop("share", None)
        return Terms(**fields)

    def run(self, option: Contender, changes: Changes | None = None) -> Run:
        """Compute one run of an option."""
        if option.routes is None:
            return run_of(self.terms(option, changes))
        by_name = {contender.name: contender for contender in self.options}
        to, remaining = (self.run(by_name[name], changes) for name in option.routes)
        name = f"{option.name}.share"
        return routed(to, remaining, (changes or {}).get(name, option.numbers["share"]))

    def prospect(self, option: Contender, changes: Changes | None = None) -> Prospect:
        """Compute the mean time and cost per success of an option."""
        return prospect(self.run(option, changes), self.terms(option, changes))

    def value(
        self, option: Contender, changes: Changes | None = None, objective: Objective | None = None
    ) -> Floats:
        """Return the value of an option's objective, to be minimized. Infinity if it is unknown.

        If a call must fit a window, options that route between others are excluded.
        """
        objective = objective or self.objective
        if objective == "window":
            assert self.window is not None, "a window has a length in seconds"
            if option.routes is not None:
                return floats(np.inf)
            return -window_tokens(self.terms(option, changes), self.window)
        outlook = self.prospect(option, changes)
        by = {"total": outlook.total, "time": outlook.user_seconds, "cost": outlook.usd}
        worth = by[objective]
        return np.where(np.isnan(worth), np.inf, worth)

    def ranged_value(
        self, option: Contender, changes: Changes | None = None, objective: Objective | None = None
    ) -> Ranged:
        """Return the objective's range over the 80% ranges of the computed speeds it depends on.

        A changed speed keeps its relative range. The price per token is inversely proportional to
        the speed. Numbers from the user have no range.
        """
        expected = self.value(option, changes, objective)
        slow, fast = dict(changes or {}), dict(changes or {})
        for piece in self.options:
            if piece.speed_ends is None or piece.name not in (option.name, *(option.routes or ())):
                continue
            terms = self.terms(piece, changes)
            scale = floats(terms.speed) / piece.numbers["speed"]
            speed = Ranged(floats(terms.speed), *(scale * end for end in piece.speed_ends))
            price = cost_range(terms.price, speed)
            slow |= {f"{piece.name}.speed": speed.low, f"{piece.name}.price": price.high}
            fast |= {f"{piece.name}.speed": speed.high, f"{piece.name}.price": price.low}
        if len(slow) == len(changes or {}):
            return Ranged(expected, expected, expected)
        return Ranged(expected, *(self.value(option, at, objective) for at in (fast, slow)))

    def values(self, changes: Changes | None = None, objective: Objective | None = None) -> Floats:
        """Return the objective of each option with changed numbers, which may be arrays.

        Options are the first axis.
        """
        with np.errstate(invalid="ignore"):
            per_option = [self.value(option, changes, objective) for option in self.options]
        return np.stack(np.broadcast_arrays(*per_option))

    def ranged_values(self, changes: Changes | None = None) -> Ranged:
        """Return the objective of each option with its range. Options are the first axis."""
        with np.errstate(invalid="ignore"):
            ranged = [self.ranged_value(option, changes) for option in self.options]
        ends = np.broadcast_arrays(*(end for worth in ranged for end in worth))
        return Ranged(*(np.stack(ends[end::3]) for end in range(3)))

    def _level(self, ranged: Ranged) -> Bools:
        """Check whether each option ties with the best one on the objective.

        Options are the first axis.

        Options tie if the 80% range of their ratio contains 1. Values without a range tie only if
        they are equal. For a window, no other metric decides.
        """
        is_same = _is_least(ranged.expected)
        if self.objective not in _SECOND:
            return is_same
        winner = np.argmin(ranged.expected, axis=0)[np.newaxis]
        under = Ranged(*(np.take_along_axis(end, winner, axis=0) for end in ranged))
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            ratio = independent_ratio(over=ranged, under=under)
            return is_same | ((ratio.low < ratio.high) & is_level(ratio))

    def winners(self, changes: Changes | None = None) -> Ints:
        """Return the index of the winner, or -1 if no option ever succeeds.

        Ties are decided by the other metric. If this is also equal, the option that wins without
        changes is returned, or else the first option.
        """
        ranged = self.ranged_values(changes)
        is_best = self._level(ranged)
        if self.objective in _SECOND and np.any(np.sum(is_best, axis=0) > 1):
            second = self.values(changes, _SECOND[self.objective])
            is_best = is_best & _is_least(np.where(is_best, second, np.inf))
        indices = np.argmax(is_best, axis=0)
        if changes and self.winner is not None:
            today = list(self.options).index(self.winner)
            indices = np.where(is_best[today], today, indices)
        return np.where(np.any(np.isfinite(ranged.expected), axis=0), indices, -1)

    def flips(self) -> list[BreakEven]:
        """Return the break-even values of each number: the nearest on either side."""
        break_evens = []
        for name, now in self.numbers().items():
            parameter = PARAMETERS[name.rpartition(".")[2]]
            usual = parameter.grid(2000)
            at_most = min(now, usual[-1]) if np.isinf(now) else now
            grid = np.unique(np.append(usual, at_most))
            winners, start = self._along(name, grid), int(np.searchsorted(grid, at_most))
            for step in (1, -1):
                positions = range(start, len(grid) if step > 0 else -1, step)
                flip = next(
                    (index for index in positions if winners[index] != winners[start]), None
                )
                if flip is None:
                    continue
                same, changed = self._between(name, grid[flip - step], grid[flip])
                winner = int(self.winners({name: changed}))
                if winner >= 0:
                    # Any value above 0 is enough, except for counts, which need the next integer.
                    value = changed if same or parameter.is_count else 0.0
                    winner_name = self.options[winner].name
                    break_evens.append(BreakEven(name, now, value, winner_name, step > 0))
        return break_evens

    def numbers(self) -> dict[str, float]:
        """Return the numbers that could change the verdict, with their present values."""
        numbers: dict[str, float] = {}
        for option in self.options:
            if option.routes is not None:
                numbers[f"{option.name}.share"] = float(option.numbers["share"])
                continue
            terms = self.terms(option)
            optional_keys = [key for key in _WHERE_GIVEN if PARAMETERS[key].field in option.numbers]
            usual = (self.objective, self.decided_by)
            flipping = dict.fromkeys(key for name in usual for key in _FLIPPING_OF_OPTIONS[name])
            for key in (*flipping, *optional_keys):
                value = float(getattr(terms, PARAMETERS[key].field)) / PARAMETERS[key].scale
                if np.isfinite(value):
                    numbers[f"{option.name}.{key}"] = value
        first = Terms(**{"speed": 1.0, **self.shared})
        for key in _FLIPPING:
            value = getattr(first, PARAMETERS[key].field)
            is_idle = key == "hour" and self.objective != "total"
            is_idle = is_idle or (key == "come-back" and bool(np.isinf(first.look_away)))
            if value is not None and not is_idle:
                numbers[key] = float(value)
        return numbers

    def _along(self, name: str, values: Floats) -> Ints:
        """Return the indices of the winners as a parameter varies."""
        return np.broadcast_to(self.winners({name: values}), values.shape)

    def _between(self, name: str, same: float, changed: float) -> tuple[float, float]:
        """Find the last value at which a winner still wins, and the first at which it does not.

        same, changed : A parameter value with which it wins, and one with which it does not.
        """
        is_count = PARAMETERS[name.rpartition(".")[2]].is_count

        def has_changed(values: Floats) -> Bools:
            winners = self._along(name, values)
            return np.asarray(winners != winners[0])

        rounds = None if is_count else _REFINEMENTS
        ends = first_changed(has_changed, same, changed, points=_PARTS + 1, rounds=rounds)
        return ends or (same, changed)


def _is_least(values: Floats) -> Bools:
    """Check whether each option (first axis) has the smallest value, or an equal one."""
    lowest = np.min(values, axis=0)
    with np.errstate(invalid="ignore"):
        return np.asarray(values <= lowest + _EQUAL * np.abs(lowest))


@dataclass(frozen=True)
class Axis:
    """An axis of a map by its name as typed and its values."""

    name: str
    values: Floats
    is_logarithmic: bool = False


def axis(name: str, low: float, high: float, points: int) -> Axis:
    """Build an axis between two bounds, logarithmic if they differ by a factor of 50 or more."""
    is_wide = low > 0.0 and high / low >= 50.0
    spaced: Callable[..., Floats] = np.geomspace if is_wide else np.linspace
    values = spaced(low, high, points)
    if PARAMETERS[name.rpartition(".")[2]].field in _WHOLE:
        values = np.unique(np.round(values))
    return Axis(name, values, is_wide)


@dataclass(frozen=True, eq=False)
class WinnerMap:
    """The winning option for each pair of values, with rows along the second axis."""

    across: Axis
    up: Axis
    values: Floats
    winners: Ints


def winner_map(decision: Choice, across: Axis, up: Axis) -> WinnerMap:
    """Find the winner at each point of a grid with two axes."""
    changes = {across.name: across.values[np.newaxis, :], up.name: up.values[:, np.newaxis]}
    shape = (len(up.values), len(across.values))
    values = decision.values(changes)
    values = np.broadcast_to(values, (len(values), *shape))
    return WinnerMap(across, up, values, np.broadcast_to(decision.winners(changes), shape))
