"""The answer of `fit`: where models fit, and what each memory contains."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import groupby
from operator import attrgetter, itemgetter

from fastcalc.core.assumed_share import share_assumed
from fastcalc.core.entry_notes import plugin_notes
from fastcalc.core.outcome import Location
from fastcalc.core.placement.cache_size import cache_size
from fastcalc.core.scenario import Scenario
from fastcalc.core.sharding import Sharding
from fastcalc.core.start import StartLocation, shorter
from fastcalc.core.start_checks import GIB
from fastcalc.core.verdict import VERDICTS
from fastcalc.features import request_of
from fastcalc.features.fit.gpu_layers import MostOnCard
from fastcalc.features.fit.quantized import quantized_note
from fastcalc.features.fit.records import COLUMNS, fit_records
from fastcalc.features.fit.request import FitMemory
from fastcalc.formulas.sequences import grouped
from fastcalc.grid.column import Column, TableColumn, key_figure
from fastcalc.grid.columns import pick
from fastcalc.kit.answer import record_tables
from fastcalc.kit.answer.answer import Answer, Charts
from fastcalc.kit.answer.memories import KEY, LETTERS, bar, filled, kept_note, raised_limit
from fastcalc.kit.answer.next_commands import follow_up, typed_as
from fastcalc.kit.answer.numbers_as_text import (
    WORDS,
    counted,
    parameters,
    percent,
    size,
    whole_percent,
)
from fastcalc.kit.answer.parts import Note, Part, TextTable
from fastcalc.kit.answer.point_records import Record, named_chips
from fastcalc.kit.answer.record_tables import numbers, words
from fastcalc.kit.answer.screen import Screen, between_blank_lines
from fastcalc.kit.answer.why_so_many import why
from fastcalc.kit.request.fields import phrases
from fastcalc.kit.request.loading import DEFAULT_MODELS
from fastcalc.mentions import flag, option
from fastcalc.written import listed

_VERDICT = {"fits": "yes", "edge": "tight"}


def _fits(record: Record) -> str:
    """Format whether a batch fits, or how many chips it needs."""
    if record["fits"]:
        return _VERDICT[record["fit_verdict"]]
    return f"needs {record['min_chips']:,}" if record["min_chips"] else "no"


_SHOWN = pick(
    "hardware batch fits chips placement chips_by_capacity chips_by_whole_layers max_batch "
    "memory_used_fraction",
    (
        *COLUMNS,
        Column("fits", heading=("", "fits"), format=_fits),
        Column("max_batch", "count", heading=("largest,", "any layout")),
    ),
)

_FIRST = (
    key_figure(words("|chips", itemgetter(0))),
    words("memory,|layout", itemgetter(1)),
    numbers("|batch", itemgetter(2)),
    numbers("largest|batch", itemgetter(3)),
    numbers("memory|used", itemgetter(4)),
    words("usable|per chip", itemgetter(5)),
    words("|contents", itemgetter(6)),
)
_KEY = (
    "key: largest batch: most sequences that fit with full prompt and output, at most "
    f"{option('max_num_seqs')}"
)
_KEY_OF_EDGE = "; a..b: a if the engine reserves its maximum memory, b if its minimum"

MOST_LISTED = 4
"""Maximum number of chips named in a headline. Above it, only the smallest and largest are. [1]"""

_IN_HEADING = "kv speculate engine"
"""Fields that the heading shows anyway, or that have no effect here."""


@dataclass(frozen=True, eq=False, kw_only=True)
class FitAnswer(Answer):
    """The chips on which models fit, or why none of them fits.

    scenarios : requested scenarios: each model, in its formats, on each chip
    locations : placements of the scenarios, one per batch
    gpu_layers : how many layers fit on a card, if layers are or must be shared with a host
    quantized : placements with quantized weights that fit where the requested ones do not
    """

    request: FitMemory
    scenarios: Sequence[Scenario]
    locations: Sequence[StartLocation]
    gpu_layers: Sequence[MostOnCard] = ()
    quantized: Sequence[StartLocation] = ()

    @property
    def code(self) -> int:
        """The exit code: 1 if nothing fits."""
        return 0 if any(location.fits for location in self.locations) else 1

    @cached_property
    def _groups(self) -> list[list[StartLocation]]:
        """The placements grouped by model and formats."""
        return [list(group) for _, group in groupby(self.locations, _what)]

    def body(self, screen: Screen) -> Iterator[Part]:
        """Yield a sentence on where each model fits, and a table of memory contents."""
        return between_blank_lines(self._parts(members, screen) for members in self._groups)

    def _parts(self, members: Sequence[StartLocation], screen: Screen) -> Iterator[Part]:
        shown = [*_with_roomiest(members)]
        is_short = len(_at_smallest_batch(members)) <= MOST_LISTED
        yield " ".join([_verdict(members), *(_assumed(members) if is_short else ())])
        yield ""
        yield _heading(members, phrases(self.settings, without=_IN_HEADING))
        yield _table(shown, fit_records(shown), screen.width)
        if screen.wide or screen.notes:
            yield ""
            yield record_tables.table(_SHOWN, fit_records(members), screen.width)

    def key(self) -> str:
        """Return the key to the largest batch and to the bars."""
        verdicts = {location.verdict for location in self.locations}
        bars = f"; {KEY}" * bool(verdicts & {"fits", "edge"})
        return _KEY + bars + _KEY_OF_EDGE * ("edge" in verdicts)

    def notes(self) -> Iterator[Note]:
        """Yield notes on the number of chips, and on the engine's memory reserve."""
        labelled_locations = [
            (f"{' '.join(_what(location))} on " * (len(self._groups) > 1), location)
            for location in self.locations
        ]
        for of, location in labelled_locations:
            yield Note(f"{of}{location.scenario.hardware.id}: {why_or_stop(location)}")
        for members in self._groups:
            is_long = len(_at_smallest_batch(members)) > MOST_LISTED
            yield from map(Note, _assumed(members) if is_long else ())
        for scenario in self.scenarios:
            yield from map(Note, plugin_notes(scenario.hardware, scenario.engine))
        alone = self.locations[0]
        if len(self.locations) == 1 and alone.fits and not alone.is_expected_to_stop:
            yield from map(Note, filter(None, [start_note(alone)]))
        yield from map(Note, dict.fromkeys(map(quantized_note, self.quantized)))
        for note in dict.fromkeys(count.note for count in self.gpu_layers):
            yield Note(note)
        yield from (Note(note, weight=2) for note in _length_notes(self.locations))
        yield from (Note(note, weight=2) for note in _expected_batches(self.locations))
        for of, location in labelled_locations:
            yield Note(f"{of}{kept_note(location)}", weight=0)

    @property
    def _with_batch(self) -> FitMemory:
        """The request with its users as the batch, the name of this field in other commands."""
        request = self.request
        return replace(request, batch=request.users or request.batch, users=None)

    def _restart(self) -> str | None:
        """Build the command that starts the only deployment, with the required changes.

        None if no change makes it start.
        """
        request, first = self._with_batch, self.locations[0]
        if len(self.locations) > 1 or first.fits or not first.changes:
            return None
        ending = [word for change in first.changes for word in (flag(change.setting), change.value)]
        on = flag("on"), typed_as(request, request.on, first.scenario.hardware.id)
        models = request.models or DEFAULT_MODELS
        return follow_up(request, request_of("fit"), models[0], *on, ending=ending)

    def next_command(self) -> str | None:
        """Suggest computing the speed on chips that fit, or searching for chips that do."""
        if restart := self._restart():
            return restart
        fitting = [location for location in self.locations if location.fits]
        request, shared = self._with_batch, [asked for asked in self.gpu_layers if asked.count]
        models = request.models or DEFAULT_MODELS
        if fitting or not (shared or self.quantized):
            return follow_up_of(request, fitting)
        if self.quantized:
            return follow_up_of(request, self.quantized[:1])
        first = shared[0]
        if first.setting == "n_cpu_moe":
            with_host = replace(request, n_cpu_moe=first.count)
        else:
            with_host = replace(request, n_gpu_layers=first.count)
        on = flag("on"), typed_as(request, request.on, first.chip)
        return follow_up(with_host, request_of("compare"), models[0], *on)

    def records(self) -> list[Record]:
        """Build one record per placement."""
        return fit_records(self.locations)

    def table(self) -> tuple[Sequence[TableColumn], list[Record]]:
        """Return a table of all placements."""
        return [*pick("model"), *_SHOWN], self.records()

    @property
    def charts(self) -> Charts:
        """Charts of memory contents, and of the longest context by number of users."""
        from fastcalc.features.fit.chart import context
        from fastcalc.kit.charts.of_memory import memory

        return {
            "memory": partial(memory, self.locations),
            "context": partial(context, self.scenarios),
        }


