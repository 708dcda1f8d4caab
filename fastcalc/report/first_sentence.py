"""The sentence that opens a comparison: each chip at the batch where it is best.

Fastest stands against fastest and cheapest against cheapest, over all rows of the table, each with
its batch: at one batch for all, the chip that the batch suits wins. Batches that so few chips do
not hold are no rows, though they may be cheaper on more: the sentence names them.
"""

from collections.abc import Sequence
from math import isnan, nan
from typing import NamedTuple

from fastcalc.core.ratios import Ranged, independent_ratio
from fastcalc.core.scenario import Outcome
from fastcalc.formulas.types import floats
from fastcalc.report.numbers_as_text import WORDS, counted, dollars, listed, number
from fastcalc.report.records import Record, compare_records

_MOST_NAMED = 4
"""Chips whose batches are named as left out."""


class TableRow(NamedTuple):
    """A deployment at one batch: a row of the table that fits."""

    record: Record
    outcome: Outcome

    @property
    def name(self) -> str:
        """So many of which chip."""
        return counted(self.record["chips"], self.record["hardware"])

    @property
    def batch(self) -> str:
        """The batch in digits."""
        return f"batch {self.record['batch']:,}"

    @property
    def price(self) -> float | None:
        """Of a million output tokens. [USD]"""
        usd: float | None = self.record["usd_per_mtok_output"]
        return usd

    @property
    def speed(self) -> Ranged:
        """Of each user; nan ends where the range is undetermined. [1/s]"""
        ends = (self.record[f"tokens_per_s_per_user{end}"] for end in ("", "_low", "_high"))
        return Ranged(*(floats(nan if speed is None else speed) for speed in ends))

    @property
    def cost(self) -> Ranged:
        """Of a million output tokens: the slow end of the speed is the dear end. [USD]"""
        expected, low, high = self.speed
        usd = floats(nan if self.price is None else self.price)
        return Ranged(usd, usd * expected / high, usd * expected / low)


def _by_prices_of(runs: Sequence[TableRow]) -> str:
    """Return whose price it is where a chip's file takes it from the one that it extends."""
    scenarios = [run.outcome.scenario for run in runs if run.price is not None]
    parents = dict.fromkeys(
        scenario.hardware.inherited["price"]
        for scenario in scenarios
        if "price" in scenario.hardware.inherited
        and scenario.hardware.id not in scenario.pricing.user_prices
    )
    return f", by the price of {listed(list(parents))}" if parents else ""


def first_sentence(outcomes: Sequence[Outcome]) -> str:
    """Return who is fastest and who is cheapest, each at its own batch.

    outcomes : of one model
    """
    return " ".join(filter(None, sentences(outcomes)))


def leaders(outcomes: Sequence[Outcome]) -> tuple[str, str]:
    """Return in short which chips are fastest, and which are cheapest; empty where none is.

    outcomes : of one model
    """
    runs = [
        TableRow(record, outcome) for outcome in outcomes for record in compare_records([outcome])
    ]
    fitting = [run for run in runs if run.record["fits"]]
    if not fitting:
        return "", ""
    fastest = _fastest_run(fitting)
    priced = [run for run in fitting if run.price is not None]
    cheap = ""
    if priced:
        cheapest = _cheapest_run(priced)
        cheap = f"{cheapest.name}, ${dollars(cheapest.price)}/Mtok"
    return f"{fastest.name}, {number(float(fastest.speed.expected))} tokens/s a user", cheap


def sentences(outcomes: Sequence[Outcome]) -> tuple[str, str, str]:
    """Return who is fastest, who is cheapest where there are several, and what is left out."""
    all_runs = [
        [TableRow(record, outcome) for record in compare_records([outcome])] for outcome in outcomes
    ]
    deployments = [
        fitting for runs in all_runs if (fitting := [run for run in runs if run.record["fits"]])
    ]
    if not deployments:
        smallest = min(batch for outcome in outcomes for batch in outcome.scenario.batches)
        return f"No chip here holds {outcomes[0].scenario.model.id} at batch {smallest:,}.", "", ""
    left_out = _left_out(all_runs)
    if len(deployments) == 1:
        return _alone(deployments[0]), "", left_out
    return _fastest(deployments), _cheapest(deployments), left_out


