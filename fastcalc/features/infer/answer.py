"""The answer of `infer`: techniques that explain two tiers, and ranges of unpublished numbers."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from fastcalc.features.infer.inverse import ENOUGH, SEED, Inverse, Region
from fastcalc.features.infer.request import Infer
from fastcalc.features.infer.two_tiers import BOX, COMPUTE_REACH, NOUNS, SIDES, Side
from fastcalc.grid.column import Column, TableColumn, key_figure, values
from fastcalc.grid.columns import columns_from, pick
from fastcalc.kit.answer import record_tables
from fastcalc.kit.answer.answer import Answer, Screen
from fastcalc.kit.answer.numbers_as_text import number, stable, stated_percent, whole_percent
from fastcalc.kit.answer.parts import Note, Part
from fastcalc.kit.answer.point_records import Record, plain, plainly
from fastcalc.kit.answer.record_tables import numbers, words
from fastcalc.mentions import command, flag, option
from fastcalc.quoting import shell_line
from fastcalc.written import listed

_NEAR = 0.025
"""Difference below which probabilities count as equal, regardless of the sample size."""

_SHOWN = 2
"""Maximum number of techniques per row. Larger combinations appear only if no smaller one works."""

_FEW = "!"
"""The mark for fewer than `ENOUGH` samples."""

_BOTH = {
    "batch_ratio": "the batch",
    "kept_ratio": "the tokens per step",
    "chips_ratio": "the number of chips",
    "markup_ratio": "the cost",
}


@dataclass(frozen=True, eq=False)
class Combination:
    """A combination of techniques, with the random setups that match both tiers."""

    inverse: Inverse
    region: Region

    @property
    def tricks(self) -> str:
        """The techniques that distinguish the tiers."""
        return " + ".join(self.region.tricks)

    @property
    def is_minimal(self) -> bool:
        """Whether it explains both tiers and no smaller combination contained in it does."""
        return self.region in self.inverse.minimal

    @property
    def points(self) -> int:
        """The number of sampled services that it explains."""
        return len(self.region.weights)

    @property
    def is_rough(self) -> bool:
        """Whether it explains some services but has too few samples for sharp ranges."""
        return self.region.is_found and self.region.is_thin

    def chips(self, name: str) -> str:
        """Return the chip types of a tier in alphabetical order."""
        indices = np.unique(self.region.values[name]).astype(int)
        return " ".join(self.inverse.chip_kinds.names[index] for index in indices)

    def end(self, side: Side, key: str) -> float | None:
        """Return an end of a range or of its 10 to 90% band.

        Returns None if no service matches.
        """
        if not self.region.is_found:
            return None
        ends = self.region.ends if key in ("least", "most") else self.region.band
        return float(ends(side.name)[key in ("high", "most")])

    def band(self, side: Side) -> str:
        """Format the 10 to 90% band, or a dash if both tiers have the same value."""
        name, region = side.name, self.region
        if not region.is_found or (name.endswith("_ratio") and name not in region.own):
            return "-"
        low, high = (
            stable(end * side.factor, error * side.factor)
            for end, error in zip(region.band(name), region.band_error(name), strict=True)
        )
        return f"{low}..{high}"


def _volume(combination: Combination) -> str:
    """Format the fraction of the search volume, rounded to a third of a power of ten."""
    volume = combination.region.share
    return f"{10.0 ** (round(3.0 * math.log10(volume)) / 3.0):.0e}" if volume else "0"


def _samples(combination: Combination) -> str:
    """Format the number of samples behind a row, marked if it is too low."""
    return f"{combination.points:,}{f' {_FEW}' * combination.is_rough}"


_ENDS = {
    "least": "smallest value",
    "low": "10th percentile",
    "high": "90th percentile",
    "most": "largest value",
}
_HEADINGS = {
    "batch_ratio": (("batch,", "x smaller"), 0),
    "kept_ratio": (("tok/step,", "x more"), 0),
    "chips_ratio": (("chips,", "x more"), 0),
    "markup_ratio": (("markup,", "x higher"), 0),
    "batch": (("batch of", "slow tier"), 2),
    "active": (("active", "B"), 3),
    "markup": (("markup of", "slow tier"), 4),
}
"""The heading and drop priority of each band in the table, by parameter."""


def _ends_of(side: Side) -> Iterator[Column[Combination]]:
    """Build the columns of a parameter. The table shows its band in the column of the lower end."""
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


_VALUES: dict[str, Callable[[Any], Any]] = {
    "chip": partial(Combination.chips, name="chip"),
    "fast_chip": partial(Combination.chips, name="fast_chip"),
    "at_edge": lambda combination: " ".join(combination.region.at_edge),
}
"""Values that are not an attribute, by key."""

_FORMATS: dict[str, Callable[[Any], Any]] = {"share_of_box": _volume, "points": _samples}
"""Cells with a format of their own, by key."""

COLUMNS: tuple[TableColumn, ...] = (
    *columns_from(__file__, _VALUES, _FORMATS, group="combination"),
    *(column for side in BOX for column in _ends_of(side)),
    *columns_from(__file__, _VALUES, _FORMATS, group="chips"),
)
_TABLE = pick(
    f"tricks suffices points {' '.join(f'{name}_low' for name in _HEADINGS)} share_of_box", COLUMNS
)


@dataclass(frozen=True, eq=False, kw_only=True)
class InferAnswer(Answer):
    """The result of ``fastcalc infer``: combinations of techniques that explain both tiers."""

    request: Infer
    inverse: Inverse

    @cached_property
    def combinations(self) -> list[Combination]:
        """All combinations of techniques."""
        return [Combination(self.inverse, region) for region in self.inverse.regions]

    @property
    def listed(self) -> list[Combination]:
        """The combinations on the page: those with few techniques, and minimal ones."""
        return [
            combination
            for combination in self.combinations
            if self.request.wide
            or len(combination.region.tricks) <= _SHOWN
            or combination.is_minimal
        ]

    def body(self, screen: Screen) -> Iterator[Part]:
        """Yield the headline, the table of combinations and, with ``wide``, all ranges."""
        published = self.inverse.published
        slow, fast = (
            f"{speed:g} tokens/s at ${price:g}/Mtok"
            for speed, price in zip(published.speeds, published.prices, strict=True)
        )
        yield from (self.headline(), "")
        yield f"One model, two tiers: {slow} and {fast} of output"
        yield record_tables.table(_TABLE, self.listed, screen.width)
        if self.request.wide and self.inverse.whole.is_found:
            yield from ("", "Range of each number with all techniques together")
            yield record_tables.table(_columns_of_box(self.inverse.whole), BOX, screen.width)

    def headline(self) -> str:
        """Say which techniques explain the fast tier, and whether they are the only ones."""
        if self.reasons:
            return f"{self.reasons[0]}."
        alone, joint = list[str](), list[str]()
        for combination in self.combinations:
            if combination.is_minimal:
                first, *techniques = (NOUNS[technique] for technique in combination.region.tricks)
                noun_phrase = first + f" together with {listed(techniques)}" * bool(techniques)
                noun_phrase += " (few matches)" * combination.region.is_thin
                (joint if techniques else alone).append(noun_phrase)
        explanations = f"simplest explanation{'s' * (len(alone + joint) > 1)}"
        sentence = f"{explanations} of the fast tier: {listed(alone + joint, 'or')}"
        sentence += "; no technique alone could explain it" * (not alone)
        unclear = " Speeds and prices alone cannot tell which." * (len(alone + joint) > 1)
        return f"{sentence[0].upper()}{sentence[1:]}.{unclear}"

    def key(self) -> str:
        """Return the key to bands, ratios and dashes in the table."""
        return (
            f"key: matching samples: of {self.inverse.points:,} random setups, those with these "
            "speeds and prices (not a probability); a..b: their 10th to 90th percentile; -: equal "
            "in both tiers; other hardware: more chips or another chip type"
        )

    def notes(self) -> Iterator[Note]:
        """Yield notes on numbers that would decide, other hardware, few samples, and the search."""
        yield from map(Note, self.deciding())
        yield from (Note(text, weight=0) for text in self._other_hardware())
        if any(combination.is_rough for combination in self.listed):
            yield Note(
                f"{_FEW}: fewer than {ENOUGH} samples match, so the ranges are rough; increase "
                f"{option('points')} to try more"
            )
        edges = []
        for combination in self.listed:
            limits = [
                f"{' '.join(_HEADINGS[side.name][0])}: {combination.band(side)}, limit "
                f"{number(side.high, 2)}"
                for side in (SIDES[name] for name in combination.region.at_edge)
            ]
            edges += [f"{combination.tricks} ({' and '.join(limits)})"] * bool(limits)
        if edges:
            yield Note(f"ranges that reach the limit of the search: {'; '.join(edges)}", weight=0)
        sides = (
            f"{side.label} {_ends(side, (side.low, side.high))} {side.unit}".rstrip()
            for side in BOX
        )
        yield Note("only decode is modeled; prefill and input prices are ignored")
        yield Note(
            "a random setup matches both tiers if its speeds and prices are within "
            f"{stated_percent(self.inverse.tolerance)} of the published ones; chip types tried: "
            f"{', '.join(self.inverse.chip_kinds.names)}"
        )
        yield Note(f"ranges searched: {'; '.join(sides)}", weight=0)
        yield Note(
            f"{self.inverse.points:,} random setups were sampled with seed {SEED}. Digits that "
            "depend on the sample are not printed. Fractions of a range are on a logarithmic scale",
            weight=0,
        )
        yield Note(
            "step time: the longer of memory reads and compute at "
            f"{whole_percent(COMPUTE_REACH)} of peak, plus a floor that includes communication; "
            "draft models are assumed to take no time",
            weight=0,
        )

    def _other_hardware(self) -> Iterator[str]:
        """Yield whether "other hardware" means another chip type, more chips, or both."""
        chips = self.inverse.chip_kinds.names
        if len(chips) < 2:
            yield f"other hardware here means more chips of one type: only {chips[0]} was tried"
            return
        rows: dict[str, list[str]] = {"all": [], "some": [], "no": []}
        for combination in self.listed:
            region = combination.region
            if region.is_found and "fast_chip" in region.own:
                how = {1.0: "all", 0.0: "no"}.get(region.changed_chip, "some")
                rows[how].append(combination.tricks)
        clauses = [
            f"{how} matches of {listed([*map(repr, names)])}"
            for how, names in rows.items()
            if names
        ]
        if clauses:
            yield (
                f"other hardware means more chips, which are of another type in {listed(clauses)}"
            )

    def deciding(self) -> Iterator[str]:
        """Yield the numbers that, if published, would best tell the minimal combinations apart."""
        count = len(self.inverse.minimal)
        if count < 2:
            return
        ranked = self.inverse.decided_by()
        _, top_chance, error = ranked[0]
        if math.isinf(error):
            yield (
                "too few samples match to find the number that would distinguish the "
                f"explanations; increase {option('points')} to try more"
            )
            return
        threshold = top_chance - max(2.0 * error, _NEAR)
        leading = {name for name, chance, _ in ranked if chance >= threshold}
        ratios = [noun for name, noun in _BOTH.items() if name in leading]
        nouns = [side.label for name, side in SIDES.items() if name in leading - _BOTH.keys()]
        nouns += [f"{listed(ratios, 'or')} of each tier"] * bool(ratios)
        which = listed(nouns, "or")
        now, chance_then = number(100.0 / count, 2), stable(100.0 * top_chance, 100.0 * error)
        yield (
            f"choosing among the {count} explanations of the headline by chance is right in {now}% "
            f"of cases. It would be right in {chance_then}% if the provider published {which}"
        )

    def next_command(self) -> str:
        """Suggest `fastmode`, which evaluates the techniques for a particular model and chip."""
        slow, fast = (f"{speed:g}" for speed in self.inverse.published.speeds)
        words = [
            "fastcalc",
            "fastmode",
            "deepseek-r1",
            flag("on"),
            self.inverse.chip_kinds.names[-1],
        ]
        return command(shell_line([*words, flag("from-speed"), slow, flag("to-speed"), fast]))

    def records(self) -> list[Record]:
        """Build one record per combination: whether it suffices, and every parameter's range."""
        return [plainly(values(COLUMNS, combination)) for combination in self.combinations]

    def table(self) -> tuple[Sequence[TableColumn], Iterable[object]]:
        """Return a table of all combinations."""
        return _TABLE, self.combinations

    def details(self) -> Record:
        """Return the published numbers, the ranges searched, and the numbers that would decide."""
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
    """Format the ends of a range in the unit of the parameter."""
    return "..".join(number(end * side.factor, 2) for end in ends)


def _columns_of_box(region: Region) -> Sequence[TableColumn]:
    """Build the columns for every parameter: range searched, matching range, and 10 to 90% band."""
    return (
        words("number", lambda side: f"{side.label}{f', {side.unit}' if side.unit else ''}"),
        numbers("searched", lambda side: _ends(side, (side.low, side.high))),
        numbers("matching", lambda side: _ends(side, region.ends(side.name))),
        key_figure(numbers("10..90%", lambda side: _ends(side, region.band(side.name)))),
    )