def why_or_stop(location: StartLocation) -> str:
    """Explain why so many chips are needed, or which error prevents the start and how to fix it."""
    if location.verdict == "fits":
        return why(location)
    line, remedies = location.stop_line, location.remedies
    stops = f"{location.scenario.engine.id} would stop with '{line}'"
    if line is None or (location.fits and location.memory_verdict == "edge"):
        says = why(location)
    elif location.fits and location.is_share_uncertain:
        says = f"{stops} if the system leaves so little"
    else:
        is_certain = location.fits and not location.is_expected_to_stop
        blocks = location.expected_blocks if is_certain else None
        says = f"{stops} if it reserves its maximum memory" if is_certain else stops
        says += f" ({blocks:,} blocks are expected)" if blocks else ""
    pairs = [" ".join(remedy.flag for remedy in pair) for pair in location.joint_remedies]
    flags = [*pairs, *(remedy.flag for remedy in remedies)]
    starts = f"{location.scenario.engine.id} starts with {listed(flags, 'or')}"
    return f"{says}; {starts}" if flags else says


_WITH_POOL = ("vllm", "sglang", "tensorrt-llm")
"""Servers whose KV cache uses all the memory left by the weights."""


def start_note(location: Location) -> str | None:
    """Return vLLM's start-up lines on cache memory and tokens, or None for other engines."""
    engine, placement = location.scenario.engine, location.placement
    pool, replicas = cache_size(placement), placement.layout.dp
    if engine.program not in _WITH_POOL or pool is None or not pool.tokens:
        return None
    is_short, available = pool.concurrency < 1.0, float(placement.available)
    layout = str(placement.layout)
    chip = location.scenario.hardware.id + f" ({layout})" * bool(layout)
    name = f"each of {replicas} replicas of {engine.id}" if replicas > 1 else engine.id
    if engine.program != "vllm":
        hint = f"; longer requests are refused at any {option('max_model_len')}" * is_short
        return (
            f"{chip}: caches of {name} are expected to hold {pool.tokens:,} tokens, in "
            f"{size(available)} of a chip{hint}"
        )
    hint = f"; it is expected to start with {option('max_model_len')} {pool.tokens}" * is_short
    return (
        f"{chip}: {name} should print at start-up 'Available KV cache memory: "
        f"{available / GIB:.2f} GiB', 'GPU KV cache size: {pool.tokens:,} tokens' and 'Maximum "
        f"concurrency for {pool.length:,} tokens per request: {pool.concurrency:.2f}x'{hint}"
    )


