"""Whether fewer chips than a node suffice, if a cloud rents them singly."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from fastcalc.features.plan.cheapest_plans import decide
from fastcalc.features.plan.decision import Decision, Plan
from fastcalc.features.plan.notes import Weight, chips_and_price
from fastcalc.grid.grid import Grid
from fastcalc.kit.answer.console import Note
from fastcalc.mentions import option

_HALF = 0.5
"""Share of a node's cost up to which single chips are worth a line on the first screen. [1]"""


def in_single_chips(decision: Decision, grids: Sequence[Grid]) -> Plan | None:
    """Best plan with the same chip rented singly, if one node was chosen and half would suffice."""
    chosen, service = decision.plans[0], decision.service
    is_a_node = chosen.node_chips > 1 and chosen.values["chips"] == chosen.node_chips
    if not (grids and service.in_nodes and service.rate and is_a_node):
        return None
    of_chip = decision.grids_to_lead(grids, chosen.scenario.hardware.id)
    plans = decide(of_chip, replace(service, in_nodes=False), shown=0).plans
    return plans[0] if plans and plans[0].cost <= _HALF * chosen.cost else None


def single_chip_notes(decision: Decision, grids: Sequence[Grid]) -> Iterator[Note]:
    """Note on the cost of fewer chips than a node, if they suffice."""
    if (plan := in_single_chips(decision, grids)) is not None:
        bill = chips_and_price(plan, replace(decision.service, in_nodes=False))
        chip, flag = plan.scenario.hardware.id, option("by", "chip")
        text = f"where {chip} is rented singly ({flag}): {bill}"
        yield Note(text, Weight.SINGLE_CHIPS)
