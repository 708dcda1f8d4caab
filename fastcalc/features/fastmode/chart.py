"""A chart of the options: concurrent users against price."""

from collections.abc import Sequence
from dataclasses import replace

from fastcalc.features.fastmode.option import TRICKS, Option
from fastcalc.features.fastmode.records import rows
from fastcalc.features.fastmode.solve import SpeedupOptions
from fastcalc.kit.answer.point_records import Record
from fastcalc.kit.charts.against_price import against_price
from fastcalc.kit.charts.drawing import Chart
from fastcalc.kit.charts.outcome_series import grounds


def tricks(answer: SpeedupOptions, options: Sequence[Option]) -> Chart:
    """Plot each option's concurrent users at the target speed against its price per token."""
    first: dict[str, Record] = {}  # the cheapest option of each technique
    for record in rows(answer, options):
        if record["usd_per_mtok_output"] is not None:
            first.setdefault(record["trick"], record)
    chart = against_price(
        "Concurrent users and price of each technique",
        first.values(),
        ("usd_per_mtok_output", "$/Mtok output, at the target speed"),
        ("batch", "concurrent users"),
        lambda record: (
            f"{TRICKS.get(record['trick'], record['trick'])}{' *' * record['changes_answers']}"
        ),
    )
    outcomes = [answer.today, *(option.outcome for option in options if option.outcome)]
    return replace(
        chart,
        notes=[
            "points are the cheapest options of each technique; further left is cheaper, higher "
            "serves more concurrent users; with *, another model or further quantization changes "
            "the answers"
        ],
        grounds=grounds([outcome.scenario for outcome in outcomes]),
    )
