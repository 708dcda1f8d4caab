"""Tests of claims that need only arithmetic, not the catalogue."""

import numpy as np

from fastcalc.errors import InputError
from fastcalc.features.claims.finding import Finding, finding
from fastcalc.formulas import agents as tasks
from fastcalc.formulas import break_even, choosing, waiting
from fastcalc.formulas.memory import chips_for_capacity
from fastcalc.formulas.types import Array, ArrayLike, Floats, floats
from fastcalc.written import shown

MOST = 100_000
"""Maximum number of slots or samples in a test."""


def chips_holding(
    *, parameters: ArrayLike, bytes_each: ArrayLike, capacity: ArrayLike, reserve: ArrayLike
) -> Array:
    """Return the number of chips whose memory fits the weights and a reserve."""
    return chips_for_capacity(
        needed=np.asarray(parameters) * bytes_each,
        usable_per_chip=np.asarray(capacity) * (1.0 - np.asarray(reserve)),
    )


def with_chips(
    *,
    speed: ArrayLike,
    than: ArrayLike,
    parameters: ArrayLike,
    capacity: ArrayLike,
    reserve: ArrayLike,
) -> Finding:
    """Compare two speeds, and count the chips that fit such models at 8 bits."""
    chips = chips_holding(parameters=parameters, bytes_each=1.0, capacity=capacity, reserve=reserve)
    sizes = zip(np.atleast_1d(parameters), np.atleast_1d(chips), strict=True)
    counts = ((f"chips for {size / 1e9:g}B at 8 bits", count) for size, count in sizes)
    return finding(np.asarray(speed) / than, *counts)


def bill_ratio(*, prompt: float, output: float, prices: Floats, other_prices: Floats) -> Finding:
    """Compare the bills at two pairs of input and output prices."""
    tokens = np.array([prompt, output]) / 1e6
    first, second = float(tokens @ prices), float(tokens @ other_prices)
    return finding(first / second, ("first", first, "USD"), ("second", second, "USD"))


def interaction(*, tokens: Floats, speeds: Floats, lead: float) -> Array:
    """Compare what a fast mode gains for a short answer and for a long one."""
    time = tasks.turn_time(wait=0.0, lead=lead, tokens=tokens[:, None], speed=speeds)
    gain = time[:, 0] / time[:, 1]
    return floats(gain[0] / gain[1])


def bus_wait(*, scheduling: str, step: ArrayLike, batch: float, arrivals: float) -> Finding:
    """Return the wait for the step in progress, or for a static batch to fill, in seconds."""
    if scheduling not in ("continuous", "static"):
        raise InputError(f"scheduling is continuous or static, not '{shown(scheduling)}'")
    full = float(waiting.fill_wait(batch=batch, arrivals=arrivals))
    fill = (f"until a batch of {batch:g} is full at {arrivals:g} requests/s", full, "s")
    joined = waiting.step_wait(step=step)
    return finding(joined if scheduling == "continuous" else full + 0.0 * joined, fill)


def slot_wait(*, slots: ArrayLike, utilization: ArrayLike, service: ArrayLike) -> Array:
    """Return the mean wait for a free slot, by a recursion over the slots, in seconds."""
    _limit("slots", slots)
    return waiting.slot_wait(slots=slots, utilization=utilization, service=service)


def _limit(name: str, count: ArrayLike) -> None:
    if not bool(np.all((np.asarray(count) >= 1) & (np.asarray(count) <= MOST))):
        raise InputError(f"{name} must lie between 1 and {MOST:,}")


def memory_not_fabric(*, memory: float, fabric: float) -> Finding:
    """Compare a memory's bandwidth with that of the on-chip network, in bytes per second."""
    return finding(memory, ("fabric", fabric / 1e15, "PB/s"))


def turn(
    *, trips: float, trip: float, tokens: float, token: float, lead: float, speed: float
) -> Array:
    """Return the time of a turn with its round trips and an overhead per token, in seconds."""
    return tasks.turn_time(
        wait=trips * trip + tokens * token, lead=lead, tokens=tokens, speed=speed
    )


def saved(
    *,
    trips: float,
    trip: float,
    trip_saving: float,
    tokens: float,
    token: float,
    token_saving: float,
    lead: float,
    lead_saving: float,
) -> Array:
    """Return the time that a turn saves on round trips, tokens and prefill, in seconds."""
    return floats(trips * trip * trip_saving + tokens * token * token_saving + lead * lead_saving)