_LENGTHS = 2
"""Maximum number of chips for which the longest length that starts is reported. [1]"""


def _length_notes(locations: Sequence[StartLocation]) -> Iterator[str]:
    """Yield the deployments that start only with a maximum length, since the default is too long.

    Each deployment is mentioned once, at its smallest batch.
    """
    held = (
        location
        for location in locations
        if location.verdict != "no" and not location.is_share_uncertain
    )
    servers: dict[tuple[object, ...], StartLocation] = {}
    for location in held:
        chip, layout = location.scenario.hardware.id, location.placement.layout
        servers.setdefault((*_what(location), chip, layout), location)
    at_default = (location.at_default_length for location in servers.values())
    short = [location for location in at_default if location and location.verdict != "fits"]
    names = _names_of(short, {_what(location) for location in locations})
    for name, location in zip(names[:_LENGTHS], short, strict=False):
        scenario, length = location.scenario, shorter(location)
        until = "no length that holds these requests is certain to start"
        if length:
            until = f"give it {int(length.value):,} or less"
        yield (
            f"{name}: without {option('max_model_len')} {scenario.engine.id} takes "
            f"sequences of {scenario.memory.longest:,.0f} tokens and "
            f"{'does not' if location.verdict == 'no' else 'may not'} start; {until}"
        )
    if others := names[_LENGTHS:]:
        yield f"{listed(others)} may not start without {option('max_model_len')} either"


