"""What a service may be: combinations of tricks, the ranges of what it hides, what would decide."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from fastcalc.features.infer.inverse import ENOUGH, SEED, Inverse, Region
from fastcalc.features.infer.two_tiers import BOX, COMPUTE_REACH, SIDES, Side
from fastcalc.grid.columns import Column, key_figure, values
from fastcalc.kit.answer import record_tables
from fastcalc.kit.answer.console import Notes, Part, Screen
from fastcalc.kit.answer.numbers_as_text import number, stable, stated_percent
from fastcalc.kit.answer.point_records import Record, plain, plainly
from fastcalc.kit.answer.record_tables import numbers, words
from fastcalc.mentions import option

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
    words("what the fast tier does", lambda region: " + ".join(region.tricks)),
    key_figure(words("enough", lambda region: "yes" if region.is_found else "no")),
    numbers("samples", _samples),
    *(numbers(heading, partial(_band, name)) for name, heading in _RATIOS.items()),
    numbers("users|slow tier", partial(_band, "batch"), 2),
    numbers("active|B", partial(_band, "active"), 3),
    numbers("markup|slow tier", partial(_band, "markup"), 4),
    numbers("share of|its box", _share, 5),
)


def parts(inverse: Inverse, points: int, screen: Screen) -> list[Part]:
    """Return the verdict, the box, the combinations, and what would tell them apart."""
    minimal = inverse.minimal
    main_regions = [
        region for region in inverse.regions if len(region.tricks) <= _SHOWN or region in minimal
    ]
    listed = inverse.regions if screen.wide else main_regions
    sides = (
        f"{side.label} {number(side.low * side.factor, 2)}..{number(side.high * side.factor, 2)}"
        f"{f' {side.unit}' if side.unit else ''}"
        for side in BOX
    )
    notes = [
        "key: ranges hold 10 to 90 % of the consistent services; where a trick is not named, the "
        "tiers are alike in it; users fewer 15 means a fifteenth of the batch; markup is price "
        "over cost",
        *_kinds(inverse, listed),
        *_rough(listed),
        *_deciding(inverse),
        f"box: {'; '.join(sides)}",
        f"each number may be off by {stated_percent(inverse.tolerance)}; {points:,} points of the "
        f"box, seed {SEED}, digits as far as samples agree; shares of a box are by volume, in "
        "equal ratios where ends differ as much",
        f"a textbook step: reading or computing at {COMPUTE_REACH:.0%} of the peak, then a floor; "
        "drafters free, messages in the floor; chips from " + ", ".join(inverse.chip_kinds.names),
        "prefill is left out: no prompt is computed, and prices of input are not used",
    ]
    table = record_tables.table(TABLE, listed, screen.width)
    slow, fast = (
        f"{speed:g} tokens/s at ${price:g}"
        for speed, price in zip(inverse.published.speeds, inverse.published.prices, strict=True)
    )
    heading = f"One model, two tiers: {slow}, {fast} a million tokens out"
    result: list[Part] = [_verdict(inverse, points), "", heading, table]
    if screen.wide and inverse.whole.is_found:
        result += ["", "What each number may be, with every trick at hand"]
        result += [_sides(inverse, screen.width)]
    if not screen.wide:
        notes += [f"every combination, and what each number may be, with {option('wide')}"]
    return [*result, Notes(notes)]


def _verdict(inverse: Inverse, points: int) -> str:
    if not inverse.minimal:
        return f"{no_consistent_service(inverse, points)}."

    def named(region: Region) -> str:
        doubts = ["at the edge of what was tried"] * bool(region.at_edge)
        doubts += [f"in {len(region.weights):,} of {points:,} services tried"] * region.is_thin
        return " + ".join(region.tricks) + (f" ({', '.join(doubts)})" if doubts else "")

    alone = [named(region) for region in inverse.minimal if len(region.tricks) == 1]
    joint = [named(region) for region in inverse.minimal if len(region.tricks) > 1]
    clauses = [f"enough alone: {', '.join(alone)}"] if alone else ["no trick is enough alone"]
    clauses += [f"enough together: {', '.join(joint)}"] if joint else []
    clauses += ["the numbers do not tell which"] if len(inverse.minimal) > 1 else []
    return f"To explain the fast tier, {'; '.join(clauses)}."


def no_consistent_service(inverse: Inverse, points: int) -> str:
    """Say that nothing fits, and what was tried."""
    return (
        f"None of {points:,} services tried is consistent with these speeds and prices within "
        f"{stated_percent(inverse.tolerance)}"
    )


def _rough(listed: Sequence[Region]) -> list[str]:
    """Say which rows rest on few samples, and which lie where a wider box may hold more."""
    edges = [
        f"{' + '.join(region.tricks)} ({' and '.join(_at_edge(name, region) for name in names)})"
        for region in listed
        if (names := region.at_edge)
    ]
    has_thin = any(region.is_found and region.is_thin for region in listed)
    return [
        *[f"at the edge of what was tried: {'; '.join(edges)}"] * bool(edges),
        *[f"{_FEW} rests on fewer than {ENOUGH} samples: rough; more with {option('points')}"]
        * has_thin,
    ]


def _kinds(inverse: Inverse, listed: Sequence[Region]) -> list[str]:
    """Say whether another machine is another kind of chip, more chips, or both."""
    chips = inverse.chip_kinds.names
    if len(chips) < 2:
        return [f"other machine: more chips of one kind, as only {chips[0]} was tried"]
    rows: dict[str, list[str]] = {"all": [], "some": [], "no": []}
    for region in listed:
        if region.is_found and "fast_chip" in region.own:
            how = {1.0: "all", 0.0: "no"}.get(region.changed_chip, "some")
            rows[how].append(" + ".join(region.tricks))
    clauses = [f"in {how} services of {', '.join(names)}" for how, names in rows.items() if names]
    if not clauses:
        return []
    return [f"other machine: more chips, and another kind of chip {'; '.join(clauses)}"]


def _at_edge(name: str, region: Region) -> str:
    heading = _RATIOS[name].replace("|", " ")
    return f"{heading} {_band(name, region)} of at most {number(SIDES[name].high, 2)}"


def _deciding(inverse: Inverse) -> list[str]:
    """Say what to publish: the numbers that sampling does not keep apart from the best."""
    if len(inverse.minimal) < 2:
        return []
    ranked = inverse.decided_by()
    _, top_chance, error = ranked[0]
    if math.isinf(error):
        return [f"to say what would decide between these takes more points: {option('points')}"]
    threshold = top_chance - max(2.0 * error, _NEAR)
    leading = {name for name, chance, _ in ranked if chance >= threshold}
    *earlier, last = [
        _BOTH.get(name, side.label) for name, side in SIDES.items() if name in leading
    ]
    nouns = f"{', '.join(earlier)} or {last}" if earlier else last
    count = len(inverse.minimal)
    chance_now, chance_after = number(100.0 / count, 2), stable(100.0 * top_chance, 100.0 * error)
    return [
        f"to decide between these {count}, publish {nouns}: the chance to name the right one rises "
        f"from {chance_now} to {chance_after} %"
    ]


def _sides(inverse: Inverse, width: int) -> Part:
    region = inverse.whole

    def ends(side: Side, pair: Sequence[float]) -> str:
        return "..".join(number(end * side.factor, 2) for end in pair)

    columns = (
        words("number", lambda side: f"{side.label}{f', {side.unit}' if side.unit else ''}"),
        numbers("box", lambda side: ends(side, (side.low, side.high))),
        numbers("region", lambda side: ends(side, region.ends(side.name))),
        key_figure(numbers("10..90 %", lambda side: ends(side, region.band(side.name)))),
    )
    return record_tables.table(columns, BOX, width)


@dataclass(frozen=True)
class Combination:
    """A combination of tricks: its region, and the chips of both tiers."""

    region: Region
    is_minimal: bool
    chip: str
    fast_chip: str


def _end(side: Side, key: str, meaning: str) -> Column[Combination]:
    def value(combination: Combination) -> float | None:
        if not combination.region.is_found:
            return None
        ends = combination.region.ends if key in ("least", "most") else combination.region.band
        return float(ends(side.name)[key in ("high", "most")])

    return Column(f"{side.name}_{key}", side.si, f"{side.label}: {meaning}", value)


_ENDS = {
    "least": "the least",
    "low": "above a tenth of the region",
    "high": "above nine tenths",
    "most": "the most",
}
COLUMNS: tuple[Column[Combination], ...] = (
    Column(
        "tricks",
        "text",
        "by which the tiers differ",
        lambda combination: " + ".join(combination.region.tricks),
    ),
    Column("suffices", "yes or no", "whether they explain both tiers", "region.is_found"),
    Column("is_minimal", "yes or no", "and no fewer do", "is_minimal"),
    Column("share_of_box", "share", "of the box, by volume", "region.share"),
    Column(
        "points",
        "count",
        "points of the region",
        lambda combination: len(combination.region.weights),
    ),
    Column(
        "mean_width",
        "share",
        "of a side that 10 to 90 % of the region take, on average",
        lambda combination: combination.region.mean_width if combination.region.is_found else None,
    ),
    *(_end(side, key, meaning) for side in BOX for key, meaning in _ENDS.items()),
    Column("chip", "text", "chips of the slow tier", "chip"),
    Column("fast_chip", "text", "chips of the fast tier", "fast_chip"),
    Column(
        "changed_chip",
        "share",
        "of the region, whose fast tier has another kind of chip",
        lambda combination: (
            combination.region.changed_chip if combination.region.is_found else None
        ),
    ),
    Column(
        "is_thin", "yes or no", f"whether it rests on fewer than {ENOUGH} points", "region.is_thin"
    ),
    Column(
        "at_edge",
        "text",
        "numbers that lie at the edge of the box",
        lambda combination: " ".join(combination.region.at_edge),
    ),
)


def record(inverse: Inverse, region: Region) -> Record:
    """Return the record of a combination: whether it suffices, and the ends of every number."""
    chips = {
        name: " ".join(
            inverse.chip_kinds.names[at] for at in np.unique(region.values[name]).astype(int)
        )
        for name in ("chip", "fast_chip")
    }
    combination = Combination(region, region in inverse.minimal, **chips)
    return plainly(values(COLUMNS, combination))


def alongside(inverse: Inverse, points: int) -> Record:
    """Return what the records rest on, and what would decide."""
    return {
        "published": {
            "tokens_per_s": list(inverse.published.speeds),
            "usd_per_mtok_output": list(inverse.published.prices),
        },
        "tolerance": inverse.tolerance,
        "points": points,
        "seed": SEED,
        "box": {side.name: [side.low, side.high] for side in BOX},
        "chips": list(inverse.chip_kinds.names),
        "decided_by": [
            {"number": name, "chance": plain(chance), "error": plain(error)}
            for name, chance, error in inverse.decided_by()
        ],
    }
