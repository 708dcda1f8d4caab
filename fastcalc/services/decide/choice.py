"""Which of several options wins, where the verdict flips, and who wins where on a map."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from fastcalc.catalogue.limits import LIMITS, Limit
from fastcalc.core.ratios import Ranged
from fastcalc.formulas.types import ArrayLike, Bools, Floats, Ints, floats
from fastcalc.services.decide.agent_run import (
    Prospect,
    Run,
    Terms,
    prospect,
    routed,
    run_of,
    window_tokens,
)

if TYPE_CHECKING:
    from fastcalc.core.scenario import Scenario

Objective = Literal["total", "time", "cost", "window"]
Numbers = Mapping[str, Any]
"""Fields of `Terms` with their values."""

_REFINEMENTS, _PARTS = 7, 64
"""A break-even is narrowed so often, to one of so many parts."""


@dataclass(frozen=True)
class Variable:
    """A number that an option, a flag or an axis of a map may give.

    field : of `Terms`; ``share`` of an option that routes steps
    limit : what it may be
    noun, unit : what it is called, and what stands after its value
    scale : what its unit is of the field's
    zero : whether it may be 0
    """

    field: str
    limit: Limit
    noun: str
    unit: str = ""
    scale: float = 1.0
    zero: bool = False

    @property
    def is_count(self) -> bool:
        """Whether only whole numbers make sense."""
        return self.limit.is_whole

    @property
    def least(self) -> float:
        """The smallest value that is searched."""
        return 0.0 if self.zero else max(self.limit.minimum, 1e-6)

    def grid(self, points: int) -> Floats:
        """Return values over all that is searched, dense where numbers are usual."""
        if self.limit.maximum == 1.0:
            return np.linspace(self.least, 1.0, points)
        first = max(self.limit.minimum, 1e-4)
        values = np.geomspace(first, min(self.limit.maximum, 1e7), points)
        return np.concatenate([[0.0], values]) if self.zero else values


_SECONDS, _DOLLARS, _SHARE = LIMITS["duration"], LIMITS["dollars"], LIMITS["share"]
_MTOK = "$ a million tokens"
OF_OPTIONS = {
    "speed": Variable("speed", LIMITS["speed"], "speed", "tokens/s"),
    "accuracy": Variable("accuracy", _SHARE, "accuracy", zero=True),
    "price": Variable("price", _DOLLARS, "price", f"{_MTOK} out", zero=True),
    "input-price": Variable("input_price", _DOLLARS, "price", f"{_MTOK} in", zero=True),
    "cached-price": Variable("cached_price", _DOLLARS, "price", f"{_MTOK} cached", zero=True),
    "plan": Variable("plan", _DOLLARS, "plan", "$ a month", zero=True),
    "quota": Variable("quota", LIMITS["amount"], "quota", "tokens", zero=True),
    "quota-hours": Variable("quota_hours", LIMITS["duration"], "quota's period", "h"),
    "ttft-ms": Variable("lead", _SECONDS, "time to first token", "ms", 1e-3, zero=True),
}
OF_TASKS = {
    "steps": Variable("steps", LIMITS["sequences"], "steps", "a run"),
    "tokens": Variable("tokens", LIMITS["tokens"], "tokens", "a step"),
    "prompt": Variable("prompt", LIMITS["tokens"], "prompt", "tokens", zero=True),
    "cached": Variable("cached", _SHARE, "cached share", zero=True),
    "tools": Variable("tools", _SECONDS, "tools", "s a step", zero=True),
    "round-trip-ms": Variable("round_trip", _SECONDS, "round trip", "ms", 1e-3, zero=True),
    "retries": Variable("retries", LIMITS["tries"], "retries", "a step", zero=True),
    "best-of": Variable("samples", LIMITS["tries"], "answers", "a step"),
    "check": Variable("check", _SECONDS, "check", "s a run", zero=True),
    "repair": Variable("repair", _SECONDS, "repair", "s a failed run", zero=True),
    "sessions": Variable("sessions", LIMITS["tries"], "sessions", "side by side"),
    "look-away": Variable("look_away", _SECONDS, "looking away", "s of a run", zero=True),
    "come-back": Variable("come_back", _SECONDS, "coming back", "s", zero=True),
    "hour": Variable("hour", _DOLLARS, "user's hour", "$", zero=True),
    "hours": Variable("hours", _DOLLARS, "hours", "a month"),
    "budget": Variable("budget", _DOLLARS, "budget", "$ a month"),
}
PARAMETERS = OF_OPTIONS | OF_TASKS | {"share": Variable("share", _SHARE, "share", zero=True)}
"""By the names that users write."""

_FLIPPING = ("tools", "check", "repair", "steps", "sessions", "hour", "look-away", "come-back")
_FLIPPING_OF_OPTIONS = {
    "total": ("accuracy", "speed", "price"),
    "cost": ("accuracy", "speed", "price"),
    "time": ("accuracy", "speed"),
    "window": ("speed",),
}
_SECOND: Mapping[str, Objective] = {"time": "cost", "cost": "time", "total": "time"}
"""What decides between options that are equal by an objective."""
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
    of so many seconds.
    """

    options: Sequence[Contender]
    shared: Numbers
    objective: Objective = "time"
    window: float | None = None

    def terms(self, option: Contender, changes: Mapping[str, ArrayLike] | None = None) -> Terms:
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

    def run(self, option: Contender, changes: Mapping[str, ArrayLike] | None = None) -> Run:
        """Return one run of an option."""
        if option.routes is None:
            return run_of(self.terms(option, changes))
        by_name = {contender.name: contender for contender in self.options}
        to, remaining = (self.run(by_name[name], changes) for name in option.routes)
        name = f"{option.name}.share"
        return routed(to, remaining, (changes or {}).get(name, option.numbers["share"]))

    def prospect(
        self, option: Contender, changes: Mapping[str, ArrayLike] | None = None
    ) -> Prospect:
        """Return what an option takes to one success."""
        return prospect(self.run(option, changes), self.terms(option, changes))

    def value(
        self,
        option: Contender,
        changes: Mapping[str, ArrayLike] | None = None,
        objective: Objective | None = None,
    ) -> Floats:
        """Return what is to be least of an option; infinity where it cannot be known."""
        objective = objective or self.objective
        if objective == "window":
            assert self.window is not None, "a window has its seconds"
            return -window_tokens(self.terms(option, changes), self.window)
        outlook = self.prospect(option, changes)
        by = {"total": outlook.total, "time": outlook.user_seconds, "cost": outlook.usd}
        worth = by[objective]
        return np.where(np.isnan(worth), np.inf, worth)

    def ranged_value(self, option: Contender, objective: Objective | None = None) -> Ranged:
        """Return the value at both ends of the speed, which costs as much less as it is faster.

        Numbers that a user gives have no range.
        """
        speed, price = f"{option.name}.speed", f"{option.name}.price"
        terms = self.terms(option)
        ends = [
            self.value(option, {speed: end, price: terms.price * terms.speed / end}, objective)
            for end in option.speed_ends or ()
        ]
        middle = self.value(option, objective=objective)
        slow, fast = ends or (middle, middle)
        return Ranged(middle, fast, slow)

    def values(
        self,
        changes: Mapping[str, ArrayLike] | None = None,
        objective: Objective | None = None,
    ) -> Floats:
        """Return the value of each option at changed numbers, which broadcast; options first."""
        with np.errstate(invalid="ignore"):
            per_option = [self.value(option, changes, objective) for option in self.options]
        return np.stack(np.broadcast_arrays(*per_option))

    def winners(
        self, changes: Mapping[str, ArrayLike] | None = None, favoured: int | None = None
    ) -> Ints:
        """Return the place of the winner; -1 where none ever succeeds.

        Of equals it is the best by the other objective; of equals in both the favoured one, or else
        the first.
        """
        values = self.values(changes)
        lowest = np.min(values, axis=0)
        is_best = _is_least(values)
        if self.objective in _SECOND and np.any(np.sum(is_best, axis=0) > 1):
            second = self.values(changes, _SECOND[self.objective])
            is_best &= _is_least(np.where(is_best, second, np.inf))
        places = np.argmax(is_best, axis=0)
        if favoured is not None:
            places = np.where(is_best[favoured], favoured, places)
        return np.where(np.isfinite(lowest), places, -1)

    @property
    def decided_by(self) -> Objective:
        """The objective, or where it is equal for the best options what decides between them."""
        if self.objective not in _SECOND or np.sum(_is_least(self.values())) < 2:
            return self.objective
        return _SECOND[self.objective]

    def equals(self) -> list[Contender]:
        """Return the options that are best by the objective, all of the same value."""
        is_best = _is_least(self.values())
        return [option for option, best in zip(self.options, is_best, strict=True) if best]

    def flips(self) -> list[BreakEven]:
        """Return where the verdict flips, of each number alone: the nearest value on both sides."""
        break_evens = []
        stands = int(self.winners())
        for name, now in self.numbers().items():
            parameter = PARAMETERS[name.rpartition(".")[2]]
            usual = parameter.grid(2000)
            at_most = min(now, usual[-1]) if np.isinf(now) else now
            grid = np.unique(np.append(usual, at_most))
            winners, start = self._along(name, grid, stands), int(np.searchsorted(grid, at_most))
            for step in (1, -1):
                places = range(start, len(grid) if step > 0 else -1, step)
                turn = next((place for place in places if winners[place] != winners[start]), None)
                if turn is None or winners[turn] < 0:
                    continue
                at = self._between(name, grid[turn - step], grid[turn], int(winners[start]))
                if parameter.is_count:
                    at = float(np.ceil(at) if step > 0 else np.floor(at))
                winner = self.options[int(winners[turn])].name
                break_evens.append(BreakEven(name, now, at, winner, step > 0))
        return break_evens

    def numbers(self) -> dict[str, float]:
        """Return the numbers whose change may flip the verdict, and their values now."""
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

    def _along(self, name: str, values: Floats, favoured: int) -> Ints:
        """Return who wins along a parameter; who wins now, unless another is better."""
        incumbent = favoured if favoured >= 0 else None
        return np.broadcast_to(self.winners({name: values}, incumbent), values.shape)

    def _between(self, name: str, same: float, changed: float, winner: int) -> float:
        """Return the value at which a winner stops winning, between one where it does and not."""
        for _ in range(_REFINEMENTS):
            values = np.linspace(same, changed, _PARTS + 1)
            first = int(np.argmax(self._along(name, values, winner) != winner))
            same, changed = values[first - 1], values[first]
        return float(changed)


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
    """Return an axis between two ends, even in ratios where they differ 50 times or more."""
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
