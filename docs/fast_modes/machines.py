"""The same model on eight usual chips and on wafers: what the machine alone adds to its speed."""

import re
from collections.abc import Sequence

from book import LONG, Book, Words, first, is_even, price, span, speed, table
from wafers import DENSE, SPREAD, billions

from fastcalc.core.outcome import Outcome, solve
from fastcalc.core.ratios import independent_ratio
from fastcalc.kit.answer.numbers_as_text import dollars, number
from fastcalc.written import listed

COMPARED = (("GLM-4.7", "glm-4.7", "fp8"), ("MoE", *SPREAD), ("dense", *DENSE))
"""The full model, and Spark as either of two: what the machines are compared on."""

SERVER = 8
"""H100 of a server. [1]"""


LIST_PRICE, OSS_LIST_PRICE = 2.75, 0.75
"""What Cerebras sold a million output tokens of GLM-4.7 and gpt-oss-120b at. [USD]

Sources: https://github.com/braintrustdata/braintrust-proxy/pull/616, which quotes
https://cerebras.ai/pricing of May 2026;
https://docs.rs/crate/harn-vm/0.8.113/source/src/llm/catalog_sources/60-models/30-cerebras.toml,
which mirrors https://api.cerebras.ai/public/v1/models of June 2026.
"""


def machines(book: Book) -> Words:
    """Speeds by model and machine, of one user and of the most users that a server holds."""
    batch = int(_on(book, *COMPARED[0][1:], "h100-sxm", 1, SERVER).placement.max_batch)
    tried = {
        (name, count): (
            _on(book, *model, "h100-sxm", count, SERVER),
            _on(book, *model, "h100-sxm", count),
            _on(book, *model, "wse-3", count),
        )
        for name, *model in COMPARED
        for count in (1, batch)
    }
    rows = [
        [
            f"{name}, {billions(old)}",
            f"{count}",
            *(_priced(one, one is not old) for one in (old, few, new)),
            *(_gain(one, new) for one in (old, few)),
        ]
        for (name, count), (old, few, new) in tried.items()
    ]
    heads = (
        *("model, weights", "users", f"{SERVER} H100", "fewest H100 (how many)", "fewest wafers"),
        *(f"wafers over {chips}" for chips in (f"{SERVER} H100", "fewest")),
    )
    gains = {
        users: [
            first(new) / first(old) for (_, count), (old, _, new) in tried.items() if count == users
        ]
        for users in (1, batch)
    }
    (full, _, full_wafer), (small, _, small_wafer) = (tried[name, 1] for name, *_ in COMPARED[:2])
    smaller = {
        users: [
            first(tried[name, users][0]) / first(tried[COMPARED[0][0], users][0])
            for name, *_ in COMPARED[1:]
        ]
        for users in (1, batch)
    }
    sold = book.premise("44", "under")
    return {
        "machine_table": table(heads, rows),
        "server": f"{SERVER}",
        "served_users": f"{batch}",
        "machine_gain": _gain(full, full_wafer),
        "machine_one": span(gains[1]),
        "machine_served": span(gains[batch]),
        "machine_short": span(book.concluded("20")),
        "machine_long": span(_numbers(book.filled("20", f"then.at[context={LONG}]"))),
        "short_users": book.concluding("20", "batch"),
        "list_price": dollars(LIST_PRICE),
        "list_price_oss": dollars(OSS_LIST_PRICE),
        "list_words": _sold_at([price(each[2]) for each in tried.values()][:2], batch),
        "model_gain": _gain(full, small),
        "model_one": span(smaller[1]),
        "model_served": span(smaller[batch]),
        "model_gains": span([*smaller[1], *smaller[batch]]),
        "both_gain": _gain(full, small_wafer),
        "product_words": _product(
            *(first(after) / first(full) for after in (small, full_wafer, small_wafer))
        ),
        "sold_gain": span(sold.values),
        "sold_gains": listed(sold.texts),
        "measured_gain": _measured_gain(book.values("26"), full),
        "alone_words": _whole(
            [*gains[1], *gains[batch]], sold.values, float(book.filled("20", "expected"))
        ),
        "glm_speed": speed(full_wafer),
        "glm_wafers": str(full_wafer.placement.layout.chips),
        "measured_words": _against(book.values("26"), full_wafer),
    }


