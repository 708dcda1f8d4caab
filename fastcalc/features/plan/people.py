"""``plan --people``: the rate of people who ask, and who ask less often the longer they wait."""

from collections.abc import Callable
from dataclasses import dataclass

from fastcalc.catalogue.limits import LIMITS
from fastcalc.errors import InputError
from fastcalc.features.plan.request import Askers
from fastcalc.formulas.solving import Planned, solve_fixed_point
from fastcalc.formulas.users import requests_of_active, requests_of_thinkers
from fastcalc.kit.request import readers
from fastcalc.mentions import option

_AS_LONG = 1.0 - 1e-9


@dataclass(frozen=True)
class People:
    """Those who make requests.

    count, active : there are, and the share of them that is at it [1]
    think : time from an answer to the next request; None where they ask so often anyway [s]
    per_minute : requests of each who is active, without thinking time [1/min]
    peak : busiest time over the mean one [1]
    """

    count: float
    active: float
    think: float | None
    per_minute: float
    peak: float

    def rate(self, request: float) -> float:
        """Return the requests a second, where one takes some time. [1/s]"""
        if self.think is None:
            return float(
                requests_of_active(
                    people=self.count,
                    active=self.active,
                    per_minute=self.per_minute,
                    peak=self.peak,
                )
            )
        people = self.count * self.active
        return float(
            requests_of_thinkers(people=people, think=self.think, request=request, peak=self.peak)
        )


def people_of(request: Askers) -> People | None:
    """Return who makes the requests, None where nobody is said to."""
    habits = ("think", "active_fraction", "requests_per_active_user_per_min", "peak_multiplier")
    stated = [name for name in habits if getattr(request, name) is not None]
    if request.people is None:
        if stated:
            raise InputError(f"{option(stated[0])} is of {option('people', '500')}; give that too")
        return None
    if request.rate is not None:
        raise InputError(
            f"{option('people')} and {option('rate')} both say how many requests arrive; give one"
        )
    often, think = request.requests_per_active_user_per_min, request.think
    if (often is None) == (think is None):
        raise InputError(
            f"{option('people')} needs one of {option('think', '30s')}, from an answer to the next "
            f"request, and {option('requests_per_active_user_per_min', '2')}"
        )
    speed = LIMITS["speed"]
    return People(
        count=readers.number(request.people, option("people"), LIMITS["sequences"], 500),
        active=readers.share(_or_one(request.active_fraction), option("active_fraction")),
        think=None if think is None else _seconds(think),
        per_minute=readers.number(
            _or_one(often), option("requests_per_active_user_per_min"), speed, 2
        ),
        peak=readers.number(
            _or_one(request.peak_multiplier), option("peak_multiplier"), LIMITS["factor"], 2
        ),
    )


def _or_one(number: float | None) -> float:
    return 1.0 if number is None else number


def _seconds(think: str) -> float:
    return readers.quantity(think, option("think"), "time", LIMITS["duration"], "30s")


def solve_closed_loop(
    people: People,
    plan_at: Callable[[float], Planned],
    request_seconds: Callable[[Planned], float | None],
) -> Planned:
    """Plan for the request rate of users who think after each answer.

    A plan on which requests take longer than assumed gets fewer requests, so the rate is never
    below what the users make. Without a fixed point it is the plan for answers that take no time.

    plan_at : plans for a rate [1/s]
    request_seconds : time of a request on a plan; None where there is none [s]
    """
    cautious = plan_at(people.rate(0.0))
    if people.think is None:
        return cautious
    return solve_fixed_point(
        lambda seconds: plan_at(people.rate(seconds)), request_seconds, cautious, near=_AS_LONG
    )
