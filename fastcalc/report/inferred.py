"""What a service may be: combinations of tricks, the ranges of what it hides, what would decide."""

import math
from collections.abc import Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np

from fastcalc.articles.inverse import SEED, Inverse, Region
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

_RATIOS = {
    "batch_ratio": "users|fewer",
    "kept_ratio": "tokens a|pass more",
    "chips_ratio": "chips|more",
    "margin_ratio": "margin|more",
}
_BOTH = {
    "batch_ratio": "the batches of both tiers",
    "kept_ratio": "the tokens a pass of both tiers",
    "chips_ratio": "the chips of both tiers",
    "margin_ratio": "the costs of both tiers",
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


TABLE = (
    words("what the fast tier does", lambda one: " + ".join(one.tricks)),
    words("suffices", lambda one: "yes" if one.is_found else "no"),
    numbers("share of|its box", _share),
    *(numbers(heading, partial(_band, name)) for name, heading in _RATIOS.items()),
    numbers("active|B", partial(_band, "active"), 3),
    numbers("users|slow tier", partial(_band, "batch"), 2),
    numbers("margin|slow tier", partial(_band, "margin"), 4),
)


def parts(found: Inverse, points: int, screen: Screen) -> list[Part]:
    """Return the verdict, the box, the combinations, and what would tell them apart."""
    minimal = found.minimal
    few = [one for one in found.regions if len(one.tricks) <= _SHOWN or one in minimal]
    listed = found.regions if screen.wide else few
    notes = [
        "key: ranges hold 10 to 90 % of the consistent services; where a trick is not named, the "
        "tiers are alike in it; users fewer 15 means a fifteenth of the batch",
        *_deciding(found),
        f"each number may be off by {found.tolerance * 100:g} %; {points:,} points of the box, "
        f"seed {SEED}, digits as far as samples agree; shares of a box are by volume, in equal "
        "ratios where ends differ as much",
        f"a textbook step: reading or computing at {COMPUTE_REACH:.0%} of the peak, then a floor; "
        "drafters free, messages in the floor, no prefill; chips from "
        + ", ".join(found.known.names),
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
    result: list[Part] = [_verdict(found), "", box, "", asked, table]
    if screen.wide and found.whole.is_found:
        result += ["", "What each number may be, with every trick at hand"]
        result += [_sides(found, screen.width)]
    hidden = [] if screen.wide else ["every combination, and what each number may be, with --wide"]
    return [*result, Notes([*notes, *hidden])]


def _verdict(found: Inverse) -> str:
    if not found.minimal:
        return "No service of the box is consistent with these speeds and prices."
    alone = [one.tricks[0] for one in found.minimal if len(one.tricks) == 1]
    joint = [" + ".join(one.tricks) for one in found.minimal if len(one.tricks) > 1]
    said = [f"enough alone: {', '.join(alone)}"] if alone else ["no trick is enough alone"]
    said += [f"enough together: {', '.join(joint)}"] if joint else []
    said += ["the numbers do not tell which"] if len(found.minimal) > 1 else []
    return f"To explain the fast tier, {'; '.join(said)}."


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
