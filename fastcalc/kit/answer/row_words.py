"""Describe a table row: a chip's speed and price, and the interval of a ratio."""

from collections.abc import Iterable, Mapping
from math import isnan, nan
from typing import Any, Literal, NamedTuple

from fastcalc.core.outcome import Outcome
from fastcalc.core.ratios import Ranged, cost_range, is_level
from fastcalc.formulas.types import floats
from fastcalc.kit.answer.numbers_as_text import WORDS, counted, number
from fastcalc.kit.answer.record_tables import output_price, user_speed
from fastcalc.written import listed

Figure = Literal["speed", "cost"]


class TableRow(NamedTuple):
    """A table row: a deployment at one batch."""

    record: Mapping[str, Any]
    outcome: Outcome

    @property
    def chip(self) -> str:
        """The id of the chip."""
        return str(self.record["hardware"])

    @property
    def chips(self) -> int:
        """The number of chips in the deployment."""
        return int(self.record["chips"])

    @property
    def name(self) -> str:
        """The number and type of the chips, as text."""
        return counted(self.chips, self.chip)

    @property
    def batch(self) -> int:
        """The number of sequences decoded together."""
        return int(self.record["batch"])

    @property
    def price(self) -> float | None:
        """The price per million output tokens, in USD."""
        usd: float | None = self.record["usd_per_mtok_output"]
        return usd

    @property
    def speed(self) -> Ranged:
        """The speed per user and its range. Bounds are NaN if the range is undetermined. [1/s]"""
        ends = (self.record[f"tokens_per_s_per_user{end}"] for end in ("", "_low", "_high"))
        return Ranged(*(floats(nan if speed is None else speed) for speed in ends))

    @property
    def cost(self) -> Ranged:
        """The price per million output tokens and its range, which follows from the speed. [USD]"""
        return cost_range(nan if self.price is None else self.price, self.speed)

    def figure(self, figure: Figure) -> Ranged:
        """Return the speed or the cost."""
        return self.speed if figure == "speed" else self.cost


TIED = "uncertain: the 80% range of the ratio includes 1"
"""Key entry for tables whose headline reports a tie."""


def interval(ratio: Ranged) -> str:
    """Format the 80% interval of a ratio, and say whether it includes 1.

    >>> interval(Ranged(0.57, 0.324, 1.02)), interval(Ranged(1.5, 1.04, 2.3))
    ('0.32 to 1.02: tied', '1.04 to 2.3')
    """
    low, high = map(float, ratio[1:])
    if isnan(low):
        return "range undetermined"
    return f"{near_one(low)} to {near_one(high)}{': tied' * bool(is_level(ratio))}"


def near_one(value: float) -> str:
    """Format a bound with two digits, or with three if needed to tell it from 1."""
    text = number(value, 2)
    return number(value, 3) if text == "1.0" else text


def alone(row: TableRow, *, is_priced: bool = True) -> str:
    """Describe the only chip: speed per user, price and limiting resource."""
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
    """Name the chip whose price is used if a file inherits its price."""
    quotes = [row.outcome.scenario.quote for row in rows if row.price is not None]
    parents = dict.fromkeys(quote.price_of for quote in quotes if quote.price_of)
    return f", by the price of {listed(list(parents))}" if parents else ""
