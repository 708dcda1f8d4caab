"""The parameters of a decision that an option, flag or map axis can set, with their limits."""

from dataclasses import dataclass

import numpy as np

from fastcalc.catalogue.limits import LIMITS, Limit
from fastcalc.formulas.types import Floats


@dataclass(frozen=True)
class Variable:
    """Describes a number that an option, flag or map axis can set.

    field : field of `Terms`, or ``share`` for an option that routes steps
    limit : allowed values
    noun, unit : name in words, and text that follows the value
    scale : its unit, in units of the field
    zero : whether 0 is allowed
    """

    field: str
    limit: Limit
    noun: str
    unit: str = ""
    scale: float = 1.0
    zero: bool = False

    @property
    def is_count(self) -> bool:
        """Whether only integers are meaningful."""
        return self.limit.is_whole

    def grid(self, points: int) -> Floats:
        """Return values over the whole search range, more densely at common values."""
        if self.limit.maximum == 1.0:
            return np.linspace(0.0 if self.zero else max(self.limit.minimum, 1e-6), 1.0, points)
        first = max(self.limit.minimum, 1e-4)
        values = np.geomspace(first, min(self.limit.maximum, 1e7), points)
        if self.is_count:
            values = np.unique(np.round(values))
        return np.concatenate([[0.0], values]) if self.zero else values


_SECONDS, _DOLLARS, _SHARE = LIMITS["duration"], LIMITS["dollars"], LIMITS["share"]
_MTOK = "$ per million"
OF_OPTIONS = {
    "speed": Variable("speed", LIMITS["speed"], "speed", "tokens/s"),
    "accuracy": Variable("accuracy", _SHARE, "accuracy", zero=True),
    "price": Variable("price", _DOLLARS, "price", f"{_MTOK} output tokens", zero=True),
    "input-price": Variable(
        "input_price", _DOLLARS, "input price", f"{_MTOK} input tokens", zero=True
    ),
    "cached-price": Variable(
        "cached_price", _DOLLARS, "cached price", f"{_MTOK} cached tokens", zero=True
    ),
    "plan": Variable("plan", _DOLLARS, "plan", "$/month", zero=True),
    "quota": Variable("quota", LIMITS["amount"], "quota", "tokens", zero=True),
    "quota-hours": Variable("quota_hours", LIMITS["duration"], "quota's period", "h"),
    "ttft-ms": Variable("lead", _SECONDS, "time to first token", "ms", 1e-3, zero=True),
}
OF_TASKS = {
    "steps": Variable("steps", LIMITS["sequences"], "number of steps", "per run"),
    "tokens": Variable("tokens", LIMITS["tokens"], "number of tokens", "per step"),
    "prompt": Variable("prompt", LIMITS["tokens"], "prompt length", "tokens", zero=True),
    "cached": Variable("cached", _SHARE, "cached share", zero=True),
    "tools": Variable("tools", _SECONDS, "tool time", "s per step", zero=True),
    "round-trip-ms": Variable("round_trip", _SECONDS, "round trip", "ms", 1e-3, zero=True),
    "retries": Variable("retries", LIMITS["tries"], "number of retries", "per step", zero=True),
    "best-of": Variable("samples", LIMITS["tries"], "number of answers", "per step"),
    "check": Variable("check", _SECONDS, "checking time", "s per run", zero=True),
    "repair": Variable("repair", _SECONDS, "repair time", "s per failed run", zero=True),
    "sessions": Variable("sessions", LIMITS["tries"], "number of concurrent sessions"),
    "look-away": Variable(
        "look_away", _SECONDS, "the wait before the user switches tasks", "s", zero=True
    ),
    "come-back": Variable("come_back", _SECONDS, "time to resume", "s", zero=True),
    "hour": Variable("hour", _DOLLARS, "value of a user's hour", "$", zero=True),
    "hours": Variable("hours", _DOLLARS, "working time", "h per month"),
    "budget": Variable("budget", _DOLLARS, "budget", "$/month"),
}
PARAMETERS = OF_OPTIONS | OF_TASKS | {"share": Variable("share", _SHARE, "share", zero=True)}
"""The parameters by the names that users type."""
