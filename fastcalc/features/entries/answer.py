"""Catalogue entries to lists, to tables of every number with its source, and to flat records."""

from collections.abc import Iterable, Sequence
from typing import Any, get_args

from fastcalc.catalogue.chip_defaults import defaults_of
from fastcalc.catalogue.entry_numbers import numbers_of
from fastcalc.catalogue.schema import Engine, Hardware, Memory, Model, Quantity
from fastcalc.catalogue.schema.hardware import RateFormat
from fastcalc.core.chip.machine_class import ENGINES
from fastcalc.core.model.workload import Workload, checkpoint_parameters, workload
from fastcalc.core.pricing import Pricing
from fastcalc.formulas.roofline import critical_batch
from fastcalc.grid.columns import TableColumn, key_figure
from fastcalc.kit.answer import record_tables
from fastcalc.kit.answer.console import Notes, Part, TextTable, Title
from fastcalc.kit.answer.numbers_as_text import number, parameters, prefixed, size
from fastcalc.kit.answer.point_records import Record, plain, plainly
from fastcalc.kit.answer.record_tables import marked, numbers, words
from fastcalc.mentions import command, flag
from fastcalc.written import listed

_PREFILL_TOKENS = 1000.0

# -- lists ------------------------------------------------------------------------------

_NAMES = (
    *("id", "name", "vendor", "kind", "scope", "execution", "architecture", "released"),
    *("hypothetical", "aliases"),
)
_TIER = {"capacity_bytes": "capacity", "bandwidth_bytes_per_s": "bandwidth"}
_REST = {
    "vector_flop_per_s": "vector",
    "scale_up_bandwidth_bytes_per_s": "links.scale_up.bandwidth",
    "scale_up_domain_chips": "links.scale_up.domain",
    "scale_up_latency_s": "links.scale_up.latency",
    "scale_out_bandwidth_bytes_per_s": "links.scale_out.bandwidth",
    "scale_out_latency_s": "links.scale_out.latency",
    "power_chip_w": "power.chip",
    "power_all_in_w": "power.all_in",
    "price_cloud_usd_per_h": "price.rent",
    "price_cloud_date": "price.rent.date",
    "price_purchase_usd": "price.purchase",
    "area_m2": "area",
    "transistors": "transistors",
}
"""Where a chip holds what is behind the keys of its record."""


def _at(entry: Any, path: str) -> Any:
    """Return what stands at a path, a quantity in SI units; None where any of it is left out."""
    for name in path.split("."):
        entry = getattr(entry, name, None)
    return plain(entry.si) if isinstance(entry, Quantity) else entry


def _fastest(chip: Hardware) -> Memory:
    return max(chip.memory, key=lambda memory: memory.bandwidth.si)


def _peak(chip: Hardware) -> Quantity:
    return chip.rate("bf16") or chip.peak["fp16"]


def hardware_record(chip: Hardware) -> Record:
    """Return the numbers of a chip in SI units, each key with its unit."""
    fastest = _fastest(chip)
    # Every format there is, so that all records have the same keys.
    formats = ("bf16", "fp16", "fp8", "int8", "fp4", *get_args(RateFormat))
    balance = critical_batch(
        peak=_peak(chip).si, bandwidth=fastest.bandwidth.si, bytes_per_weight=2.0
    )
    return {
        **{name: getattr(chip, name) for name in _NAMES},
        "cores": _at(chip, "cores"),
        "memory_tier": fastest.name,
        **{f"memory_{key}": _at(fastest, path) for key, path in _TIER.items()},
        "memory": [
            {"name": tier.name} | {key: _at(tier, path) for key, path in _TIER.items()}
            for tier in chip.memory
        ],
        "fabric_bandwidth_bytes_per_s": _at(chip, "fabric.bandwidth"),
        **{
            f"peak_{name}_flop_per_s": plain(getattr(chip.rate(name), "si", None))
            for name in formats
        },
        "critical_batch_16bit": plain(float(balance)),
        **{key: _at(chip, path) for key, path in _REST.items()},
        "price_offers": [
            {
                **{name: getattr(offer, name) for name in ("provider", "terms", "region")},
                "usd_per_h": plain(offer.price.si),
                "date": offer.price.date,
                "commitment_months": offer.commitment_months,
                "confidence": offer.price.confidence,
            }
            for offer in chip.price.offers
        ],
        "ranks": _at(chip, "ranks"),
        "price_terms": Pricing().quote(chip).terms,
        "price_is_uncertain": Pricing().quote(chip).is_uncertain,
    }


