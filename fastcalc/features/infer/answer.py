"""What a service may be: combinations of tricks, the ranges of what it hides, what would decide."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from fastcalc.features.infer.inverse import ENOUGH, SEED, Inverse, Region
from fastcalc.features.infer.request import Infer
from fastcalc.features.infer.two_tiers import BOX, COMPUTE_REACH, SIDES, Side
from fastcalc.grid.column import Column, TableColumn, key_figure, values
from fastcalc.grid.columns import pick
from fastcalc.kit.answer import record_tables
from fastcalc.kit.answer.answer import Answer
from fastcalc.kit.answer.console import Note, Part, Screen
from fastcalc.kit.answer.numbers_as_text import number, stable, stated_percent
from fastcalc.kit.answer.point_records import Record, plain, plainly
from fastcalc.kit.answer.record_tables import numbers, words
from fastcalc.mentions import option
from fastcalc.written import listed

_NEAR = 0.025
"""Chances that differ less are not told apart, whatever the sample."""

_SHOWN = 2
"""Tricks of the combinations in the table; those of more are shown where no fewer suffice."""

_FEW = "!"
"""After a number of samples below `ENOUGH`."""

_BOTH = {
    "batch_ratio": "the batches of both tiers",
    "kept_ratio": "the tokens a pass of both tiers",
    "chips_ratio": "the chips of both tiers",
    "markup_ratio": "the costs of both tiers",
}


@dataclass(frozen=True, eq=False)
class Combination:
    """A combination of tricks: its region, and the chips of both tiers."""

    inverse: Inverse
    region: Region

    @property
    def tricks(self) -> str:
        """By which the tiers differ."""
        return " + ".join(self.region.tricks)

    @property
    def is_minimal(self) -> bool:
        """Whether it explains both tiers and no part of it does."""
        return self.region in self.inverse.minimal

    @property
    def points(self) -> int:
        """Points of its region. [1]"""
        return len(self.region.weights)

    @property
    def is_rough(self) -> bool:
        """Whether it has a region, of few points."""
        return self.region.is_found and self.region.is_thin

    def chips(self, name: str) -> str:
        """Return the chips of a tier."""
        indices = np.unique(self.region.values[name]).astype(int)
        return " ".join(self.inverse.chip_kinds.names[index] for index in indices)

    def end(self, side: Side, key: str) -> float | None:
        """Return an end of what a number may be, or of 10 to 90 % of that; None without any."""
        if not self.region.is_found:
            return None
        ends = self.region.ends if key in ("least", "most") else self.region.band
        return float(ends(side.name)[key in ("high", "most")])

    def band(self, side: Side) -> str:
        """Return a band of 10 to 90 % as text, or a dash where the tiers are alike in it."""
        name, region = side.name, self.region
        if not region.is_found or (name.endswith("_ratio") and name not in region.own):
            return "-"
        low, high = (
            stable(end * side.factor, error * side.factor)
            for end, error in zip(region.band(name), region.band_error(name), strict=True)
        )
        return f"{low}..{high}"


def _share(combination: Combination) -> str:
    """Return the share of a box, to a third of a power of ten."""
    share = combination.region.share
    return f"{10.0 ** (round(3.0 * math.log10(share)) / 3.0):.0e}" if share else "0"


def _samples(combination: Combination) -> str:
    """Return how many samples a row rests on, marked where they are few."""
    return f"{combination.points:,}{f' {_FEW}' * combination.is_rough}"


_ENDS = {
    "least": "the least",
    "low": "above a tenth of the region",
    "high": "above nine tenths",
    "most": "the most",
}
_HEADINGS = {
    "batch_ratio": (("users", "fewer"), 0),
    "kept_ratio": (("tokens a", "pass more"), 0),
    "chips_ratio": (("chips", "more"), 0),
    "markup_ratio": (("markup", "more"), 0),
    "batch": (("users", "slow tier"), 2),
    "active": (("active", "B"), 3),
    "markup": (("markup", "slow tier"), 4),
}
"""Heading and drop priority of the bands in the table, by the number's name."""


def _ends_of(side: Side) -> Iterator[Column[Combination]]:
    """Yield the columns of a number: the lower end of its band is headed, for both ends of it."""
    heading, drop_priority = _HEADINGS.get(side.name, (("", ""), 0))
    for key, meaning in _ENDS.items():
        yield Column(
            f"{side.name}_{key}",
            side.si,
            f"{side.label}: {meaning}",
            partial(Combination.end, side=side, key=key),
            heading,
            drop_priority,
            format=partial(Combination.band, side=side),
        )


