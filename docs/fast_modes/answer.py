"""What the labs may have done: what fits two speeds and two prices, and what would settle it."""

from collections.abc import Collection, Sequence
from itertools import combinations

from book import FAST, FASTER, LATER, PREMIUM, SLOW, SOLD, Book, Words, span, table
from sources import address, measured

from fastcalc.core.pricing import Pricing
from fastcalc.features.infer.inverse import ENOUGH, Combination, Inverse, Region, invert
from fastcalc.features.infer.two_tiers import SIDES, TECHNIQUES, ChipArrays, SoldTiers, machines
from fastcalc.kit.answer.numbers_as_text import number, stable

POINTS = 1 << 20
"""Services that are tried, as ``fastcalc infer`` does. [1]"""

TOLERANCE = 0.15
"""How far a published number may be off. [1]"""

BY_RENT = "only at list rents"
"""Where chips of the lab's own do not explain it."""

CHIPS = ("h100-sxm", "h200-sxm", "b200", "gb200")

PLAIN = {
    "smaller batch": "smaller batch",
    "speculation": "speculative decoding",
    "other hardware": "more chips of another type",
    "higher markup": "higher mark-up",
}
"""Techniques as the table names them."""

BRIEF = {
    "smaller batch": "a batch {batch_ratio} times smaller",
    "speculation": "speculative decoding",
    "other hardware": "{chips_ratio} times as many chips, of a more expensive type",
    "higher markup": "a mark-up (price over cost) {markup_ratio} times as high",
}
"""The same with how much, for a sentence; a kind of chip that costs no more explains no price."""

RATIOS = {
    "batch_ratio": "{} times smaller",
    "kept_ratio": "{} times the tokens per step",
    "chips_ratio": "{} times the chips",
    "markup_ratio": "{} times the mark-up",
}
COUNTED = {
    "batch_ratio": "users per machine",
    "kept_ratio": "tokens per step",
    "chips_ratio": "chips per user",
    "markup_ratio": "cost per token",
}
"""What a lab would publish of both modes."""


def answer(book: Book) -> Words:
    """What explains the fast mode's speed and price."""
    chips = [book.catalogue.hardware(name) for name in CHIPS]
    published = SoldTiers((SLOW, FAST), (SOLD, SOLD * PREMIUM))
    cloud, owned = (
        invert(published, machines(chips, pricing), tolerance=TOLERANCE, points=POINTS)
        for pricing in (Pricing(), Pricing("tco"))
    )
    by_rent = {one.tricks for one in cloud.regions} - {
        one.tricks for one in owned.regions if one.is_found
    }
    shown = [one for one in cloud.regions if len(one.tricks) == 1 or one in cloud.minimal]
    heads = (
        "what the fast mode changes",
        "explains speed and price",
        "by how much",
        "users per machine, standard mode",
    )
    return {
        "fits_table": table(heads, [_row(one, cloud.chip_kinds, by_rent) for one in shown]),
        "fits_words": _listed(cloud, by_rent),
        "later_words": _later(cloud.chip_kinds, cloud.minimal),
        "drafts_alone": _drafts(),
        "fewer_fits": next(
            _band("batch", one) for one in shown if one.tricks == ("smaller batch",)
        ),
        "points": f"{POINTS:,}",
        "near": f"{100.0 * TOLERANCE:g}",
        "least_chips": f"{SIDES['chips'].low:g}",
        "most_chips": f"{SIDES['chips'].high:g}",
        **_newer(book),
        **_settled(cloud),
    }


def _listed(found: Inverse, by_rent: Collection[Combination]) -> str:
    """What explains both numbers, each with its place, by how much and at which prices."""
    if not found.minimal:
        return "No combination that we tried explains both its speed and its price"
    shown = []
    for rank, one in enumerate(found.minimal, 1):
        bands = {name: _band(name, one) for name in one.ratios}
        joined = " with ".join(BRIEF[trick].format(**bands) for trick in one.tricks)
        shown.append(f"({rank}) {joined}{f', {BY_RENT}' * (one.tricks in by_rent)}")
    listed = f"{'; '.join(shown[:-1])}; or {shown[-1]}" if len(shown) > 1 else shown[0]
    return f"Each of these explanations fits some machine and model: {listed}"


