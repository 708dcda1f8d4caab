"""Answers about catalogue entries: a list, or one entry with all its numbers and sources."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from fastcalc.catalogue.chip_defaults import defaults_of
from fastcalc.catalogue.kinds import Kind
from fastcalc.catalogue.schema import Engine, Hardware, Model
from fastcalc.core.model.workload import Workload, checkpoint_parameters, workload
from fastcalc.core.pricing import Pricing
from fastcalc.features import request_of
from fastcalc.features.entries.records import (
    CatalogueEntry,
    cautions,
    default_kinds,
    fastest_memory,
    offers_of,
    peak_16bit,
    quantities,
    record_of,
)
from fastcalc.features.entries.request import ListEntries, ShowEntry
from fastcalc.grid.column import TableColumn, key_figure
from fastcalc.kit.answer import record_tables
from fastcalc.kit.answer.answer import Answer, Screen
from fastcalc.kit.answer.next_commands import follow_up
from fastcalc.kit.answer.numbers_as_text import number, parameters, prefixed, size
from fastcalc.kit.answer.parts import Note, Notes, Part, TextTable, Title
from fastcalc.kit.answer.point_records import Record
from fastcalc.kit.answer.record_tables import marked, numbers, words
from fastcalc.kit.request.fields import Request
from fastcalc.kit.request.readers import as_text
from fastcalc.mentions import command, flag
from fastcalc.written import Json, json_text, listed


def _rent(chip: Hardware) -> str:
    """Format the default price per chip-hour, marked if it is uncertain."""
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
        numbers("weights", lambda work: f"{work.short_format} {size(work.weight_bytes)}"),
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
"""The columns of each list."""


@dataclass(frozen=True, eq=False, kw_only=True)
class ListAnswer(Answer):
    """The result of ``fastcalc list``: all entries of one type."""

    request: ListEntries
    kind: Kind
    entries: Sequence[CatalogueEntry]

    def body(self, screen: Screen) -> Iterator[Part]:
        """Yield the table and the number of entries."""
        # The layout reserves 24 characters for text columns that can wrap.
        yield record_tables.table(*self.table(), screen.width, {"fitted on": 24})
        yield ""
        count = len(self.entries)
        noun = "chips" if self.kind == "hardware" else self.kind
        yield f"{count} {noun if count > 1 else noun[:-1]}"

    def notes(self) -> Iterator[Note]:
        """Return cautions about the listed entries."""
        return map(Note, cautions(self.entries))

    def next_command(self) -> str:
        """Suggest `show` for the last entry."""
        return follow_up(self.request, ShowEntry, self.entries[-1].id)

    def records(self) -> Iterator[Record]:
        """Build one record per entry."""
        return map(record_of, self.entries)

    def table(self) -> tuple[Sequence[TableColumn], Sequence[object]]:
        """Return the columns for the category. For models, their workloads supply the values."""
        rows = [workload(entry) if isinstance(entry, Model) else entry for entry in self.entries]
        return _COLUMNS[self.kind], rows


def question_on(
    request: Request, names: Sequence[str], entries: Sequence[CatalogueEntry]
) -> str | None:
    """Suggest a command that evaluates the entries. Returns None for hosts and engines.

    names : Names of the entries, as the user typed them.
    """
    if isinstance(entries[0], Model):
        return follow_up(request, request_of("fit"), *names)
    if all(isinstance(entry, Hardware) and entry.kind != "host" for entry in entries):
        return follow_up(request, request_of("compare"), flag("on"), ",".join(names))
    return None


@dataclass(frozen=True, eq=False, kw_only=True)
class EntryAnswer(Answer):
    """The result of ``fastcalc show``: an entry with the source of every number."""

    request: ShowEntry
    entry: CatalogueEntry

    def body(self, screen: Screen) -> Iterator[Part]:  # noqa: ARG002
        """Yield the tables for this category, the sources, and a heading if there are notes."""
        yield from self.tables()
        titles = [
            f"{key}: {source.title}" + (f", {source.url}" if source.url else "")
            for key, source in self.entry.sources.items()
        ]
        if titles:
            yield from ("", "sources", Notes(titles))
        if [*self.remarks()]:
            yield from ("", "notes")

    def tables(self) -> Iterator[Part]:
        """Yield the title and the table of numbers."""
        return iter(())

    def remarks(self) -> Iterator[str]:
        """Yield remarks on individual numbers, and the notes in the file."""
        yield from self.entry.notes

    def notes(self) -> Iterator[Note]:
        """Yield all notes of the answer."""
        return map(Note, self.remarks())

    def next_command(self) -> str | None:
        """Suggest a command that uses the entry."""
        return question_on(self.request, [as_text(self.request.name)], [self.entry])

    def document(self) -> list[str]:
        """Format the entry's record."""
        return [json_text(record_of(self.entry))]


