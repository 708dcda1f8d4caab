"""The notes of a comparison: batches that do not fit, uncertain numbers, and assumptions."""

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING

from fastcalc.core.chip.machine_class import SRAM_CLASSES, class_of
from fastcalc.core.defaults_used import power_notes
from fastcalc.core.estimate import SITE_FACTOR
from fastcalc.core.outcome import Outcome, each_warning
from fastcalc.core.speed_range import range_note
from fastcalc.kit.answer.memories import kept_note, lives, raised_limit
from fastcalc.kit.answer.numbers_as_text import number, whole_percent
from fastcalc.kit.answer.outcome_lines import no_place
from fastcalc.kit.answer.parts import Note
from fastcalc.kit.answer.point_records import drafters, models_of
from fastcalc.mentions import option
from fastcalc.written import first_few, listed, many

if TYPE_CHECKING:
    from fastcalc.evidence.public_speeds import PublicSpeed


def remarks(outcomes: Sequence[Outcome]) -> Iterator[Note]:
    """Yield all notes except prices, starting with those needed to read the numbers correctly."""
    # Weights or caches on a host change how a table is read.
    hosted = (outcome for outcome in outcomes if outcome.scenario.memory.host is not None)
    for outcome in hosted:
        if placement := "; ".join(lives(outcome)):
            yield Note(f"{outcome.scenario.hardware.id}: {placement}")
    chips_of = dict[str, list[str]]()  # for each reason why no number of chips is enough
    for outcome in outcomes:
        if (text := no_place(outcome)) is not None:
            chip = f"{outcome.scenario.hardware.id}: "
            chips = chips_of.setdefault(text.removeprefix(chip), [])
            chips += [chip.removesuffix(": ")] * text.startswith(chip)
    for reason, chips in chips_of.items():
        yield Note(f"{listed(first_few(chips, _NAMED))}: {reason}" if chips else reason)
    yield from (Note(limit) for limit in map(raised_limit, outcomes) if limit is not None)
    yield from map(Note, _quantized(outcomes))
    yield from map(Note, _drafts(outcomes))
    published = [*_services(outcomes)]
    alone, others = (published, []) if len(published) == 1 else ([], published)
    yield from map(Note, alone)
    yield from map(Note, each_warning(outcomes))
    yield from map(Note, _engines(outcomes))
    yield from map(Note, others)  # several would fill a screen
    for about in (_rates, _ranges, _memories, _serial_bounds):
        yield from (Note(sentence, weight=0) for sentence in about(outcomes))


_NAMED = 3
"""Maximum number of chips per engine that a note names. Above it, the note gives the count."""


