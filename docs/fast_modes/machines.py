"""The same model on eight usual chips and on wafers: what the machine alone adds to its speed."""

from collections.abc import Sequence

from book import Book, Words, counted, first, is_even, price, span, speed, table
from wafers import DENSE, SPREAD, billions

from fastcalc.core.ratios import independent_ratio
from fastcalc.core.scenario import Outcome, solve
from fastcalc.report.numbers_as_text import dollars, number

COMPARED = (("GLM-4.7", "glm-4.7", "fp8"), ("mixture", *SPREAD), ("dense", *DENSE))
"""The full model, and Spark as either of two: what the machines are compared on."""

SERVER = 8
"""H100 of a server. [1]"""


def machines(book: Book) -> Words:
    """Return speeds by model and machine, of one user and of as many as a server holds."""
    most = int(_on(book, *COMPARED[0][1:], "h100-sxm", 1).placement.max_batch)
    pairs = {
        (name, count): [_on(book, *model, chip, count) for chip in ("h100-sxm", "wse-3")]
        for name, *model in COMPARED
        for count in (1, most)
    }
    rows = [
        [
            f"{name}, {billions(old)} weights",
            f"{count}",
            _priced(old),
            _priced(new),
            _gain(old, new),
        ]
        for (name, count), (old, new) in pairs.items()
    ]
    heads = ("model", "users", f"{SERVER} H100", "wafers", "gain by the machine")
    gains = {
        users: [first(new) / first(old) for (_, each), (old, new) in pairs.items() if each == users]
        for users in (1, most)
    }
    (full, full_wafer), (small, small_wafer) = (pairs[name, 1] for name, *_ in COMPARED[:2])
    sold = book.premise("44", "under").values
    return {
        "machine_table": table(heads, rows),
        "server": f"{SERVER}",
        "served_users": f"{most}",
        "machine_gain": _gain(full, full_wafer),
        "machine_one": span(gains[1]),
        "machine_served": span(gains[most]),
        "machine_short": span(book.concluded("20")),
        "short_users": book.concluding("20", "batch"),
        "model_gain": _gain(full, small),
        "both_gain": _gain(full, small_wafer),
        "product_words": _product(
            *(first(after) / first(full) for after in (small, full_wafer, small_wafer))
        ),
        "sold_gain": span(sold),
        "sold_gains": book.filled("44", "then.input[under]"),
        "measured_gain": _measured_gain(book.values("26"), full),
        "alone_words": _whole(
            [*gains[1], *gains[most]], sold, float(book.filled("20", "expected"))
        ),
        "glm_speed": speed(full_wafer),
        "glm_wafers": str(full_wafer.placement.layout.chips),
        "measured_words": _against(book.values("26"), full_wafer),
    }


def _on(book: Book, model: str, weights: str | None, chip: str, users: int) -> Outcome:
    """Return a model on a server, or on the fewest wafers that hold so many users."""
    chips = SERVER if chip == "h100-sxm" else None
    return solve(book.scenario(model, chip, weights=weights, chips=chips, batch=users))


def _priced(outcome: Outcome) -> str:
    """Return the speed of each user with the chips, where they are wafers, and the price."""
    chips = outcome.placement.layout.chips
    wafers = "" if outcome.scenario.hardware.id == "h100-sxm" else f"; {counted(chips)}"
    return f"{number(first(outcome), 2)} at ${dollars(price(outcome))}{wafers}"


def _product(model: float, machine: float, both: float) -> str:
    """Say whether two gains multiply.

    Examples
    --------
    >>> _product(2.9, 9.3, 24.0), _product(2.5, 10.0, 25.0)
    ('They do not simply multiply, as each model has its own floor.', 'They multiply.')
    """
    if is_even(both / (model * machine)):
        return "They multiply."
    return "They do not simply multiply, as each model has its own floor."


def _whole(gains: Sequence[float], sold: Sequence[float], wanted: float) -> str:
    """Say whether the machine alone may be all of a speed-up, and whether it was where measured.

    Examples
    --------
    >>> _whole([8.3, 17.0], [3.5, 12.0], 15.0), _whole([3.0, 4.0], [3.5, 12.0], 15.0)
    ('may be all of the 15 times, though less was measured', 'is part of the 15 times')
    >>> _whole([20.0, 24.0], [3.5, 12.0], 15.0)
    'is more than the 15 times, though less was measured'
    """
    if max(gains) < wanted:
        return f"is part of the {wanted:g} times"
    less = ", though less was measured" * (max(sold) < wanted)
    return (
        f"{'may be all of' if min(gains) <= wanted else 'is more than'} the {wanted:g} times{less}"
    )


def _measured_gain(measured: Sequence[float], expected: Outcome) -> str:
    """Return measured speeds over one that is expected, with what its range makes of them."""
    point, low, high = (float(end[0]) for end in expected.estimate.ranged_speed)
    ends = [number(one, 2) for one in (min(measured) / high, max(measured) / low)]
    return f"{span([one / point for one in measured])} times ({'..'.join(ends)})"


def _gain(before: Outcome, after: Outcome) -> str:
    """Return a ratio of two speeds, with its range."""
    speeds = (one.estimate.ranged_speed for one in (after, before))
    ratio, low, high = (
        number(float(end[0]), 2) for end in independent_ratio(over=next(speeds), under=next(speeds))
    )
    return f"{ratio} times ({low}..{high})"


def _against(measured: Sequence[float], expected: Outcome) -> str:
    """Say on which side of what is expected measured speeds lie, and whether outside its range."""
    low, high = (float(end[0]) for end in expected.estimate.ranged_speed[1:])
    point = first(expected)
    if min(measured) > point:
        outside = ", and above the range in which four of five should lie" * (min(measured) > high)
        return f"above those expected here{outside}"
    if max(measured) < point:
        outside = ", and below the range in which four of five should lie" * (max(measured) < low)
        return f"below those expected here{outside}"
    return "about those expected here"
