"""When each class of requests that share replicas has its first token, and which limit binds."""

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
    """Times to the first token without waiting, of deployments that fit.

    seconds : row per class, element per deployment; no rows where requests are uniform [s]
    limits, shares : of each class, its limit [s] and its share of the requests [1]
    """

    seconds: Floats
    limits: Floats
    shares: Floats

    def only(self, index: int) -> "ClassFirstTokens":
        """Those of one deployment alone."""
        return replace(self, seconds=self.seconds[:, index : index + 1])

    def latest(self, service: Service, mean: Floats) -> Floats:
        """A time as far from the limit of the service as the nearest class is from its own.

        mean : time to the first token of the mean request, where there are no classes [s]
        """
        if not len(self.seconds):
            return mean
        if np.isinf(service.ttft):
            return np.asarray(self.shares @ self.seconds)
        return np.asarray(np.max(self.seconds - self.limits, axis=0) + service.ttft)

    def over_limits(self, service: Service, waits: Floats, mean: Floats) -> Floats:
        """A time over the limit of the service by the largest ratio of a class to its own.

        waits : of all, for a slot and for other prompts [s]
        """
        if not len(self.seconds) or np.isinf(service.ttft):
            return mean + waits
        return np.asarray(np.max((self.seconds + waits) / self.limits, axis=0) * service.ttft)


@dataclass(frozen=True)
class ClassTime:
    """What counts a time of one class of a mix, in a stack of deployments or alone.

    index : position of the class
    time : to its first token, or until all attention replicas have prefilled a prompt of it
    """

    index: int
    time: Callable[[Schedule], Timeline]

    def __call__(self, passes: Schedule) -> Timeline:
        """Time in passes that requests of all classes share."""
        mix = passes.traffic
        assert isinstance(mix, Mix)
        return self.time(passes.joined_by(Mix.of(mix.classes, mix.speculation, self.index)))


def class_times(count: int) -> list[ClassTime]:
    """Times to the first token of a number of classes: of each, alone and together."""
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
    """When each class has its first token on the deployments that fit.

    points : evaluated with the mix of the classes
    fits : which of layouts x batches
    arrivals, dp : request rate of each, and its attention replicas [1/s], [1]
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