def _rent(chip: Hardware) -> str:
    """The price of a chip-hour where no terms are named, marked where it is uncertain."""
    quote = Pricing().quote(chip)
    return marked(number(quote.usd_per_hour), is_unsure=quote.is_uncertain)


def model_record(model: Model, weights: str | None = None, kv: str | None = None) -> Record:
    """Return what a model weighs and what a token costs; null where its shape is not published."""
    work = workload(model, weights, kv)
    prompt = work.flops_per_token - 2.0 * work.weights.head.parameters
    attention: float | None = float(work.attention_flops(1.0))
    prefill: float | None = _PREFILL_TOKENS * (
        prompt + float(work.attention_flops(_PREFILL_TOKENS / 2.0, prompt=True))
    )
    if model.is_minimal:
        attention = prefill = None
    names = ("id", "name", "released", "hypothetical", "aliases")
    record = {
        **{key: getattr(model, key) for key in names},
        "layers": work.layers,
        "hidden_size": work.hidden,
        "vocabulary": model.vocabulary,
        "max_context_tokens": model.max_context,
        "total_parameters": work.total_parameters,
        "active_parameters": work.active_parameters,
        "multiplied_parameters": work.multiplied_parameters,
        "experts": work.experts or None,
        "active_experts": work.active_experts or None,
        "weight_format": work.weight_format,
        "kv_format": work.kv_format,
        "weights_gb": work.weight_bytes / 1e9,
        "kv_bytes_per_token": work.cache_bytes_per_token,
        "kv_bytes_per_sequence_fixed": work.state_bytes,
        "flops_per_token": work.flops_per_token,
        "attention_flops_per_context_token": attention,
        f"prefill_flops_of_{_PREFILL_TOKENS:.0f}_tokens": prefill,
        "published_label": model.published.label,
        "published_checkpoint_parameters": _at(model, "published.checkpoint"),
        "checkpoint_parameters": checkpoint_parameters(model),
        "confidence": model.confidence,
    }
    return plainly(record)


def engine_record(engine: Engine) -> Record:
    """Return an engine's parameters in SI units."""
    return {
        "id": engine.id,
        "name": engine.name,
        "date": engine.date,
        "aliases": engine.aliases,
        "fitted_on": " ".join(engine.fitted_on.split()),
        "is_bound": engine.is_bound,
        "default_for": _kinds(engine),
        "parameters_si": {
            name: _at(engine.parameters, name) for name in type(engine.parameters).model_fields
        },
    }


def _kinds(engine: Engine) -> list[str]:
    return [kind for kind, name in ENGINES.items() if name == engine.id]


LISTED: dict[str, tuple[TableColumn, ...]] = {
    "hardware": (
        key_figure(words("id", lambda chip: chip.id)),
        words("name", lambda chip: chip.name, 9),
        numbers("memory", lambda chip: size(_fastest(chip).capacity.si)),
        numbers("bandwidth", lambda chip: prefixed(_fastest(chip).bandwidth.si, "B/s", digits=4)),
        numbers("16-bit peak", lambda chip: prefixed(_peak(chip).si, "FLOP/s", digits=4)),
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
        words("default for", lambda engine: ", ".join(_kinds(engine)) or "-"),
        words("fitted on", lambda engine: " ".join(engine.fitted_on.split()).split(";")[0]),
    ),
}
"""Columns of the lists, those of models taken from their workloads."""


def list_table(kind: str, entries: Sequence[Any]) -> tuple[Sequence[TableColumn], Sequence[Any]]:
    """Return the columns of a list, and what they are taken from."""
    return LISTED[kind], [workload(model) for model in entries] if kind == "models" else entries