def _names_of(
    locations: Sequence[StartLocation], models: Collection[tuple[object, ...]]
) -> list[str]:
    """Name the chips of deployments, adding model and layout if needed to tell them apart.

    models : all models in the answer, with their formats
    """
    pairs = [(_what(location), location.scenario.hardware.id) for location in locations]
    has_models, names = len(models) > 1, []
    for (what, chip), location in zip(pairs, locations, strict=True):
        of = f"{' '.join(what)} on " * has_models
        layout = str(location.placement.layout) or "one chip"
        names.append(f"{of}{chip}{f' ({layout})' * (pairs.count((what, chip)) > 1)}")
    return names


def follow_up_of(request: FitMemory, fitting: Sequence[Location]) -> str | None:
    """Suggest computing the speed on chips that fit, or searching for chips that do.

    None if nothing fits with a draft model, since no command searches for chips that fit both.
    """
    models = request.models or DEFAULT_MODELS
    if not fitting:
        if request.draft_model:
            return None
        is_open = replace(request, weights=None, kv=None, tp=None, pp=None, ep=None, dp=None)
        return follow_up(is_open, request_of("plan"), models[0])
    first = fitting[0].scenario
    native = replace(request, weights=first.weights, kv=first.kv)
    if share := first.engine.lowered_share(first.hardware):
        native = replace(native, gpu_memory_utilization=share.on_chip)
    chips = dict.fromkeys(location.scenario.hardware.id for location in fitting)
    names = dict.fromkeys(typed_as(request, request.on, chip) for chip in chips)
    return follow_up(native, request_of("compare"), *models, flag("on"), ",".join(names))


def _table(locations: Sequence[Location], records: Sequence[Record], width: int) -> TextTable:
    """Build a table with a row per memory of a chip, or with the chips that a scenario needs."""
    rows: list[list[str]] = []
    bars: list[list[tuple[str, float]] | str] = []
    for location, record in zip(locations, records, strict=True):
        chip, batch = location.scenario.hardware.id, f"{record['batch']:,}"
        if not location.fits:
            rows.append([chip, "-", batch, "-", "-", "-"])
            bars.append(_what_it_needs(location, record["min_chips"]))
            continue
        lives = " ".join(filter(None, (location.memories, str(location.placement.layout))))
        percent_used = percent(record["memory_used_fraction"])
        largest = f"{int(location.placement.max_batch):,}"
        if record["fit_verdict"] == "edge":
            largest += f"..{int(location.placement.edge_max_batch):,}"
        cells = [f"{record['chips']:,} x {chip}", lives, batch, largest, percent_used]
        for name, capacity, contents in filled(location):
            rows.append([*cells, f"{name} {size(capacity)}"])
            bars.append([(LETTERS[group], fraction) for group, fraction in contents])
            cells = [""] * len(cells)
    # The bars get the remaining width.
    heads = [column.heading for column in _FIRST]
    column_widths = [
        max(map(len, (*head, *column)))
        for head, column in zip(heads, zip(*rows, strict=True), strict=False)
    ]
    bar_width = min(max(width - sum(column_widths) - 2 * len(column_widths), 10), 40)
    for row, segments in zip(rows, bars, strict=True):
        row.append(segments if isinstance(segments, str) else bar(segments, bar_width))
    return record_tables.table(_FIRST, rows, width)


