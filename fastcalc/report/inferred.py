"""What a service may be: combinations of tricks, the ranges of what it hides, what would decide."""

import math
from collections.abc import Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np

from fastcalc.articles.inverse import ENOUGH, SEED, Inverse, Region
from fastcalc.articles.two_tiers import BOX, COMPUTE_REACH, SIDES, Side
from fastcalc.core.columns import Column, values
from fastcalc.report import record_tables
from fastcalc.report.console import Notes, Part, Screen
from fastcalc.report.numbers_as_text import number, stable
from fastcalc.report.record_tables import numbers, words
from fastcalc.report.records import Record, plain, plainly

_NEAR = 0.025
"""Chances that differ less are not told apart, whatever the sample."""

_SHOWN = 2
"""Tricks of the combinations in the table; those of more are shown where no fewer suffice."""

_FEW = "!"
"""After a number of samples below `ENOUGH`."""

_RATIOS = {
    "batch_ratio": "users|fewer",
    "kept_ratio": "tokens a|pass more",
    "chips_ratio": "chips|more",
    "markup_ratio": "markup|more",
}
_BOTH = {
    "batch_ratio": "the batches of both tiers",
    "kept_ratio": "the tokens a pass of both tiers",
    "chips_ratio": "the chips of both tiers",
    "markup_ratio": "the costs of both tiers",
}


def _band(name: str, region: Region) -> str:
    """Return a band of 10 to 90 %, or a dash where the tiers are alike in it."""
    if not region.is_found or (name.endswith("_ratio") and name not in region.own):
        return "-"
    side = SIDES[name]
    low, high = (
        stable(end * side.factor, error * side.factor)
        for end, error in zip(region.band(name), region.band_error(name), strict=True)
    )
    return f"{low}..{high}"


def _share(region: Region) -> str:
    """Return the share of a box, to a third of a power of ten."""
    if not region.share:
        return "0"
    thirds = round(3.0 * math.log10(region.share))
    return f"{10.0 ** (thirds / 3.0):.0e}"


def _samples(region: Region) -> str:
    """Return how many samples a row rests on, marked where they are few."""
    return f"{len(region.weights):,}{f' {_FEW}' if region.is_found and region.is_thin else ''}"


TABLE = (
    words("what the fast tier does", lambda one: " + ".join(one.tricks)),
    words("enough", lambda one: "yes" if one.is_found else "no"),
    numbers("samples", _samples),
    *(numbers(heading, partial(_band, name)) for name, heading in _RATIOS.items()),
    numbers("users|slow tier", partial(_band, "batch"), 2),
    numbers("active|B", partial(_band, "active"), 3),
    numbers("markup|slow tier", partial(_band, "markup"), 4),
    numbers("share of|its box", _share, 5),
)


def parts(found: Inverse, points: int, screen: Screen) -> list[Part]:
    """Return the verdict, the box, the combinations, and what would tell them apart."""
    minimal = found.minimal
    few = [one for one in found.regions if len(one.tricks) <= _SHOWN or one in minimal]
    listed = found.regions if screen.wide else few
    notes = [
        "key: ranges hold 10 to 90 % of the consistent services; where a trick is not named, the "
        "tiers are alike in it; users fewer 15 means a fifteenth of the batch; markup is price "
        "over cost",
        *_kinds(found, listed),
        *_rough(listed),
        *_deciding(found),
        f"each number may be off by {found.tolerance * 100:g} %; {points:,} points of the box, "
        f"seed {SEED}, digits as far as samples agree; shares of a box are by volume, in equal "
        "ratios where ends differ as much",
        f"a textbook step: reading or computing at {COMPUTE_REACH:.0%} of the peak, then a floor; "
        "drafters free, messages in the floor; chips from " + ", ".join(found.known.names),
        "prefill is left out: no prompt is computed, and prices of input are not used",
    ]
    table = record_tables.table(TABLE, listed, screen.width)
    sides = (
        f"{side.said} {number(side.low * side.factor, 2)}..{number(side.high * side.factor, 2)}"
        f"{f' {side.unit}' if side.unit else ''}"
        for side in BOX
    )
    slow, fast = (
        f"{speed:g} tokens/s at ${price:g}"
        for speed, price in zip(found.published.speeds, found.published.prices, strict=True)
    )
    asked = f"One model, two tiers: {slow}, {fast} a million tokens out"
    box = Notes([f"box: {'; '.join(sides)}"])
    result: list[Part] = [_verdict(found, points), "", box, "", asked, table]
    if screen.wide and found.whole.is_found:
        result += ["", "What each number may be, with every trick at hand"]
        result += [_sides(found, screen.width)]
    hidden = [] if screen.wide else ["every combination, and what each number may be, with --wide"]
    return [*result, Notes([*notes, *hidden])]


def _verdict(found: Inverse, points: int) -> str:
    if not found.minimal:
        return f"{none(found, points)}."

    def named(region: Region) -> str:
        edge = " (at the edge of what was tried)" if region.at_edge else ""
        return f"{' + '.join(region.tricks)}{edge}"

    alone = [named(region) for region in found.minimal if len(region.tricks) == 1]
    joint = [named(region) for region in found.minimal if len(region.tricks) > 1]
    said = [f"enough alone: {', '.join(alone)}"] if alone else ["no trick is enough alone"]
    said += [f"enough together: {', '.join(joint)}"] if joint else []
    said += ["the numbers do not tell which"] if len(found.minimal) > 1 else []
    return f"To explain the fast tier, {'; '.join(said)}."


def none(found: Inverse, points: int) -> str:
    """Say that nothing fits, and what was tried."""
    return (
        f"None of {points:,} services tried is consistent with these speeds and prices within "
        f"{found.tolerance * 100:g} %"
    )


