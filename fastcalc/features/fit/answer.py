"""The answer of `fit`: where models fit, and what each memory contains."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import groupby

from fastcalc.core.entry_notes import plugin_notes
from fastcalc.core.outcome import Location
from fastcalc.core.scenario import Scenario, Sharding
from fastcalc.core.start import StartLocation
from fastcalc.features import request_of
from fastcalc.features.fit import contents
from fastcalc.features.fit.gpu_layers import MostOnCard
from fastcalc.features.fit.records import COLUMNS, fit_records
from fastcalc.features.fit.request import FitMemory
from fastcalc.features.fit.starts import (
    expected_batches,
    length_notes,
    model_and_formats,
    start_note,
    why_or_stop,
)
from fastcalc.features.fit.verdict import assumptions, heading, verdict
from fastcalc.grid.column import Column, TableColumn
from fastcalc.grid.columns import pick
from fastcalc.kit.answer import record_tables
from fastcalc.kit.answer.answer import Answer, Charts, Screen
from fastcalc.kit.answer.memories import KEY, kept_note
from fastcalc.kit.answer.next_commands import follow_up, typed_as
from fastcalc.kit.answer.parts import Note, Part
from fastcalc.kit.answer.point_records import Record
from fastcalc.kit.answer.quantized import quantized_note
from fastcalc.kit.request.fields import phrases
from fastcalc.kit.request.loading import DEFAULT_MODELS
from fastcalc.mentions import flag, option

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

_KEY = (
    "key: largest batch: most sequences that fit with full prompt and output, at most "
    f"{option('max_num_seqs')}"
)
_KEY_OF_EDGE = "; a..b: a if the engine reserves its maximum memory, b if its minimum"

_IN_HEADING = "kv speculate engine"
"""Fields that the heading shows anyway, or that have no effect here."""


@dataclass(frozen=True, eq=False, kw_only=True)
class FitAnswer(Answer):
    """The result of ``fastcalc fit``: on which chips a model fits, or why it does not.

    scenarios : The requested scenarios: each model, in its formats, on each chip.
    locations : The placements of the scenarios, one per batch.
    gpu_layers : How many layers fit on a card, if layers are or must be shared with a host.
    quantized : The placements with quantized weights that fit where the requested ones do not.
    """

    request: FitMemory
    scenarios: Sequence[Scenario]
    locations: Sequence[StartLocation]
    gpu_layers: Sequence[MostOnCard] = ()
    quantized: Sequence[StartLocation] = ()

    @property
    def code(self) -> int:
        """The exit code, which is 1 if nothing fits."""
        return 0 if any(location.fits for location in self.locations) else 1

    @cached_property
    def _groups(self) -> list[list[StartLocation]]:
        """The placements grouped by model and formats."""
        return [list(group) for _, group in groupby(self.locations, model_and_formats)]

    def body(self, screen: Screen) -> Iterator[Part]:
        """Show where each model fits, and what each memory contains."""
        for index, members in enumerate(self._groups):
            yield from [""] * bool(index)
            shown = [*_with_roomiest(members)]
            yield verdict(members)
            yield ""
            yield heading(members, phrases(self.settings, without=_IN_HEADING))
            yield contents.table(shown, fit_records(shown), screen.width)
            if screen.wide or screen.notes:
                yield ""
                yield record_tables.table(_SHOWN, fit_records(members), screen.width)

    def key(self) -> str:
        """Return the key to the largest batch and to the bars."""
        verdicts = {location.verdict for location in self.locations}
        bars = f"; {KEY}" * bool(verdicts & {"fits", "edge"})
        return _KEY + bars + _KEY_OF_EDGE * ("edge" in verdicts)

    def notes(self) -> Iterator[Note]:
        """Explain the number of chips and the memory that the engine reserves."""
        labelled_locations = [
            (f"{' '.join(model_and_formats(location))} on " * (len(self._groups) > 1), location)
            for location in self.locations
        ]
        for of, location in labelled_locations:
            yield Note(f"{of}{location.scenario.hardware.id}: {why_or_stop(location)}")
        for members in self._groups:
            yield from (Note(text, weight=3) for text in assumptions(members))
        for scenario in self.scenarios:
            yield from map(Note, plugin_notes(scenario.hardware, scenario.engine))
        alone = self.locations[0]
        if len(self.locations) == 1 and alone.fits and not alone.is_expected_to_stop:
            yield from map(Note, filter(None, [start_note(alone)]))
        yield from map(Note, dict.fromkeys(map(quantized_note, self.quantized)))
        for note in dict.fromkeys(count.note for count in self.gpu_layers):
            yield Note(note)
        yield from (Note(note, weight=2) for note in length_notes(self.locations))
        yield from (Note(note, weight=2) for note in expected_batches(self.locations))
        for of, location in labelled_locations:
            yield Note(f"{of}{kept_note(location)}", weight=0)

    @property
    def _with_batch(self) -> FitMemory:
        """The request with its users as the batch, the name of this field in other commands."""
        request = self.request
        return replace(request, batch=request.users or request.batch, users=None)

    def next_command(self) -> str | None:
        """Suggest a command to run next, such as a comparison of the chips that fit."""
        request, (first, *others) = self._with_batch, self.locations
        models = request.models or DEFAULT_MODELS
        if not (others or first.fits) and first.changes:  # those with which the server starts
            settings = [(flag(change.setting), change.value) for change in first.changes]
            ending = [word for pair in settings for word in pair]
            on = flag("on"), typed_as(request, request.on, first.scenario.hardware.id)
            return follow_up(request, request_of("fit"), models[0], *on, ending=ending)
        fitting = [location for location in self.locations if location.fits]
        shared = [asked for asked in self.gpu_layers if asked.count]
        if fitting or not (shared or self.quantized):
            return follow_up_of(request, fitting, self.locations)
        if self.quantized:
            return follow_up_of(request, self.quantized[:1])
        card = shared[0]
        with_host = replace(request, n_gpu_layers=card.count)
        if card.setting == "n_cpu_moe":
            with_host = replace(request, n_cpu_moe=card.count)
        on = flag("on"), typed_as(request, request.on, card.chip)
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


def follow_up_of(
    request: FitMemory, fitting: Sequence[Location], unfit: Sequence[Location] = ()
) -> str:
    """Suggest computing the speed on chips that fit, or searching for chips that do.

    unfit : The placements that do not fit, perhaps because more chips are needed.
    """
    models = request.models or DEFAULT_MODELS
    unsized = replace(request, chips=None, tp=None, pp=None, ep=None, dp=None)
    listed = fitting or [location for location in unfit if location.min_chips[0]]
    if not listed:
        is_open = replace(unsized, weights=None, kv=None)
        return follow_up(is_open, request_of("plan"), models[0])
    first = listed[0].scenario
    native = replace(request if fitting else unsized, weights=first.weights, kv=first.kv)
    if share := first.engine.lowered_share(first.hardware):
        native = replace(native, gpu_memory_utilization=share.on_chip)
    chips = dict.fromkeys(location.scenario.hardware.id for location in listed)
    names = dict.fromkeys(typed_as(request, request.on, chip) for chip in chips)
    return follow_up(native, request_of("compare"), *models, flag("on"), ",".join(names))


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
