"""The sentences of `fastmode`: the headline, the cheapest options, factors, and notes."""

from collections.abc import Sequence
from math import isnan

import numpy as np

from fastcalc.core.chip.formats_run import format_notes
from fastcalc.core.outcome import Outcome
from fastcalc.features.fastmode.factors import factors_of, product
from fastcalc.features.fastmode.option import MOST_SHOWN, Option
from fastcalc.features.fastmode.records import rows, trick_cell
from fastcalc.features.fastmode.solve import SpeedupOptions
from fastcalc.features.fastmode.start import WAFERS, most_chips
from fastcalc.kit.answer.numbers_as_text import capital, counted, dollars, number
from fastcalc.kit.answer.record_tables import output_price
from fastcalc.kit.answer.row_words import near_one
from fastcalc.mentions import option

_NAMED_BY_CHANGE = (
    "newer-hardware",
    "other-hardware",
    "speculation",
    "sram-machine",
    "smaller-model",
)
"""Techniques sufficiently identified by the name of the chip or model."""

_ANSWERS_REST_ON = ("model", "weight_format", "kv_format")

_TODAYS = "x today's cost (80% range "
"""Words before a cost that are not repeated for a second cost."""


def headline(solution: SpeedupOptions) -> str:
    """State the cost of the target speed and the technique, on today's and on other chips."""
    if not solution.reached:
        return f"{capital(no_option_reaches(solution))}."
    times = number(solution.speed / float(solution.today.estimate.speed[0]))
    target = f"{number(solution.speed)} tokens/s per user ({times}x)"
    if solution.cheapest is None:
        return f"{target} requires quantization or another model, which changes the output."
    on_same_chips, on_others = solution.on_same_chips, solution.on_another_machine
    chip = solution.today.scenario.hardware.id
    if on_same_chips is None:
        others = (_means_and_cost(solution, choice) for choice in solution.leading)
        other_chips = "".join(f"{means} {cost}" for means, cost in others)
        nothing = f"Nothing on {chip} reaches {target}."
        if solution.reaches_on_same_chips:
            nothing = f"On {chip}, only quantization or another model reaches {target}."
        return f"{nothing} Other chips reach it: {other_chips}."
    means, cost = _means_and_cost(solution, on_same_chips)
    _, same = rows(solution, [on_same_chips])
    sentence = f"Cheapest on {chip} for {target}: {means}, {cost}, batch {same['batch']:,}."
    if on_others:
        means, cost = _means_and_cost(solution, on_others)
        cost = cost.removeprefix("at ").replace(_TODAYS, "x (")
        sentence += f" On other chips: {means}, {cost}."
    return sentence


def today(solution: SpeedupOptions) -> str:
    """Describe today's deployment and its speed, for the line above the table."""
    outcome, batch = solution.today, solution.today.scenario.batches[0]
    speed, chips = float(outcome.estimate.speed[0]), outcome.placement.layout.chips
    users = "one user" if batch == 1 else f"each of {batch:,} users"
    asked = f" ({number(solution.asked_start or 0.0)} asked, but no larger batch fits)"
    return (
        f"Today {outcome.scenario.model.asked_name} ({outcome.scenario.work.short_format}) on "
        f"{chips:,} {outcome.scenario.hardware.id} gives {users} {number(speed)} tokens/s"
        f"{asked * bool(too_fast(solution))}"
    )


def _means_and_cost(solution: SpeedupOptions, best: Option) -> tuple[str, str]:
    """Return an option's technique (or its chip or model), and its cost with its range."""
    _, record = rows(solution, [best])
    name, change = trick_cell(record), f" ({best.change})" if best.change else ""
    technique = f"{'a ' * name.endswith('batch')}{name}{change}"
    if best.tricks > 1 or best.trick in _NAMED_BY_CHANGE:
        technique = best.change
    cost = record["cost_multiple"]
    if cost is None:
        is_priced = record["usd_per_mtok_output"] is not None
        return (
            technique,
            f"at {output_price(record)}/Mtok" if is_priced else "without a known price",
        )
    low, high = record["cost_multiple_low"], record["cost_multiple_high"]
    within = "" if low is None else f" (80% range {near_one(low)} to {near_one(high)})"
    return technique, f"at {dollars(cost)}x today's cost{within}"


def no_option_reaches(solution: SpeedupOptions) -> str:
    """Say that nothing reaches the speed, and name the fastest option."""
    speed, how = solution.nearest or (0.0, "")
    sentence = f"nothing in the catalogue reaches {number(solution.speed)} tokens/s"
    return f"{sentence}; a single user gets at most {number(speed)}, with {how or 'today'}"


