"""A decision with its confidence, regret and tipping points."""

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
    """A decision, and the deployments from which it was made.

    grids : All deployments, empty if another search would answer a different question.
    model : The name of the model, as the user typed it.
    asks_turns : Whether tipping points were requested, which takes some seconds.
    """

    decision: Decision
    grids: Sequence[Grid] = ()
    model: str = ""
    asks_turns: bool = False

    @cached_property
    def regret(self) -> Regret | None:
        """The expected cost of uncertainty about chip speeds."""
        return regret_of(self.decision, self.grids)

    @cached_property
    def odds(self) -> Odds | None:
        """The probability that the best plan meets its limits, and a more confident plan."""
        return odds_of(self.decision, self.grids) if self.decision.plans else None

    @cached_property
    def turns(self) -> list[TippingPoint] | None:
        """The tipping points between the best two chips and an API, or None if not requested."""
        return turns(self.decision, self.grids) if self.asks_turns else None
