"""Which of several options wins, where the verdict flips, and who wins where on a map."""

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
"""Fields of `Terms` with their values."""
Changes = Mapping[str, ArrayLike]
"""Changed values of parameters, by their names."""

_REFINEMENTS, _PARTS = 5, 64
"""Rounds and points per round of the search for a break-even, finer than rounding."""

_FLIPPING = ("tools", "check", "repair", "steps", "sessions", "hour", "look-away", "come-back")
_FLIPPING_OF_OPTIONS = {
    "total": ("accuracy", "speed", "price"),
    "cost": ("accuracy", "speed", "price"),
    "time": ("accuracy", "speed"),
    "window": ("speed",),
}
_SECOND: Mapping[str, Objective] = {"time": "cost", "cost": "time", "total": "time"}
"""What decides between options that are level by an objective."""
_EQUAL = 1e-9  # of their value, by which options differ that are equal
_WHERE_GIVEN = ("ttft-ms", "plan", "quota")
"""Counted only where options give them, a first token where all do."""
_WHOLE = ("samples", "retries")


@dataclass(frozen=True, eq=False)
class Contender:
    """An option: the numbers of its own, or the options between which it routes steps.

    Model, hardware and batch say where its speed was computed, and the scenario where its price
    was; None where the user gave it. Then ``speed_ends`` are those of its 80 % interval, if it has
    one. [1/s]
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
    """A value of a parameter from which on, or up to which, another option wins.

    Of a count it is a whole number.
    """

    parameter: str
    now: float
    value: float
    winner: str
    is_above: bool

    @property
    def distance(self) -> float:
        """How far it is from what holds now, in logarithms; from 0 all is far."""
        if not 0.0 < self.now < np.inf or self.value <= 0.0:
            return 10.0 + abs(float(np.log10(self.value + 1e-9)))
        return abs(float(np.log(self.value / self.now)))


@dataclass(frozen=True, eq=False)
class Choice:
    """Options, what they share, and what makes one of them win.

    The objective is the least of ``total`` (tokens, plan and the user's time, in USD), ``time``
    (of the user for one success), ``cost`` (tokens and plan), or the most tokens in a ``window``
    of a given number of seconds. Options whose 80 % ranges leave open which is best by the
    objective are level, and the other figure decides: cost where time is level, time where cost is.
    """

    options: Sequence[Contender]
    shared: Numbers
    objective: Objective = "time"
    window: float | None = None

    @cached_property
    def winner(self) -> Contender | None:
        """The option that wins; None where none ever succeeds, or no price is known."""
        index = int(self.winners())
        return self.options[index] if index >= 0 else None

    @cached_property
    def level(self) -> list[Contender]:
        """Options level by the objective, the winner first, then by the figure that decides."""
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
        """The objective, or where options are level by it what decides between them."""
        is_tie = len(self.level) > 1
        return _SECOND.get(self.objective, self.objective) if is_tie else self.objective

    def terms(self, option: Contender, changes: Changes | None = None) -> Terms:
        """Return what an option offers: changed numbers, by their names, its own, or the shared."""
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
        """One run of an option."""
        if option.routes is None:
            return run_of(self.terms(option, changes))
        by_name = {contender.name: contender for contender in self.options}
        to, remaining = (self.run(by_name[name], changes) for name in option.routes)
        name = f"{option.name}.share"
        return routed(to, remaining, (changes or {}).get(name, option.numbers["share"]))

    def prospect(self, option: Contender, changes: Changes | None = None) -> Prospect:
        """Return what an option takes to one success."""
        return prospect(self.run(option, changes), self.terms(option, changes))

    def value(
        self,
        option: Contender,
        changes: Changes | None = None,
        objective: Objective | None = None,
    ) -> Floats:
        """Return what is to be least of an option; infinity where it cannot be known.

        Of a gap that one call has to fit, no route between options is an answer.
        """
        objective = objective or self.objective
        if objective == "window":
            assert self.window is not None, "a window has its seconds"
            if option.routes is not None:
                return floats(np.inf)
            return -window_tokens(self.terms(option, changes), self.window)
        outlook = self.prospect(option, changes)
        by = {"total": outlook.total, "time": outlook.user_seconds, "cost": outlook.usd}
        worth = by[objective]
        return np.where(np.isnan(worth), np.inf, worth)

    def ranged_value(
        self,
        option: Contender,
        changes: Changes | None = None,
        objective: Objective | None = None,
    ) -> Ranged:
        """Value over the 80 % ranges of the computed speeds that an option depends on.

        A speed keeps its range, relative to what is expected, where it is changed; the price of a
        token is as much less as the speed is more. Numbers that a user gives have no range.
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

    def values(
        self,
        changes: Changes | None = None,
        objective: Objective | None = None,
    ) -> Floats:
        """Value of each option at changed numbers, which broadcast; options first."""
        with np.errstate(invalid="ignore"):
            per_option = [self.value(option, changes, objective) for option in self.options]
        return np.stack(np.broadcast_arrays(*per_option))

    def ranged_values(self, changes: Changes | None = None) -> Ranged:
        """Value of each option and its range, which broadcast; options first."""
        with np.errstate(invalid="ignore"):
            ranged = [self.ranged_value(option, changes) for option in self.options]
        ends = np.broadcast_arrays(*(end for worth in ranged for end in worth))
        return Ranged(*(np.stack(ends[end::3]) for end in range(3)))

    def _level(self, ranged: Ranged) -> Bools:
        """Whether each option is level with the best by the objective; options first.

        It is where the 80 % interval of their ratio holds 1, and of values without a range, which
        no speed moves, where both are the same. Nothing else decides which fits a gap best.
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
        """Index of the winner; -1 where none ever succeeds.

        Of options that are level it is the best by the other figure; of equals in both the one that
        wins without changes, or else the first.
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
        """Return where the verdict flips, of each number alone: the nearest value on both sides."""
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
                    # Right above 0 any value is enough, but for a count, which has a next one.
                    value = changed if same or parameter.is_count else 0.0
                    winner_name = self.options[winner].name
                    break_evens.append(BreakEven(name, now, value, winner_name, step > 0))
        return break_evens

    def numbers(self) -> dict[str, float]:
        """Numbers whose change may flip the verdict, and their values now."""
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
        """Return who wins along a parameter."""
        return np.broadcast_to(self.winners({name: values}), values.shape)

    def _between(self, name: str, same: float, changed: float) -> tuple[float, float]:
        """Last value at which a winner still wins and the first at which it does not.

        same, changed : a value of the parameter where it does, and one where it does not
        """
        is_count = PARAMETERS[name.rpartition(".")[2]].is_count

        def has_changed(values: Floats) -> Bools:
            winners = self._along(name, values)
            return np.asarray(winners != winners[0])

        rounds = None if is_count else _REFINEMENTS
        ends = first_changed(has_changed, same, changed, points=_PARTS + 1, rounds=rounds)
        return ends or (same, changed)


def _is_least(values: Floats) -> Bools:
    """Return which options, along the first axis, are the least, or as good as equal to it."""
    lowest = np.min(values, axis=0)
    with np.errstate(invalid="ignore"):
        return np.asarray(values <= lowest + _EQUAL * np.abs(lowest))


@dataclass(frozen=True)
class Axis:
    """An axis of a map: what is written as its name, and its values."""

    name: str
    values: Floats
    is_logarithmic: bool = False


def axis(name: str, low: float, high: float, points: int) -> Axis:
    """An axis between two ends, even in ratios where they differ 50 times or more."""
    is_wide = low > 0.0 and high / low >= 50.0
    spaced: Callable[..., Floats] = np.geomspace if is_wide else np.linspace
    values = spaced(low, high, points)
    if PARAMETERS[name.rpartition(".")[2]].field in _WHOLE:
        values = np.unique(np.round(values))
    return Axis(name, values, is_wide)


@dataclass(frozen=True, eq=False)
class WinnerMap:
    """Who wins where: values of each option with rows along the second axis."""

    across: Axis
    up: Axis
    values: Floats
    winners: Ints


def winner_map(decision: Choice, across: Axis, up: Axis) -> WinnerMap:
    """Return who wins at each point of two axes."""
    changes = {across.name: across.values[np.newaxis, :], up.name: up.values[:, np.newaxis]}
    shape = (len(up.values), len(across.values))
    values = decision.values(changes)
    values = np.broadcast_to(values, (len(values), *shape))
    return WinnerMap(across, up, values, np.broadcast_to(decision.winners(changes), shape))