def list_parts(entries: Sequence[Any], kind: str, width: int, next_command: str) -> list[Part]:
    """Return entries of a kind as a table, how many there are, and what to beware of."""
    # Twenty-four characters of words that may wrap are enough to plan with.
    table = record_tables.table(*list_table(kind, entries), width, {"fitted on": 24})
    count = f"{len(entries)} {kind if len(entries) > 1 or kind == 'hardware' else kind[:-1]}"
    remarks = [*record_tables.key_of_mark(table), *cautions(entries)]
    return [table, "", count, Notes(remarks, next_command)]


def cautions(entries: Iterable[Any]) -> list[str]:
    """Say of listed entries what a reader must not overlook: assumed, remembered, unsure."""
    ids_by_caution: dict[str, list[str]] = {}
    for entry in entries:
        if getattr(entry, "hypothetical", False):
            ids_by_caution.setdefault("hypothetical", []).append(entry.id)
        confidence = getattr(entry, "confidence", None)
        if confidence in ("low", "memory"):
            ids_by_caution.setdefault(f"confidence {confidence}", []).append(entry.id)
    return [f"{caution}: {', '.join(ids)}" for caution, ids in ids_by_caution.items()]


# -- one entry --------------------------------------------------------------------------


def hardware_parts(chip: Hardware) -> list[Part]:
    """Return a chip as tables: every number as written, its source, and what was printed."""
    runs = "layer after layer on the whole chip"
    if chip.execution == "spatial":
        runs = "each layer in a region of its own"
    about = f"{chip.name}; {chip.kind}, {chip.scope}; runs {runs}"
    heads = [("number",), ("value",), ("source",), ("printed",)]
    rows, remarks = [], []
    offers = offers_of(chip)
    for path, value in quantities(chip).items():
        rows.append((path, value.text, value.source or "-", value.printed or ""))
        # What a reader must know of a single number: how it was read, how sure it is.
        remark_words = [
            offers.get(path),
            value.reading,
            value.note,
            value.date and f"of {value.date}",
        ]
        if value.confidence in ("low", "memory"):
            remark_words.append(f"confidence {value.confidence}")
        if any(remark_words):
            remarks.append(f"{path}: {'; '.join(word for word in remark_words if word)}")
    table = TextTable(heads, rows, left=(0, 1, 2, 3), key_figures=(1,))
    page: list[Part] = [Title(chip.id, about), "", table, *_left_out(chip)]
    return page + _grounds(chip, [*remarks, *chip.notes])


def _left_out(chip: Hardware) -> list[Part]:
    """Return what a chip's file leaves out, what stands in for it, and what that costs."""
    rows = [(default.path, default.quantity.text, default.basis) for default in defaults_of(chip)]
    line = command(f"fastcalc sensitivity MODEL {flag('on')} CHIP")
    notes = [f"'{line}' says in rows with a star what each costs; without a row, nothing"]
    notes = notes if rows else []
    lacks = [said for path, said in _LACKS.items() if _at(chip, path) is None]
    notes += ["; ".join(lacks)] if lacks and chip.kind != "host" else []
    table = TextTable(
        [("left out",), ("taken",), ("which is the",)], rows, (0, 1, 2), key_figures=(1,)
    )
    tables: list[Part] = ["", table] if rows else []
    return [*tables, Notes(notes)] if notes else tables


_LACKS = {
    "links.fastest": "without links nothing larger than one chip is placed",
    "price.rent": "without a price of an hour $ are empty",
    "power": "without power joules are empty",
}


def engine_parts(engine: Engine) -> list[Part]:
    """Return an engine as tables: every parameter, what it means and where it is from."""
    about = f"{engine.name}; fitted on {' '.join(engine.fitted_on.split())}"
    page: list[Part] = [Title(engine.id, about)]
    rows = [
        (f"parameters.{name}", value.text, value.source or "-", value.note or "")
        for name, value in engine.parameters
        if value is not None
    ]
    if rows:
        heads = [("parameter",), ("value",), ("source",), ("meaning",)]
        page += ["", TextTable(heads, rows, left=(0, 1, 2, 3), key_figures=(1,))]
    extra = [
        f"architectures.{architecture}.{name}: {value.text} ({value.note or value.source})"
        for architecture, overrides in engine.architectures.items()
        for name, value in overrides
        if value is not None
    ]
    return page + _grounds(engine, [*extra, *engine.notes])