def _later(chips: ChipArrays, minimal: Sequence[Region]) -> str:
    """Say what the lower price of a later model leaves: how many fewer users, and what else."""
    published = SoldTiers((SLOW, SLOW * FASTER), (SOLD, SOLD * LATER))
    inverse = invert(published, chips, tolerance=TOLERANCE, points=POINTS)
    (fewer,) = (one for one in inverse.regions if one.tricks == ("smaller batch",))
    users = f"a batch {_band('batch_ratio', fewer)} times smaller is enough"
    is_same = {one.tricks for one in inverse.minimal} == {one.tricks for one in minimal}
    fits = "and the same explanations fit" if is_same else "and other explanations fit"
    return f"{users if fewer.is_found else 'a smaller batch alone is not enough'}, {fits}"


def _joined(tricks: Sequence[str]) -> str:
    return " with ".join(PLAIN[trick] for trick in tricks)


def _row(region: Region, chips: ChipArrays, by_rent: Collection[Combination]) -> list[str]:
    if not region.is_found:
        return [_joined(region.tricks), "no", "-", "-"]
    return [
        _joined(region.tricks),
        "yes"
        + f", fewer than {ENOUGH} matches" * region.is_thin
        + f", {BY_RENT}" * (region.tricks in by_rent),
        _much(region, chips),
        _band("batch", region),
    ]


def _much(region: Region, chips: ChipArrays) -> str:
    """By how much the modes differ, and where that is near the most that was tried."""
    changes = []
    for name in (name for name in region.ratios if name in RATIOS):
        upper_end = f" (at most {SIDES[name].high:g} tried)" * (name in region.at_edge)
        changes.append(RATIOS[name].format(_band(name, region) + upper_end))
    if "fast_chip" in region.own:
        changes.append(f"more expensive chips {_dearer(region, chips)}")
    return ", ".join(changes)


def _dearer(region: Region, chips: ChipArrays) -> str:
    """In how many services of a region the fast mode has chips of a more expensive type."""
    slow, fast = (chips.usd[region.values[name].astype(int)] for name in ("chip", "fast_chip"))
    fraction = float(region.weights[fast > slow].sum() / region.share)
    return "in all cases" if fraction == 1.0 else f"in {100.0 * fraction:.0f}% of cases"


def _band(name: str, region: Region) -> str:
    """Where four fifths of the services lie, to the digits that samples agree on."""
    ends = zip(region.band(name), region.band_error(name), strict=True)
    factor = SIDES[name].factor
    return " to ".join(stable(end * factor, error * factor) for end, error in ends)


def _drafts() -> str:
    """Say what speculation was measured to do to the speed of one user alone."""
    before, after = (measured(name).value for name in ("trtds-008", "trtds-011"))
    return (
        f"NVIDIA [measured]({address('trtds-011')}) {number(after / before, 2)} times the "
        "speed for one user"
    )


def _newer(book: Book) -> Words:
    """Whether newer chips alone reach the fast mode's speed, as expected and at its bounds."""
    gains = book.concluded("48")
    low, high = (float(book.filled("48", f"then.{end}")) for end in ("low", "high"))
    enough = "are enough" if min(gains) >= FASTER else "are not enough"
    some = "are enough in some cases" if min(gains) < FASTER <= max(gains) else enough
    others = "may be" if low < FASTER <= high else "is" if low >= FASTER else "is not"
    return {
        "newer_gain": span(gains),
        "newer_users": book.concluding("48", "batch"),
        "newer_words": some,
        "newer_range": f"{span([low, high])} times, which {others} enough",
    }


def _settled(found: Inverse) -> Words:
    """Which two numbers would separate the explanations, and what even those leave open."""
    minimal = found.minimal
    if len(minimal) < 2:
        return {"settle_words": "Only one explanation is left"}

    def shown(names: Sequence[str], region: Region) -> tuple[bool, ...]:
        """In which of some numbers the modes differ, as whoever knows them sees."""
        return tuple(name in region.own for name in names)

    def kinds(names: Sequence[str]) -> int:
        """How many explanations some numbers separate."""
        return len({shown(names, region) for region in minimal})

    best = max(combinations(COUNTED, 2), key=kinds)
    named = " and ".join(COUNTED[name] for name in best)
    apart = "separate these explanations" if kinds(best) == len(minimal) else "narrow it down most"
    known: dict[tuple[bool, ...], list[Region]] = {}
    for region in found.regions:
        if region.is_found:
            known.setdefault(shown(best, region), []).append(region)
    open_still = [
        PLAIN[trick]
        for trick in TECHNIQUES
        if any(len({trick in one.tricks for one in alike}) > 1 for alike in known.values())
    ]
    also = f". Even then, {' or '.join(open_still)} may have contributed" * bool(open_still)
    return {"settle_words": f"Two unpublished values for both modes would {apart}: {named}{also}"}
