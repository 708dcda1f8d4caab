"""Registry of the tests that claims files can use, each with its formula."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Literal, cast

import numpy as np

from fastcalc.catalogue.tables import table_of
from fastcalc.features.claims import premium
from fastcalc.features.claims import tests_by_arithmetic as arithmetic
from fastcalc.features.claims import tests_on_machines as machines
from fastcalc.features.claims.finding import Finding
from fastcalc.formulas import agents as tasks
from fastcalc.formulas import break_even, pipeline, serving, speculation, waiting
from fastcalc.formulas.types import Array, Floats, floats

Wanted = Literal[
    "a name", "a list of names", "one number", "a list of numbers", "a number or a list of numbers"
]

MM2_PER_SQUARE_INCH = 645.16

COUNTS = frozenset(
    {"against_chips", "batch", "chips", "context", "few", "many", "samples", "slots", "stages"}
    | {"steps", "streams"}
)
"""Inputs that are counts, and so have integer break-even values."""

_WORDS = {
    "than": "reference speed",
    "over": "numerator",
    "over_unit": "numerator per",
    "under": "denominator",
    "under_unit": "denominator per",
    "floors": "latency floors per layer",
    "bandwidth_shares": "shares of peak bandwidth",
    "compute_shares": "shares of peak compute",
    "usable": "usable share of memory",
    "against": "other chip type",
    "against_chips": "chips of the other type",
    "on": "chip type",
    "end": "speed estimate",
    "lead": "TTFT",
    "expected": "criterion",
}
"""Names of inputs in sentences, where their name in the file is unclear."""


def in_words(name: str) -> str:
    """Return the name of an input as used in sentences and formulas.

    >>> in_words("other_success"), in_words("over")
    ('other success', 'numerator')
    """
    return _WORDS.get(name, name.replace("_", " "))


@dataclass(frozen=True)
class Registered:
    """Registers a function with a claim's inputs as keywords, which returns an array or `Finding`.

    A parameter that is a named tuple takes the inputs in its fields.

    formula : The formula of the number, with the names of inputs in braces.
    in_full : The function for the same number, with additional numbers and tables that take longer.
    in_words : The description of the number, if the formula with names would not be readable.
    """

    function: Callable[..., Array | Finding]
    formula: str
    in_full: Callable[..., Finding] | None = None
    in_words: str = ""

    @cached_property
    def _parameters(self) -> Mapping[str, inspect.Parameter]:
        return inspect.signature(self.function).parameters

    @cached_property
    def groups(self) -> Mapping[str, Mapping[str, Any]]:
        """The types of the inputs by name, grouped by the parameter that takes them."""
        return {
            name: dict(inspect.get_annotations(parameter.annotation))
            if hasattr(parameter.annotation, "_fields")
            else {name: parameter.annotation}
            for name, parameter in self._parameters.items()
        }

    def compute(self, inputs: dict[str, Any], *, is_full: bool) -> Finding:
        """Run the test for inputs by name. ``is_full`` adds tables and other numbers."""
        arguments = {
            name: {key: inputs[key] for key in group} for name, group in self.groups.items()
        }
        function = self.in_full or self.function if is_full else self.function
        computed = function(
            **{
                name: self._parameters[name].annotation(**group)
                if name not in group
                else group[name]
                for name, group in arguments.items()
            }
        )
        return computed if isinstance(computed, Finding) else Finding(computed)

    @property
    def inputs(self) -> set[str]:
        """The names of the inputs that a claim must specify. The catalogue is passed in."""
        return {name for group in self.groups.values() for name in group} - {"catalogue"}

    def wants(self, name: str) -> Wanted:
        """Check whether an input is a name, a number or a list, according to its annotation."""
        annotation = next(group[name] for group in self.groups.values() if name in group)
        if annotation in (str, list[str]):
            return "a name" if annotation is str else "a list of names"
        if annotation is float:
            return "one number"
        return "a list of numbers" if annotation is Floats else "a number or a list of numbers"


def _quotient(
    numerator: Callable[..., Array], denominator: Callable[..., Array]
) -> Callable[..., Array]:
    """Return a function that divides one function by another and takes the inputs of both."""
    signatures = [inspect.signature(function).parameters for function in (numerator, denominator)]

    def quotient(**inputs: Any) -> Array:
        above, below = ({name: inputs[name] for name in names} for names in signatures)
        return numerator(**above) / denominator(**below)

    needed = [
        parameter.replace(kind=parameter.KEYWORD_ONLY)
        for parameter in {**signatures[0], **signatures[1]}.values()
    ]
    divided: Any = quotient
    divided.__signature__ = inspect.Signature(needed)
    return cast(Callable[..., Array], divided)


_FUNCTIONS: dict[str, Callable[..., Array | Finding]] = {
    "value": lambda value: floats(value),
    "ratio": lambda over, under: floats(over) / under,
    "latency-ratio": lambda sram, hbm: floats(sram) / hbm,
    "ratio-of-ratios": lambda over, over_unit, under, under_unit: (
        floats(over) / over_unit / (floats(under) / under_unit)
    ),
    "system-prices": arithmetic.system_prices,
    "thinner-batch": lambda fewer_users, speedup: floats(fewer_users) / speedup,
    "bill-ratio": arithmetic.bill_ratio,
    "interaction": arithmetic.interaction,
    "drafted-speedup": speculation.drafted_speedup,
    "drafted-gain": lambda acceptance, drafts, draft_cost: speculation.drafted_speedup(
        tokens=speculation.tokens_per_pass(acceptance=acceptance, drafted=drafts),
        drafts=drafts,
        draft_cost=draft_cost,
    ),
    "bus-wait": arithmetic.bus_wait,
    "memory-not-fabric": arithmetic.memory_not_fabric,
    "on-chip-memory": lambda cache, cores, per_core: floats(cache) + floats(cores) * per_core,
    "regional-speed": pipeline.regional_speed,
    "layer-time": lambda speed, tokens, layers, chips, hop: (
        (floats(tokens) / speed - pipeline.ring_hops(chips=chips) * hop) / layers
    ),
    "step-wait": waiting.step_wait,
    "slot-wait": arithmetic.slot_wait,
    "traffic-slope": machines.traffic_slope,
    "billions-that-fit": lambda capacity, usable, bytes_each: (
        1e-9 * floats(capacity) * usable / bytes_each
    ),
    "square-inches": lambda area: floats(area) * 1e6 / MM2_PER_SQUARE_INCH,
    "chips-holding": arithmetic.chips_holding,
    "speed-with-chips": arithmetic.with_chips,
    "message-share": machines.message_share,
    "pipeline-rate": lambda streams, stages: np.minimum(floats(streams), stages) / stages,
    "read-speed": lambda bandwidth, context, bytes_a_token: (
        floats(bandwidth) / (floats(context) * bytes_a_token)
    ),
    "sooner": lambda slow, lead, speedup: floats(lead) + (floats(slow) - lead) / speedup,
    "handshake-share": lambda handshake, lead: floats(handshake) / (floats(handshake) + lead),
    "saved-share": _quotient(arithmetic.saved, arithmetic.turn),
    "disaggregated-nodes": serving.disaggregated_nodes,
    "chain-success": tasks.chain_success,
    "success-ratio": lambda accuracy, other, steps: (floats(accuracy) / other) ** steps,
    "sessions-for-bill": arithmetic.sessions_for_bill,
    "reruns": arithmetic.reruns,
    "success-slope": arithmetic.success_slope,
    "picked": arithmetic.picked,
    "merging-gain": arithmetic.merging_gain,
    "amdahl": tasks.amdahl,
    "implied-share": tasks.implied_share,
    "with-fixing": arithmetic.with_fixing,
    "break-even-check": break_even.break_even_check,
    "busy-sessions": tasks.busy_sessions,
    "speed-needed": arithmetic.speed_needed,
    "tokens-in-window": tasks.tokens_in_window,
    "spoken": lambda words, tokens_a_word, speed, lead: tasks.turn_time(
        wait=0.0, lead=lead, tokens=floats(words) * tokens_a_word, speed=speed
    ),
    "over-reading": lambda speed, words_a_token, reading: (
        floats(speed) * words_a_token * 60.0 / reading
    ),
    "cost-multiples": premium.cost_multiples_of,
    "saving-by-flops": premium.saving_by_flops,
    "user-speed": machines.user_speed,
    "chips-for": machines.chips_for,
    "machine-rate": partial(machines.rate_ratio, "total"),
    "user-rate": partial(machines.rate_ratio, "speed"),
    "price-alone": machines.price_alone,
    "lead-gain": machines.lead_gain,
    "speed-gain": machines.speed_gain,
    "newer-hardware": partial(machines.newer_hardware, ()),
    "price-gain": machines.price_gain,
    "naive-speed": machines.naive_speed,
    "naive-reached": machines.naive_reached,
    "reading-over-computing": machines.reading_over_computing,
    "ridge": machines.ridge,
}

_IN_FULL: dict[str, Callable[..., Finding]] = {
    "cost-multiples": premium.cost_table,
    "newer-hardware": partial(machines.newer_hardware, machines.BASES),
}

TESTS = {
    row["test"]: Registered(
        _FUNCTIONS[row["test"]], row["formula"], _IN_FULL.get(row["test"]), row["in_words"]
    )
    for row in table_of(__file__)
}