def _quantized(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Yield the quantized weights that would fit on chips that hold no batch, if these are few."""
    unfit, fitting = dict[tuple[str, str], Outcome](), set[tuple[str, str]]()
    for outcome in outcomes:
        pair = outcome.scenario.model.id, outcome.scenario.hardware.id
        unfit.setdefault(pair, outcome)
        fitting |= {pair} if outcome.fits else set()
    unfit = {pair: outcome for pair, outcome in unfit.items() if pair not in fitting}
    if not 0 < len(unfit) <= _NAMED:
        return
    # Imported late, since only chips that are too small need it.
    from fastcalc.core.start import start_location
    from fastcalc.kit.answer.quantized import fitting_quantization, quantized_note

    located = (fitting_quantization(start_location(outcome)) for outcome in unfit.values())
    yield from map(quantized_note, filter(None, located))


def _engines(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Yield the engine and weights used on each chip, if the comparison has several."""
    formats = {outcome.placement.work.short_format for outcome in outcomes}
    has_formats = len(models_of(outcomes)) == 1 and len(formats) > 1
    chips_of = dict[str, dict[str, None]]()
    for outcome in outcomes:
        weights = f" with {outcome.placement.work.short_format}" if has_formats else ""
        chips = chips_of.setdefault(f"{outcome.scenario.engine.id}{weights}", {})
        chips[outcome.scenario.hardware.id] = None
    if len({outcome.scenario.engine.id for outcome in outcomes}) > 1:
        runs = (
            f"{what} on {listed([*ids] if len(ids) <= _NAMED else [many(len(ids), 'chip')])}"
            for what, ids in chips_of.items()
        )
        yield f"engines differ: {'; '.join(runs)}"


def _drafts(outcomes: Sequence[Outcome]) -> Iterator[str]:
    scenario = outcomes[0].scenario
    drafts = scenario.traffic.speculation
    if drafts.drafted:
        phrases = ". ".join(f"{name} {phrase}" for name, phrase in drafters(outcomes).items())
        yield (
            f"Speculation: with {drafts.drafted:g} draft tokens and an acceptance rate of "
            f"{drafts.acceptance:.2f}, a step generates "
            f"{number(float(drafts.tokens_per_pass))} tokens. {phrases}"
        )
    elif scenario.memory.draft:
        yield (
            "speeds are without speculative decoding, because the number of draft tokens is not "
            "set: only the memory of the draft model is included "
            f"(use {option('speculate', '0.8x5')} for 5 draft tokens, each accepted with "
            "probability 0.8)"
        )


def _services(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Yield the speeds published for each model and chip that is known by its service."""
    of_services = [
        outcome for outcome in outcomes if class_of(outcome.scenario.hardware) in SRAM_CLASSES
    ]
    smallest = dict[tuple[str, str], Outcome]()  # the outcome with batch 1, if there is one
    for outcome in sorted(of_services, key=lambda outcome: outcome.scenario.batches[0]):
        if outcome.estimate.fits[0]:
            key = outcome.scenario.model.id, outcome.scenario.hardware.id
            smallest.setdefault(key, outcome)
    for (model, chip), outcome in smallest.items():
        from fastcalc.evidence.public_speeds import public_speeds

        shape = outcome.scenario.model
        speeds = public_speeds(chip, {shape.id, *shape.aliases})
        if text := _published(speeds, outcome):
            yield f"published tokens/s of {model} on {chip} with one user{text}"


def _published(speeds: "Sequence[PublicSpeed]", outcome: Outcome) -> str:
    """List published speeds and their dates, and what would explain those above the range."""
    scenario, estimate = outcome.scenario, outcome.estimate
    is_plain = not scenario.traffic.speculation.drafted
    is_alone = is_plain and scenario.batches[0] == 1 and estimate.high is not None
    plain, unstated, above = dict[str, None](), dict[str, None](), list["PublicSpeed"]()
    for speed in speeds:
        text = f"{number(speed.tokens_per_s)} ({speed.date[:7]})"
        if speed.tokens_per_pass == 1.0:
            plain[text] = None
        elif speed.tokens_per_pass:
            plain[f"{text[:-1]}, {number(speed.tokens_per_pass)} tokens per step)"] = None
        elif is_alone and estimate.high is not None and speed.tokens_per_s > estimate.high[0]:
            above.append(speed)
        else:
            unstated[text] = None
    if unstated:
        plain[f"{', '.join(unstated)}, speculative decoding not stated"] = None
    stated = f": {', '.join(plain)}" if plain else ""
    if not above:
        return stated
    dates = dict[str, dict[str, None]]()  # of each speed, which several sources may publish
    for speed in above:
        dates.setdefault(number(speed.tokens_per_s), {})[speed.date[:7]] = None
    speeds_above = ", ".join(f"{text} ({listed([*of_text])})" for text, of_text in dates.items())
    reason = _explained(above, outcome)
    return f"{stated}{'. A' if plain else ', a'}bove the range: {speeds_above}; {reason}"


def _explained(speeds: "Collection[PublicSpeed]", outcome: Outcome) -> str:
    """Describe what would explain published speeds above the range, as a clause."""
    is_spatial = outcome.placement.machine.is_spatial
    unstated = [speed for speed in speeds if speed.chips is None]
    if unstated and not is_spatial:
        of_some = " (of some)" * (len(unstated) < len(speeds))
        return f"chips{of_some} and speculative decoding not stated"
    estimate, rates = outcome.estimate, [speed.tokens_per_s for speed in speeds]
    assert estimate.high is not None
    least = number(min(rates) / float(estimate.high[0]), 2)
    most = number(max(rates) / float(estimate.speed[0]), 2)
    pronoun = "them" if len(speeds) > 1 else "it"
    tokens = f"{least} to {most} tokens per step"
    return f"speculative decoding that accepts {tokens} would explain {pronoun}"


def _rates(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Yield which phases the speeds, prices and joules cover."""
    yield (
        "speeds and output prices cover decode only; input prices cover the additional prefill "
        "time. Served tokens and joules include prefill. Joules include the power of host, network "
        "and cooling; if a file gives the power of a whole server, it is multiplied by "
        f"{SITE_FACTOR}"
    )
    chips = {outcome.scenario.hardware.id: outcome.scenario.hardware for outcome in outcomes}
    yield from (note for chip in chips.values() for note in power_notes(chip))


def _ranges(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Yield the data to which engines and 80% ranges were fitted, and for which chips."""
    scenarios = [outcome.scenario for outcome in outcomes]
    for name, engine in {scenario.engine.id: scenario.engine for scenario in scenarios}.items():
        users = [scenario.hardware.id for scenario in scenarios if scenario.engine.id == name]
        fitted = " ".join(engine.fitted_on.split())
        yield f"engine {name} ({', '.join(dict.fromkeys(users))}) is fitted on {fitted}"
    chips_of_range = dict[str, dict[str, None]]()
    for scenario in scenarios:
        if basis := range_note(scenario.engine, scenario.hardware):
            chips_of_range.setdefault(basis, {})[scenario.hardware.id] = None
    yield from (f"80% range ({', '.join(ids)}): {basis}" for basis, ids in chips_of_range.items())


def _memories(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Yield the contents of each memory of a chip, and the engine's reserve."""
    for outcome in outcomes:
        chip, near = outcome.scenario.hardware.id, outcome.scenario.memory.host is None
        sentences = (*(lives(outcome) if near else ()), *_prefix(outcome))
        yield from (f"{chip}: {sentence}" for sentence in sentences)
        yield kept_note(outcome)


def _prefix(outcome: Outcome) -> Iterator[str]:
    """Yield the time to load the cached part of a prompt, and the time to recompute it."""
    scenario = outcome.scenario
    if scenario.memory.prefix_tier is None or not scenario.traffic.prefix_hit:
        return
    from fastcalc.features.compare.prefix import prefix_cache

    prefix = prefix_cache(outcome)
    sooner = (
        "recomputing is faster at any length"
        if prefix.breaks_even is None
        else "loading is faster at any length"
        if prefix.breaks_even <= 16
        else f"loading is faster for prompts of {prefix.breaks_even:,} tokens or more"
    )
    yield (
        f"{whole_percent(float(scenario.traffic.prefix_hit))} of a prompt is loaded from "
        f"{scenario.memory.prefix_tier} in {number(prefix.loading * 1e3)} ms; recomputing takes "
        f"{number(prefix.computing * 1e3)} ms; {sooner}"
    )


def _serial_bounds(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Yield the bounds for one token and for all regions, on chips with a region per layer."""
    for outcome in outcomes:
        estimate = outcome.estimate
        if estimate.bound_serial is None or not estimate.fits[0]:
            continue
        batch = outcome.scenario.batches[0]
        yield (
            f"{outcome.scenario.model.id} on {outcome.scenario.hardware.id}: the bound at batch "
            f"{batch:,} is {number(float(estimate.bound_serial[0]))} tokens/s per user, because a "
            f"token passes {outcome.placement.work.layers:.0f} layers in sequence, each on its own "
            "cores. If all cores could work on one token, the compute bound would be "
            f"{number(float(estimate.bound_compute[0]))} tokens/s and the memory bound "
            f"{number(float(estimate.bound_memory[0]))} tokens/s"
        )
