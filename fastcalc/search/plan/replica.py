"""What one full replica of each deployment does, in SI."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fastcalc.core.evaluated_points import EvaluatedPoints
from fastcalc.core.timeline import prompts_together, token_in_traffic
from fastcalc.formulas.types import Bools, Floats
from fastcalc.search.sweep.grid import Solved


@dataclass(frozen=True, eq=False)
class Replica:
    """One full replica, which takes in its prompts, too: an element for each deployment.

    Attributes
    ----------
    chips : ndarray
        Of it. [1]
    speed, low, high, bound : ndarray
        Tokens a second for each user, as in `Estimate`; None where no range is known. [1/s]
    total, served : ndarray
        Output tokens a second, decode alone and with prompts inside. [1/s]
    tpot, tpot_in_traffic : ndarray
        Between two tokens of decode alone, and with the prompts of others between. [s]
    ttft, prompts_together : ndarray
        To the first token, and of a pass with a prompt on each attention replica. [s]
    run : ndarray
        Time in which as many requests as the batch are served. [s]
    used : ndarray
        Share of the memory that is taken. [1]
    usd : ndarray or None
        Of a million tokens; None without a price. [USD]
    joules : ndarray
        Of an output token. [J]
    """

    chips: Floats
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
        """Return those of the deployments that fit.

        Parameters
        ----------
        points : Solved
            Of one kind of request.
        fits : ndarray
            Which, layouts x batches.
        """

        def those(value: Callable[[EvaluatedPoints], Any]) -> Any:
            found = points.of(value)
            return None if found is None else np.broadcast_to(found, (1, *fits.shape))[0][fits]

        return cls(
            chips=those(lambda one: one.layout.chips),
            speed=those(lambda one: one.estimate.speed),
            low=those(lambda one: one.estimate.low),
            high=those(lambda one: one.estimate.high),
            bound=those(lambda one: one.estimate.bound),
            total=those(lambda one: one.estimate.total),
            served=those(lambda one: one.estimate.served),
            tpot=those(lambda one: one.estimate.tpot),
            tpot_in_traffic=those(lambda one: token_in_traffic(one.estimate.passes).seconds),
            ttft=those(lambda one: one.estimate.ttft),
            prompts_together=those(lambda one: prompts_together(one.estimate.passes).seconds),
            run=those(lambda one: one.run),
            used=those(lambda one: one.used),
            usd=those(lambda one: one.usd[2]),
            joules=those(lambda one: one.estimate.joules),
        )

    def at(self, place: int) -> "Replica":
        """Return that of one deployment."""
        arrays: dict[str, Any] = {
            name: None if values is None else values[place] for name, values in vars(self).items()
        }
        return Replica(**arrays)
