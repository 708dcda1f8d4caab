"""Time and cost until an agent's run succeeds, given speed, price and accuracy.

Every number may be an array, and arrays broadcast together. A run is a chain of steps, each with
one model call and one tool call. Noticing a failure takes no time. With retries it is noticed at
the step, otherwise at the end, where the run is repeated or the user repairs it.
"""

from dataclasses import dataclass

import numpy as np

from fastcalc.formulas import agents as formulas
from fastcalc.formulas import choosing
from fastcalc.formulas.money import share_beyond
from fastcalc.formulas.types import Array, ArrayLike, floats

HOUR = 3600.0


@dataclass(frozen=True, eq=False, kw_only=True)
class OptionTerms:
    """The speed, accuracy and prices of an option.

    speed : Tokens per second of one stream. [1/s]
    accuracy : The probability that an answer to a step is right.
    price, input_price : The prices per million output and input tokens, or NaN if unknown, in USD.
    cached_price : The price per million tokens found in a prefix cache, or None for the input
        price, in USD.
    plan : The monthly price of a subscription, in USD.
    quota : The input and output tokens included per month, or per ``quota_hours`` of use. More
        tokens are charged at the prices, or are unavailable without a price. None if the prices
        apply from the first token on. [1, h]
    lead, round_trip : The time per call until tokens stream, and network round trip, in seconds.
    """

    speed: ArrayLike
    accuracy: ArrayLike = 1.0
    price: ArrayLike = float("nan")
    input_price: ArrayLike = 0.0
    cached_price: ArrayLike | None = None
    plan: ArrayLike = 0.0
    quota: ArrayLike | None = None
    quota_hours: ArrayLike | None = None
    lead: ArrayLike = 0.0
    round_trip: ArrayLike = 0.0


@dataclass(frozen=True, eq=False, kw_only=True)
class Chain:
    """The task, which is a chain of steps that an agent runs.

    steps, tokens, prompt : The steps per run, output tokens per call, billed input tokens per call.
    cached : The fraction of the prompt in a prefix cache.
    tools : The time for tool calls per step, in seconds.
    retries, samples : The retries of a failed step, and answers per step, of which one is picked.
    judge : The probability that the judge of the answers is right, or None for a majority vote.
    is_serial : Whether the answers to a step are sampled in sequence, not in parallel.
    """

    steps: ArrayLike = 1.0
    tokens: ArrayLike = 1000.0
    prompt: ArrayLike = 0.0
    cached: ArrayLike = 0.0
    tools: ArrayLike = 0.0
    retries: ArrayLike = 0.0
    samples: ArrayLike = 1.0
    judge: ArrayLike | None = 1.0
    is_serial: bool = False


@dataclass(frozen=True, eq=False, kw_only=True)
class UserTime:
    """The time and budget of the user.

    check : The time to check a run, in seconds.
    repair : The time to repair a failed run, or None to run it again, in seconds.
    sessions : The concurrent runs per user.
    look_away : The waiting time after which the user does something else, or infinity for never, in
        seconds.
    come_back : The time the user needs to resume afterwards, in seconds.
    hour, hours, budget : The value of a user's hour [USD]; hours and dollars per month. [h, USD]
    """

    check: ArrayLike = 0.0
    repair: ArrayLike | None = None
    sessions: ArrayLike = 1.0
    look_away: ArrayLike = float("inf")
    come_back: ArrayLike = 0.0
    hour: ArrayLike = 0.0
    hours: ArrayLike = 160.0
    budget: ArrayLike = float("inf")


@dataclass(frozen=True, eq=False, kw_only=True)
class Terms(OptionTerms, Chain, UserTime):
    """All numbers of an option and its task, by name."""


@dataclass(frozen=True, eq=False)
class Run:
    """One run of an agent on an option.

    success : The probability that all steps are right in the end.
    calls : The number of steps, including retries.
    model_seconds, tool_seconds : The time in the model and in tools, in seconds.
    usd : The price of its tokens, or NaN if it is unknown, in USD.
    tokens : The number of input and output tokens, including cached ones.
    """

    success: Array
    calls: Array
    model_seconds: Array
    tool_seconds: Array
    usd: Array
    tokens: Array

    @property
    def seconds(self) -> Array:
        """The duration of the run, in seconds."""
        return self.model_seconds + self.tool_seconds


@dataclass(frozen=True, eq=False)
class Prospect:
    """The mean time and cost per success of an option.

    seconds : The time from the start to a success, including the user's checks and repairs, in
        seconds.
    user_seconds : The user's time per success: the time between two successes of concurrent
        sessions, or less if the user works on something else while waiting, in seconds.
    busy_sessions : The number of sessions above which more speed does not help the user; infinity
        if there are no checks.
    usd : The cost of tokens and plan per success, or infinity if no run succeeds, in USD.
    total : The cost including the user's time, in USD.
    month, month_usd : The successes within the monthly hours and budget, and their cost without the
        user's time. [1, USD]
    tokens : The number of input and output tokens per success.
    """

    run: Run
    seconds: Array
    user_seconds: Array
    busy_sessions: Array
    usd: Array
    total: Array
    month: Array
    month_usd: Array
    tokens: Array


