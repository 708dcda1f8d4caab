"""Charts of ways to choose from: what each gives against what it costs."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np

from fastcalc.report.charts.drawing import GREY, MOST, Chart, Panel, Series, axes
from fastcalc.report.charts.grounds import grounds
from fastcalc.report.commands import Typed
from fastcalc.report.decision_rows import records as decide_records
from fastcalc.report.fastmode import rows
from fastcalc.report.numbers_as_text import dollars, number
from fastcalc.report.plan import plan_records
from fastcalc.report.records import Record
from fastcalc.search.fastmode import FastModeAnswer, Option
from fastcalc.search.fastmode.option import TRICKS
from fastcalc.search.plan.decision import Decision
from fastcalc.services.decide.choice import Choice


def tricks(answer: FastModeAnswer, options: Sequence[Option]) -> Chart:
    """Return the users that each way to a target serves at once against the price of a token."""
    first: dict[str, Record] = {}  # the cheapest of each trick
    for record in rows(answer, options):
        if record["usd_per_mtok_output"] is not None:
            first.setdefault(record["trick"], record)
    chart = _against(
        "Users at once and price of each way",
        first.values(),
        ("usd_per_mtok_output", "$/Mtok output, at the speed expected"),
        ("batch", "users at once"),
        lambda record: (
            f"{TRICKS.get(record['trick'], record['trick'])}{' *' * record['changes_answers']}"
        ),
    )
    outcomes = [answer.today, *(option.outcome for option in options if option.outcome)]
    return replace(
        chart,
        notes=[
            "the cheapest of each way; further left is cheaper, higher serves more users at once; "
            "*: another model or fewer bits change the answers"
        ],
        grounds=grounds([outcome.scenario for outcome in outcomes]),
    )


def plans(decision: Decision, shown: int) -> Chart:
    """Return the time of a token against the price of a month: plans, and the best of each chip.

    Without a rate it is the price of a token, for deployments then serve unlike loads.
    """
    every = [*decision.plans[:shown], *decision.of_each_chip[:shown]]
    every = list({id(plan): plan for plan in every}.values())
    records = plan_records(every, decision.service, Typed())
    per_token = "usd_per_mtok_total", "$/Mtok, prompts and output"
    chart = _against(
        "What serves it",
        records,
        per_token if decision.service.rate is None else ("usd_per_month", "$ a month"),
        ("service_tpot_ms", "ms between tokens, in traffic"),
        lambda record: f"{record['chips_total']:,} x {record['hardware']}",
    )
    return replace(
        chart,
        notes=["bars: the 80 % range; lower is faster, further left is cheaper"],
        grounds=grounds([plan.scenario for plan in every]),
    )


def services(decision: Choice) -> Chart:
    """Return the time of a success against its price, of each option."""
    chart = _against(
        "Time and price of a success",
        decide_records(decision),
        ("usd_to_success", "$ to one success"),
        ("s_to_success", "s to one success"),
        lambda record: str(record["option"]),
    )
    return replace(chart, notes=["lower is sooner, further left is cheaper"])


def _against(
    title: str,
    records: Iterable[Record],
    across: tuple[str, str],
    upward: tuple[str, str],
    name: Callable[[Record], str],
) -> Chart:
    """Return a figure of each record against its price; those without either are not drawn.

    across, upward : key and label; the price is across
    """
    (price, cost), (key, label) = across, upward
    series: list[Series] = []
    for record in records:
        if record[price] is None or record[key] is None or len(series) == MOST:
            continue
        edges = [record.get(f"{key}_{end}") for end in ("low", "high")]
        low, high = (None if None in edges else np.array([edge]) for edge in edges)
        tip = f"{name(record)}: {number(record[key])} {label}, {dollars(record[price])} {cost}"
        at = np.array([float(record[price])]), np.array([float(record[key])])
        place = len(series) % GREY
        series.append(Series(name(record), *at, place, "points", low, high, [tip]))
    if not series:
        return Chart(title, notes=["nothing here has a price"])
    return Chart(title, [Panel("", *axes(series, cost, label), series)])
