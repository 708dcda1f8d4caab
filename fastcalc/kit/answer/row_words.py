"""Sentences on a row of the table: speed and price of a chip, and the interval of a ratio."""

from collections.abc import Iterable
from math import isnan

from fastcalc.core.ratios import Ranged, is_level
from fastcalc.kit.answer.numbers_as_text import WORDS, number
from fastcalc.kit.answer.record_tables import output_price, user_speed
from fastcalc.kit.answer.table_row import TableRow
from fastcalc.written import listed

TIED = "tie, tied: the 80% range of their ratio includes 1"
"""Key entry for tables whose headline mentions a tie."""


def interval(ratio: Ranged) -> str:
    """80% interval of a ratio, and whether it includes 1.

    >>> interval(Ranged(0.57, 0.324, 1.02)), interval(Ranged(1.5, 1.04, 2.3))
    ('0.32 to 1.02: tied', '1.04 to 2.3')
    """
    low, high = map(float, ratio[1:])
    if isnan(low):
        return "range undetermined"
    return f"{near_one(low)} to {near_one(high)}{': tied' * bool(is_level(ratio))}"


def near_one(value: float) -> str:
    """A bound of an interval with two digits, or more if needed to tell it from 1."""
    text = number(value, 2)
    return number(value, 3) if text == "1.0" else text


def alone(row: TableRow, *, is_priced: bool = True) -> str:
    """Sentence on the only chip: speed per user, price and limiting resource."""
    low, high = map(float, row.speed[1:])
    within = "range undetermined" if isnan(low) else f"80% range {number(low)} to {number(high)}"
    pause = "" if row.chips in WORDS else ","
    users = "one user" if row.batch == 1 else "each user"
    gives = "gives" if row.chips == 1 else "give"
    price = ""
    if is_priced and row.price is not None:
        price = f" at {output_price(row.record)}/Mtok{by_prices_of([row])}"
    return (
        f"At batch {row.batch:,}{pause} {row.name} {gives} {users} "
        f"{user_speed(row.record)} tokens/s ({within}){price}; "
        f"{row.record['limiter']}-bound."
    )


def by_prices_of(rows: Iterable[TableRow]) -> str:
    """Phrase that names the chip whose price is used, if a file inherits its price."""
    quotes = [row.outcome.scenario.quote for row in rows if row.price is not None]
    parents = dict.fromkeys(quote.price_of for quote in quotes if quote.price_of)
    return f", by the price of {listed(list(parents))}" if parents else ""
