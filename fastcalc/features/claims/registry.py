"""The closed list of tests that a file of claims may name, each with its formula in words."""

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
"""Inputs that count things: they turn an answer at a whole number."""


@dataclass(frozen=True)
class Registered:
    """A function of a claim's inputs by keyword, which gives an array or a `Finding`.

    A parameter that is a named tuple stands for the inputs that it holds. The formula says how the
    number comes about, with the inputs' names in braces; ``in_full`` gives the same number with
    what takes longer to find.
    """

    function: Callable[..., Any]
    formula: str
    in_full: Callable[..., Finding] | None = None

    @cached_property
    def _parameters(self) -> Mapping[str, inspect.Parameter]:
        return inspect.signature(self.function).parameters

    @cached_property
    def groups(self) -> Mapping[str, Mapping[str, Any]]:
        """Inputs by name with their types, in the parameters that they stand in."""
        return {
            name: dict(inspect.get_annotations(parameter.annotation))
            if hasattr(parameter.annotation, "_fields")
            else {name: parameter.annotation}
            for name, parameter in self._parameters.items()
        }

    def compute(self, inputs: dict[str, Any], *, is_full: bool) -> Finding:
        """Return what the function gives for inputs by name, or in full where there is more."""
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
        """Names of the inputs that it needs; the catalogue comes by itself."""
        return {name for group in self.groups.values() for name in group} - {"catalogue"}

    def wants(self, name: str) -> Wanted:
        """Return what kind of input one of the names stands for, by its annotation."""
        kind = next(group[name] for group in self.groups.values() if name in group)
        if kind in (str, list[str]):
            return "a name" if kind is str else "a list of names"
        if kind is float:
            return "one number"
        return "a list of numbers" if kind is Floats else "a number or a list of numbers"


def _share(part: Callable[..., Array], total: Callable[..., Array]) -> Callable[..., Array]:
    """Return the function of what either needs, which is one over the other."""
    signatures = [inspect.signature(function).parameters for function in (part, total)]

    def quotient(**inputs: Any) -> Array:
        above, below = ({name: inputs[name] for name in names} for names in signatures)
        return part(**above) / total(**below)

    needed = [
        parameter.replace(kind=parameter.KEYWORD_ONLY)
        for parameter in {**signatures[0], **signatures[1]}.values()
    ]
    share: Any = quotient
    share.__signature__ = inspect.Signature(needed)
    return cast(Callable[..., Array], share)


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
        "({prompt} in, {output} out) at {prices} over the same at {other_prices} USD/Mtok",
    ),
    "interaction": Registered(
        arithmetic.interaction,
        "standard over fast time at {tokens} tokens, one over the other, at {speeds} tokens/s "
        "after {lead}",
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
        "with {scheduling} batching: {step} / 2 where it is continuous, ({batch} - 1) / (2 x "
        "{arrivals}) until a static batch is full",
    ),
    "memory-not-fabric": Registered(
        arithmetic.memory_not_fabric, "{memory}; the network between cores has {fabric}"
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
        arithmetic.slot_wait, "Erlang C: {slots} slots, {utilization} busy, {service} s a request"
    ),
    "traffic-slope": Registered(
        machines.traffic_slope,
        "TPOT in traffic over TPOT of decode alone: {model}, {chips} {on}, batch {batch}, prompts "
        "of {prompt}",
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
        "time in messages and hops over the time of a decode step: {models} on {machines}, {chips} "
        "chips, 0 for the fewest that hold it, batch {batch}",
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
        _share(arithmetic.saved, arithmetic.turn),
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
        "(1 - (1 - {accuracy})^{samples}) / {accuracy}, and a majority of {samples} over it",
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
        "FLOPs / peak), B and B' the largest batches at {slow} and {fast} tokens/s a user",
    ),
    "saving-by-flops": Registered(
        premium.saving_by_flops,
        "FLOP time beyond the reading, {slow} less {fast} tokens/s, over the time saved: {models}, "
        "{chips} {machines}",
    ),
    "user-speed": Registered(
        machines.user_speed,
        "{end} tokens/s of {models} in {weights} on {on} at batch {batch}, "
        "{context} tokens of context",
    ),
    "chips-for": Registered(machines.chips_for, "chips of {on} for {models} in {weights}"),
    "machine-rate": Registered(
        partial(machines.rate_ratio, "total"),
        "tokens/s of {model} on {chips} {on} at batch {few} over batch {many}, {context} tokens of "
        "context",
    ),
    "user-rate": Registered(
        partial(machines.rate_ratio, "speed"),
        "tokens/s a user of {model} on {chips} {on} at batch {few} over batch {many}, {context} "
        "tokens of context",
    ),
    "price-alone": Registered(
        machines.price_alone,
        "$/Mtok of {model} on {chips} {on} at batch {few} over batch {many}, or on as many as "
        "hold each, {context} tokens of context",
    ),
    "lead-gain": Registered(
        machines.lead_gain,
        "(TTFT at batch {many} / {few}) / (TPOT at batch {many} / {few}): {model}, {chips} {on}, "
        "{context} tokens of context",
    ),
    "speed-gain": Registered(
        machines.speed_gain,
        "{end} tokens/s of {models} in {weights} on {on} over {against} at batch {batch}, "
        "{context} tokens of context, {chips} over {against_chips} chips, 0 for the fewest that "
        "hold it, more where the users take more",
    ),
    "newer-hardware": Registered(
        machines.newer_hardware, "memory bandwidth of {on} over that of {against}"
    ),
    "price-gain": Registered(
        machines.price_gain,
        "$/Mtok of {model} on {chips} {on} over {against_chips} {against} at batch {batch}, "
        "{context} tokens of context, by cloud and by ownership",
    ),
    "naive-speed": Registered(
        machines.naive_speed, "bandwidth of {on} / ({billions} x 10^9 x {bytes_each})"
    ),
    "naive-reached": Registered(
        machines.naive_reached,
        "expected tokens/s of {model} / (bandwidth of {on} / ({billions} x 10^9 x {bytes_each}))",
    ),
    "reading-over-computing": Registered(
        machines.reading_over_computing,
        "time of reading memory over time of computing in a decode step: {models} on {chips} "
        "{machines}, more where the users take more, batch {batch}, prompts of {prompt}",
    ),
    "ridge": Registered(machines.ridge, "(16-bit peak of {on} / its bandwidth) / {batches}"),
}