COLUMNS: tuple[Column[Combination], ...] = (
    Column(
        "tricks", "text", "by which the tiers differ", "tricks", ("", "what the fast tier does")
    ),
    Column(
        "suffices",
        "yes or no",
        "whether they explain both tiers",
        "region.is_found",
        ("", "enough"),
        is_key_figure=True,
    ),
    Column("is_minimal", "yes or no", "and no fewer do", "is_minimal"),
    Column(
        "share_of_box",
        "share",
        "of the box, by volume",
        "region.share",
        ("share of", "its box"),
        drop_priority=5,
        format=_share,
    ),
    Column("points", "count", "points of the region", "points", ("", "samples"), format=_samples),
    Column(
        "mean_width",
        "share",
        "of a side that 10 to 90 % of the region take, on average",
        "region.mean_width",
    ),
    *(column for side in BOX for column in _ends_of(side)),
    Column("chip", "text", "chips of the slow tier", partial(Combination.chips, name="chip")),
    Column(
        "fast_chip", "text", "chips of the fast tier", partial(Combination.chips, name="fast_chip")
    ),
    Column(
        "changed_chip",
        "share",
        "of the region, whose fast tier has another kind of chip",
        "region.changed_chip",
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
_TABLE = pick(
    f"tricks suffices points {' '.join(f'{name}_low' for name in _HEADINGS)} share_of_box", COLUMNS
)


@dataclass(frozen=True, eq=False, kw_only=True)
class InferAnswer(Answer):
    """Which combinations of tricks explain both tiers, and what would tell them apart."""

    request: Infer
    inverse: Inverse

    @cached_property
    def combinations(self) -> list[Combination]:
        """Every combination."""
        return [Combination(self.inverse, region) for region in self.inverse.regions]

    @property
    def listed(self) -> list[Combination]:
        """Those that the page shows: of few tricks, or of which no part suffices."""
        return [
            combination
            for combination in self.combinations
            if self.request.wide
            or len(combination.region.tricks) <= _SHOWN
            or combination.is_minimal
        ]

    def body(self, screen: Screen) -> Iterator[Part]:
        """The verdict, the combinations, and with all columns the ranges of every number."""
        published = self.inverse.published
        slow, fast = (
            f"{speed:g} tokens/s at ${price:g}"
            for speed, price in zip(published.speeds, published.prices, strict=True)
        )
        yield from (self.verdict(), "")
        yield f"One model, two tiers: {slow}, {fast} a million tokens out"
        yield record_tables.table(_TABLE, self.listed, screen.width)
        if self.request.wide and self.inverse.whole.is_found:
            yield from ("", "What each number may be, with every trick at hand")
            yield record_tables.table(_columns_of_box(self.inverse.whole), BOX, screen.width)

    def verdict(self) -> str:
        """Say which combinations are enough, or that none is."""
        if self.reasons:
            return f"{self.reasons[0]}."
        alone, joint = list[str](), list[str]()
        for combination in self.combinations:
            if combination.is_minimal:
                doubts = ["at the edge of what was tried"] * bool(combination.region.at_edge)
                tried = f"in {combination.points:,} of {self.inverse.points:,} services tried"
                doubts += [tried] * combination.region.is_thin
                named = combination.tricks + f" ({', '.join(doubts)})" * bool(doubts)
                (alone if len(combination.region.tricks) == 1 else joint).append(named)
        clauses = [f"enough alone: {', '.join(alone)}"] if alone else ["no trick is enough alone"]
        clauses += [f"enough together: {', '.join(joint)}"] * bool(joint)
        clauses += ["the numbers do not tell which"] * (len(alone + joint) > 1)
        return f"To explain the fast tier, {'; '.join(clauses)}."

    def key(self) -> str:
        """What ranges and ratios are."""
        return (
            "key: ranges hold 10 to 90 % of the consistent services; where a trick is not named, "
            "the tiers are alike in it; users fewer 15 means a fifteenth of the batch; markup is "
            "price over cost"
        )

    def notes(self) -> Iterator[Note]:
        """What other machines are, what is rough, what would decide, and what was tried."""
        yield from map(Note, (*self._other_machines(), *self._rough(), *self.deciding()))
        sides = (
            f"{side.label} {_ends(side, (side.low, side.high))} {side.unit}".rstrip()
            for side in BOX
        )
        yield Note(f"box: {'; '.join(sides)}")
        yield Note(
            f"each number may be off by {stated_percent(self.inverse.tolerance)}; "
            f"{self.inverse.points:,} points of the box, seed {SEED}, digits as far as samples "
            "agree; shares of a box are by volume, in equal ratios where ends differ as much"
        )
        yield Note(
            f"a textbook step: reading or computing at {COMPUTE_REACH:.0%} of the peak, then a "
            "floor; drafters free, messages in the floor; chips from "
            + ", ".join(self.inverse.chip_kinds.names)
        )
        yield Note("prefill is left out: no prompt is computed, and prices of input are not used")
        if not self.request.wide:
            yield Note(f"every combination, and what each number may be, with {option('wide')}")

    def _other_machines(self) -> Iterator[str]:
        """Say whether another machine is another kind of chip, more chips, or both."""
        chips = self.inverse.chip_kinds.names
        if len(chips) < 2:
            yield f"other machine: more chips of one kind, as only {chips[0]} was tried"
            return
        rows: dict[str, list[str]] = {"all": [], "some": [], "no": []}
        for combination in self.listed:
            region = combination.region
            if region.is_found and "fast_chip" in region.own:
                how = {1.0: "all", 0.0: "no"}.get(region.changed_chip, "some")
                rows[how].append(combination.tricks)
        clauses = [
            f"in {how} services of {', '.join(names)}" for how, names in rows.items() if names
        ]
        if clauses:
            yield f"other machine: more chips, and another kind of chip {'; '.join(clauses)}"

    def _rough(self) -> Iterator[str]:
        """Say which rows rest on few samples, and which lie where a wider box may hold more."""
        edges = []
        for combination in self.listed:
            sides = [SIDES[name] for name in combination.region.at_edge]
            limits = [
                f"{' '.join(_HEADINGS[side.name][0])} {combination.band(side)} of at most "
                f"{number(side.high, 2)}"
                for side in sides
            ]
            edges += [f"{combination.tricks} ({' and '.join(limits)})"] * bool(limits)
        if edges:
            yield f"at the edge of what was tried: {'; '.join(edges)}"
        if any(combination.is_rough for combination in self.listed):
            more = option("points")
            yield f"{_FEW} rests on fewer than {ENOUGH} samples: rough; more with {more}"

    def deciding(self) -> Iterator[str]:
        """Say what to publish: the numbers that sampling does not keep apart from the best."""
        count = len(self.inverse.minimal)
        if count < 2:
            return
        ranked = self.inverse.decided_by()
        _, top_chance, error = ranked[0]
        if math.isinf(error):
            yield f"to say what would decide between these takes more points: {option('points')}"
            return
        threshold = top_chance - max(2.0 * error, _NEAR)
        leading = {name for name, chance, _ in ranked if chance >= threshold}
        nouns = listed(
            [_BOTH.get(name, side.label) for name, side in SIDES.items() if name in leading], "or"
        )
        now, then = number(100.0 / count, 2), stable(100.0 * top_chance, 100.0 * error)
        yield (
            f"to decide between these {count}, publish {nouns}: the chance to name the right one "
            f"rises from {now} to {then} %"
        )

    def records(self) -> list[Record]:
        """The record of each combination: whether it suffices, and the ends of every number."""
        return [plainly(values(COLUMNS, combination)) for combination in self.combinations]

    def table(self) -> tuple[Sequence[TableColumn], Iterable[object]]:
        """Every combination."""
        return _TABLE, self.combinations

    def details(self) -> Record:
        """What was published and tried, and what would decide."""
        published = self.inverse.published
        return {
            "published": {
                "tokens_per_s": list(published.speeds),
                "usd_per_mtok_output": list(published.prices),
            },
            "tolerance": self.inverse.tolerance,
            "points": self.inverse.points,
            "seed": SEED,
            "box": {side.name: [side.low, side.high] for side in BOX},
            "chips": list(self.inverse.chip_kinds.names),
            "decided_by": [
                {"number": name, "chance": plain(chance), "error": plain(error)}
                for name, chance, error in self.inverse.decided_by()
            ],
        }


def _ends(side: Side, ends: Sequence[float]) -> str:
    """Return both ends of what a number may be, in its unit."""
    return "..".join(number(end * side.factor, 2) for end in ends)


def _columns_of_box(region: Region) -> Sequence[TableColumn]:
    """Return what each number of a box may be: on its side, in a region and in its band."""
    return (
        words("number", lambda side: f"{side.label}{f', {side.unit}' if side.unit else ''}"),
        numbers("box", lambda side: _ends(side, (side.low, side.high))),
        numbers("region", lambda side: _ends(side, region.ends(side.name))),
        key_figure(numbers("10..90 %", lambda side: _ends(side, region.band(side.name)))),
    )