def _with_roomiest(members: Sequence[StartLocation]) -> Iterator[StartLocation]:
    """Yield placements, adding for each chip the layout with the largest batch.

    The layout is not repeated if one of the placements has it already.
    """
    for _, group in groupby(members, lambda location: location.scenario.hardware.id):
        of_chip = list(group)
        yield from of_chip
        known = {location.placement.layout for location in of_chip}
        for location in (one for one in of_chip if one.verdict == "fits"):
            placement, scenario = location.roomiest, location.scenario
            if placement.layout not in known:
                known.add(placement.layout)
                batches = (location.max_batch,)
                sharding = Sharding.of(placement.layout)
                largest = replace(scenario, batches=batches, sharding=sharding)
                yield StartLocation(largest, location.site, placement, is_default_layout=False)


def _what_it_needs(location: Location, min_chips: int | None) -> str:
    """Say how many chips a model that does not fit needs, or that its server does not start.

    If the engine limits sequences, a layout may fit fewer than another layout of the same chips.
    """
    placement = location.placement
    if location.refused or min_chips == placement.layout.chips:
        is_too_many = (
            not location.refused and min(location.scenario.batches) > placement.edge_max_batch
        )
        return f"holds {int(placement.max_batch):,}" if is_too_many else "does not start"
    return f"needs {min_chips:,} chips" if min_chips else "does not fit"


def _what(location: Location) -> tuple[str, str, str]:
    """Return the model and formats of a placement."""
    work = location.placement.work
    return work.model.id, work.weight_format, work.kv_format


def _heading(members: Sequence[Location], phrases: Sequence[str]) -> str:
    work, traffic = members[0].placement.work, members[0].scenario.traffic
    engines = {location.scenario.engine.id: location.scenario.engine for location in members}
    engine_names = [
        f"{name} as of {engine.date}" if engine.date else name for name, engine in engines.items()
    ]
    memory_sentence = (
        f"{work.model.heading}: {parameters(work.total_parameters)} parameters; weights "
        f"{work.weight_format} {size(work.weight_bytes)}; KV cache {work.kv_format} "
        f"{size(float(work.cache_bytes(traffic.reserved)))} for a "
        f"sequence of {traffic.reserved:,.0f} tokens"
    )
    return "; ".join([memory_sentence, f"engine: {listed(engine_names)}", *phrases])


def _verdict(members: Sequence[StartLocation]) -> str:
    model = members[0].scenario.model.asked_name
    at_batch = _at_smallest_batch(members)
    batch = at_batch[0].scenario.batches[0]
    fitting, edge, unfit = (
        [location for location in at_batch if location.verdict == verdict] for verdict in VERDICTS
    )
    if len(at_batch) > MOST_LISTED:
        return _verdict_on_many(f"{model} fits at batch {batch:,}", fitting, edge, len(at_batch))
    clauses, largest = [], ""
    if fitting:
        batches = [
            f"{location.max_batch:,}" + f" on {named_chips(location)}" * (len(fitting) > 1)
            for location in fitting
        ]
        largest = f" The largest batch is {listed(batches)}."
        chips = listed([f"{named_chips(place)}{_tight_on(place)}" for place in fitting], "or")
        clauses.append(("fits", f"on {chips}"))
    if edge:
        engines = listed([*dict.fromkeys(location.scenario.engine.id for location in edge)])
        condition = f"it starts only if {engines} reserves less memory than its maximum"
        if all(location.is_share_uncertain for location in edge):
            condition = f"it starts only if the system leaves {engines} its share of the memory"
        where = listed([named_chips(location) for location in edge])
        clauses.append(("fits tightly", f"on {where}: {condition}{_certain(edge)}"))
    for verb, places in grouped(unfit, _verb_of_unfit).items():
        clauses.append(
            (verb, f"on {listed([_where_unfit(location) for location in places], 'or')}")
        )
    (verb, chips), *others = clauses
    further = "".join(f"; it {verb} {chips}" for verb, chips in others)
    return f"{model} {verb} at batch {batch:,} {chips}{further}.{largest}"


def _at_smallest_batch(members: Sequence[StartLocation]) -> list[StartLocation]:
    batch = min(location.scenario.batches[0] for location in members)
    return [location for location in members if location.scenario.batches[0] == batch]


