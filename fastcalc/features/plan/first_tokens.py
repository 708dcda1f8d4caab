"""The TTFT of each request class that shares replicas, and which limit binds."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from fastcalc.core.step.schedule import Schedule
from fastcalc.core.timeline import Timeline, first_token, prompts_together
from fastcalc.core.traffic.mix import Mix
from fastcalc.core.traffic.request_class import RequestClass
from fastcalc.features.plan.service import Service
from fastcalc.formulas.types import Bools, Floats, Ints
from fastcalc.grid.evaluated_points import EvaluatedPoints


@dataclass(frozen=True, eq=False)
class ClassFirstTokens:
    """The TTFT without queueing delay, for deployments that fit.

    seconds : A row per class and an element per deployment; no rows if requests are uniform, in
        seconds.
    limits, shares : The limit of each class [s], and its fraction of the requests. [1]
    """

    seconds: Floats
    limits: Floats
    shares: Floats

    def only(self, index: int) -> "ClassFirstTokens":
        """Return the times of a single deployment."""
        return replace(self, seconds=self.seconds[:, index : index + 1])

    def latest(self, service: Service, mean: Floats) -> Floats:
        """Scale the TTFT by the ratio of the class that is closest to its own limit. [s]

        mean : TTFT of the mean request, for use if there are no classes, in seconds.
        """
        if not len(self.seconds):
            return mean
        if np.isinf(service.ttft):
            return np.asarray(self.shares @ self.seconds)
        return np.asarray(np.max(self.seconds - self.limits, axis=0) + service.ttft)

    def over_limits(self, service: Service, waits: Floats, mean: Floats) -> Floats:
        """Scale the service's limit by the largest ratio of a class's TTFT to its own limit. [s]

        waits : The queueing delays of all classes, for a slot and for other prompts, in seconds.
        """
        if not len(self.seconds) or np.isinf(service.ttft):
            return mean + waits
        return np.asarray(np.max((self.seconds + waits) / self.limits, axis=0) * service.ttft)


@dataclass(frozen=True)
class ClassTime:
    """Compute a latency of one class in a mix, for a stack of deployments or a single one.

    index : The index of the class.
    time : Computes its TTFT, or the time until all attention replicas have prefilled its prompt.
    """

    index: int
    time: Callable[[Schedule], Timeline]

    def __call__(self, passes: Schedule) -> Timeline:
        """Compute the time in steps shared by requests of all classes."""
        mix = passes.traffic
        assert isinstance(mix, Mix)
        return self.time(passes.joined_by(Mix.of(mix.classes, mix.speculation, self.index)))


def class_times(count: int) -> list[ClassTime]:
    """Return the functions for the TTFT of each class, alone and together."""
    return [
        ClassTime(index, time) for index in range(count) for time in (first_token, prompts_together)
    ]


def class_first_tokens(
    points: EvaluatedPoints,
    classes: Sequence[RequestClass],
    *,
    fits: Bools,
    arrivals: Floats,
    dp: Ints,
) -> ClassFirstTokens:
    """Compute the TTFT of each class on the deployments that fit.

    points : The estimates for the mix of the classes.
    fits : The mask of layouts x batches.
    arrivals, dp : The request rate and attention replicas of each. [1/s], [1]
    """
    limits = np.array([request_class.ttft for request_class in classes])[:, np.newaxis]
    shares = np.array([request_class.share for request_class in classes])
    shares = shares / shares.sum() if len(shares) else shares
    estimate = points.estimate
    times = [
        np.broadcast_to(estimate.of_passes(time) * estimate.slowness, (1, *fits.shape))[0][fits]
        for time in class_times(len(classes))
    ]
    rows: list[Floats] = []
    for alone, joint in zip(times[::2], times[1::2], strict=True):
        meets = np.minimum(alone * arrivals, 1.0) * (1.0 - 1.0 / dp)
        rows.append(alone + meets * np.maximum(joint - alone, 0.0))
    return ClassFirstTokens(np.reshape(rows, (len(classes), int(fits.sum()))), limits, shares)
