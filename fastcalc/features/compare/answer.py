"""The answer of `compare`: chips needed, speed, price, and the limiting resource."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastcalc.core.outcome import Outcome, chips_by_id, each_warning
from fastcalc.core.own_rows import is_of, measured_on
from fastcalc.features import request_of
from fastcalc.features.compare.headline import Headline, headline
from fastcalc.features.compare.headline_words import hints, sentences
from fastcalc.features.compare.notes import remarks
from fastcalc.features.compare.request import Compare
from fastcalc.grid.column import TableColumn
from fastcalc.grid.columns import pick
from fastcalc.kit.answer import point_records, record_tables
from fastcalc.kit.answer.answer import Answer, Screen
from fastcalc.kit.answer.next_commands import follow_up, report_on, rows_kept
from fastcalc.kit.answer.numbers_as_text import dollars
from fastcalc.kit.answer.outcome_lines import (
    IN_HEADING,
    OUTCOME_COLUMNS,
    heading,
    heading_in_full,
    key_of_bound,
    unfit,
)
from fastcalc.kit.answer.parts import Note, Notes, Part, Remark, Title, sentence
from fastcalc.kit.answer.point_records import Record, compare_records
from fastcalc.kit.answer.prices import price_line, prices
from fastcalc.kit.answer.row_words import TIED
from fastcalc.kit.answer.why_so_many import why
from fastcalc.kit.request.chips import names_typed
from fastcalc.kit.request.fields import phrases
from fastcalc.kit.request.loading import DEFAULT_MODELS, catalogue
from fastcalc.mentions import flag
from fastcalc.written import listed

if TYPE_CHECKING:
    from fastcalc.kit.charts.drawing import Chart

_FIRST_COLUMNS = pick(
    "label lives batch tokens_per_s_per_user tokens_per_s_per_user_low tokens_per_s_per_user_bound "
    "tokens_per_s_total ttft_ms usd_per_mtok_output limiter",
    (
        TableColumn("label", heading=("", "chips")),
        TableColumn("lives", heading=("memory,", "layout"), drop_priority=7),
        TableColumn("batch", "count", heading=("", "batch"), format="text"),  # may be several
    ),
    keep="tokens_per_s_per_user_low tokens_per_s_per_user_bound",
)
_LIMITER = pick("limiter")
_ALL_COLUMNS = [replace(column, drop_priority=0) for column in OUTCOME_COLUMNS]
_MARKDOWN = (
    *pick(
        "model hardware chips",
        (TableColumn("chips", "count", heading=("", "chips"), format="text"),),
    ),
    *OUTCOME_COLUMNS,
)

_KEY = (
    "key: 80% range: four of five measurements should fall inside it; bound: roofline limit of "
    "tok/s per user; $/Mtok: $ per million output tokens, decode only"
)
_MEANINGS = {
    "latency": "latency: fixed delays in and between chips take most of a step",
    "needs": "needs N: the batch needs N chips",
    "fits on": "fits on N: the batch fits on N chips in another layout",
}
"""Explanations of cells in the limiter column, by the first words of the cell."""

_NOT_SEARCHED = ("speculate", "draft_model", "n_gpu_layers", "n_cpu_moe")
"""Settings that `frontier` does not support."""

_MOST_CHIPS = 4
"""Maximum number of chips in the suggested next command if all chips were compared."""


@dataclass(frozen=True, eq=False, kw_only=True)
class CompareAnswer(Answer):
    """The result of ``fastcalc compare``: speed, latency and price of each model on each chip."""

    request: Compare
    outcomes: Sequence[Outcome]

    keys = point_records.KEYS

    @cached_property
    def by_model(self) -> list[tuple[Headline, list[Outcome]]]:
        """The outcomes of each model with its headline.

        A model appears once per storage format.
        """
        models = groupby(self.outcomes, lambda outcome: id(outcome.scenario.model))
        groups = [list(group) for _, group in models]
        return [(headline(group), group) for group in groups]

    @property
    def is_held(self) -> bool:
        """Whether any batch fits on any of the chips."""
        return any(outcome.estimate.fits.any() for outcome in self.outcomes)

    @property
    def undrawn(self) -> list[str]:
        """Why there is no chart if nothing fits, for the first chips."""
        return [unfit(outcome) for outcome in self.outcomes[:_MOST_CHIPS]]

    @property
    def phrases_in_full(self) -> list[str]:
        """Phrases for the settings that differ from their defaults, unless the heading has them."""
        return phrases(self.settings, without=IN_HEADING)

    @cached_property
    def _rows(self) -> list[list[record_tables.Row]]:
        """The table rows of the first screen, by model."""
        return [[row for outcome in group for row in _cells(outcome)] for _, group in self.by_model]

    def body(self, screen: Screen) -> Iterator[Part]:
        """Show a headline and a table for each model."""
        if self.request.like:
            from fastcalc.kit.answer import own_rows  # most comparisons have none

            compared = {
                id(deployment): (deployment, scenario.engine.id)
                for outcome in self.outcomes
                for scenario in [outcome.scenario]
                for deployment in measured_on(scenario.engine, scenario.hardware.id, scenario.work)
                if is_of(deployment, outcome.placement.layout)
            }
            if compared:
                deployments, engines = zip(*compared.values(), strict=True)
                names = listed([*dict.fromkeys(engines)])
                yield from (*own_rows.parts(deployments, names, screen.width), "")
        tables = record_tables.tables(_FIRST_COLUMNS, self._rows, screen.width)
        for number, ((stated, group), table) in enumerate(zip(self.by_model, tables, strict=True)):
            yield from [""][:number]
            yield from _opening(stated, group)
            yield heading(group, phrases(self.settings))
            yield table

    def key(self) -> str:
        """Return the key to the columns of the first screen."""
        tied = any(
            statement is not None and statement.is_level
            for stated, _ in self.by_model
            for statement in (stated.fastest, stated.cheapest)
        )
        compared = any(stated.has_ratio for stated, _ in self.by_model)
        ratio = "Nx (a to b): ratio and its 80% range"
        words = [_KEY + key_of_bound(self.outcomes), *[ratio] * compared, *[TIED] * tied]
        words += _meanings(self._rows)
        return "; ".join(words)

    def notes(self) -> Iterator[Note]:
        """Explain the prices and the assumptions behind the numbers."""
        hinted = [hint for stated, _ in self.by_model for hint in hints(stated)]
        yield from map(Note, dict.fromkeys(hinted))
        yield Note(prices(self.outcomes), weight=0)
        yield from remarks(self.outcomes)

    def page(self, screen: Screen) -> list[Part]:
        """Build the first screen, or a longer page with all columns or with each step explained."""
        if not (screen.wide or self.request.explain):
            return [*super().page(screen)]
        rows = [
            [record_tables.row(_ALL_COLUMNS, record) for record in compare_records([outcome])]
            for outcome in self.outcomes
        ]
        tables = record_tables.tables(_ALL_COLUMNS, rows, screen.width)
        notes = screen.sentences(note for note in self.notes() if not note.is_hint)
        lines = [*record_tables.key_of_mark(*tables), *notes, *map(sentence, _meanings(rows))]
        page: list[Part] = []
        remaining = iter(tables)
        for stated, group in self.by_model:
            page += [*_opening(stated, group), heading_in_full(group[0], self.phrases_in_full)]
            for outcome, table in zip(group, remaining, strict=False):
                price = outcome.usd_per_hour
                cost = f"; ${dollars(price)}/h" if price is not None else ""
                where = (
                    f"{outcome.where}: {why(outcome)}; largest batch {outcome.max_batch:,}{cost}"
                )
                page += ["", Title(outcome.scenario.hardware.id, where), table]
            page.append("")
        if self.request.explain:
            from fastcalc.features.compare.explain.answer import explanation_parts

            page += explanation_parts(self.outcomes)
        return [*page, Notes(lines, self.next_command())]

    def next_command(self) -> str:
        """Suggest a command to run next: `frontier`, `report`, or `fit` if nothing fits.

        If nothing fits, `fit` shows what would.
        """
        request, outcomes = self.request, self.outcomes
        if all(outcome.refused for outcome in outcomes):
            request = replace(request, weights=None, kv=None)
        elif not any(outcome.fits for outcome in outcomes):
            models = request.models or DEFAULT_MODELS
            return follow_up(request, request_of("fit"), *models, flag("on"), request.on)
        compared = chips_by_id(outcomes).keys()
        if request.like and (next_command := rows_kept(request, request.like, min(compared))):
            return next_command
        names = names_typed(catalogue(self.request), self.request.on)
        outcome = self.outcomes[0]
        if (
            len(self.outcomes) == len(names) == 1
            and outcome.scenario.sharding.names_ranks
            and outcome.fits
            and outcome.estimate.low is not None
            and not outcome.estimate.passes.own
        ):
            (chip,) = names_typed(catalogue(request), request.on).values()
            model = (request.models or DEFAULT_MODELS)[0]
            return follow_up(request, request_of("measure"), model, flag("on"), chip)
        has_groups = not compared <= names_typed(catalogue(request), request.on).keys()
        priced = [outcome for outcome in outcomes if outcome.usd_per_hour is not None]
        is_whole = has_groups or len(priced) == len(outcomes)
        is_kept = not any(request.values.get(name) for name in _NOT_SEARCHED)
        is_searched = priced and is_kept and is_whole
        fitting = [outcome for outcome in (priced if is_searched else outcomes) if outcome.fits]
        named = [scenario.hardware.id for stated, _ in self.by_model for scenario in stated.priced]
        ids = list(dict.fromkeys([*named, *chips_by_id(fitting)]))[:_MOST_CHIPS]
        on = ",".join(ids) if has_groups else request.on
        if not is_searched:
            return report_on(request, request_of("report"), on)
        model = (request.models or DEFAULT_MODELS)[0]
        return follow_up(request, request_of("frontier"), model, flag("on"), on)

    def records(self) -> list[Record]:
        """Return one row per model, chip and batch size."""
        return compare_records(self.outcomes)

    def column(self, key: str) -> list[Any]:
        """Return the values of one key."""
        return point_records.compare_column(self.outcomes, key)

    def table(self) -> tuple[Sequence[TableColumn], list[Record]]:
        """Return the records with the columns of a wide page."""
        return _MARKDOWN, self.records()

    def premises(self) -> Record:
        """Return the traffic, prices and engines that were assumed."""
        return point_records.assumptions(self.outcomes)

    def details(self) -> Record:
        """Return the explanation of each step if the JSON output includes it."""
        if not (self.request.explain and self.request.written_as == "json"):
            return {}
        from fastcalc.features.compare.explain import answer as explain

        return {
            "explanations": explain.explanation_records(self.outcomes),
            "memory_explanations": explain.memory_records(self.outcomes),
        }

    def warnings(self) -> Iterable[str]:
        """Return the warnings of the outcomes."""
        return each_warning(self.outcomes)

    @property
    def charts(self) -> Mapping[str, Callable[[], "Chart"]]:
        """Charts of memory and, if anything fits, of speed, price, roofline and step time."""
        from fastcalc.features.compare import chart, steps_chart  # most answers draw nothing
        from fastcalc.kit.charts import of_memory

        drawn = {
            "speed": chart.speed,
            "price": chart.price,
            "roofline": chart.roofline,
            "step": steps_chart.step,
        }
        makers = {**(drawn if self.is_held else {}), "memory": of_memory.memory}
        return {chart_name: partial(make, self.outcomes) for chart_name, make in makers.items()}

    def html(self, file: Path | None) -> str:
        """Build the HTML page with a sortable table, charts, explained steps and sources."""
        from fastcalc.features.compare import page  # records need no page

        command = report_on(self.request, request_of("report"), self.request.on, file)
        return page.document(self, command)


def _opening(stated: Headline, outcomes: Sequence[Outcome]) -> list[Part]:
    first, *more = sentences(stated)
    fitting = (outcome for outcome in outcomes if outcome.fits)
    return [first, *map(Remark, more), *price_line(stated.priced, others=fitting), ""]


def _meanings(rows: Iterable[Iterable[record_tables.Row]]) -> list[str]:
    """Explain the limiter cells that the table contains."""
    cells = [row["limiter"] for group in rows for row in group]
    return [
        meaning
        for word, meaning in _MEANINGS.items()
        if any(cell.startswith(word) or f", {word}" in cell for cell in cells)
    ]


def _cells(outcome: Outcome) -> Iterator[record_tables.Row]:
    """Yield the cells of each batch. Batches that do not fit share a row."""
    layout = outcome.placement.layout
    lives = " ".join(filter(None, (outcome.memories, str(layout))))
    label = outcome.scenario.hardware.id
    if outcome.fits or outcome.min_chips[0] is not None:
        label = f"{layout.chips:,} x {label}"
    for fits, group in groupby(
        point_records.point_records([outcome]), lambda record: bool(record["fits"])
    ):
        records = list(group)
        for records_of_row in [[record] for record in records] if fits else [records]:
            batches = ", ".join(f"{record['batch']:,}" for record in records_of_row)
            words = {"label": label, "lives": lives, "batch": batches}
            shown = records_of_row[0].showing(words)
            cells = (record_tables.row(_LIMITER, record) for record in records_of_row)
            first, *further = dict.fromkeys(row["limiter"] for row in cells)
            word = first.rpartition(" ")[0]  # printed once
            limits_text = ", ".join([first, *(limit.removeprefix(f"{word} ") for limit in further)])
            yield record_tables.row(_FIRST_COLUMNS, shown) | {"limiter": limits_text}
            label = lives = ""
