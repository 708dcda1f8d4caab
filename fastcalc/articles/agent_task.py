"""Tasks of an agent: what an option of speed, price and accuracy takes until one succeeds.

Every number may be an array; they broadcast together. A run is a chain of steps, each a call of
the model and a tool. What is wrong is noticed at no cost: at the step, where retries are allowed,
and else at the end, after which the run starts afresh.
"""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from fastcalc.formulas import agents as formulas
from fastcalc.formulas import break_even, choosing
from fastcalc.formulas.types import Array, ArrayLike, Floats, floats

_HALVINGS = 60


@dataclass(frozen=True, eq=False)
class ServingOption:
    """A way to get tokens.

    Attributes
    ----------
    speed : array_like
        Tokens a second of one stream. [1/s]
    accuracy : array_like
        Probability that one answer to a step is right. [1]
    price, input_price : array_like
        Of a million tokens out and in; nan where unknown. [USD]
    lead : array_like
        Time of each call before tokens stream: prefill. [s]
    """

    speed: ArrayLike
    accuracy: ArrayLike = 1.0
    price: ArrayLike = float("nan")
    input_price: ArrayLike = 0.0
    lead: ArrayLike = 0.0


@dataclass(frozen=True, eq=False)
class Task:
    """What is to be done.

    Attributes
    ----------
    steps, tokens, prompt : array_like
        Steps of a run; output tokens of a call, and prompt tokens that are paid for. [1]
    tool, round_trip : array_like
        Time of a step's tools; way there and back of a call. [s]
    retries, samples : array_like
        How often a step found wrong is done again; answers to a step, of which one is taken. [1]
    judge : array_like or None
        Probability that who takes one is right about an answer; None for a majority. [1]
    is_serial : bool
        Answers to a step come one after another, not at once.
    """

    steps: ArrayLike = 1.0
    tokens: ArrayLike = 1000.0
    prompt: ArrayLike = 0.0
    tool: ArrayLike = 0.0
    round_trip: ArrayLike = 0.0
    retries: ArrayLike = 0.0
    samples: ArrayLike = 1.0
    judge: ArrayLike | None = 1.0
    is_serial: bool = False


@dataclass(frozen=True, eq=False)
class Prospect:
    """What an option takes for a task, on average.

    Attributes
    ----------
    step_success, success : ndarray
        Probability that a step is right in the end, and that all are. [1]
    calls : ndarray
        Steps of a run, those done again counted. [1]
    model_seconds, tool_seconds, run_seconds : ndarray
        Of one run: in the model, in tools, both. [s]
    run_usd : ndarray
        Price of one run; nan where unknown. [USD]
    seconds, usd : ndarray
        To the first run that succeeds; infinity where none can. [s, USD]
    """

    step_success: Array
    success: Array
    calls: Array
    model_seconds: Array
    tool_seconds: Array
    run_seconds: Array
    run_usd: Array
    seconds: Array
    usd: Array


def taken(accuracy: ArrayLike, task: Task) -> Array:
    """Return the probability that the answer taken for a step is right. [1]"""
    if task.judge is None:
        return choosing.majority(accuracy=accuracy, samples=task.samples)
    return choosing.judged(accuracy=accuracy, samples=task.samples, judge=task.judge)


def prospect(option: ServingOption, task: Task) -> Prospect:
    """Return what an option takes for a task.

    Examples
    --------
    Ten steps at 0.9 ask for 2.87 runs:

    >>> found = prospect(ServingOption(speed=65.0, accuracy=0.9), Task(steps=10, tokens=800))
    >>> round(float(found.seconds / found.run_seconds), 2)
    2.87
    """
    right = taken(option.accuracy, task)
    tries = floats(task.retries) + 1.0
    step_success = choosing.best_of(accuracy=right, samples=tries)
    success = formulas.chain_success(accuracy=step_success, steps=task.steps)
    calls = task.steps * formulas.expected_tries(accuracy=right, tries=tries)
    in_turn = calls * (task.samples if task.is_serial else 1.0)
    model = in_turn * task.tokens / option.speed + in_turn * (floats(option.lead) + task.round_trip)
    tool = calls * task.tool
    each = floats(task.tokens) * option.price + floats(task.prompt) * option.input_price
    usd = calls * task.samples * each / 1e6
    found = np.broadcast_arrays(
        step_success,
        success,
        calls,
        model,
        tool,
        model + tool,
        usd,
        formulas.time_to_success(attempt=model + tool, success=success),
        formulas.time_to_success(attempt=usd, success=success),
    )
    return Prospect(*found)


def equal_accuracy(
    target: ArrayLike,
    other: ServingOption,
    task: Task,
    *,
    by: Literal["seconds", "usd"] = "seconds",
) -> Floats:
    """Return the accuracy at which an option succeeds within a time, or for a price. [1]

    It is nan where even an accuracy of 1 does not suffice, or nothing is known. The target is
    the mean time or price to one success that is to be met, as of a `Prospect`. [s or USD]

    Examples
    --------
    Fifteen times as fast over ten steps, 0.686 a step is as good as 0.9:

    >>> task = Task(steps=10)
    >>> slow = prospect(ServingOption(speed=60.0, accuracy=0.9), task)
    >>> round(float(equal_accuracy(slow.seconds, ServingOption(speed=900.0), task)), 3)
    0.686
    """
    wanted = np.asarray(target, float)

    def cost(accuracy: Floats) -> Floats:
        return np.asarray(getattr(prospect(replace(other, accuracy=accuracy), task), by), float)

    best = cost(np.ones(wanted.shape))
    low, high = np.zeros(best.shape), np.ones(best.shape)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        is_enough = cost(middle) <= wanted
        low, high = np.where(is_enough, low, middle), np.where(is_enough, middle, high)
    return np.where(best <= wanted, high, np.nan)


def equal_check(option: Prospect, other: Prospect) -> Array:
    """Return the time of checking a run at which the more accurate option catches up. [s]"""
    return break_even.break_even_check(
        attempt=option.run_seconds,
        success=option.success,
        other=other.run_seconds,
        other_success=other.success,
    )


def equal_fix(option: Prospect, other: Prospect) -> Array:
    """Return the time of fixing a failed run by hand at which both take as long. [s]"""
    with np.errstate(divide="ignore", invalid="ignore"):
        share = break_even.break_even_fix(
            speedup=option.run_seconds / other.run_seconds,
            more_errors=option.success - other.success,
        )
    return share * option.run_seconds


def window_tokens(option: ServingOption, task: Task, window: ArrayLike) -> Array:
    """Return the tokens of a call that stream before a gap, in seconds, has passed. [1]"""
    lead = floats(option.lead) + task.round_trip
    return formulas.tokens_in_window(window=window, lead=lead, speed=option.speed)


def window_speed(option: ServingOption, task: Task, window: ArrayLike) -> Array:
    """Return the speed at which a call's tokens fit into a gap; infinity where none does. [1/s]"""
    left = floats(window) - option.lead - task.round_trip
    with np.errstate(divide="ignore"):
        return np.where(left > 0.0, task.tokens / np.maximum(left, 0.0), np.inf)
