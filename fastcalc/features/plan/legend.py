"""Legend of the tables of a plan."""

from collections.abc import Iterable, Sequence

from fastcalc.features.plan.class_table import OVER
from fastcalc.features.plan.columns import UPPER, WEAK
from fastcalc.features.plan.page_tables import PlanRow
from fastcalc.features.plan.planned_fleet import PlannedFleet
from fastcalc.kit.answer import record_tables
from fastcalc.kit.answer.console import TextTable
from fastcalc.mentions import option

_TERMS = {
    "cas": "replicas: for decode",
    "util.": "util.: load / capacity",
    "batch": "batch: most concurrent requests per replica",
    "prefill": "prefill: shared with them (colocated), or on others",
    "req/s": "req/s: served within the limits",
    "flight": "in flight: mean concurrent requests",
    "TTFT": "times: in ms, at this load",
    "80%": "80% range: of TPOT",
    "bound": "bound: TPOT at the hardware limit (roofline)",
    "expected": "chips, times: at slow speeds; chips expected, 80% range: at expected speeds",
}
"""Terms of ranked plans and fleets, by a heading of their column, which a table may drop."""

_AT_FULL_BATCH = "TTFT: without queueing; TPOT: at full batch, prefill stalls included"
_OF_MIX = (
    "pool: replicas that serve the classes of that number below; TPOT of a pool: of the class "
    "closest to its limit; times: in ms, at this load, with Poisson arrivals"
)
_IN_NODES = f"chips: in whole nodes ({option('by', 'chip')}: single chips)"
_QUANTIZED = (
    "*: quantized below the published precision, first only with "
    f"{option('weights')} or {option('kv')}"
)
_MARKS = {
    OVER: "over its limit",
    WEAK: "wider range: few or no measurements resemble this deployment",
}


def legend(planned: PlannedFleet, rows: Iterable[PlanRow], tables: Sequence[TextTable]) -> str:
    """Legend of the tables of a page: their columns and marks.

    rows : plans that the tables show
    """
    texts = [_OF_MIX]
    if planned.is_of_one_class:
        headings = {line for table in tables for heading in table.headings for line in heading}
        terms = _TERMS if planned.service.share else _TERMS | {"TTFT": _AT_FULL_BATCH}
        texts = [text for heading, text in terms.items() if heading in headings]
        texts += [_IN_NODES] * any(row.plan.node_chips > 1 for row in rows)
    cells = (cell for table in tables for row in table.rows for cell in row)
    texts += [f"{UPPER}: upper estimate"] * any(cell.startswith(UPPER) for cell in cells)
    texts += [_QUANTIZED] * any(row.is_marked for row in rows)
    return record_tables.with_mark(f"key: {'; '.join(texts)}", *tables, marks=_MARKS)
