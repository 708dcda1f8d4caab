"""Notes on server starts: why one stops, what it prints, and which lengths and batches it holds."""

from collections.abc import Iterator, Sequence

from fastcalc.core.outcome import Location
from fastcalc.core.placement.cache_size import cache_size
from fastcalc.core.start import StartLocation, shorter
from fastcalc.core.start_checks import GIB
from fastcalc.kit.answer.numbers_as_text import size
from fastcalc.kit.answer.point_records import chip_in_layout, named_chips
from fastcalc.kit.answer.why_so_many import why
from fastcalc.mentions import option
from fastcalc.written import listed


def model_and_formats(location: Location) -> tuple[str, str, str]:
    """Return the model and formats of a placement."""
    work = location.placement.work
    return work.model.id, work.weight_format, work.kv_format


def why_or_stop(location: StartLocation) -> str:
    """Explain why so many chips are needed, or which error prevents the start and how to fix it."""
    if location.verdict == "fits":
        return _stops_on_fewer(location) or why(location)
    stops, remedies = _stop(location), location.remedies
    if stops is None or (location.fits and location.memory_verdict == "edge"):
        stops = why(location)
    pairs = [" ".join(remedy.flag for remedy in pair) for pair in location.joint_remedies]
    flags = [*pairs, *(remedy.flag for remedy in remedies)]
    starts = f"{location.scenario.engine.id} starts with {listed(flags, 'or')}"
    if given_up := location.graphs_given_up:
        starts += f"; {given_up.sentence}"
    return f"{stops}; {starts}" if flags else stops


def _stop(location: StartLocation) -> str | None:
    """Return the error with which a server stops and its condition, or None if it is unknown."""
    line = location.stop_line
    if line is None:
        return None
    stops = f"{location.scenario.engine.id} would stop with '{line}'"
    if location.fits and location.is_share_uncertain:
        return f"{stops} if the system leaves so little"
    if not location.fits or location.is_expected_to_stop:
        return stops
    blocks = location.expected_blocks
    expected = f" ({blocks:,} blocks are expected)" if blocks and "blocks (" in line else ""
    return f"{stops} if it reserves its maximum memory{expected}"


def _stops_on_fewer(location: StartLocation) -> str | None:
    """Explain why fewer chips, whose memory is large enough, are not used, or return None."""
    fewer = location.on_fewer
    if fewer is None or fewer.memory_verdict != "fits" or (stops := _stop(fewer)) is None:
        return None
    flags = [remedy.flag for remedy in fewer.remedies if remedy.is_enough]
    starts = f"; it starts there with {listed(flags, 'or')}" if flags else ""
    return f"on {named_chips(fewer)} {stops}{starts}"


_WITH_POOL = ("vllm", "sglang", "tensorrt-llm")
"""Servers whose KV cache uses all the memory left by the weights."""


def start_note(location: Location) -> str | None:
    """Return vLLM's start-up lines on cache memory and tokens, or None for other engines."""
    engine, placement = location.scenario.engine, location.placement
    pool, replicas = cache_size(placement), placement.layout.dp
    if engine.program not in _WITH_POOL or pool is None or not pool.tokens:
        return None
    available = float(placement.available)
    chip = chip_in_layout(location)
    name = f"each of {replicas} replicas of {engine.id}" if replicas > 1 else engine.id
    if engine.program != "vllm":
        hint = f"; longer requests are refused at any {option('max_model_len')}"
        return (
            f"{chip}: caches of {name} are expected to hold {pool.tokens:,} tokens, in "
            f"{size(available)} of a chip{hint * (pool.concurrency < 1.0)}"
        )
    if pool.concurrency < 1.0:  # it stops before it prints the tokens
        return (
            f"{chip}: with the expected memory reserve, {name} has {available / GIB:.2f} GiB of "
            f"KV cache, which holds {pool.tokens:,} tokens"
        )
    return (
        f"{chip}: with the expected memory reserve, {name} should print at start-up "
        f"'Available KV cache memory: {available / GIB:.2f} GiB', "
        f"'GPU KV cache size: {pool.tokens:,} tokens' and 'Maximum "
        f"concurrency for {pool.length:,} tokens per request: {pool.concurrency:.2f}x'"
    )


MOST_LENGTHS = 2
"""Maximum number of chips for which the longest length that starts is reported."""


def length_notes(locations: Sequence[StartLocation]) -> Iterator[str]:
    """Yield the deployments that start only with a maximum length, since the default is too long.

    Each deployment is mentioned once, at its smallest batch.
    """
    servers: dict[tuple[object, ...], StartLocation] = {}
    for location in locations:
        if location.verdict != "no" and not location.is_share_uncertain:
            chip, layout = location.scenario.hardware.id, location.placement.layout
            servers.setdefault((*model_and_formats(location), chip, layout), location)
    at_default = (location.at_default_length for location in servers.values())
    short = [location for location in at_default if location and location.verdict != "fits"]
    # Model and layout are named if needed to tell deployments apart.
    has_models = len({model_and_formats(location) for location in locations}) > 1
    pairs = [(model_and_formats(place), place.scenario.hardware.id) for place in short]
    names = []
    for (what, chip), location in zip(pairs, short, strict=True):
        cut = str(location.placement.layout) or "one chip"
        in_layout = f" ({cut})" * (pairs.count((what, chip)) > 1)
        of = f"{' '.join(what)} on " * has_models
        names.append(f"{of}{chip}{in_layout}")
    for name, location in zip(names[:MOST_LENGTHS], short, strict=False):
        scenario, length = location.scenario, shorter(location)
        until = "no length that holds these requests is certain to start"
        if length:
            until = f"set it to {int(length.value):,} or less"
        yield (
            f"{name}: without {option('max_model_len')}, {scenario.engine.id} "
            f"{'does not' if location.verdict == 'no' else 'may not'} start, because it must hold "
            f"a sequence of {scenario.memory.longest:,.0f} tokens; {until}"
        )
    if others := names[MOST_LENGTHS:]:
        yield f"{listed(others)} may not start without {option('max_model_len')} either"


def expected_batches(locations: Sequence[Location]) -> Iterator[str]:
    """Yield notes on larger batches that fit at the engines' expected, not maximum, reserve."""
    engines, batches = dict[str, None](), dict[tuple[str, str], None]()
    has_models = len({model_and_formats(location) for location in locations}) > 1
    for location in locations:
        expected = int(location.roomiest.expected_max_batch) if location.verdict == "fits" else 0
        if expected > location.max_batch:
            engines[location.scenario.engine.id] = None
            of = f"of {' '.join(model_and_formats(location))} " * has_models
            batches[f"{expected:,}", f"{of}fit on {named_chips(location)}"] = None
    if batches:
        (largest, where), *others = batches
        fits = listed([f"{largest} sequences {where}", *map(" ".join, others)])
        yield (
            f"the largest batch is a cautious figure, since {listed([*engines])} may reserve more "
            f"memory than expected. With the expected reserve, {fits}"
        )
