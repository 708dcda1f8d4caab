"""What the labs may have done: what fits two speeds and two prices, and what would settle it."""

from collections.abc import Sequence
from itertools import combinations

from book import FAST, FASTER, PREMIUM, SLOW, SOLD, Book, Words, table
from tricks import enough_users, floors_measured, measured_curves

from fastcalc.articles.inverse import Inverse, Region, invert
from fastcalc.articles.two_tiers import SIDES, TRICKS, SoldTiers, machines
from fastcalc.core.pricing import Pricing
from fastcalc.report.numbers_as_text import number, stable

POINTS = 1 << 20
"""Services that are tried, as ``fastcalc infer`` does. [1]"""

TOLERANCE = 0.15
"""How far a published number may be off. [1]"""

CHIPS = ("h100-sxm", "h200-sxm", "b200", "gb200")

PLAIN = {
    "smaller batch": "fewer users at a time",
    "drafts": "a helper that guesses ahead",
    "other machine": "a faster machine",
    "higher markup": "more profit",
}
"""Tricks as a layman says them."""

RATIOS = {
    "batch_ratio": "{} times fewer users",
    "kept_ratio": "{} times the tokens in one go",
    "chips_ratio": "{} times the chips",
    "markup_ratio": "{} times the profit",
}
COUNTED = {
    "batch_ratio": "how many users share a machine",
    "kept_ratio": "how many tokens the model writes in one go",
    "chips_ratio": "how many chips serve a user",
    "markup_ratio": "what a token costs the company",
}
"""What a lab would publish of both modes."""


def answer(book: Book) -> Words:
    """Return what explains the fast mode's speed and price, in a layman's units."""
    chips = [book.catalogue.hardware(name) for name in CHIPS]
    published = SoldTiers((SLOW, FAST), (SOLD, SOLD * PREMIUM))
    found = invert(published, machines(chips, Pricing()), tolerance=TOLERANCE, points=POINTS)
    shown = [one for one in found.regions if len(one.tricks) == 1 or one in found.minimal]
    heads = (
        "what the fast mode changes",
        "explains speed and price",
        "by how much",
        "users of a machine, normal mode",
    )
    return {
        "fits_table": table(heads, [_row(one) for one in shown]),
        "fits_words": "; or ".join(_joined(one.tricks) for one in found.minimal) or "nothing",
        "drafts_alone": _drafts(book, found),
        "points": f"{POINTS:,}",
        **_settled(found),
        **_users(book),
    }


def _joined(tricks: Sequence[str]) -> str:
    return " together with ".join(PLAIN[trick] for trick in tricks)


def _row(region: Region) -> list[str]:
    if not region.is_found:
        return [_joined(region.tricks), "no", "-", "-"]
    ratios = [name for trick in region.tricks for name in TRICKS[trick] if name in RATIOS]
    much = ", ".join(RATIOS[name].format(_band(name, region)) for name in ratios)
    return [_joined(region.tricks), "yes", much, _band("batch", region)]


def _band(name: str, region: Region) -> str:
    """Return where four fifths of the services lie, to the digits that samples agree on."""
    ends = zip(region.band(name), region.band_error(name), strict=True)
    factor = SIDES[name].factor
    return " to ".join(stable(end * factor, error * factor) for end, error in ends)


def _drafts(book: Book, found: Inverse) -> str:
    """Say what guessing ahead alone does: to the speed as measured, and to the price."""
    gain = book.values("49")[0]
    (alone,) = (one for one in found.regions if one.tricks == ("drafts",))
    whole = "" if gain >= FASTER else "about " if gain * (1.0 + TOLERANCE) >= FASTER else "part of "
    price = "and the price" if alone.is_found else "at little cost, and so not the price"
    return (
        f"It was measured to make a model {number(gain)} times as fast on the same chips. So alone "
        f"it can explain {whole}the speed {price}"
    )


def _settled(found: Inverse) -> Words:
    """Say which two numbers tell the explanations apart, and what even those leave open."""
    minimal = found.minimal
    if len(minimal) < 2:
        return {"settle_words": "Nothing is left to tell apart", "settle_open": ""}

    def shown(names: Sequence[str], region: Region) -> tuple[bool, ...]:
        """Return in which of some numbers the modes differ, as whoever knows them sees."""
        return tuple(name in region.own for name in names)

    def told(names: Sequence[str]) -> int:
        return len({shown(names, region) for region in minimal})

    best = max(combinations(COUNTED, 2), key=told)
    named = " and ".join(COUNTED[name] for name in best)
    apart = "tell these apart" if told(best) == len(minimal) else "narrow it down most"
    known: dict[tuple[bool, ...], list[Region]] = {}
    for region in found.regions:
        if region.is_found:
            known.setdefault(shown(best, region), []).append(region)
    open_still = [
        PLAIN[trick]
        for trick in TRICKS
        if any(len({trick in one.tricks for one in alike}) > 1 for alike in known.values())
    ]
    also = f" Even they would leave open whether {' or '.join(open_still)} had a part as well."
    return {
        "settle_words": f"Two numbers of both modes would {apart}: {named}",
        "settle_open": also * bool(open_still),
    }


def _users(book: Book) -> Words:
    """Return from how many users on a fewer users alone are enough, by software as measured."""
    paid = enough_users(measured_curves(book))
    if not paid:
        never = "no number of users is enough"
        return {"enough_words": never, "enough_from": "any number of", "enough_detail": never}
    least, most = min(paid), max(paid)
    between = f"{least:,}" if least == most else f"{least:,} to {most:,}, depending on the server,"
    return {
        "enough_words": f"it takes a service of {magnitude(least, most)} of users a machine",
        "enough_from": f"{min(enough_users(floors_measured(book))):,}",
        "enough_detail": between,
    }


def magnitude(least: float, most: float) -> str:
    """Return in words between which powers of ten two counts lie.

    Examples
    --------
    >>> magnitude(666, 2425), magnitude(1200, 3000), magnitude(12, 200)
    ('some hundreds to thousands', 'thousands', 'some tens to hundreds')
    """
    names = ("a few", "tens", "hundreds", "thousands", "tens of thousands")
    low, high = (names[min(len(f"{one:.0f}") - 1, 4)] for one in (least, most))
    return low if low == high else f"some {low} to {high}"