def _numbers(text: str) -> list[float]:
    """The numbers of a list in words.

    Examples
    --------
    >>> _numbers("23.2, 28.1 and 16")
    [23.2, 28.1, 16.0]
    """
    return [float(one) for one in re.findall(r"[\d.]+\b", text)]


def _on(
    book: Book, model: str, weights: str | None, chip: str, users: int, chips: int | None = None
) -> Outcome:
    """A model on some chips, or on the fewest that hold a number of users."""
    return solve(book.scenario(model, chip, weights=weights, chips=chips, batch=users))


def _priced(outcome: Outcome, is_counted: bool = True) -> str:
    """The speed of each user, the price, and the number of chips."""
    chips = outcome.placement.layout.chips
    return (
        f"{number(first(outcome), 2)} at ${dollars(price(outcome))}{f' ({chips:,})' * is_counted}"
    )


def _sold_at(costs: Sequence[float], users: int) -> str:
    """Say what a list price means next to what wafers cost with one user and with some.

    Examples
    --------
    >>> _sold_at([208.0, 36.8], 10), _sold_at([20.8, 2.1], 10)
    ('$36.8 for 10 users above, which implies more users, shorter contexts or a loss', '$2.10 for 10 users above')
    """  # noqa: E501 (what is returned, in one line)
    here = f"${dollars(min(costs))} for {users} users above"
    return here + ", which implies more users, shorter contexts or a loss" * (
        min(costs) > LIST_PRICE
    )


def _product(model: float, machine: float, both: float) -> str:
    """Say whether two gains multiply.

    Examples
    --------
    >>> _product(2.9, 9.3, 24.0), _product(2.5, 10.0, 25.0)
    ('The factors do not simply multiply, because floors differ by model.', 'They multiply.')
    """
    if is_even(both / (model * machine)):
        return "They multiply."
    return "The factors do not simply multiply, because floors differ by model."


def _whole(gains: Sequence[float], sold: Sequence[float], wanted: float) -> str:
    """Say whether the machine alone may be all of a speed-up, and whether it was where measured.

    Examples
    --------
    >>> _whole([8.3, 17.0], [3.5, 12.0], 15.0), _whole([3.0, 4.0], [3.5, 12.0], 15.0)
    ('may explain the whole factor of 15, although less was measured', 'explains part of the factor of 15')
    >>> _whole([20.0, 24.0], [3.5, 12.0], 15.0)
    'is expected to exceed the factor of 15, although less was measured'
    """  # noqa: E501 (what is returned, in one line)
    gains = [float(number(gain, 2)) for gain in gains]  # as the table beside it has them
    if max(gains) < wanted:
        return f"explains part of the factor of {wanted:g}"
    less = ", although less was measured" * (max(sold) < wanted)
    return (
        f"{'may explain the whole' if min(gains) <= wanted else 'is expected to exceed the'} "
        f"factor of {wanted:g}{less}"
    )


def _measured_gain(measured: Sequence[float], expected: Outcome) -> str:
    """Measured speeds over one that is expected, with what its range makes of them."""
    point, low, high = (float(end[0]) for end in expected.estimate.ranged_speed)
    ends = [number(one, 2) for one in (min(measured) / high, max(measured) / low)]
    return f"{span([one / point for one in measured])} times ({'..'.join(ends)})"


def _gain(before: Outcome, after: Outcome) -> str:
    """A ratio of two speeds, with its range."""
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
        outside = ", and above the 80% range" * (min(measured) > high)
        return f"above the expected speeds{outside}"
    if max(measured) < point:
        outside = ", and below the 80% range" * (max(measured) < low)
        return f"below the expected speeds{outside}"
    return "about as expected"
