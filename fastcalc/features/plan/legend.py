"""The key to the columns and marks of a plan's tables."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fastcalc.features.plan.class_table import OVER
from fastcalc.features.plan.columns import UPPER, WEAK
from fastcalc.features.plan.page_tables import PlanRow
from fastcalc.kit.answer import record_tables
from fastcalc.kit.answer.parts import TextTable
from fastcalc.mentions import option

if TYPE_CHECKING:
    from fastcalc.features.plan.answer import PlanAnswer


_TERMS = {
    "batch": "batch: largest per replica",
    "prefill": "prefill: shared (colocated with decode) or on its own replicas",
    "80%": "80% range: of TPOT",
    "bound": "bound: roofline TPOT",
    "util.": "util.: load of a replica / its throughput",
    "expected": "chips, TTFT, TPOT: at the slow speeds assumed for this confidence; chips "
    "expected: at expected speeds",
}
"""Explanations for ranked plans and fleets, by the column heading that must be shown."""

_AT_FULL_BATCH = "TTFT: without queueing; TPOT: at full batch, prefill stalls included"

_OF_MIX = "pool: the replicas that serve a class; latencies: with Poisson arrivals"

_OF_SLOWEST = ", in the slowest pool"

_WITH_PREFILL = f"chips include those of separate prefill replicas ({option('wide')})"

_IN_NODES = (
    f"chips: rented in whole nodes if sold that way ({option('by', 'chip')} rents single chips)"
)

_QUANTIZED = (
    f"*: quantized further than published, which may reduce quality; ranked first only if "
    f"{option('weights')} or {option('kv')} names the format"
)

_QUANTIZED_FIRST = "*: quantized, because these chips have no plan in the published precision"

_MARKS = {
    OVER: "over its limit",
    WEAK: "wider range: few or no measurements of similar deployments",
}


def legend(planned: "PlanAnswer", rows: Sequence[PlanRow], tables: Sequence[TextTable]) -> str:
    """Return the key to the columns and marks of the tables on a page.

    rows : The plans in the tables.
    """
    headings = {line for table in tables for heading in table.headings for line in heading}
    texts = [_OF_MIX + _OF_SLOWEST * ("mean" not in headings)]
    if planned.is_of_one_class:
        terms = _TERMS if planned.service.share else _TERMS | {"TTFT": _AT_FULL_BATCH}
        texts = [text for heading, text in terms.items() if heading in headings]
        is_disaggregated = any(row.plan.prefill_layout for row in rows)
        texts += [_WITH_PREFILL] * (is_disaggregated and "prefill" not in headings)
        is_rented = any(not allocation.is_owned for allocation, _ in planned.pools)
        texts += [_IN_NODES] * (is_rented and any(row.plan.node_chips > 1 for row in rows))
    cells = [cell for table in tables for row in table.rows for cell in row]
    texts += [f"{UPPER}: upper bound"] * any(cell.startswith(UPPER) for cell in cells)
    leads = all(pool.decision.may_lead(pool.plan) for _, pool in planned.pools)
    texts += [_QUANTIZED if leads else _QUANTIZED_FIRST] * any(
        cell.endswith(" *") for cell in cells
    )
    return record_tables.with_mark(f"key: {'; '.join(texts)}", *tables, marks=_MARKS)
