"""A chip, a model and an engine that nobody sells, with numbers that a head can multiply."""

from typing import Any

from fastcalc.catalogue.schema import Engine, Hardware, Model
from fastcalc.core.chip.machine import machine
from fastcalc.core.chip.tier import OWN_MEMORY, MemoryChoice
from fastcalc.core.load import RandomLoad
from fastcalc.core.model.workload import workload
from fastcalc.core.placement.layout import Layout
from fastcalc.core.placement.placement import Placement, Site
from fastcalc.core.traffic.request_class import Lengths, RequestClass
from fastcalc.core.traffic.traffic import Speculation


def chip(**changes: Any) -> Hardware:
    """One chip: 1 GB at 1 TB/s, 100 TFLOP/s, eight in a domain of 100 GB/s, 3.60 USD an hour."""
    return Hardware.model_validate(
        {
            "id": "made-up-chip",
            "name": "Made up",
            "vendor": "Nobody",
            "kind": "gpu",
            "scope": "one",
            "architecture": "none",
            "memory": [{"name": "M", "capacity": "1 GB", "bandwidth": "1 TB/s"}],
            "peak": {"bf16": "100 TFLOP/s"},
            "power": {"chip": "1000 W"},
            "price": {"cloud": "3.6 USD/h"},
            "links": {
                "scale_up": {"bandwidth": "100 GB/s", "domain": 8},
                "scale_out": {"bandwidth": "10 GB/s", "latency": "100 us"},
            },
            **changes,
        }
    )


def minimal(**changes: Any) -> Model:
    """A model of totals alone: nothing but matrices that every token passes.

    Tokens are one number wide, so that messages take no time unless a test makes them wider.
    """
    return Model.model_validate(
        {
            "id": "made-up-model",
            "name": "Made up",
            "weight_format": "bf16",
            "total_parameters": 500_000,
            "layers": 10,
            "kv_bytes_per_token": 1,
            "hidden_size": 1,
            **changes,
        }
    )


def engine(**parameters: Any) -> Engine:
    """Software that reaches everything and pays for nothing but what is given."""
    return Engine.model_validate(
        {
            "id": "made-up-engine",
            "name": "Made up",
            "fitted_on": "nothing",
            "parameters": parameters,
        }
    )


CLOCK = engine(
    decode_layer_floor="1 ms",
    prefill_layer_floor="2 ms",
    request_overhead="5 ms",
    prompt_chunk=1000,
)
"""Ten layers of 1 ms, of 2 ms with prompts in the pass; 5 ms a request."""

_CLOCKED: dict[str, Any] = {
    # A megabyte of weights at 1,000 TB/s is a nanosecond; a token's 10^6 FLOPs are 0.01 ms.
    "memory": [{"name": "M", "capacity": "1000 GB", "bandwidth": "1000 TB/s"}],
    "peak": {"bf16": "0.1 TFLOP/s"},
    "links": {"scale_out": {"bandwidth": "10 GB/s", "latency": "100 us"}},
}


def clocked(**changes: Any) -> Hardware:
    """A chip on which `minimal` under `CLOCK` takes milliseconds that the head knows.

    A pass of ten layers that decodes b sequences takes 10 + 0.01 b ms, and one that takes in c
    prompt tokens as well 20 + 0.01 (b + c) ms. A hop between stages takes 0.1 ms.
    """
    return chip(**{**_CLOCKED, **changes})


def clocked_wafer() -> Hardware:
    """The same with a region for each layer: max(10, b) + 0.01 c ms, and 0.1 ms for each of several wafers."""
    return clocked(kind="wafer", execution="spatial")


def placed(
    model: Model,
    layout: Layout | None = None,
    *,
    on: Hardware | None = None,
    under: Engine | None = None,
    reserved: float = 0.0,
    memory: MemoryChoice = OWN_MEMORY,
) -> Placement:
    """Return a model on a layout of a chip; one chip of `chip` under ideal software by default."""
    hardware, work = on or chip(), workload(model)
    unit = machine(hardware, under or engine(), work, memory)
    return Placement(unit, work, layout or Layout(), reserved)


def site(
    model: Model,
    *,
    on: Hardware | None = None,
    under: Engine | None = None,
    reserved: float = 0.0,
    memory: MemoryChoice = OWN_MEMORY,
) -> Site:
    """Return the layouts there are of a model on a chip."""
    place = placed(model, on=on, under=under, memory=memory)
    return Site(place.machine, place.work, reserved)


EXPERTS = minimal(
    total_parameters=1100, active_parameters=300, experts=10, active_experts=2, hidden_size=1000
)
"""100 parameters that every token passes, and ten experts of 100 of which it picks two."""


def blocks(*, layers: int = 1, **changes: Any) -> Model:
    """A model of whole layers: 64 wide, four heads of 16, two of them kept, 128 inside."""
    block = {
        "count": layers,
        "attention": {"kind": "gqa", "heads": 4, "kv_heads": 2, "head_dim": 16},
        "ffn": {"kind": "dense", "width": 128},
    }
    return Model.model_validate(
        {
            "id": "made-up-model",
            "name": "Made up",
            "weight_format": "bf16",
            "hidden_size": 64,
            "vocabulary": 1000,
            "blocks": [block],
            **changes,
        }
    )


def random_load(kinds: Any, slots: int, rate: float) -> RandomLoad:
    """The load of `clocked` by kinds of requests, each a share, a prompt and an output."""
    work = workload(minimal())
    server = machine(clocked(), CLOCK, work, OWN_MEMORY)
    classes = [
        RequestClass(f"{place}", share, Lengths.fixed(float(prompt), float(output)))
        for place, (share, prompt, output) in enumerate(kinds)
    ]
    placement = Placement(server, work, Layout(), 10_000.0)
    return RandomLoad.of(placement, classes, speculation=Speculation(), slots=slots, rate=rate)
