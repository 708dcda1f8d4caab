"""Registry of the tests that claims files can use, each with its formula."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Literal, cast

import numpy as np

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

    formula : formula of the number, with the names of inputs in braces
    in_full : function for the same number, with additional numbers and tables that take longer
    in_words : description of the number, if the formula with names would not be readable
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


TESTS: dict[str, Registered] = {
    "value": Registered(lambda value: floats(value), "{value}"),
    "ratio": Registered(lambda over, under: floats(over) / under, "{over} / {under}"),
    "latency-ratio": Registered(lambda sram, hbm: floats(sram) / hbm, "{sram} / {hbm}"),
    "ratio-of-ratios": Registered(
        lambda over, over_unit, under, under_unit: (
            floats(over) / over_unit / (floats(under) / under_unit)
        ),
        "({over} / {over_unit}) / ({under} / {under_unit})",
    ),
    "system-prices": Registered(
        arithmetic.system_prices, "({wafer} / {wafer_memory}) / ({server} / {server_memory})"
    ),
    "thinner-batch": Registered(
        lambda fewer_users, speedup: floats(fewer_users) / speedup, "{fewer_users} / {speedup}"
    ),
    "bill-ratio": Registered(
        arithmetic.bill_ratio,
        "({prompt} input tokens, {output} output tokens) at {prices} USD/Mtok / the same at "
        "{other_prices} USD/Mtok",
    ),
    "interaction": Registered(
        arithmetic.interaction,
        "(standard / fast time of the short answer) / (standard / fast time of the long one): "
        "{tokens} tokens at {speeds} tokens/s after a TTFT of {lead}",
        in_words="gain in time of a short answer / gain in time of a long one",
    ),
    "drafted-speedup": Registered(
        speculation.drafted_speedup, "{tokens} / (1 + {drafts} x {draft_cost})"
    ),
    "drafted-gain": Registered(
        lambda acceptance, drafts, draft_cost: speculation.drafted_speedup(
            tokens=speculation.tokens_per_pass(acceptance=acceptance, drafted=drafts),
            drafts=drafts,
            draft_cost=draft_cost,
        ),
        "(1 - {acceptance}^({drafts} + 1)) / (1 - {acceptance}) / (1 + {drafts} x {draft_cost})",
    ),
    "bus-wait": Registered(
        arithmetic.bus_wait,
        "{scheduling} batching: {step} / 2 if continuous, ({batch} - 1) / (2 x {arrivals}) "
        "until a static batch is full",
        in_words="half a step with continuous batching; (batch - 1) / (2 x arrivals) until a "
        "static batch is full",
    ),
    "memory-not-fabric": Registered(
        arithmetic.memory_not_fabric,
        "{memory}; the network between cores has {fabric}",
        in_words="bandwidth of the memory, not of the network between cores",
    ),
    "on-chip-memory": Registered(
        lambda cache, cores, per_core: floats(cache) + floats(cores) * per_core,
        "{cache} + {cores} x {per_core}",
    ),
    "regional-speed": Registered(
        pipeline.regional_speed, "{tokens} / ({layers} x {layer_time} + {chips} x {hop})"
    ),
    "layer-time": Registered(
        lambda speed, tokens, layers, chips, hop: (
            (floats(tokens) / speed - pipeline.ring_hops(chips=chips) * hop) / layers
        ),
        "({tokens} / {speed} - {chips} x {hop}) / {layers}",
    ),
    "step-wait": Registered(waiting.step_wait, "{step} / 2"),
    "slot-wait": Registered(
        arithmetic.slot_wait,
        "Erlang C: {slots} slots at {utilization} utilization, {service} s per request",
        in_words="mean wait in a queue with several slots (Erlang C)",
    ),
    "traffic-slope": Registered(
        machines.traffic_slope,
        "TPOT with prefill of other requests / TPOT of decode only: {model} on {chips} {on}, "
        "batch {batch}, prompts of {prompt} tokens",
        in_words="TPOT with prefill of other requests / TPOT of decode only",
    ),
    "billions-that-fit": Registered(
        lambda capacity, usable, bytes_each: 1e-9 * floats(capacity) * usable / bytes_each,
        "{capacity} x {usable} / {bytes_each} / 10^9",
    ),
    "square-inches": Registered(
        lambda area: floats(area) * 1e6 / MM2_PER_SQUARE_INCH, "{area} / 645.16 mm2"
    ),
    "chips-holding": Registered(
        arithmetic.chips_holding,
        "{parameters} x {bytes_each} / ({capacity} x (1 - {reserve})), rounded up",
    ),
    "speed-with-chips": Registered(
        arithmetic.with_chips,
        "{speed} / {than}; chips: {parameters} / ({capacity} x (1 - {reserve})), rounded up",
    ),
    "message-share": Registered(
        machines.message_share,
        "communication time / time of a decode step: {models} on {chips} chips of {machines}, "
        "batch {batch}",
        in_words="communication time / time of a decode step",
    ),
    "pipeline-rate": Registered(
        lambda streams, stages: np.minimum(floats(streams), stages) / stages,
        "min({streams}, {stages}) / {stages}",
    ),
    "read-speed": Registered(
        lambda bandwidth, context, bytes_a_token: (
            floats(bandwidth) / (floats(context) * bytes_a_token)
        ),
        "{bandwidth} / ({context} x {bytes_a_token})",
    ),
    "sooner": Registered(
        lambda slow, lead, speedup: floats(lead) + (floats(slow) - lead) / speedup,
        "{lead} + ({slow} - {lead}) / {speedup}",
    ),
    "handshake-share": Registered(
        lambda handshake, lead: floats(handshake) / (floats(handshake) + lead),
        "{handshake} / ({handshake} + {lead})",
    ),
    "saved-share": Registered(
        _quotient(arithmetic.saved, arithmetic.turn),
        "({trips} x {trip} x {trip_saving} + {tokens} x {token} x {token_saving} + {lead} x "
        "{lead_saving}) / ({trips} x {trip} + {tokens} x {token} + {lead} + {tokens} / {speed})",
    ),
    "disaggregated-nodes": Registered(
        serving.disaggregated_nodes, "{input_rate} / {prefill_rate} + {output_rate} / {decode_rate}"
    ),
    "chain-success": Registered(tasks.chain_success, "{accuracy}^{steps}"),
    "success-ratio": Registered(
        lambda accuracy, other, steps: (floats(accuracy) / other) ** steps,
        "({accuracy} / {other})^{steps}",
    ),
    "sessions-for-bill": Registered(
        arithmetic.sessions_for_bill,
        "{subscriptions} x {multiple} / {price} x 10^6 tokens / ({speed} tokens/s x {hours} x "
        "3,600 s)",
    ),
    "reruns": Registered(
        arithmetic.reruns,
        "({tokens} / {speed} / {speedup} + {tool}) / {other}^{steps} / (({tokens} / {speed} + "
        "{tool}) / {accuracy}^{steps})",
    ),
    "success-slope": Registered(arithmetic.success_slope, "d ln p^{steps} / d ln p at {accuracy}"),
    "picked": Registered(
        arithmetic.picked, "1 - (1 - {accuracy})^{samples}, and a majority of {samples}"
    ),
    "merging-gain": Registered(
        arithmetic.merging_gain,
        "(1 - (1 - {accuracy})^{samples}) / {accuracy}, and a majority of {samples} / {accuracy}",
    ),
    "amdahl": Registered(tasks.amdahl, "1 / (1 - {share} + {share} / {speedup})"),
    "implied-share": Registered(tasks.implied_share, "(1 - 1/{overall}) / (1 - 1/{speedup})"),
    "with-fixing": Registered(
        arithmetic.with_fixing, "1 / {speedup} + {more_errors} x {base} x {fix}"
    ),
    "break-even-check": Registered(
        break_even.break_even_check,
        "({attempt} x {other_success} - {other} x {success}) / ({success} - {other_success})",
    ),
    "busy-sessions": Registered(tasks.busy_sessions, "({response} + {think}) / {think}"),
    "speed-needed": Registered(arithmetic.speed_needed, "{tokens} / ({window} - {lead})"),
    "tokens-in-window": Registered(tasks.tokens_in_window, "({window} - {lead}) x {speed}"),
    "spoken": Registered(
        lambda words, tokens_a_word, speed, lead: tasks.turn_time(
            wait=0.0, lead=lead, tokens=floats(words) * tokens_a_word, speed=speed
        ),
        "{lead} + {words} x {tokens_a_word} / {speed}",
    ),
    "over-reading": Registered(
        lambda speed, words_a_token, reading: floats(speed) * words_a_token * 60.0 / reading,
        "{speed} x {words_a_token} x 60 / {reading}",
    ),
    "cost-multiples": Registered(
        premium.cost_multiples_of,
        in_full=premium.cost_table,
        formula="(T(B') / B') / (T(B) / B), T = floor x layers + link + max(bytes / bandwidth, "
        "FLOPs / peak), B and B' the largest batches at {slow} and {fast} tokens/s per user",
        in_words="(T(B') / B') / (T(B) / B), T = floor x layers + link + max(bytes / bandwidth, "
        "FLOPs / peak), B and B' the largest batches at the slow and the fast speed",
    ),
    "saving-by-flops": Registered(
        premium.saving_by_flops,
        "compute time not hidden by memory reads, saved from {slow} to {fast} tokens/s / time "
        "saved: {models} on {chips} {machines}",
        in_words="compute time saved that memory reads do not hide / time saved",
    ),
    "user-speed": Registered(
        machines.user_speed,
        "{end} tokens/s per user of {models}, weights {weights}, on {on}, batch {batch}, "
        "{context} tokens of context",
        in_words="tokens/s per user of each model",
    ),
    "chips-for": Registered(
        machines.chips_for,
        "{on} chips for {models}, weights {weights}",
        in_words="chips on which each model fits for one user, in whole layers",
    ),
    "machine-rate": Registered(
        partial(machines.rate_ratio, "total"),
        "tokens/s of {model} on {chips} {on}: batch {few} / batch {many}, {context} tokens of "
        "context",
        in_words="machine throughput at the small batch / at the large batch",
    ),
    "user-rate": Registered(
        partial(machines.rate_ratio, "speed"),
        "tokens/s per user of {model} on {chips} {on}: batch {few} / batch {many}, {context} "
        "tokens of context",
        in_words="tokens/s per user at the small batch / at the large batch",
    ),
    "price-alone": Registered(
        machines.price_alone,
        "$/Mtok of {model} on {chips} {on} (more if a batch needs them): batch {few} / batch "
        "{many}, {context} tokens of context",
        in_words="$/Mtok at the small batch / at the large batch",
    ),
    "lead-gain": Registered(
        machines.lead_gain,
        "(TTFT at batch {many} / {few}) / (TPOT at batch {many} / {few}): {model}, {chips} {on}, "
        "{context} tokens of context",
        in_words="(TTFT at the large / small batch) / (TPOT at the large / small batch)",
    ),
    "speed-gain": Registered(
        machines.speed_gain,
        "{end} tokens/s per user on at least {chips} {on} / on at least {against_chips} "
        "{against}: {models}, weights {weights}, batch {batch}, {context} tokens of context",
        in_words="tokens/s per user on one chip type / on the other, same model, batch and context",
    ),
    "newer-hardware": Registered(
        partial(machines.newer_hardware, ()),
        "memory bandwidth of {on} / {against}",
        in_full=partial(machines.newer_hardware, machines.BASES),
        in_words="memory bandwidth of the newer chip / of the older one",
    ),
    "price-gain": Registered(
        machines.price_gain,
        "$/Mtok of {model} on {chips} {on} / on {against_chips} {against}, batch {batch}, "
        "{context} tokens of context, at cloud prices and at ownership cost",
        in_words="$/Mtok on one chip type / on the other, at cloud prices and at ownership cost",
    ),
    "naive-speed": Registered(
        machines.naive_speed,
        "bandwidth of {on} / ({billions} x 10^9 x {bytes_each})",
        in_words="memory bandwidth / bytes of the weights",
    ),
    "naive-reached": Registered(
        machines.naive_reached,
        "expected tokens/s of {model} / (bandwidth of {on} / ({billions} x 10^9 x {bytes_each}))",
        in_words="expected tokens/s / (memory bandwidth / bytes of the weights)",
    ),
    "reading-over-computing": Registered(
        machines.reading_over_computing,
        "time reading memory / time computing in a decode step: {models} on {chips} {machines} "
        "(more if the users need them), batch {batch}, prompts of {prompt} tokens",
        in_words="time reading memory / time computing in a decode step",
    ),
    "ridge": Registered(
        machines.ridge,
        "(16-bit peak of {on} / its bandwidth) / {batches}",
        in_words="(16-bit peak / memory bandwidth) / batch",
    ),
}
