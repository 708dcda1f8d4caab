"""The sentence on where a model fits, and the assumptions about memory behind it."""

from collections.abc import Iterator, Sequence
from operator import attrgetter

from fastcalc.core.assumed_share import share_assumed
from fastcalc.core.outcome import Location
from fastcalc.core.start import StartLocation
from fastcalc.core.verdict import VERDICTS
from fastcalc.kit.answer.memories import raised_limit
from fastcalc.kit.answer.numbers_as_text import WORDS, counted, parameters, size, whole_percent
from fastcalc.kit.answer.point_records import named_chips
from fastcalc.mentions import option
from fastcalc.written import listed

MOST_LISTED = 4
"""Maximum number of chips named in a headline. Above it, only the smallest and largest are."""


def at_smallest_batch(members: Sequence[StartLocation]) -> list[StartLocation]:
    """Return the placements of the smallest batch."""
    batch = min(location.scenario.batches[0] for location in members)
    return [location for location in members if location.scenario.batches[0] == batch]


def heading(members: Sequence[Location], phrases: Sequence[str]) -> str:
    """Return the heading of a table: the model, its formats, and the engine."""
    work, traffic = members[0].placement.work, members[0].scenario.traffic
    engines = {location.scenario.engine.id: location.scenario.engine for location in members}
    engine_names = [
        f"{name} as of {engine.date}" if engine.date else name for name, engine in engines.items()
    ]
    memory_sentence = (
        f"{work.model.heading}: {parameters(work.total_parameters)} parameters; weights "
        f"{work.short_format} {size(work.weight_bytes)}; KV cache {work.kv_format} "
        f"{size(float(work.cache_bytes(traffic.reserved)))} for a "
        f"sequence of {traffic.reserved:,.0f} tokens"
    )
    return "; ".join([memory_sentence, f"engine: {listed(engine_names)}", *phrases])


def verdict(members: Sequence[StartLocation]) -> str:
    """Say on which chips a model fits, tightly or not at all, and its largest batch."""
    model = members[0].scenario.model.asked_name
    at_batch = at_smallest_batch(members)
    batch = at_batch[0].scenario.batches[0]
    fitting, edge, unfit = (
        [location for location in at_batch if location.verdict == verdict] for verdict in VERDICTS
    )
    if len(at_batch) > MOST_LISTED:
        tightly = f", and tightly on {len(edge):,}" if edge else ""
        tried = f"on {len(fitting):,} of {len(at_batch):,} chip types{tightly}"
        counts = f"{model} fits at batch {batch:,} {tried}."
        if not fitting:
            return counts
        ends = [choice(fitting, key=attrgetter("max_batch")) for choice in (min, max)]
        texts = [f"{location.max_batch:,} on {named_chips(location)}" for location in ends]
        return f"{counts} The largest batch is from {' to '.join(texts)}."
    clauses, largest = [], ""
    if fitting:
        batches = [
            f"{location.max_batch:,}"
            + f" on {named_chips(location)}" * (len(fitting) > 1)
            + _other_layout(location)
            for location in fitting
        ]
        largest = f" The largest batch is {listed(batches)}."
        names = [named_chips(place) for place in fitting]
        for index, place in enumerate(fitting):
            if place.tight_chips:
                names[index] += f" (tight on {_count(place.tight_chips)})"
        clauses.append(("fits", f"on {listed(names, 'or')}"))
    if edge:
        engines = listed([*dict.fromkeys(location.scenario.engine.id for location in edge)])
        condition = f"it starts only if {engines} reserves less memory than its maximum"
        if all(location.is_share_uncertain for location in edge):
            condition = f"it starts only if the system leaves enough memory free for {engines}"
        where = listed([named_chips(location) for location in edge])
        clauses.append(("fits tightly", f"on {where}: {condition}{_certain(edge)}"))
    clauses += _unfit(unfit)
    (verb, chips), *others = clauses
    further = "".join(f"; it {verb} {chips}" for verb, chips in others)
    return f"{model} {verb} at batch {batch:,} {chips}{further}.{largest}"


def _other_layout(location: StartLocation) -> str:
    """Name the layout of the largest batch if it is not the layout of the smallest batch."""
    largest = location.roomiest.layout
    return "" if largest == location.placement.layout else f" ({largest})"


def _unfit(locations: Sequence[StartLocation]) -> Iterator[tuple[str, str]]:
    """Yield clauses on the chips that do not hold a model, with their number if it was given."""
    places: dict[str, list[str]] = {}
    for location in locations:
        verb = "does not start" if location.is_stopped else "does not fit"
        sharding = location.scenario.sharding
        is_sized = sharding.chips is not None or sharding.names_ranks
        chips = named_chips(location) if is_sized else location.scenario.hardware.id
        places.setdefault(verb, []).append(chips)
    yield from ((verb, f"on {listed(names, 'or')}") for verb, names in places.items())


def assumptions(members: Sequence[StartLocation]) -> Iterator[str]:
    """Yield the chips for which the result depends on an assumed usable fraction of memory."""
    for location in at_smallest_batch(members):
        flips, limit = share_assumed(location), raised_limit(location)
        engine, hardware = location.scenario.engine, location.scenario.hardware
        if (share := engine.lowered_share(hardware)) is not None:
            stated = option("gpu_memory_utilization", f"{share.on_chip:g}")
            yield (
                f"{hardware.id} shares its memory with the system. Since {engine.id} may not start "
                f"at its default utilization of {share.usual:g}, {stated} is assumed"
            )
        if limit is not None:
            yield limit
        elif flips is not None:
            counts = [
                f"with {whole_percent(flip.share)} or {side}, the model {verb} {_count(flip.chips)}"
                for flip, side, verb in (
                    (flips.fewer, "more", "fits on"),
                    (flips.more, "less", "needs" if flips.more and flips.more.chips else "fits on"),
                )
                if flip is not None
            ]
            yield (
                f"{hardware.id}: {engine.id} is assumed to use {100 * flips.share:.0f}% of the "
                f"memory; {', '.join(counts)}"
            )


def _count(chips: int) -> str:
    return WORDS.get(chips, f"{chips:,}") if chips else "none"


def _certain(edge: Sequence[StartLocation]) -> str:
    """Return the numbers of chips on which a tight fit becomes a full fit."""
    counts = [
        counted(location.min_chips[0], location.scenario.hardware.id)
        for location in edge
        if location.min_chips[0] not in (None, location.placement.layout.chips)
        and not location.is_share_uncertain
    ]
    return f"; {listed(counts)} hold it in any case" if counts else ""
