"""The placement in memory, drawn as bars and described in words."""

from collections.abc import Iterator, Sequence

import numpy as np

from fastcalc.core.assumed_share import chips_with_raised_limit
from fastcalc.core.chip.formats_run import widened_by
from fastcalc.core.chip.rates import working_rate
from fastcalc.core.chip.reserve import NOTHING
from fastcalc.core.model.kinds import KINDS
from fastcalc.core.outcome import Location, Outcome
from fastcalc.core.placement.fullest_chip import on_host
from fastcalc.core.placement.split import asked_split
from fastcalc.formulas.types import Array
from fastcalc.grid.evaluated_points import host_use
from fastcalc.kit.answer.numbers_as_text import WORDS, size, stated_percent, whole_percent
from fastcalc.kit.answer.point_records import chip_in_layout
from fastcalc.mentions import option
from fastcalc.written import listed

NAMES = dict(
    zip(
        KINDS,
        (
            *("dense weights", "output head", "experts", "KV cache"),
            "other weights (embeddings, rotary tables, draft model, encoder)",
        ),
        strict=True,
    )
)
"""Printed name of each category of data."""

_HOW = {
    None: "",
    "stream": ", streamed over the link to the chip",
    "compute": ", computed by the host's cores",
}
LETTERS = dict(zip(KINDS, "DHEKT", strict=True))

KEY = (
    "contents: "
    + ", ".join(f"{letter} {NAMES[kind]}" for kind, letter in LETTERS.items())
    + ", . unused"
)


def filled(location: Location) -> Iterator[tuple[str, float, list[tuple[str, float]]]]:
    """Yield each memory of a chip: name, usable size [byte] and share of each data category.

    The shares are for the smallest batch, which must fit. Absent categories are omitted.
    """
    batches, placement = location.scenario.batches, location.placement
    by_tier = location.split or asked_split(placement, np.array(batches, dtype=float))
    index = batches.index(min(batches))
    for at, (tier, usable) in enumerate(zip(by_tier.tiers, placement.usable, strict=True)):
        capacity = float(usable)
        fractions = [
            (
                kind,
                _at(by_tier.shares[kind][at], index) * _at(by_tier.sizes[kind], index) / capacity,
            )
            for kind in KINDS
        ]
        yield (
            tier.name,
            capacity,
            [(kind, fraction) for kind, fraction in fractions if fraction > 0.0],
        )


def bar(fractions: Sequence[tuple[str, float]], wide: int) -> str:
    """Draw a bar of letters in proportion to the fractions [1].

    Fractions above 0.01 get at least one letter.
    """
    text, total = "", 0.0
    for letter, fraction in fractions:
        total += fraction
        text += letter * max(round(total * wide) - len(text), int(fraction > 0.01))
    return f"{text[:wide]:.<{wide}}"


def lives(outcome: Outcome) -> Iterator[str]:
    """Yield what is outside the fastest memory, at the first such batch and the largest batch."""
    by_tier, batches = outcome.estimate.passes.split, outcome.scenario.batches
    if by_tier is None:
        return
    shown: list[tuple[str, str]] = []
    fastest = outcome.placement.machine.fastest
    use = host_use(outcome.estimate.passes)
    for index in sorted(range(len(batches)), key=lambda at: batches[at]):
        sentences = []
        for item_index, tier in enumerate(by_tier.tiers):
            contents = [
                f"{whole_percent(fraction)} of {NAMES[kind].partition(' (')[0]}"
                for kind in KINDS
                for fraction in [_at(by_tier.shares[kind][item_index], index)]
                if tier is not fastest
                and fraction >= 0.005
                and _at(by_tier.sizes[kind], index) > 0.0
            ]
            sentences += [f"{tier.name} holds {', '.join(contents)}"] if contents else []
        if sentences:
            how = _HOW[use.words[int(_at(np.asarray(use.codes), index))]] if use else ""
            shown.append((f"{batches[index]:,}", f"{'; '.join(sentences)}{how}"))
    batches_of: dict[str, dict[str, None]] = {}
    for batch, contents_text in (*shown[:1], *shown[-1:]):
        batches_of.setdefault(contents_text, {})[batch] = None
    for contents_text, names in batches_of.items():
        yield f"at {'batches' if len(names) > 1 else 'batch'} {listed([*names])} {contents_text}"


