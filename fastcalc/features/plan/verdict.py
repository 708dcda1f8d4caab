"""A decision with what is only known by searching again: how sure it is, and what would turn it."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from fastcalc.features.plan.decision import Decision
from fastcalc.features.plan.odds import Odds, odds_of
from fastcalc.features.plan.regret import Regret, regret_of
from fastcalc.features.plan.tipping_points import TippingPoint, turns
from fastcalc.grid.grid import Grid


@dataclass(frozen=True)
class Verdict:
    """What was decided, and what it was decided from.

    grids : all deployments; none where searching again would answer another question
    model : its name, as the user typed it
    asks_turns : whether what turns it is asked for, which takes some seconds
    """

    decision: Decision
    grids: Sequence[Grid] = ()
    model: str = ""
    asks_turns: bool = False

    @cached_property
    def regret(self) -> Regret | None:
        """What it costs not to know how fast the chips are."""
        return regret_of(self.decision, self.grids)

    @cached_property
    def odds(self) -> Odds | None:
        """How likely the best plan is to hold its limits, and what surely does."""
        return odds_of(self.decision, self.grids) if self.decision.plans else None

    @cached_property
    def turns(self) -> list[TippingPoint] | None:
        """What turns it between the best two chips and an API; None where nobody asks."""
        return turns(self.decision, self.grids) if self.asks_turns else None
