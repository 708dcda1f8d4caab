"""A placed workload and its traffic to an estimate, for every batch at once."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fastcalc.catalogue.schema import SpeedRange
from fastcalc.catalogue.schema.engines import BORROWED
from fastcalc.core import timeline
from fastcalc.core.bound import Bound
from fastcalc.core.component import LIMITERS, Step
from fastcalc.core.machine_class import class_of, engine_of_class
from fastcalc.core.placement import AnyPlacement
from fastcalc.core.schedule import Schedule
from fastcalc.core.traffic import Traffic
from fastcalc.formulas import money
from fastcalc.formulas.types import ArrayLike, Bools, Floats, floats

SITE_FACTOR = 1.3
"""Power of a site over power of its machines (PUE): assumed, between 1.1 at the best sites and the
mean of about 1.5 that operators report to surveys."""


@dataclass(frozen=True, eq=False)
class Estimate:
    """What a placement does, one element for each batch; rates are valid where ``fits``.

    Attributes
    ----------
    passes : Schedule
        The passes of the placement that was evaluated, and of its traffic.
    bound_pass : Bound
        The bound of the pass between two tokens.
    batch, fits : ndarray
        Sequences decoded together by the whole deployment, and whether memory holds them.
    speed, low, high, bound : ndarray
        Tokens a second for each user: expected, 80 % range, speed of least. [1/s]
    bound_memory, bound_compute : ndarray
        The bound by one term alone. [1/s]
    total, served : ndarray
        Output tokens a second of the deployment, decode alone and with prompts inside. [1/s]
    tpot, ttft, request : ndarray
        Time per output token, to the first token, and of a whole request. [s]
    tpot_in_traffic : ndarray
        Time per output token while prompts of others come between. [s]
    prompt_seconds, output_seconds : ndarray
        Machine time of a request's prompt and of its output in served traffic. [s]
    joules : ndarray
        Energy of an output token in served traffic; nan where no power is known. [J]
    """

    passes: Schedule
    bound_pass: Bound
    batch: Floats
    fits: Bools
    speed: Floats
    low: Floats | None
    high: Floats | None
    bound: Floats
    bound_memory: Floats
    bound_compute: Floats
    total: Floats
    served: Floats
    tpot: Floats
    ttft: Floats
    request: Floats
    tpot_in_traffic: Floats
    prompt_seconds: Floats
    output_seconds: Floats
    joules: Floats

    @property
    def placement(self) -> AnyPlacement:
        """The workload on its layout."""
        return self.passes.placement

    @property
    def traffic(self) -> Traffic:
        """What requests look like."""
        return self.passes.traffic

    @property
    def step(self) -> Step:
        """The pass between two tokens, part by part."""
        return self.passes.decode

    @property
    def limiter(self) -> npt.NDArray[np.str_]:
        """What takes most of the expected step, a word for each."""
        return np.take(np.array(LIMITERS), self.step.limiter)

    @property
    def bound_limiter(self) -> npt.NDArray[np.str_]:
        """Which term is the bound, a word for each."""
        return np.take(np.array(LIMITERS), self.bound_pass.limiter)

    def usd(self, usd_per_hour: ArrayLike) -> tuple[Floats, Floats, Floats]:
        """Return dollars a million tokens of input, of output, and of both. [USD]

        Parameters
        ----------
        usd_per_hour : float
            Price of the whole deployment for an hour of use. [USD/h]
        """
        traffic = self.traffic
        return (
            money.usd_per_million(
                usd_per_hour=usd_per_hour, seconds=self.prompt_seconds, tokens=traffic.prompt
            ),
            money.usd_per_million(
                usd_per_hour=usd_per_hour, seconds=self.output_seconds, tokens=traffic.output
            ),
            money.usd_per_million(
                usd_per_hour=usd_per_hour,
                seconds=self.prompt_seconds + self.output_seconds,
                tokens=traffic.prompt + traffic.output,
            ),
        )


def evaluate(placement: AnyPlacement, *, batch: ArrayLike, traffic: Traffic) -> Estimate:
    """Return the estimate of a placement for every batch.

    Parameters
    ----------
    placement : Placement
        A workload on a layout.
    batch : array_like
        Sequences decoded together by the whole deployment, any shape. [1]
    traffic : Traffic
        What requests look like.

    Returns
    -------
    Estimate
        Arrays of the shape of ``batch``, at least one element.
    """
    batches = np.atleast_1d(np.asarray(batch, dtype=np.float64))
    passes, kept = Schedule(placement, traffic, batches), traffic.speculation.tokens_per_pass
    least = passes.decode_bound
    bound_tpot, tpot = least.seconds / kept, timeline.token(passes).seconds
    ttft, run = timeline.first_token(passes).seconds, timeline.served_run(passes).seconds
    speed, served = 1.0 / tpot, batches * traffic.output / run
    speed_range = range_of(placement)
    power = placement.machine.hardware.power
    return Estimate(
        passes=passes,
        bound_pass=least,
        batch=batches,
        fits=batches <= placement.max_batch,
        speed=speed,
        low=speed / speed_range.below if speed_range else None,
        high=np.minimum(speed * speed_range.above, 1.0 / bound_tpot) if speed_range else None,
        bound=1.0 / bound_tpot,
        bound_memory=floats(kept / least.work.memory_time),
        bound_compute=floats(kept / least.work.compute_time),
        total=batches * speed,
        served=served,
        tpot=tpot,
        ttft=ttft,
        request=ttft + (np.asarray(traffic.output) - 1.0) * tpot,
        tpot_in_traffic=timeline.token_in_traffic(passes).seconds,
        prompt_seconds=(run - traffic.output * tpot) / batches,
        output_seconds=traffic.output * tpot / batches,
        joules=money.joules_per_token(
            power=placement.layout.chips * power.chip.si if power else np.nan,
            site_factor=SITE_FACTOR,
            tokens_per_s=served,
        ),
    )


def range_of(placement: AnyPlacement, phase: str = "decode") -> SpeedRange | None:
    """Return the speed range for this class of chip and model, or None for the bound itself.

    Parameters
    ----------
    placement : Placement
        A workload on a layout.
    phase : str
        ``decode``, ``prefill`` or ``served``.
    """
    engine, hardware = placement.machine.engine, placement.machine.hardware
    if engine_of_class(hardware)[1]:
        return engine.range_of(BORROWED)
    if hardware.architecture not in engine.fitted_architectures:
        return engine.range_of()
    kind = "moe" if placement.work.experts else "dense"
    return engine.range_of(f"{phase}-{class_of(hardware)}", f"{phase}-{kind}", phase)
