"""Chart of `decide`: time and price per success."""

from dataclasses import replace

from fastcalc.features.decide.choice import Choice
from fastcalc.features.decide.rows import records as decide_records
from fastcalc.kit.charts.against_price import against_price
from fastcalc.kit.charts.drawing import Chart


def services(decision: Choice) -> Chart:
    """Plot time per success against price, for each option."""
    chart = against_price(
        "Time and price per success",
        decide_records(decision),
        ("usd_to_success", "$ per success"),
        ("s_to_success", "s per success"),
        lambda record: str(record["option"]),
    )
    return replace(chart, notes=["lower is faster, further left is cheaper"])
