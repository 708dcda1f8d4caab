"""A decision with what is only known by searching again: how sure it is, and what would turn it."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from fastcalc.search.plan.decision import Decision
from fastcalc.search.plan.regret import Regret, regret_of
from fastcalc.search.sweep.grid import Grid


@dataclass(frozen=True)
class Verdict:
    """What was decided, and what it was decided from.

    grids : all deployments; none where searching again would answer another question
    model : its name, as the user typed it
    """

    decision: Decision
    grids: Sequence[Grid] = ()
    model: str = ""

    @cached_property
    def regret(self) -> Regret | None:
        """What it costs not to know how fast the chips are."""
        return regret_of(self.decision, self.grids)
