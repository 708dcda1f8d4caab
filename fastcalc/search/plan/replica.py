"""What one full replica of each deployment does, in SI."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from fastcalc.core.evaluated_points import EvaluatedPoints
from fastcalc.core.timeline import prompts_together
from fastcalc.formulas.types import ArrayLike, Bools, Floats, Ints

_OF_ESTIMATE = ("total", "served", "tpot", "tpot_in_traffic", "ttft", "run", "joules")


@dataclass(frozen=True, eq=False)
class Replica:
    """One full replica, which takes in its prompts, too: an element for each deployment.

    Its values are those of `fastcalc.core.estimate.Estimate`, in their units.

    chips, dp : of its layout [1]
    prompts_together : of a pass with a prompt on each attention replica [s]
    usd : of a million tokens of input and output [USD]
    """

    chips: Floats
    dp: Ints
    total: Floats
    served: Floats
    tpot: Floats
    tpot_in_traffic: Floats
    ttft: Floats
    prompts_together: Floats
    run: Floats
    usd: Floats | None
    joules: Floats

    @classmethod
    def of(cls, points: EvaluatedPoints, fits: Bools) -> "Replica":
        """Return those of the deployments that fit, layouts x batches, of one kind of request."""

        def those(values: ArrayLike) -> Any:
            return np.broadcast_to(values, (1, *fits.shape))[0][fits]

        usd = points.usd[2]
        return cls(
            **{name: those(getattr(points.estimate, name)) for name in _OF_ESTIMATE},
            chips=those(points.layout.chips),
            dp=those(points.layout.dp),
            prompts_together=those(prompts_together(points.estimate.passes).seconds),
            usd=None if usd is None else those(usd),
        )