def reruns(
    *,
    accuracy: float,
    other: ArrayLike,
    steps: float,
    tokens: float,
    speed: float,
    speedup: float,
    tool: float,
) -> Finding:
    """Compare the time to success of a faster, less accurate option with that of another."""
    step = tokens / speed
    run = step + tool
    full, fast = (
        tasks.time_to_success(
            attempt=attempt, success=tasks.chain_success(accuracy=right, steps=steps)
        )
        for attempt, right in ((1.0, accuracy), ((step / speedup + tool) / run, np.asarray(other)))
    )
    times = zip(np.atleast_1d(other), np.atleast_1d(fast), strict=True)
    return finding(
        fast / full,
        (f"accurate option at {accuracy:g}", full, "runs"),
        *((f"fast option at {right:g}", time, "runs") for right, time in times),
    )


def sessions_for_bill(
    *,
    subscriptions: ArrayLike,
    multiple: ArrayLike,
    price: ArrayLike,
    speed: ArrayLike,
    hours: ArrayLike,
) -> Finding:
    """Return how many continuous sessions cause a given monthly bill at an API price.

    >>> usage = sessions_for_bill(subscriptions=500, multiple=2, price=10, speed=50, hours=100)
    >>> float(usage.values)  # 100 million tokens; a session writes 18 million in 100 h
    5.555555555555555
    """
    bill = np.asarray(subscriptions) * multiple
    millions = bill / np.asarray(price)
    per_session = np.asarray(speed) * hours * 3600.0
    return finding(
        1e6 * millions / per_session,
        ("API bill", bill, "USD/month"),
        ("output tokens", millions, "Mtok/month"),
        ("tokens of one session", per_session / 1e6, "Mtok/month"),
    )


def success_slope(*, accuracy: float, steps: float) -> Array:
    """Return the relative rise of success, in percent, if accuracy rises by 1%."""
    change = 1e-6
    right = tasks.chain_success(accuracy=np.array([1.0, 1.0 + change]) * accuracy, steps=steps)
    return floats(np.log(right[1] / right[0]) / np.log1p(change))


def picked(*, accuracy: float, samples: float, speedup: float) -> Finding:
    """Return the accuracy of the best of several answers, with a perfect judge or a vote."""
    chosen = _chosen(accuracy, samples)
    return finding(
        chosen,
        ("perfect judge", chosen[0]),
        ("majority", chosen[1]),
        ("time one after another, over one standard answer", samples / speedup),
    )


def merging_gain(*, accuracy: float, samples: float) -> Finding:
    """Compare the accuracy of the best of several answers with that of one answer."""
    gain = _chosen(accuracy, samples) / accuracy
    return finding(gain, ("perfect judge", gain[0]), ("majority", gain[1]))


def _chosen(accuracy: float, samples: float) -> Floats:
    _limit("samples", samples)
    judged = choosing.best_of(accuracy=accuracy, samples=samples)
    return np.array([judged, choosing.majority(accuracy=accuracy, samples=samples)])


def speed_needed(*, tokens: float, window: float, lead: float, given: ArrayLike) -> Finding:
    """Return the speed that streams a number of tokens within a time window, per second."""
    counts = (
        (
            f"tokens at {speed:g} tokens/s, first after {wait:g} s",
            tasks.tokens_in_window(window=window, lead=wait, speed=speed),
        )
        for speed in np.atleast_1d(given)
        for wait in (0.0, 0.2)
    )
    return finding(tokens / (np.asarray(window) - lead), *counts)


def with_fixing(*, speedup: float, more_errors: float, base: float, fix: float) -> Finding:
    """Compare fast answers, including the time to fix additional mistakes, with slow ones.

    base : 1 if new errors are a fraction of all answers, less if they are one of the mistakes.
    """
    wrong = more_errors * base
    return finding(
        1.0 / speedup + wrong * fix,
        (
            "break-even time of fixing",
            break_even.break_even_fix(speedup=speedup, more_errors=wrong),
            "answers",
        ),
    )


def system_prices(
    *, wafer: float, wafer_memory: float, server: float, server_memory: float
) -> Finding:
    """Compare the costs per byte of memory of a wafer system and a server."""
    wafer_price, server_price = wafer / wafer_memory, server / server_memory
    return finding(
        wafer_price / server_price,
        ("wafer", 1e9 * wafer_price, "USD/GB"),
        ("server", 1e9 * server_price, "USD/GB"),
    )