def _verdict_on_many(
    fits: str, fitting: Sequence[Location], edge: Sequence[Location], tried: int
) -> str:
    """Count chips, and name those with the smallest and largest batch."""
    tightly = f", and tightly on {len(edge):,}" if edge else ""
    counts = f"{fits} on {len(fitting):,} of {tried:,} chip types{tightly}."
    if not fitting:
        return counts
    ends = [choice(fitting, key=attrgetter("max_batch")) for choice in (min, max)]
    batches = " to ".join(f"{location.max_batch:,} on {named_chips(location)}" for location in ends)
    return f"{counts} The largest batch is from {batches}."


def _verb_of_unfit(location: StartLocation) -> str:
    is_stopped = location.refused or location.memory_verdict != "no"
    return "does not start" if is_stopped else "does not fit"


def _where_unfit(location: Location) -> str:
    """Name the chips on which a model does not fit, with their number if the user set it."""
    sharding = location.scenario.sharding
    is_sized = sharding.chips is not None or sharding.names_ranks
    return named_chips(location) if is_sized else location.scenario.hardware.id


def _expected_batches(locations: Sequence[Location]) -> Iterator[str]:
    """Yield notes on larger batches that fit at the engines' expected, not maximum, reserve."""
    larger = [
        (expected, location)
        for location in locations
        if location.verdict == "fits"
        and (expected := int(location.roomiest.expected_max_batch)) > location.max_batch
    ]
    if larger:
        engines = listed([*dict.fromkeys(location.scenario.engine.id for _, location in larger)])
        has_models = len({_what(location) for location in locations}) > 1
        names = [
            " ".join(("of", *_what(where), "on")) if has_models else "on" for _, where in larger
        ]
        batches = dict.fromkeys(
            f"{batch:,} {name} {named_chips(where)}"
            for name, (batch, where) in zip(names, larger, strict=True)
        )
        yield (
            f"with the expected rather than the maximum reserve of {engines}, the largest batch is "
            f"{listed([*batches])}"
        )


def _assumed(members: Sequence[StartLocation]) -> Iterator[str]:
    """Yield the chips for which the result depends on an assumed usable fraction of memory."""
    for location in _at_smallest_batch(members):
        flips, limit = share_assumed(location), raised_limit(location)
        if started := _started_share(location):
            yield started
        if limit is not None:
            yield f"{limit}."
        elif flips is not None:
            chip, percent = location.scenario.hardware.id, 100 * flips.share
            counts = [
                f"at {whole_percent(flip.share)} or {side} it fits on {_count(flip.chips)}"
                for flip, side in ((flips.fewer, "more"), (flips.more, "less"))
                if flip is not None
            ]
            yield (
                f"This assumes that {location.scenario.engine.id} may fill {percent:.0f}% of "
                f"{chip} memory; {', '.join(counts)}."
            )


def _started_share(location: Location) -> str | None:
    """Warn if an engine may not start with its default fraction of a shared memory."""
    scenario = location.scenario
    share = scenario.engine.lowered_share(scenario.hardware)
    if share is None:
        return None
    engine, chip = scenario.engine.id, scenario.hardware.id
    return (
        f"The system shares the memory of {chip}: {engine} may not start with its default share "
        f"of {share.usual:g}, so {option('gpu_memory_utilization', f'{share.on_chip:g}')} is "
        "assumed."
    )


def _count(chips: int) -> str:
    return WORDS.get(chips, f"{chips:,}") if chips else "none"


def _tight_on(location: StartLocation) -> str:
    """Format in parentheses the smaller number of chips on which the model fits tightly."""
    chips = location.tight_chips
    return f" (tight on {_count(chips)})" if chips else ""


def _certain(edge: Sequence[StartLocation]) -> str:
    """Return the numbers of chips on which a tight fit becomes a full fit."""
    counts = [
        counted(location.min_chips[0], location.scenario.hardware.id)
        for location in edge
        if location.min_chips[0] not in (None, location.placement.layout.chips)
        and not location.is_share_uncertain
    ]
    return f"; it fits on {listed(counts)}" if counts else ""
