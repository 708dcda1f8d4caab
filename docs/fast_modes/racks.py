"""Smaller batches on a rack at the speed that Opus has, with speculation and without."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from book import (
    FAST,
    FASTER,
    LONG,
    PREMIUM,
    RACK,
    SHORT,
    SLOW,
    Book,
    Words,
    price,
    span,
    table,
)

from fastcalc.core.outcome import solve
from fastcalc.core.pricing import Pricing
from fastcalc.core.ratios import independent_ratio
from fastcalc.core.scenario import Scenario
from fastcalc.features.fastmode.lighter_passes import PUBLISHED, drafting, narrowest, speculation
from fastcalc.features.fastmode.smaller_batches import MEASURED, Curve, curve, engines_of
from fastcalc.features.fastmode.solve import start_at_speed
from fastcalc.features.fastmode.start import Base
from fastcalc.formulas.money import usd_per_million
from fastcalc.kit.answer.numbers_as_text import number

DRAFTS = 2
"""Draft tokens: the number that pays with several users per machine. [1]"""


class Case(NamedTuple):
    """A model, its tokens of context, and the speed of the standard mode. [1], [1/s]"""

    name: str
    model: str
    context: float
    speed: float


CASES = (
    Case("DeepSeek-R1", "deepseek-r1", LONG, 25.0),
    Case("DeepSeek-R1", "deepseek-r1", LONG, SLOW),
    Case("DeepSeek-R1", "deepseek-r1", SHORT, SLOW),
    Case("GLM-4.7", "glm-4.7", LONG, SLOW),
)

MAIN = CASES[1]

NEAR = 1.15
"""How far a published number may be off, as a factor. [1]"""

TRIED = 18
"""Numbers of users tried in a round of the search. [1]"""


class Mode(NamedTuple):
    """A standard mode: its most users at a speed, what that costs, and what a faster mode costs.

    users, fewer : that share the rack in either mode; 0 fewer where none is fast enough [1]
    speed : of each user of the standard mode [1/s]
    usd, owned : of a million output tokens by list rent, and by ownership [USD]
    multiple : what a token of the faster mode costs over one of the standard mode; nan if never [1]
    """

    users: int
    speed: float
    usd: float
    owned: float
    fewer: int
    multiple: float


def most_users(scenario: Scenario, goal: float) -> Mode | None:
    """The standard mode of a rack with the most users at a speed; None where none has it."""

    def seen(starts: Sequence[int]) -> Curve:
        found = curve(scenario, RACK, np.unique(np.round(starts)).astype(np.int64), FASTER)
        assert found is not None, "a rack holds the model"
        return found

    users = _last(lambda starts: seen(starts).speed >= goal)
    if not users:
        return None
    found = seen([users])
    speed = float(found.speed[0])
    cloud, owned = (
        usd_per_million(usd_per_hour=hour * RACK, seconds=1.0 / speed, tokens=users)
        for basis in ("cloud", "tco")
        if (hour := Pricing(basis).per_chip_hour(scenario.hardware)) is not None
    )
    return Mode(users, speed, cloud, owned, int(found.batch[0]), float(found.multiple[0]))


def _last(is_enough: Callable[[np.ndarray], np.ndarray]) -> int:
    """The last whole number up to which something holds, of those it holds for at first.

    Examples
    --------
    >>> _last(lambda users: users <= 727), _last(lambda users: users < 0)
    (727, 0)
    """
    low, high = 0, 1 << 14
    tried = np.unique(np.round(2.0 ** np.arange(0.0, 14.25, 0.25))).astype(np.int64)
    while high - low > 1:
        holds = np.asarray(is_enough(tried), dtype=bool)
        first = int(np.argmin(holds)) if not holds.all() else len(tried)
        low = int(tried[first - 1]) if first else low
        high = int(tried[first]) if first < len(tried) else high
        tried = np.unique(np.linspace(low + 1, high, TRIED).round()).astype(np.int64)
    return low


def modes(book: Book, case: Case, drafts: int, servers: Sequence[str] = MEASURED) -> list[Mode]:
    """The standard mode at a speed with each server, where there is one."""
    reached = [most_users(one, case.speed) for one in served(book, case, drafts, servers)]
    return [mode for mode in reached if mode is not None]


def served(
    book: Book, case: Case, drafts: int, servers: Sequence[str] = MEASURED
) -> list[Scenario]:
    """The rack with each server."""
    rack = book.scenario(case.model, "gb200", chips=RACK, context=case.context)
    if drafts:
        _, rack = drafting(rack, drafts)
    return [replace(rack, engine=book.catalogue.engine(name)) for name in servers]


def enough_from(book: Book, drafts: int) -> list[tuple[Scenario, int]]:
    """The fewest users from which fewer of them explain the speed at the price.

    By program and number format: each that some number of users is enough for.
    """
    octaves = np.unique(np.round(2.0 ** np.arange(0.0, 13.25, 0.25))).astype(np.int64)
    gb200 = book.catalogue.hardware("gb200")
    servers = [engine.id for engine in engines_of(book.catalogue, gb200)]
    native = served(book, MAIN, drafts, servers)
    ends = []
    for rack in (*native, *(narrow for one in native for _, narrow in narrowest(one))):
        costs_by_start = curve(rack, RACK, octaves, FASTER)
        end = costs_by_start.ends(PREMIUM) if costs_by_start else None
        ends += [(rack, end[0])] if end else []
    return ends


def perfect(book: Book) -> Words:
    """Say what the speed-up costs without a floor: from how many users on, and at Opus's speed."""
    (at_opus,) = modes(book, MAIN, 0, ("ideal",))
    (ideal,) = served(book, MAIN, 0, ("ideal",))
    octaves = np.unique(np.round(2.0 ** np.arange(0.0, 13.25, 0.25))).astype(np.int64)
    study = curve(ideal, RACK, octaves, FASTER)
    end = study.ends(PREMIUM) if study else None
    assert end is not None, "without a floor fewer users are enough"
    return {
        "perfect_from": f"{end[0]:,}",
        "perfect_users": f"{at_opus.users:,}",
        "perfect_words": costs([at_opus]).replace(" times", "x"),
    }


