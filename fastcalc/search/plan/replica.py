"""What one full replica of each deployment does, in SI."""

from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import numpy as np

from fastcalc.core.evaluated_points import EvaluatedPoints
from fastcalc.core.timeline import prompts_together, token_in_traffic
from fastcalc.formulas.types import Bools, Floats, Ints
from fastcalc.search.sweep.grid import Solved

_OF_ESTIMATE = ("speed", "low", "high", "bound", "total", "served", "tpot", "ttft", "joules")


@dataclass(frozen=True, eq=False)
class Replica:
    """One full replica, which takes in its prompts, too: an element for each deployment.

    Its values are those of `EvaluatedPoints` and `Estimate`, in their units; None where they are.

    Attributes
    ----------
    tpot_in_traffic : ndarray
        Between two tokens with the prompts of others between. [s]
    prompts_together : ndarray
        Of a pass with a prompt on each attention replica. [s]
    usd : ndarray or None
        Of a million tokens of input and output. [USD]
    """

    chips: Floats
    dp: Ints
    speed: Floats
    low: Floats | None
    high: Floats | None
    bound: Floats
    total: Floats
    served: Floats
    tpot: Floats
    tpot_in_traffic: Floats
    ttft: Floats
    prompts_together: Floats
    run: Floats
    used: Floats
    usd: Floats | None
    joules: Floats

    @classmethod
    def of(cls, points: Solved, fits: Bools) -> "Replica":
        """Return those of the deployments that fit, layouts x batches, of one kind of request."""

        def those(value: Callable[[EvaluatedPoints], Any]) -> Any:
            found = points.of(value)
            return None if found is None else np.broadcast_to(found, (1, *fits.shape))[0][fits]

        return cls(
            **{name: those(attrgetter(f"estimate.{name}")) for name in _OF_ESTIMATE},
            chips=those(lambda one: one.layout.chips),
            dp=those(lambda one: one.layout.dp),
            tpot_in_traffic=those(lambda one: token_in_traffic(one.estimate.passes).seconds),
            prompts_together=those(lambda one: prompts_together(one.estimate.passes).seconds),
            run=those(lambda one: one.run),
            used=those(lambda one: one.used),
            usd=those(lambda one: one.usd[2]),
        )

    def at(self, place: int) -> "Replica":
        """Return that of one deployment."""
        arrays: dict[str, Any] = {
            name: None if values is None else values[place] for name, values in vars(self).items()
        }
        return Replica(**arrays)