def model_parts(model: Model, weights: str | None, kv: str | None) -> list[Part]:
    """Return a model as tables: what it weighs, what a token costs, and its blocks."""
    work = workload(model, weights, kv)
    page: list[Part] = [Title(model.asked_name, model.heading), "", _counts(work)]
    if model.blocks:
        rows = []
        for place, block in enumerate(model.blocks):
            layers = {"attention": block.attention, "ffn": block.ffn}
            layers_present = {name: part for name, part in layers.items() if part is not None}
            for name, part in layers_present.items():
                fields = part.model_dump(exclude_defaults=True, exclude_none=True)
                text = f"{fields.pop('kind')}: {_named(fields)}"
                count = str(block.count) if name == next(iter(layers_present)) else ""
                rows.append((count, f"blocks[{place}].{name}", text))
        heads = [("layers",), ("path",), ("what is in one",)]
        page += ["", TextTable(heads, rows, left=(1, 2))]
    return page + _grounds(model, [*cautions([model]), *model.notes])


def _counts(work: Workload) -> TextTable:
    model = work.model
    rows = [
        ("total parameters", f"{work.total_parameters:,.0f}", "text core"),
        ("active parameters", f"{work.active_parameters:,.0f}", "a token touches"),
        ("multiplied", f"{work.multiplied_parameters:,.0f}", "without the input embedding"),
        ("weights", size(work.weight_bytes), work.weight_format),
        ("KV cache a token", f"{work.cache_bytes_per_token:,.0f} B", work.kv_format),
        ("FLOPs a token", prefixed(work.flops_per_token, "FLOP"), "matrix products"),
    ]
    if not model.is_minimal:
        attention = prefixed(float(work.attention_flops(1.0)), "FLOP")
        rows.append(("FLOPs a context token", attention, "attention scores and sums"))
    if work.state_bytes:
        rows.append(("state a sequence", size(work.state_bytes), "whatever its length"))
    if model.max_context:
        rows.append(("largest context", f"{model.max_context:,}", "tokens"))
    extra_parameters = checkpoint_parameters(model) - work.total_parameters
    if extra_parameters:
        kinds = (("MTP layers", model.mtp), ("vision tower", model.vision_parameters))
        kinds_present = listed([kind for kind, count_of_kind in kinds if count_of_kind])
        rows.append(
            ("alongside the core", f"{extra_parameters:,.0f}", f"parameters of {kinds_present}")
        )
    published = model.published
    if published.checkpoint:
        count = f"{published.checkpoint.si:,.0f}"
        rows.append(("checkpoint", count, f"parameters; label {published.label or '-'}"))
    return TextTable([("count",), ("value",), ("of",)], rows, left=(0, 2), key_figures=(1,))


def _named(fields: dict[str, Any]) -> str:
    """Return keys with their values, flags by their key alone."""
    words = []
    for name, value in fields.items():
        if isinstance(value, dict):
            words.append(f"{name} ({_named(value)})")
        elif isinstance(value, bool):
            words.append(name if value else f"no {name}")
        else:
            words.append(f"{name} {value:,}" if isinstance(value, int) else f"{name} {value}")
    return ", ".join(words)


def quantities(entry: Hardware | Engine) -> dict[str, Quantity]:
    """Return every quantity of an entry by its path, as ``--set`` takes it, in the file's order."""
    numbers = numbers_of(entry)
    return {path: number for _, path, number, _ in numbers if isinstance(number, Quantity)}


def offers_of(chip: Hardware) -> dict[str, str]:
    """Return who asks each offered price, where and on which terms, by its path."""
    offers = enumerate(chip.price.offers)
    return {f"price.offers[{index}].price": f"offer {offer.name}" for index, offer in offers}


def _grounds(entry: Hardware | Model | Engine, remarks: Sequence[str]) -> list[Part]:
    titles = [
        f"{key}: {source.title}" + (f", {source.url}" if source.url else "")
        for key, source in entry.sources.items()
    ]
    sources: list[Part] = ["", "sources", Notes(titles)] if titles else []
    return [*sources, "", "notes", Notes(remarks)] if remarks else sources
