"""Schema of a workload file: clients, each with a fraction of requests, lengths and latency limits.

Keys follow version 2 of the BLIS format (github.com/inference-sim/inference-sim,
docs/reference/workload-spec.md) where it has them; limits, prefix hits and traces are ours.
"""

from math import isclose
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, ValidationInfo, field_validator, model_validator

from fastcalc.catalogue.limits import LIMITS
from fastcalc.catalogue.numerals import parse_number
from fastcalc.catalogue.schema.quantities import Entry, Name, Time

_UNLIMITED = ("batch", "background", "sheddable")
Positive = Annotated[float, Field(gt=0.0, le=1e9, strict=True, allow_inf_nan=False)]
Rate = Annotated[
    float, Field(gt=0.0, le=LIMITS["request rate"].maximum, strict=True, allow_inf_nan=False)
]
Share = Annotated[float, Field(gt=0.0, le=1.0, strict=True)]
ShareOrZero = Annotated[float, Field(ge=0.0, le=1.0, strict=True)]

_PARAMS: dict[str, tuple[set[str], set[str]]] = {
    "constant": ({"value"}, set()),
    "gaussian": ({"mean", "std_dev"}, {"min", "max"}),
    "lognormal": ({"mean", "std_dev"}, {"min", "max"}),
    "exponential": ({"mean"}, {"min", "max"}),
}
"""The required and optional parameters of each type; empirical ones are lengths."""


class Distribution(Entry):
    """A distribution of lengths by its type and its parameters in tokens."""

    type: Literal["constant", "gaussian", "lognormal", "exponential", "empirical"]
    params: dict[str, Annotated[float, Field(ge=0.0, le=1e9, allow_inf_nan=False, strict=True)]]

    @field_validator("params")
    @classmethod
    def _are_those_of_the_type(
        cls, params: dict[str, float], info: ValidationInfo
    ) -> dict[str, float]:
        client_type = str(info.data.get("type"))
        if client_type == "empirical":
            for length in params:
                if (parse_number(length) or 0.0) not in LIMITS["tokens"]:
                    hint = "write tokens and their share, as '1000: 0.25'"
                    raise ValueError(f"'{length[:20]}' is not a length; {hint}")
            if not isclose(sum(params.values()), 1.0, abs_tol=1e-3):
                raise ValueError(
                    f"shares of empirical lengths sum to {sum(params.values()):.6g}, not to 1"
                )
            return params
        needed, optional = _PARAMS.get(client_type, (set(), set(params)))
        if missing := sorted(needed - set(params)):
            raise ValueError(f"{client_type} lengths need {' and '.join(missing)}, in tokens")
        if unknown := sorted(set(params) - needed - optional):
            raise ValueError(
                f"{client_type} lengths have no {unknown[0]}; they take "
                f"{', '.join(sorted(needed | optional))}"
            )
        below = [name for name in ("value", "mean") if name in params and params[name] < 1.0]
        if below:
            raise ValueError(f"{below[0]} {params[below[0]]:g} is less than one token")
        low, high = params.get("min", 1.0), params.get("max", LIMITS["tokens"].maximum)
        if low > high:
            raise ValueError(f"min {low:g} is above max {high:g}")
        mean = params.get("mean", low)
        if not low <= mean <= high:
            where = f"below min {low:g}" if mean < low else f"above max {high:g}"
            raise ValueError(f"mean {mean:g} is {where}; write a mean of lengths between them")
        return params


def _written_out(raw: object) -> object:
    """Convert a plain number of tokens into a constant distribution."""
    is_number = isinstance(raw, (int, float)) and not isinstance(raw, bool)
    return {"type": "constant", "params": {"value": raw}} if is_number else raw


Lengths = Annotated[Distribution, BeforeValidator(_written_out)]
"""A number of tokens, or a distribution."""


class Arrival(Entry):
    """An arrival process, which can be Poisson, bursty or regular."""

    process: Literal["poisson", "gamma", "constant"] = "poisson"
    cv: Positive | None = None

    @model_validator(mode="after")
    def _varies_as_its_process(self) -> Self:
        if self.process == "gamma" and self.cv is None:
            raise ValueError("arrivals of process gamma need cv, such as cv: 2")
        if self.process != "gamma" and self.cv is not None:
            raise ValueError(f"arrivals of process {self.process} have no cv; leave it out")
        return self

    @property
    def variation(self) -> float:
        """The coefficient of variation of interarrival times."""
        return {"poisson": 1.0, "constant": 0.0}.get(self.process, self.cv or 1.0)


class Client(Entry):
    """A class of requests."""

    id: Annotated[Name, Field(min_length=1, max_length=40)]
    rate_fraction: Share
    input_distribution: Lengths | None = None
    output_distribution: Lengths | None = None
    trace: str | None = None
    prefix_hit: ShareOrZero = 0.0
    prefix_length: Annotated[int, Field(gt=0, le=10_000_000)] | None = None
    prefixes: Annotated[int, Field(gt=0, le=1_000_000)] = 1
    popularity: Annotated[float, Field(ge=0.0, le=10.0)] = 0.0
    ttft: Time | None = None
    tpot: Time | None = None
    slo_class: Literal["critical", "standard", "sheddable", "batch", "background"] = "standard"
    arrival: Arrival = Arrival()
    model: Name | None = None
    tenant_id: Name | None = None
    streaming: bool | None = None

    @property
    def needs_limit(self) -> bool:
        """Whether users wait for the requests, so that a latency limit is required."""
        return self.slo_class not in _UNLIMITED

    @model_validator(mode="after")
    def _has_lengths(self) -> Self:
        lengths = (self.input_distribution, self.output_distribution)
        if self.trace is None and None in lengths:
            raise ValueError(
                f"'{self.id}' has no lengths; give input_distribution and output_distribution, as "
                "tokens or {type: lognormal, params: {mean: 800, std_dev: 600}}, or a trace"
            )
        if self.trace is not None and lengths != (None, None):
            raise ValueError(f"'{self.id}' has a trace, which holds its lengths; leave those out")
        for name, limit in (("ttft", self.ttft), ("tpot", self.tpot)):
            if limit is not None and limit.si <= 0.0:
                raise ValueError(f"{name} of '{self.id}' is 0; write a time such as 500ms")
        return self


class TrafficFile(Entry):
    """A workload with its request rate and request classes."""

    version: Literal["1", "2"] = "2"
    aggregate_rate: Rate | None = None
    clients: Annotated[list[Client], Field(min_length=1, max_length=12)]
    category: Name | None = None
    seed: int | None = None
    num_requests: int | None = None
    horizon: int | None = None

    @field_validator("clients")
    @classmethod
    def _are_whole(cls, clients: list[Client]) -> list[Client]:
        names = [client.id for client in clients]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise ValueError(f"'{twice}' is the id of two of them; give each its own")
        total = sum(client.rate_fraction for client in clients)
        if not isclose(total, 1.0, abs_tol=1e-3):
            raise ValueError(
                f"their rate_fraction sum to {total:.6g}, not to 1; write for example "
                f"{', '.join(f'{client.rate_fraction / total:.3g}' for client in clients)}"
            )
        return clients
