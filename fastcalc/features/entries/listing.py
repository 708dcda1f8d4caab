"""Entries of one kind as a table: what a chip, a model or an engine is in a line."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fastcalc.catalogue.kinds import Kind
from fastcalc.catalogue.schema import Hardware, Model
from fastcalc.core.model.workload import workload
from fastcalc.core.pricing import Pricing
from fastcalc.features.entries.records import (
    CatalogueEntry,
    cautions,
    default_kinds,
    fastest_memory,
    peak_16bit,
    record_of,
)
from fastcalc.features.entries.request import ListEntries, ShowEntry
from fastcalc.grid.columns import TableColumn, key_figure
from fastcalc.kit.answer import record_tables
from fastcalc.kit.answer.answer import Answer
from fastcalc.kit.answer.console import Note, Part, Screen
from fastcalc.kit.answer.next_commands import follow_up
from fastcalc.kit.answer.numbers_as_text import number, parameters, prefixed, size
from fastcalc.kit.answer.point_records import Record
from fastcalc.kit.answer.record_tables import marked, numbers, words


def _rent(chip: Hardware) -> str:
    """The price of a chip-hour where no terms are named, marked where it is uncertain."""
    quote = Pricing().quote(chip)
    return marked(number(quote.usd_per_hour), is_unsure=quote.is_uncertain)


_COLUMNS: dict[Kind, tuple[TableColumn, ...]] = {
    "hardware": (
        key_figure(words("id", lambda chip: chip.id)),
        words("name", lambda chip: chip.name, 9),
        numbers("memory", lambda chip: size(fastest_memory(chip).capacity.si)),
        numbers(
            "bandwidth", lambda chip: prefixed(fastest_memory(chip).bandwidth.si, "B/s", digits=4)
        ),
        numbers("16-bit peak", lambda chip: prefixed(peak_16bit(chip).si, "FLOP/s", digits=4)),
        numbers(
            "link",
            lambda chip: (
                prefixed(link.bandwidth.si, "B/s")
                if (link := chip.links.scale_up or chip.links.scale_out)
                else "-"
            ),
            8,
        ),
        numbers("$/h", _rent),
    ),
    "models": (
        key_figure(words("id", lambda work: work.model.id)),
        words("name", lambda work: work.model.name, 9),
        numbers("total", lambda work: parameters(work.total_parameters)),
        numbers("active", lambda work: parameters(work.active_parameters)),
        numbers("weights", lambda work: f"{work.weight_format} {size(work.weight_bytes)}"),
        numbers("KV/token", lambda work: size(work.cache_bytes_per_token)),
        numbers(
            "context",
            lambda work: f"{work.model.max_context:,}" if work.model.max_context else "-",
            7,
        ),
    ),
    "engines": (
        key_figure(words("id", lambda engine: engine.id)),
        words("name", lambda engine: engine.name, 9),
        words("default for", lambda engine: ", ".join(default_kinds(engine)) or "-"),
        words("fitted on", lambda engine: " ".join(engine.fitted_on.split()).split(";")[0]),
    ),
}
"""Of the lists."""


@dataclass(frozen=True, eq=False, kw_only=True)
class ListAnswer(Answer):
    """Entries of a kind; the answer is no if a file is left out because it is broken."""

    request: ListEntries
    kind: Kind
    entries: Sequence[CatalogueEntry]

    def body(self, screen: Screen) -> Iterator[Part]:
        """The table, and how many entries it has."""
        # Twenty-four characters of words that may wrap are enough to plan with.
        yield record_tables.table(*self.table(), screen.width, {"fitted on": 24})
        yield ""
        count = len(self.entries)
        yield f"{count} {self.kind if count > 1 or self.kind == 'hardware' else self.kind[:-1]}"

    def notes(self) -> Iterator[Note]:
        """What to beware of."""
        return map(Note, cautions(self.entries))

    def next_command(self) -> str:
        """To show the last entry."""
        return follow_up(self.request, ShowEntry, self.entries[-1].id)

    def records(self) -> Iterator[Record]:
        """A record for each entry."""
        return map(record_of, self.entries)

    def table(self) -> tuple[Sequence[TableColumn], Sequence[object]]:
        """Columns of the kind, those of models taken from their workloads."""
        rows = [workload(each) if isinstance(each, Model) else each for each in self.entries]
        return _COLUMNS[self.kind], rows
