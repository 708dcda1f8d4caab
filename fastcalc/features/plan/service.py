"""What a deployment must do: the service level, the rate, and what is to be least."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import inf
from typing import Any, Literal

from fastcalc.catalogue.schema import Hardware
from fastcalc.core.traffic.mix import Mix
from fastcalc.core.traffic.request_class import Lengths, RequestClass
from fastcalc.core.traffic.traffic import Traffic
from fastcalc.features.plan.tariff import NO_TARIFF, Tariff

Objective = Literal["usd", "watts", "chips"]

NEAR = 2.0  # a miss by less than this is near


@dataclass(frozen=True)
class Service:
    """What is asked of a deployment.

    prompt, output : tokens in and out of a request [1]
    ttft, tpot : most time to the first token and between two tokens; infinity for any [s]
    rate : requests that arrive a second; None for one deployment whatever its rate [1/s]
    users : who make these and wait for an answer before they ask again; infinity where requests
        depend on no answer [1]
    max_chips, utilization : chips there are, and the share of its capacity a replica is to do [1]
    budget, power : most dollars per month [USD], most power with host and cooling [W]
    deviations : standard deviations by which speeds are below those expected when the limits are
        still to hold [1]
    tariff : what an API charges and the grid emits, for comparison
    in_nodes : whether chips come in whole nodes, of those that are sold so
    is_fleet : whether, without a rate, replicas fill these limits, and the highest throughput
        requests are best
    objective : what is minimized; without a rate, dollars per million tokens or joules per token
    is_speed : True where the time between tokens was asked as a speed
    share : share of requests that must meet ``ttft`` where they arrive at random; None where they
        come evenly [1]
    prefix_hit : share of a prompt that is found in the prefix cache, of prompt replicas, too [1]
    classes : of requests that share replicas, each with limits of its own; ``prompt`` and
        ``output`` are their means then, ``ttft`` the longest limit, which stands for each class's
        own, and ``tpot`` the shortest. None where requests are uniform
    variation : standard deviation of the times between arrivals over their mean, of uniform
        requests: 1 where they arrive at random [1]
    any_weights, any_cache : whether formats quantized further than published may lead
    """

    prompt: float
    output: float
    ttft: float = inf
    tpot: float = inf
    rate: float | None = None
    max_chips: float = inf
    utilization: float = 1.0
    objective: Objective = "usd"
    is_speed: bool = False
    share: float | None = None
    prefix_hit: float = 0.0
    variation: float = 1.0
    any_weights: bool = True
    any_cache: bool = True
    classes: tuple[RequestClass, ...] = ()
    budget: float = inf
    power: float = inf
    in_nodes: bool = False
    is_fleet: bool = False
    tariff: Tariff = NO_TARIFF
    deviations: float = 0.0
    users: float = inf

    def of_classes(self, classes: tuple[RequestClass, ...], rate: float | None) -> "Service":
        """The same for requests of some classes, at a rate.

        For one class of uniform requests it is the service of such a request.
        """
        mix, first = Mix.of(classes, Traffic.speculation), classes[0]
        is_alike = len(classes) == len(first.lengths.share) == 1
        return replace(
            self,
            prompt=float(mix.prompt),
            output=float(mix.output),
            ttft=max(
                (request_class.ttft for request_class in classes if request_class.ttft < inf),
                default=inf,
            ),
            tpot=min(request_class.tpot for request_class in classes),
            rate=rate,
            prefix_hit=first.prefix_hit if is_alike else 0.0,
            variation=first.variation if is_alike else 1.0,
            classes=() if is_alike else classes,
        )

    def traffic(self, base: Traffic) -> Traffic:
        """What its requests look like, drafted and cached as in other traffic."""
        if self.classes:
            return Mix.of(self.classes, base.speculation)
        context = self.prompt + self.output / 2
        return replace(base, prompt=self.prompt, output=self.output, context=context)

    @property
    def request_classes(self) -> tuple[RequestClass, ...]:
        """Its request classes with their limits: one where requests are uniform."""
        if self.classes:
            return self.classes
        lengths = Lengths.fixed(self.prompt, self.output)
        limits = {"ttft": self.ttft, "tpot": self.tpot}
        hit, variation = self.prefix_hit, self.variation
        return (RequestClass("", 1.0, lengths, prefix_hit=hit, variation=variation, **limits),)

    @property
    def is_random(self) -> bool:
        """Whether arrivals are those that queues are computed for, and not more or less even."""
        return all(request_class.is_random for request_class in self.request_classes)

    @property
    def claimed_share(self) -> float | None:
        """The share that meets ``ttft``, where arrivals are such that a percentile is claimed. [1]

        None where requests come evenly or in bursts.
        """
        return self.share if self.is_random else None

    def node_chips(self, hardware: Hardware) -> int:
        """How many chips are bought together; one where it comes by the chip. [1]

        One replica without a rate stands for a share of what serves.
        """
        is_sized = self.rate is not None or self.is_fleet
        return (hardware.node_chips or 1) if self.in_nodes and is_sized else 1

    @property
    def prompt_variation(self) -> float:
        """Mean square of computed prompts over the square of their mean. [1]"""
        return Mix.of(self.classes, Traffic.speculation).prompt_variation if self.classes else 1.0

    @property
    def api_request_usd(self) -> float | None:
        """What the API charges for one of its requests; None where no API is compared. [USD]"""
        hit = self.prefix_hit
        if self.classes:
            hit = float(Mix.of(self.classes, Traffic.speculation).prefix_hit)
        return self.tariff.request_usd(self.prompt, self.output, hit)

    def limited(self, limits: Mapping[str, float]) -> "Service":
        """The same with other values of some limits, by their names."""
        fields: dict[str, Any] = dict(limits)
        if "chips" in fields:
            fields["max_chips"] = fields.pop("chips")
        return replace(self, **fields)

    @property
    def sized_to_limits(self) -> "Service":
        """The same service; without a rate, its replicas fill the limits, in whole nodes."""
        return self if self.rate is not None else replace(self, is_fleet=True)

    @property
    def means(self) -> dict[str, float]:
        """What is limited of all replicas together."""
        return {name: limit for name, limit in self.limits.items() if name not in ("ttft", "tpot")}

    @property
    def limits(self) -> dict[str, float]:
        """What is limited, by the name of its value: seconds, chips, maybe dollars and watts."""
        limits = {"ttft": self.ttft, "tpot": self.tpot, "chips": self.max_chips}
        optional = {"budget": self.budget, "power": self.power}
        return limits | {name: limit for name, limit in optional.items() if limit < inf}
