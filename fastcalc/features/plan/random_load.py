"""The load of one replica of a plan by requests that arrive at random."""

from fastcalc.core.load import RandomLoad
from fastcalc.core.traffic.request_class import Lengths, RequestClass
from fastcalc.features.plan.decision import Plan
from fastcalc.features.plan.service import Service

_AT_RANDOM = (0.8, 1.25)
"""Deviations of the times between arrivals, over their mean, that are as good as random. [1]"""


def random_load(plan: Plan, service: Service) -> RandomLoad | None:
    """Return the load of a replica; None where no rate says it, or no closed form has its queues.

    Those are of replicas that take in their own prompts, layer after layer, at expected speeds, for
    requests that arrive at random.
    """
    machine = plan.replica.placement.machine
    rate = plan.requests if service.is_fleet else service.rate
    is_apart, is_slower = plan.prefill_layout is not None, service.deviations > 0.0
    if rate is None or is_apart or is_slower or machine.is_spatial or machine.engine.is_bound:
        return None
    lengths = Lengths.fixed(service.prompt, service.output)
    alike = RequestClass("", 1.0, lengths, prefix_hit=service.prefix_hit)
    classes = service.classes or (alike,)
    low, high = _AT_RANDOM
    if not all(low <= kind.variation <= high for kind in classes):
        return None
    return RandomLoad.of(
        plan.replica.placement,
        classes,
        speculation=plan.scenario.traffic.speculation,
        slots=int(plan.batch),
        rate=rate / plan.replicas,
    )