EXECUTION = {
    "sequential": "one by one on all cores",
    "spatial": "side by side, each in its own region of cores",
}
"""Descriptions of the execution modes, by their value in the file."""

_MEANINGS = {
    "cores": "processors that share memory, such as SMs (NVIDIA) or CUs (AMD)",
    "reported": "fraction of the capacity that is visible to the driver (CUDA or ROCm)",
}
"""Explanations of chip parameters whose names are not self-explanatory."""


@dataclass(frozen=True, eq=False, kw_only=True)
class ChipAnswer(EntryAnswer):
    """Shows a chip with each number as written, its source and the quoted text."""

    entry: Hardware

    def tables(self) -> Iterator[Part]:
        """Yield the numbers of the chip, and the assumptions for numbers that the file omits."""
        chip = self.entry
        runs = f"; layers run {EXECUTION[chip.execution]}" * (chip.execution == "spatial")
        yield Title(chip.id, f"{chip.name}; {chip.scope}{runs}")
        rows = [
            (path, value.text, value.source or "-", value.printed or "")
            for path, value in quantities(chip).items()
        ]
        yield ""
        yield _table(("parameter", "value", "source", "quoted from source"), rows)
        defaults = [
            (default.path, default.quantity.text, default.basis) for default in defaults_of(chip)
        ]
        notes = []
        if defaults:
            yield ""
            yield _table(("not stated", "assumed", "which is the"), defaults)
            line = command(f"fastcalc sensitivity MODEL {flag('on')} CHIP")
            notes += [
                f"rows marked * of '{line}' show the effect of each; those without a row have none"
            ]
        notes += ["; ".join(lacks)] if (lacks := [*_lacks(chip)]) else []
        if notes:
            yield Notes(notes)

    def remarks(self) -> Iterator[str]:
        """Yield how numbers were read, how certain they are, and the notes in the file."""
        offers, by_facts = offers_of(self.entry), dict[str, list[str]]()
        for path, value in quantities(self.entry).items():
            is_unsure = value.confidence in ("low", "memory")
            unsure = f"{value.confidence} confidence" if is_unsure else None
            about = offers.get(path) or _MEANINGS.get(path.rpartition(".")[2])
            facts = [*filter(None, (about, value.reading, value.note, value.date, unsure))]
            if facts:
                by_facts.setdefault("; ".join(facts), []).append(path)
        yield from (f"{', '.join(paths)}: {facts}" for facts, paths in by_facts.items())
        yield from self.entry.notes


def _lacks(chip: Hardware) -> Iterator[str]:
    """Yield the limitations caused by a chip's missing data. Hosts have none."""
    if chip.kind == "host":
        return
    if chip.links.fastest is None:
        yield "without links only one chip can be used"
    if chip.price.rent is None:
        yield "without an hourly price, $ columns are empty"
    if chip.power is None:
        yield "without power, joules are empty"


@dataclass(frozen=True, eq=False, kw_only=True)
class EngineAnswer(EntryAnswer):
    """Shows an engine with the meanings and sources of its parameters."""

    entry: Engine

    def tables(self) -> Iterator[Part]:
        """Yield the engine's parameters."""
        engine = self.entry
        yield Title(engine.id, f"{engine.name}; fitted on {' '.join(engine.fitted_on.split())}")
        rows = [
            (f"parameters.{name}", value.text, value.source or "-", value.note or "")
            for name, value in engine.parameters
            if value is not None
        ]
        if rows:
            yield ""
            yield _table(("parameter", "value", "source", "meaning"), rows)

    def remarks(self) -> Iterator[str]:
        """Yield the parameters for particular architectures, and the notes in the file."""
        for architecture, overrides in self.entry.architectures.items():
            for name, value in overrides:
                if value is not None:
                    facts = value.note or value.source
                    yield f"architectures.{architecture}.{name}: {value.text} ({facts})"
        yield from self.entry.notes