def at_speed(book: Book) -> Words:
    """The table of fewer users by speed, and what it says at the speed of Opus."""
    found = {(case, drafts): modes(book, case, drafts) for case in CASES for drafts in (0, DRAFTS)}
    lines = []
    for case, drafts in found:
        speed = f"{case.speed:g}{' (Opus)' * (case.speed == SLOW)}"
        speculation = "both modes" if drafts else "none"
        start = (case.name, f"{case.context:,.0f}", speed, speculation)
        lines.append([*start, *cells(found[case, drafts])])
    heads = ["model", "context", "tokens/s, standard", "speculation", "users, standard"]
    heads.append(f"{FASTER:g} times the speed costs")
    alone, helped = found[MAIN, 0], found[MAIN, DRAFTS]
    return {
        "rack_table": table(heads, lines),
        **perfect(book),
        "single_range": single_range(book),
        "drafts_taken": f"{DRAFTS}",
        "kept_taken": f"{PUBLISHED[DRAFTS]:g}",
        "servers": ", ".join(book.catalogue.engine(name).name for name in MEASURED),
        **first_screen(book, alone, helped),
        "starts_words": starts_words(
            *([start for _, start in enough_from(book, drafts)] for drafts in (0, DRAFTS))
        ),
        "batch_gain": batch_gain(book, alone),
        "alone_paid": paid(alone),
        "helped_paid": paid(helped),
    }


def cells(found: Sequence[Mode]) -> tuple[str, str]:
    """How many users the normal mode has, and what the faster one costs."""
    if not found:
        return "none", "-"
    return _users([mode.users for mode in found]), costs(found)


def _users(counts: Sequence[int]) -> str:
    ends = (f"{float(f'{count:.2g}'):,.0f}" for count in (min(counts), max(counts)))
    return " to ".join(dict.fromkeys(ends))


def costs(found: Sequence[Mode]) -> str:
    """Between which multiples the faster mode costs, and whether it is out of reach.

    Examples
    --------
    >>> costs([Mode(419, 65, 7.7, 1.0, 36, 4.63), Mode(684, 65, 4.7, 0.6, 0, np.nan)])
    '4.6 times by 1 of 2 engines'
    """
    reached = [mode.multiple for mode in found if mode.fewer]
    if not reached:
        return "not expected"
    part = f" by {len(reached)} of {len(found)} engines" * (len(reached) < len(found))
    return f"{span(reached)} times{part}"


def is_enough(found: Sequence[Mode]) -> bool:
    """Whether some server gives the faster mode for the price that was published."""
    return any(mode.fewer and mode.multiple <= NEAR * PREMIUM for mode in found)


def first_screen(book: Book, alone: Sequence[Mode], helped: Sequence[Mode]) -> Words:
    """Say whether fewer users alone explain the fast mode of Opus on the rack, and when."""
    lone = [solve(rack).estimate.ranged_speed for rack in served(book, MAIN, 0)]
    speeds = [float(one.expected[0]) for one in lone]
    low, high = min(float(one.low[0]) for one in lone), max(float(one.high[0]) for one in lone)
    single = f"{number(low, 2)} to {number(high, 2)}"
    if is_enough(alone):
        here = f"a smaller batch alone is enough; the speed-up costs {costs(alone)}"
    elif any(mode.fewer for mode in alone):
        here = f"a smaller batch alone costs too much, {costs(alone)}"
    else:
        here = (
            f"it is not enough{', although it may be on some systems' * (high >= FASTER * SLOW)}: "
            f"a single user gets {span(speeds)} tokens/s ({single} on individual systems)"
        )
    words = {"fewer_alone": here}
    if not is_enough(helped):
        return {**words, "fewer_helped": "With speculation in both modes it is not enough either"}
    counts = [mode.users for mode in helped]
    after = span([mode.fewer for mode in helped])
    return {
        **words,
        "fewer_helped": (
            f"With speculation in both modes it is enough: with {after} users instead of "
            f"{_users(counts)}, tokens cost {costs(helped)} as much"
        ),
    }