def first_way(solution: SpeedupOptions) -> list[str]:
    """Split the speed-up of the first option in the headline into factors, if there is one."""
    choice = solution.leading[0] if solution.leading else None
    if choice is None or choice.outcome is None:
        return []
    records = rows(solution, [choice])
    today, changed = ([record[key] for key in _ANSWERS_REST_ON] for record in records)
    return [
        f"Factors of {trick_cell(records[1])}: {product(factors_of(solution, choice))}."
        + " Model output is unchanged." * (today == changed)
    ]


def too_fast(solution: SpeedupOptions) -> str:
    """Explain why today's speed exceeds the given start speed: no larger batch fits."""
    wanted_speed, placement = solution.asked_start, solution.today.placement
    batch = solution.today.scenario.batches[0]
    speed = number(float(solution.today.estimate.speed[0]))
    if wanted_speed is None or batch < placement.max_batch or speed == number(wanted_speed):
        return ""
    chips = counted(placement.layout.chips, solution.today.scenario.hardware.id)
    return (
        f"today's users get {speed} tokens/s instead of {number(wanted_speed)}, because the "
        f"largest batch on {chips} is {batch:,}; use {option('chips')} to start from more chips"
    )


def tried(solution: SpeedupOptions) -> str:
    """Describe the numbers of chips and the batches that were tried."""
    today = solution.today
    chips, chip = today.placement.layout.chips, today.scenario.hardware.id
    return (
        f"numbers of chips evaluated: {chip}: up to {most_chips(today):,}; other chips: today's "
        f"number ({chips:,}), one scale-up domain, or the fewest that fit; SRAM accelerators: up "
        f"to {WAFERS} times the fewest that fit. All replicas serve the same number of users"
    )


def law_of_batches(solution: SpeedupOptions) -> str:
    """Relate cost multiple, speed-up and batch ratio, with numbers if a smaller batch works."""
    law = (
        "a smaller batch on the same hardware costs today's batch / (its batch x its speed-up) "
        "times as much per output token"
    )
    smaller = next(choice for choice in solution.options if choice.trick == "smaller-batch")
    if smaller.outcome is None:
        return f"{law}. Here, no batch is fast enough"
    today, row = rows(solution, [smaller])
    speedup, batches = row["speedup"], row["batch_ratio"]
    cost = row["cost_multiple"] or batches / speedup
    reported = (
        f"{law}: {today['batch']:,} / ({row['batch']:,} x {number(speedup)}) = {number(cost)}, "
        "at the same utilization"
    )
    total = row["cost_multiple_total"]
    if total is not None:
        reported += (
            f". With prompts included, a token costs {number(total)} times as much, and "
            "twice that if the fast machines are idle half of the time"
        )
    return reported


def low_end(solution: SpeedupOptions, options: Sequence[Option]) -> str:
    """Name the options that reach the speed even at the lower end of their range."""
    if not solution.reached:
        return no_option_reaches(solution)
    _, *records = rows(solution, options)
    sure = [
        trick_cell(record) + f" ({choice.change})" * (choice.trick in MOST_SHOWN)
        for choice, record in zip(options, records, strict=True)
        if record["low_end_reaches"]
    ]
    reaching = f"only {', '.join(sure)} still reach" if sure else "none of them reaches"
    return (
        "each row uses the largest batch that is expected to reach the speed. At the low end of "
        f"the 80% range, {reaching} it"
    )


def drafts_needed(solution: SpeedupOptions) -> str:
    """List the tokens per step that speculation requires at today's batch, by draft tokens."""
    drafts, batch = solution.drafts, solution.today.scenario.batches[0]
    if np.isnan(solution.acceptance).all():
        return (
            f"speculation at batch {batch:,}: no acceptance rate below 1 reaches it with 1 to "
            f"{len(drafts)} draft tokens, because verification takes too long"
        )
    items = []
    for count, tokens, acceptance in zip(drafts, solution.tokens, solution.acceptance, strict=True):
        needed = f"{number(tokens)} (acceptance {acceptance:.2f})"
        if isnan(tokens):
            needed = "the hardware bound is below it"
        elif isnan(acceptance):
            needed = f"{number(tokens)} (impossible)"
        items.append(f"{count:.0f}: {needed}")
    return (
        f"tokens per step that speculation needs at batch {batch:,}, by number of draft tokens: "
        + "; ".join(items)
    )


def formats(outcome: Outcome) -> list[str]:
    """Return a note on formats if the chip's units limit which are supported, not the engine."""
    scenario, model = outcome.scenario, outcome.scenario.model
    chosen_formats = {scenario.weights, scenario.kv} - {None, model.weight_format, model.kv_format}
    return format_notes(scenario.engine, scenario.hardware, *sorted(filter(None, chosen_formats)))