@dataclass(frozen=True, eq=False, kw_only=True)
class ModelAnswer(EntryAnswer):
    """Shows a model with its size, its costs per token, and its blocks."""

    entry: Model

    def tables(self) -> Iterator[Part]:
        """Yield the model's totals and the contents of its layers."""
        model = self.entry
        yield Title(model.asked_name, model.heading)
        yield ""
        yield _counts(workload(model, self.request.weights, self.request.kv))
        if model.blocks:
            yield ""
            rows = []
            for index, block in enumerate(model.blocks):
                layers = {"attention": block.attention, "ffn": block.ffn}
                layers_present = {name: item for name, item in layers.items() if item is not None}
                for name, item in layers_present.items():
                    fields = item.model_dump(exclude_defaults=True, exclude_none=True)
                    text = f"{fields.pop('kind')}: {_named(fields)}"
                    count = str(block.count) if name == next(iter(layers_present)) else ""
                    rows.append((count, f"blocks[{index}].{name}", text))
            yield TextTable([("layers",), ("path",), ("contents",)], rows, left=(1, 2))

    def remarks(self) -> Iterator[str]:
        """Yield assumptions, confidence, and the notes in the file."""
        yield from cautions([self.entry])
        yield from (
            note for note in self.entry.notes if f"{self.entry.id}: {note}" not in self.reading
        )

    def document(self) -> list[str]:
        """Format the record of the model, in the requested formats."""
        return [json_text(record_of(self.entry, self.request.weights, self.request.kv))]


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> TextTable:
    return TextTable(
        [(heading,) for heading in headings], rows, range(len(headings)), key_figures=(1,)
    )


def _counts(work: Workload) -> TextTable:
    model = work.model
    rows = [
        ("total parameters", f"{work.total_parameters:,.0f}", "language model only"),
        ("active parameters", f"{work.active_parameters:,.0f}", "used per token"),
        (
            "parameters in matmuls",
            f"{work.multiplied_parameters:,.0f}",
            "all but the input embedding",
        ),
        ("weights", size(work.weight_bytes), work.weight_format),
        ("KV cache per token", f"{work.cache_bytes_per_token:,.0f} B", work.kv_format),
        ("FLOPs per token", prefixed(work.flops_per_token, "FLOP"), "in matmuls"),
    ]
    if not model.is_minimal:
        attention = prefixed(float(work.attention_flops(1.0)), "FLOP")
        rows.append(("FLOPs per context token", attention, "in attention"))
    if work.state_bytes:
        rows.append(("state per sequence", size(work.state_bytes), "at any length"))
    if model.max_context:
        rows.append(("largest context", f"{model.max_context:,}", "tokens"))
    if model.rotary_values:
        axes = ", M-RoPE" if model.mrope else ""
        rows.append(("rotary table", f"{model.rotary_values:,.0f}", f"sines and cosines{axes}"))
    extra_parameters = checkpoint_parameters(model) - work.total_parameters
    if extra_parameters:
        entry_types = (("MTP layers", model.mtp), ("vision tower", model.vision_parameters))
        present = listed([name for name, count in entry_types if count])
        of = f"parameters of {present}"
        rows.append(("in addition to the core", f"{extra_parameters:,.0f}", of))
    published = model.published
    if published.checkpoint:
        count = f"{published.checkpoint.si:,.0f}"
        rows.append(("checkpoint", count, f"parameters; label {published.label or '-'}"))
    return TextTable([("count",), ("value",), ("of",)], rows, left=(0, 2), key_figures=(1,))


def _named(fields: Mapping[str, Json]) -> str:
    """Format keys with their values. For flags, only the key is shown."""
    words = []
    for name, value in fields.items():
        if isinstance(value, dict):
            words.append(f"{name} ({_named(value)})")
        elif isinstance(value, bool):
            words.append(name if value else f"no {name}")
        else:
            words.append(f"{name} {value:,}" if isinstance(value, int) else f"{name} {value}")
    return ", ".join(words)