def drafts_alone(book: Book) -> Words:
    """The cost of speculation alone, from the slow speed to the fast one, and what it explains.

    Each server starts from its own standard mode, and takes as many drafts as are cheapest.
    """
    users, fewer, multiples, ends = [], [], [], []
    for rack in served(book, MAIN, 0):
        today = solve(start_at_speed(rack, SLOW) or rack)
        drafted = speculation(Base(today, FAST, book.catalogue, [])).outcome
        if drafted is None:
            continue
        before, after = today.estimate.ranged_speed, drafted.estimate.ranged_speed
        slower = independent_ratio(over=before, under=after)
        users.append(today.scenario.batches[0])
        fewer.append(drafted.scenario.batches[0])
        multiples.append(price(drafted) / price(today))
        ends += [multiples[-1] * float((end / slower.expected)[0]) for end in slower[1:]]
    if not multiples:
        none = dict.fromkeys(("drafts_multiples", "drafts_range"), "-")
        return {**none, "drafts_rack": f"On our rack it does not reach {FAST:g} tokens/s"}
    explains = "but not the price" if max(ends) < PREMIUM / NEAR else "and perhaps the price"
    explains = "and the price" if max(multiples) >= PREMIUM / NEAR else explains
    return {
        "drafts_multiples": span(multiples),
        "drafts_range": span(ends),
        "drafts_rack": (
            f"On our rack, {_users(fewer)} users get {FAST:g} tokens/s instead of {_users(users)} "
            f"users with {SLOW:g}, at {span(multiples)} times the cost ({span(ends)}). This "
            f"explains the speed {explains}"
        ),
    }


def starts_words(alone: Sequence[int], helped: Sequence[int]) -> str:
    """Say with how many users in standard mode a smaller batch is enough.

    Examples
    --------
    >>> starts_words([1059, 4028], [340])
    'with at least 1,059 to 4,028 users in standard mode, or at least 340 with speculation'
    >>> starts_words([], [340])
    'with no number of users in standard mode, or at least 340 with speculation'
    """
    first, second = (
        f"at least {span(starts)}" if starts else "no number of" for starts in (alone, helped)
    )
    return f"with {first} users in standard mode, or {second} with speculation"


def batch_gain(book: Book, alone: Sequence[Mode]) -> str:
    """Say how much faster speculation makes the rack with one user, with more and with many."""
    counts = np.array([1, max(mode.users for mode in alone), 1024])
    racks = zip(served(book, MAIN, 0), served(book, MAIN, DRAFTS), strict=True)
    gains = np.array([_gains(*pair, counts) for pair in racks])
    one, some, full = (span(gain) for gain in gains.T.tolist())
    falls = bool(np.all(np.diff(gains) < 0.0))
    how = "falls" if falls else "varies"
    return (
        f"The gain from speculation {how} with more users: {one} times the speed for one user, "
        f"{some} with {counts[1]} and {full} with {counts[2]:,}"
    )


def _gains(plain: Scenario, helped: Scenario, users: np.ndarray) -> np.ndarray:
    """How much faster speculation makes some numbers of users, unchanged. [1]"""
    before, after = (curve(rack, RACK, users, FASTER) for rack in (plain, helped))
    assert before is not None, "a rack holds the model"
    assert after is not None, "with speculation, too"
    return np.asarray(after.speed / before.speed)


def single_range(book: Book) -> str:
    """Between which shares of what is expected a single system's speed should lie."""
    speed, low, high = (
        float(end[0]) for end in solve(served(book, MAIN, 0)[0]).estimate.ranged_speed
    )
    return f"{number(low / speed, 2)} to {number(high / speed, 2)} times"


def paid(found: Sequence[Mode]) -> str:
    """Say what a million tokens cost at list rent and on owned chips.

    Examples
    --------
    >>> paid([Mode(419, 65, 7.7, 1.0, 36, 4.63)])
    '$7.7/Mtok at list rent and $1.0 on owned chips'
    """
    rents, owned = [mode.usd for mode in found], [mode.owned for mode in found]
    return f"${span(rents)}/Mtok at list rent and ${span(owned)} on owned chips"