def _left_out(every: Sequence[Sequence[TableRow]]) -> str:
    """Name the batches that more chips than those of the table hold."""
    batches = [
        (runs[0].record["hardware"], [f"{run.record['batch']:,}" for run in runs if _is_short(run)])
        for runs in every
    ]
    chip_batches = [
        f"{listed(left_batches)} on {chip}" for chip, left_batches in batches if left_batches
    ]
    if not chip_batches:
        return ""
    unnamed = len(chip_batches) - _MOST_NAMED
    chip_batches[_MOST_NAMED:] = [f"some on {unnamed:,} more"] * (unnamed > 0)
    listed_batches = ", ".join(chip_batches)
    return f"May cost less, on more chips: batch {listed_batches}."


def _is_short(run: TableRow) -> bool:
    return not run.record["fits"] and run.record["min_chips"] is not None


def _fastest_run(runs: Sequence[TableRow]) -> TableRow:
    """Return the fastest; of those that print the same speed, the largest batch."""
    top_speed = number(max(run.record["tokens_per_s_per_user"] for run in runs))
    same = [run for run in runs if number(run.record["tokens_per_s_per_user"]) == top_speed]
    return max(same, key=lambda run: run.record["batch"])


def _cheapest_run(runs: Sequence[TableRow]) -> TableRow:
    return min(runs, key=lambda run: (run.price, -run.record["tokens_per_s_per_user"]))


def _alone(runs: Sequence[TableRow]) -> str:
    fastest = _fastest_run(runs)
    low, high = map(float, fastest.speed[1:])
    within = "range undetermined" if isnan(low) else f"{number(low)} to {number(high)}"
    pause = "" if fastest.record["chips"] in WORDS else ","
    gives = "gives" if fastest.record["chips"] == 1 else "give"
    cost = ""
    if fastest.price is not None:
        cost = f" at ${dollars(fastest.price)} a million output tokens{_by_prices_of([fastest])}"
    sentence = (
        f"At {fastest.batch}{pause} {fastest.name} {gives} each user "
        f"{number(fastest.record['tokens_per_s_per_user'])} tokens/s ({within}){cost}; "
        f"{fastest.record['limiter']} limits it."
    )
    if fastest.price is None:
        return sentence
    cheapest = _cheapest_run(runs)
    if dollars(cheapest.price) == dollars(fastest.price):  # what reads alike is no saving
        return sentence
    return (
        f"{sentence} Cheapest at {cheapest.batch}: ${dollars(cheapest.price)} at "
        f"{number(float(cheapest.speed.expected))} tokens/s."
    )


def _fastest(deployments: Sequence[Sequence[TableRow]]) -> str:
    """Return the fastest row, against the fastest of the next fastest deployment."""
    fastest, second, *_ = sorted(
        map(_fastest_run, deployments), key=lambda run: -run.record["tokens_per_s_per_user"]
    )
    ratio = independent_ratio(over=fastest.speed, under=second.speed)
    return (
        f"Fastest: {fastest.name} at {fastest.batch}, {number(float(fastest.speed.expected))} "
        f"tokens/s a user, {times(ratio)} that of {second.name} at {second.batch}."
    )


def _cheapest(deployments: Sequence[Sequence[TableRow]]) -> str:
    """Return the cheapest row, and what the fastest, or else the next cheapest, costs next to it.

    That one stands at the batch at which it is cheapest itself.
    """
    priced = [runs for runs in deployments if runs[0].price is not None]
    if not priced:
        return "No price is known."
    cheapest, *dearer = sorted(map(_cheapest_run, priced), key=lambda run: run.cost.expected)
    sentence = f"Cheapest: {cheapest.name} at {cheapest.batch}, ${dollars(cheapest.price)}/Mtok"
    fastest = _fastest_run([_fastest_run(runs) for runs in deployments]).outcome
    against = next((run for run in dearer if run.outcome is fastest), next(iter(dearer), None))
    if against is None:
        return f"{sentence}{_by_prices_of([cheapest])}; no other has a price."
    costs = "costs" if against.record["chips"] == 1 else "cost"
    ratio = times(independent_ratio(over=against.cost, under=cheapest.cost), "times as much")
    by_prices = _by_prices_of((cheapest, against))
    return f"{sentence}; {against.name} at {against.batch} {costs} {ratio}{by_prices}."


def times(ratio: Ranged, unit: str = "times") -> str:
    """Return a ratio of two predictions with its range.

    >>> times(Ranged(19.04, 11.2, 32.9), "times as much"), times(Ranged(1.0, nan, nan))
    ('19 times as much (11 to 33)', '1.0 times (range undetermined)')
    """
    expected, low, high = map(float, ratio)
    within = "range undetermined" if isnan(low) else f"{number(low, 2)} to {number(high, 2)}"
    return f"{number(expected, 2)} {unit} ({within})"