def taken(terms: Terms) -> Array:
    """Compute the probability that the answer chosen for a step is right."""
    if terms.judge is None:
        return choosing.majority(accuracy=terms.accuracy, samples=terms.samples)
    return choosing.judged(accuracy=terms.accuracy, samples=terms.samples, judge=terms.judge)


def run_of(terms: Terms) -> Run:
    """Compute the time, cost and success probability of one run.

    If the accuracy is 0.9 per step and all ten steps must be right:

    >>> round(float(run_of(Terms(speed=65.0, accuracy=0.9, steps=10)).success), 3)
    0.349
    """
    right = taken(terms)
    tries = floats(terms.retries) + 1.0
    step_success = choosing.best_of(accuracy=right, samples=tries)
    calls = terms.steps * formulas.expected_tries(accuracy=right, tries=tries)
    in_turn = calls * (terms.samples if terms.is_serial else 1.0)
    lead = floats(terms.lead) + terms.round_trip
    cached_price = terms.input_price if terms.cached_price is None else terms.cached_price
    hit = floats(terms.cached)
    input_usd = terms.prompt * ((1.0 - hit) * terms.input_price + hit * cached_price)
    fields = np.broadcast_arrays(
        formulas.chain_success(accuracy=step_success, steps=terms.steps),
        calls,
        in_turn * (floats(terms.tokens) / terms.speed + lead),
        calls * terms.tools,
        calls * terms.samples * (floats(terms.tokens) * terms.price + input_usd) / 1e6,
        calls * terms.samples * (floats(terms.tokens) + terms.prompt),
    )
    return Run(*fields)


def routed(to: Run, remaining: Run, fraction: ArrayLike) -> Run:
    """Compute a run in which one option handles a fraction of the steps and another the rest."""
    piece = floats(fraction)
    success = to.success**piece * remaining.success ** (1.0 - piece)
    pairs = (
        *((to.calls, remaining.calls), (to.model_seconds, remaining.model_seconds)),
        *(
            (to.tool_seconds, remaining.tool_seconds),
            (to.usd, remaining.usd),
            (to.tokens, remaining.tokens),
        ),
    )
    return Run(success, *(piece * first + (1.0 - piece) * second for first, second in pairs))


def prospect(run: Run, terms: Terms) -> Prospect:
    """Compute the mean time and cost per success.

    At an accuracy of 0.9, ten steps require 2.87 runs:

    >>> terms = Terms(speed=65.0, accuracy=0.9, steps=10, tokens=800)
    >>> outlook = prospect(run_of(terms), terms)
    >>> round(float(outlook.seconds / outlook.run.seconds), 2)
    2.87
    """
    ends = run.success if terms.repair is None else 1.0
    checks = floats(terms.check)
    if terms.repair is not None:
        checks = checks + (1.0 - run.success) * terms.repair
    attended = formulas.attended_time(
        response=run.seconds, patience=terms.look_away, return_cost=terms.come_back
    )
    by_user = checks + np.where(run.seconds > terms.look_away, terms.come_back, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        interval = np.maximum((run.seconds + by_user) / floats(terms.sessions), by_user)
        times = run.seconds + by_user, np.minimum(interval, attended + checks), interval
        seconds, user, between = (
            formulas.time_to_success(attempt=attempt, success=ends) for attempt in times
        )
        busy = formulas.busy_sessions(response=run.seconds, think=by_user)
        tokens = formulas.time_to_success(attempt=run.tokens, success=ends)
        listed = formulas.time_to_success(attempt=run.usd, success=ends)
        # Successes per month, and the cost of tokens per success beyond the plan.
        in_hours = floats(terms.hours) * HOUR / between
        if terms.quota is None:
            month, paid = np.fmin(in_hours, floats(terms.budget) / listed), listed
        else:
            is_priced, quota = ~np.isnan(listed), included(terms)
            bought = np.where(is_priced, floats(terms.budget) / listed, 0.0)
            month = np.fmin(in_hours, quota / tokens + bought)
            beyond = share_beyond(usage=month * tokens, included=quota)
            paid = np.where(is_priced, listed * beyond, 0.0)
        usd = np.where(floats(terms.plan) > 0.0, paid + terms.plan / month, paid)
        month_usd = np.where(month > 0.0, month * paid, 0.0) + terms.plan
        total = np.where(np.isinf(user), np.inf, usd + floats(terms.hour) / HOUR * user)
    fields = np.broadcast_arrays(seconds, user, busy, usd, total, month, month_usd, tokens)
    return Prospect(run, *fields)


def included(terms: Terms) -> Array:
    """Return the tokens per month that a plan includes, or NaN without a quota."""
    if terms.quota is None:
        return floats(float("nan"))
    periods = 1.0 if terms.quota_hours is None else floats(terms.hours) / terms.quota_hours
    return floats(terms.quota) * periods


def window_tokens(terms: Terms, window: ArrayLike) -> Array:
    """Return how many tokens of a call stream within a time window."""
    lead = floats(terms.lead) + terms.round_trip
    return formulas.tokens_in_window(window=window, lead=lead, speed=terms.speed)


def window_speed(terms: Terms, window: ArrayLike) -> Array:
    """Return the speed at which a call's tokens fit a time window, or infinity, per second."""
    left = floats(window) - terms.lead - terms.round_trip
    with np.errstate(divide="ignore"):
        return np.where(left > 0.0, terms.tokens / left, np.inf)
