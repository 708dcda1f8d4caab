"""A chart of `plan`: TPOT against price per month."""

from dataclasses import replace

from fastcalc.features.plan.decision import Decision
from fastcalc.features.plan.records import plan_records
from fastcalc.kit.answer.commands import Typed
from fastcalc.kit.charts.against_price import against_price
from fastcalc.kit.charts.drawing import Chart
from fastcalc.kit.charts.outcome_series import grounds


def plans(decision: Decision, shown: int) -> Chart:
    """Plot TPOT against monthly price for the plans, and for the best plan on each chip.

    Without a rate, the price is per token, because the deployments serve different loads.
    """
    every = [*decision.plans[:shown], *decision.of_each_chip[:shown]]
    every = list({id(plan): plan for plan in every}.values())
    records = plan_records(every, decision.service, Typed())
    per_token = "usd_per_mtok_total", "$/Mtok, prompts and output"
    chart = against_price(
        "What serves it",
        records,
        per_token if decision.service.rate is None else ("usd_per_month", "$ per month"),
        ("service_tpot_ms", "ms between tokens, in traffic"),
        lambda record: f"{record['chips_total']:,} x {record['hardware']}",
    )
    return replace(
        chart,
        notes=["bars are the 80% range; lower is faster, further left is cheaper"],
        grounds=grounds([plan.scenario for plan in every]),
    )