def raised_limit(location: Location) -> str | None:
    """Say how many Macs suffice with a raised memory limit, if that is fewer."""
    chips = chips_with_raised_limit(location)
    if chips is None:
        return None
    machine = location.placement.machine
    given, chip = whole_percent(float(machine.reported(machine.tier))), machine.hardware.id
    raised = option("set", f"{chip}:memory.{machine.tier.name}.reported=1")
    return (
        f"macOS gives the GPU {given} of the memory of {chip}: with iogpu.wired_limit_mb raised "
        f"({raised}) it fits on {WORDS.get(chips, f'{chips:,}')}"
    )


def kept_note(location: Location) -> str:
    """Describe how much memory the engine fills and reserves, its logged start-ups and its kernels.

    location : A placed scenario, which may not fit.
    """
    scenario, placement = location.scenario, location.placement
    machine, engine = placement.machine, scenario.engine
    tiers = [tier for tier in machine.tiers if tier.is_near]
    reported = size(sum(float(tier.capacity * machine.reported(tier)) for tier in tiers))
    fraction = float(np.asarray(machine.software.memory_fraction))
    chip = chip_in_layout(location)
    fills = f"{chip}: {engine.id} uses {stated_percent(fraction)} of {reported}"
    tables = on_host(machine, placement.work)
    kept = f" N-gram tables ({size(tables)}) stay on the host." if tables else ""
    return f"{fills}{_kept(location)}.{kept} {_kernels(location)}"


def _kept(location: Location) -> str:
    """Describe the reserved memory by purpose, and the logged start-ups behind the figures."""
    placement = location.placement
    memory, reserve = placement.kept, placement.machine.reserve
    if reserve == NOTHING:
        return ", and its memory reserve is not published"
    peaks = (
        (memory.sampling, "for sampling"),
        (memory.layer, "for the activations of a layer"),
        (memory.encoder, "for encoding an image"),
    )
    terms = (
        max(((float(np.asarray(value)), when) for value, when in peaks), key=lambda peak: peak[0]),
        (float(np.asarray(memory.runtime)), "for its runtime"),
        (float(np.asarray(memory.joined)), "for communication between chips"),
        (float(np.asarray(memory.graphs + memory.buffers)), "for CUDA graphs"),
    )
    purposes = [(size(value), purpose) for value, purpose in terms if value]
    terms_text = f": {listed([' '.join(pair) for pair in purposes])}"
    if len(purposes) == 1:
        terms_text = f" {purposes[0][1]}"
    total, stated = (
        float(placement.reserved),
        (location.scenario.engine.ranges or {}).get("reserve"),
    )
    if stated is None:
        return f" and reserves {size(total)}{terms_text}"
    low, high = (size(float(memory.at(times))) for times in (1.0 / reserve.below, reserve.above))
    basis = f"The range is from {stated.basis}"
    return f" and reserves {size(total)} ({low} to {high}){terms_text}. {basis}"


def _kernels(location: Location) -> str:
    """Describe the formats that an engine's kernels support and the precision of their products."""
    placement = location.placement
    machine, work = placement.machine, placement.work
    formats, products = work.formats, machine.chip.products
    widened = widened_by(machine.engine, machine.hardware)
    groups = (work.weights.dense, work.weights.head, work.weights.experts)
    operands: dict[float, dict[str, None]] = {}
    for group, names in zip(groups, widened[:3], strict=True):
        for weight, _ in group.format.shares if group.parameters else ():
            bits = working_rate(machine.hardware, weight, unpacked=names).bits
            operands.setdefault(float(bits), {})[f"{weight.id} weights"] = None
    cache_bits = float(np.asarray(products.kv.bits))
    operands.setdefault(cache_bits, {})[f"the {formats.kv.id} KV cache"] = None
    rates = [f"{listed([*names])} at {bits:g} bits" for bits, names in operands.items()]
    return f"Kernels multiply {', and '.join(rates)}"


def _at(values: Array, index: int) -> float:
    flat = np.ravel(values)
    return float(flat[index if flat.size > 1 else 0])
