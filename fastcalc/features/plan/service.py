"""Requirements on a deployment: latency limits, request rate, objective, an API to compare with."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import inf
from typing import Any, Literal

from fastcalc.catalogue.schema import Hardware
from fastcalc.core.traffic.mix import Mix
from fastcalc.core.traffic.request_class import Lengths, RequestClass
from fastcalc.core.traffic.traffic import Traffic
from fastcalc.formulas.money import api_request_usd


@dataclass(frozen=True)
class Tariff:
    """API prices and grid emissions.

    api : The dollars per million tokens of input, cached input and output, or None for no API, in
        USD.
    grid : The carbon dioxide per kilowatt hour, or None if not requested, in grams.
    """

    api: tuple[float, float, float] | None = None
    grid: float | None = None


NO_TARIFF = Tariff()
"""The tariff of plans without an API or a grid to compare with."""

Objective = Literal["usd", "watts", "chips"]

NEAR = 2.0  # a miss by less than this factor is near


@dataclass(frozen=True)
class Service:
    """The requirements on a deployment.

    prompt, output : The prompt and output tokens per request.
    ttft, tpot : The limits on TTFT and TPOT, or infinity for no limit, in seconds.
    rate : The request rate, or None for one deployment at any rate. [1/s]
    users : The closed-loop users who make the requests, or infinity if requests do not depend on
        answers.
    max_chips, utilization : The maximum number of chips, and maximum utilization of a replica.
    budget, power : The maximum dollars per month [USD], and maximum power with host and cooling.
        [W]
    deviations : The standard deviations below the expected speed at which the limits must still
        hold.
    tariff : API prices and grid emissions to compare with.
    in_nodes : Whether chips are rented in whole nodes, if sold that way.
    is_fleet : Whether, without a rate, to use as many replicas as the limits allow and maximize
        throughput.
    objective : The quantity to minimize; without a rate, dollars per million tokens or joules per
        token.
    is_speed : Whether the TPOT limit was given as a speed.
    share : The fraction of requests that must meet ``ttft`` with random arrivals; None if arrivals
        are evenly spaced.
    prefix_hit : The fraction of a prompt found in the prefix cache, also on prefill replicas.
    classes : The request classes that share replicas, each with its own limits; ``prompt`` and
        ``output`` are then their means, ``ttft`` the longest limit (standing for that of each
        class) and ``tpot`` the shortest. None if requests are uniform.
    variation : The coefficient of variation of the times between arrivals, for uniform requests; 1
        for random arrivals.
    any_weights, any_cache : Whether formats quantized below the published ones may lead.
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
        """Return this service for the requests of the given classes, at a rate.

        For a single class of uniform requests, it has the lengths and limits of that class.
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
        """Build the traffic of this service, with speculation and caching as in other traffic."""
        if self.classes:
            return Mix.of(self.classes, base.speculation)
        context = self.prompt + self.output / 2
        return replace(base, prompt=self.prompt, output=self.output, context=context)

    @property
    def request_classes(self) -> tuple[RequestClass, ...]:
        """The request classes with their limits, or a single class if requests are uniform."""
        if self.classes:
            return self.classes
        lengths = Lengths.fixed(self.prompt, self.output)
        limits = {"ttft": self.ttft, "tpot": self.tpot}
        hit, variation = self.prefix_hit, self.variation
        return (RequestClass("", 1.0, lengths, prefix_hit=hit, variation=variation, **limits),)

    @property
    def is_random(self) -> bool:
        """Whether arrivals are Poisson, as the queueing model assumes."""
        return all(request_class.is_random for request_class in self.request_classes)

    @property
    def claimed_share(self) -> float | None:
        """The fraction of requests that must meet ``ttft``, if arrivals allow a percentile.

        It is None if requests arrive evenly or in bursts.
        """
        return self.share if self.is_random else None

    def node_chips(self, hardware: Hardware) -> int:
        """Return how many chips are rented together, or 1 if they are rented singly.

        Without a rate, a replica stands for a fraction of a larger deployment.
        """
        is_sized = self.rate is not None or self.is_fleet
        return (hardware.node_chips or 1) if self.in_nodes and is_sized else 1

    @property
    def prompt_variation(self) -> float:
        """The mean square of computed prompts relative to the square of their mean."""
        return Mix.of(self.classes, Traffic.speculation).prompt_variation if self.classes else 1.0

    @property
    def api_request_usd(self) -> float | None:
        """What the API charges per request, or None if no API is compared, in USD."""
        if self.tariff.api is None:
            return None
        hit = self.prefix_hit
        if self.classes:
            hit = float(Mix.of(self.classes, Traffic.speculation).prefix_hit)
        input_price, cached_price, output_price = self.tariff.api
        charged = api_request_usd(
            prompt=self.prompt,
            output=self.output,
            prefix_hit=hit,
            input_price=input_price,
            cached_price=cached_price,
            output_price=output_price,
        )
        return float(charged)

    @property
    def api_usd_per_hour(self) -> float | None:
        """What the API charges at the request rate, or None if no API is compared. [USD/h]"""
        charged = self.api_request_usd
        return None if charged is None else charged * (self.rate or 0.0) * 3600.0

    def limited(self, limits: Mapping[str, float]) -> "Service":
        """Return this service with other values for some limits, by name."""
        fields: dict[str, Any] = dict(limits)
        if "chips" in fields:
            fields["max_chips"] = fields.pop("chips")
        return replace(self, **fields)

    @property
    def sized_to_limits(self) -> "Service":
        """The service with as many whole-node replicas as limits allow, if there is no rate."""
        return self if self.rate is not None else replace(self, is_fleet=True)

    @property
    def without_means(self) -> "Service":
        """The service without limits on chips, cost and power."""
        return replace(self, max_chips=inf, budget=inf, power=inf)

    @property
    def has_means(self) -> bool:
        """Whether chips, cost or power are limited."""
        return min(self.max_chips, self.budget, self.power) < inf

    @property
    def means(self) -> dict[str, float]:
        """The limits on the resources of all replicas together."""
        return {name: limit for name, limit in self.limits.items() if name not in ("ttft", "tpot")}

    @property
    def limits(self) -> dict[str, float]:
        """The limits by name of the value: seconds, chips, and maybe dollars and watts."""
        limits = {"ttft": self.ttft, "tpot": self.tpot, "chips": self.max_chips}
        optional = {"budget": self.budget, "power": self.power}
        return limits | {name: limit for name, limit in optional.items() if limit < inf}