def _rough(listed: Sequence[Region]) -> list[str]:
    """Say which rows rest on few samples, and which lie where a wider box may hold more."""
    edges = [
        f"{' + '.join(region.tricks)} ({' and '.join(_at_edge(name, region) for name in names)})"
        for region in listed
        if (names := region.at_edge)
    ]
    few = any(region.is_found and region.is_thin for region in listed)
    return [
        *[f"at the edge of what was tried: {'; '.join(edges)}"] * bool(edges),
        *[f"{_FEW} rests on fewer than {ENOUGH} samples: rough; more with --points"] * few,
    ]


def _kinds(found: Inverse, listed: Sequence[Region]) -> list[str]:
    """Say whether another machine is another kind of chip, more chips, or both."""
    if len(found.known.names) < 2:
        return [f"other machine: more chips of one kind, as only {found.known.names[0]} was tried"]
    rows: dict[str, list[str]] = {"all": [], "some": [], "no": []}
    for region in listed:
        if region.is_found and "fast_chip" in region.own:
            how = {1.0: "all", 0.0: "no"}.get(region.changed_chip, "some")
            rows[how].append(" + ".join(region.tricks))
    said = [f"in {how} services of {', '.join(names)}" for how, names in rows.items() if names]
    return [f"other machine: more chips, and another kind of chip {'; '.join(said)}"] * bool(said)


def _at_edge(name: str, region: Region) -> str:
    what = _RATIOS[name].replace("|", " ")
    return f"{what} {_band(name, region)} of at most {number(SIDES[name].high, 2)}"


def _deciding(found: Inverse) -> list[str]:
    """Say what to publish: the numbers that sampling does not keep apart from the best."""
    if len(found.minimal) < 2:
        return []
    ranked = found.decided_by()
    _, most, error = ranked[0]
    if math.isinf(error):
        return ["to say what would decide between these takes more points: --points"]
    least = most - max(2.0 * error, _NEAR)
    leading = {name for name, chance, _ in ranked if chance >= least}
    *others, last = [_BOTH.get(name, side.said) for name, side in SIDES.items() if name in leading]
    said = f"{', '.join(others)} or {last}" if others else last
    count = len(found.minimal)
    now, then = number(100.0 / count, 2), stable(100.0 * most, 100.0 * error)
    return [
        f"to decide between these {count}, publish {said}: the chance to name the right one rises "
        f"from {now} to {then} %"
    ]


def _sides(found: Inverse, width: int) -> Part:
    whole = found.whole

    def ends(side: Side, pair: Sequence[float]) -> str:
        return "..".join(number(end * side.factor, 2) for end in pair)

    columns = (
        words("number", lambda side: f"{side.said}{f', {side.unit}' if side.unit else ''}"),
        numbers("box", lambda side: ends(side, (side.low, side.high))),
        numbers("region", lambda side: ends(side, whole.ends(side.name))),
        numbers("10..90 %", lambda side: ends(side, whole.band(side.name))),
    )
    return record_tables.table(columns, BOX, width)


def _end(side: Side, key: str, what: str) -> Column:
    def value(one: Any) -> float | None:
        if not one.region.is_found:
            return None
        ends = one.region.ends if key in ("least", "most") else one.region.band
        return float(ends(side.name)[key in ("high", "most")])

    return Column(f"{side.name}_{key}", side.si, f"{side.said}: {what}", value)


_ENDS = {
    "least": "the least",
    "low": "above a tenth of the region",
    "high": "above nine tenths",
    "most": "the most",
}
COLUMNS = (
    Column("tricks", "text", "by which the tiers differ"),
    Column("suffices", "yes or no", "whether they explain both tiers", "region.is_found"),
    Column("is_minimal", "yes or no", "and no fewer do"),
    Column("share_of_box", "share", "of the box, by volume", "region.share"),
    Column("points", "count", "points of the region", lambda one: len(one.region.weights)),
    Column(
        "mean_width",
        "share",
        "of a side that 10 to 90 % of the region take, on average",
        lambda one: one.region.mean_width if one.region.is_found else None,
    ),
    *(_end(side, key, what) for side in BOX for key, what in _ENDS.items()),
    Column("chip", "text", "chips of the slow tier"),
    Column("fast_chip", "text", "chips of the fast tier"),
    Column(
        "changed_chip",
        "share",
        "of the region, whose fast tier has another kind of chip",
        lambda one: one.region.changed_chip if one.region.is_found else None,
    ),
    Column(
        "is_thin", "yes or no", f"whether it rests on fewer than {ENOUGH} points", "region.is_thin"
    ),
    Column(
        "at_edge",
        "text",
        "numbers that lie at the edge of the box",
        lambda one: " ".join(one.region.at_edge),
    ),
)


def record(found: Inverse, region: Region) -> Record:
    """Return the record of a combination: whether it suffices, and the ends of every number."""
    chips = {
        name: " ".join(found.known.names[at] for at in np.unique(region.values[name]).astype(int))
        for name in ("chip", "fast_chip")
    }
    tricks, is_minimal = " + ".join(region.tricks), region in found.minimal
    one = SimpleNamespace(region=region, tricks=tricks, is_minimal=is_minimal, **chips)
    return plainly(values(COLUMNS, one))


def alongside(found: Inverse, points: int) -> Record:
    """Return what the records rest on, and what would decide."""
    return {
        "published": {
            "tokens_per_s": list(found.published.speeds),
            "usd_per_mtok_output": list(found.published.prices),
        },
        "tolerance": found.tolerance,
        "points": points,
        "seed": SEED,
        "box": {side.name: [side.low, side.high] for side in BOX},
        "chips": list(found.known.names),
        "decided_by": [
            {"number": name, "chance": plain(chance), "error": plain(error)}
            for name, chance, error in found.decided_by()
        ],
    }
