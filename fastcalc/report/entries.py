"""Catalogue entries to lists, to tables of every number with its source, and to flat records."""

from collections.abc import Iterable, Iterator
from typing import Any, get_args

from fastcalc.catalogue.schema import Block, Engine, Hardware, Model, Quantity
from fastcalc.catalogue.schema.hardware import RateFormat
from fastcalc.core.machine_class import ENGINES
from fastcalc.core.workload import Workload, checkpoint_parameters, workload
from fastcalc.formulas.roofline import critical_batch
from fastcalc.report.console import Notes, Part, Table, Title
from fastcalc.report.numbers_as_text import number, parameters, prefixed, size
from fastcalc.report.records import Record, plain

_PREFILL_TOKENS = 1000.0

# -- lists ------------------------------------------------------------------------------


def hardware_record(chip: Hardware) -> Record:
    """Return the numbers of a chip in SI units, each key with its unit."""
    fastest = max(chip.memory, key=lambda one: one.bandwidth.si)
    found: Record = {
        "id": chip.id,
        "name": chip.name,
        "vendor": chip.vendor,
        "kind": chip.kind,
        "scope": chip.scope,
        "execution": chip.execution,
        "architecture": chip.architecture,
        "released": chip.released,
        "hypothetical": chip.hypothetical,
        "aliases": chip.aliases,
        "cores": _si(chip.cores),
        "memory_tier": fastest.name,
        "memory_capacity_bytes": _si(fastest.capacity),
        "memory_bandwidth_bytes_per_s": _si(fastest.bandwidth),
        "memory": [
            {
                "name": tier.name,
                "capacity_bytes": _si(tier.capacity),
                "bandwidth_bytes_per_s": _si(tier.bandwidth),
            }
            for tier in chip.memory
        ],
        "fabric_bandwidth_bytes_per_s": _si(chip.fabric.bandwidth) if chip.fabric else None,
    }
    # Every format there is, so that all records have the same keys.
    for name in ("bf16", "fp16", "fp8", "int8", "fp4", *get_args(RateFormat)):
        found[f"peak_{name}_flop_per_s"] = _si(chip.rate(name))
    sixteen_bit = chip.rate("bf16") or chip.peak["fp16"]
    return found | {
        "critical_batch_16bit": plain(
            float(
                critical_batch(
                    peak=sixteen_bit.si, bandwidth=fastest.bandwidth.si, bytes_per_weight=2.0
                )
            )
        ),
        "vector_flop_per_s": _si(chip.vector),
        **_links(chip),
        "power_chip_w": _si(chip.power.chip) if chip.power else None,
        "power_all_in_w": _si(chip.power.all_in) if chip.power else None,
        "price_cloud_usd_per_h": _si(chip.price.cloud),
        "price_cloud_date": chip.price.cloud.date if chip.price.cloud else None,
        "price_purchase_usd": _si(chip.price.purchase),
        "area_m2": _si(chip.area),
        "transistors": _si(chip.transistors),
    }


def _links(chip: Hardware) -> Record:
    up, out = chip.links.scale_up, chip.links.scale_out
    return {
        "scale_up_bandwidth_bytes_per_s": _si(up.bandwidth) if up else None,
        "scale_up_domain_chips": _si(up.domain) if up else None,
        "scale_up_latency_s": _si(up.latency) if up else None,
        "scale_out_bandwidth_bytes_per_s": _si(out.bandwidth) if out else None,
        "scale_out_latency_s": _si(out.latency) if out else None,
    }


def model_record(model: Model, weights: str | None = None, kv: str | None = None) -> Record:
    """Return what a model weighs and what a token costs; null where its shape is not published."""
    work = workload(model, weights, kv)
    prompt = work.flops_per_token - 2.0 * work.head.parameters
    attention: float | None = float(work.attention_flops(1.0))
    prefill: float | None = _PREFILL_TOKENS * (
        prompt + float(work.attention_flops(_PREFILL_TOKENS / 2.0, prompt=True))
    )
    if model.is_minimal:
        attention = prefill = None
    found = {
        "id": model.id,
        "name": model.name,
        "released": model.released,
        "hypothetical": model.hypothetical,
        "aliases": model.aliases,
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
        "published_checkpoint_parameters": _si(model.published.checkpoint),
        "checkpoint_parameters": checkpoint_parameters(model),
        "confidence": model.confidence,
    }
    return {key: plain(value) for key, value in found.items()}


def engine_record(engine: Engine) -> Record:
    """Return an engine's parameters in SI units."""
    return {
        "id": engine.id,
        "name": engine.name,
        "date": engine.date,
        "aliases": engine.aliases,
        "fitted_on": " ".join(engine.fitted_on.split()),
        "is_bound": engine.is_bound,
        "default_for": [kind for kind, name in ENGINES.items() if name == engine.id],
        "parameters_si": {
            name: _si(getattr(engine.parameters, name))
            for name in type(engine.parameters).model_fields
        },
    }


def _si(quantity: Quantity | None) -> Any:
    return None if quantity is None else plain(quantity.si)


def hardware_row(chip: Hardware) -> dict[str, str]:
    """Return a chip's line of the list."""
    memory = max(chip.memory, key=lambda one: one.bandwidth.si)
    link = chip.links.scale_up or chip.links.scale_out
    peak = chip.rate("bf16") or chip.peak["fp16"]
    return {
        "id": chip.id,
        "name": chip.name,
        "memory": size(memory.capacity.si),
        "bandwidth": prefixed(memory.bandwidth.si, "B/s", digits=4),
        "16-bit peak": prefixed(peak.si, "FLOP/s", digits=4),
        "link": prefixed(link.bandwidth.si, "B/s") if link else "-",
        "$/h": number(chip.price.cloud.si) if chip.price.cloud else "-",
    }


def model_row(model: Model) -> dict[str, str]:
    """Return a model's line of the list."""
    work = workload(model)
    return {
        "id": model.id,
        "name": model.name,
        "total": parameters(work.total_parameters),
        "active": parameters(work.active_parameters),
        "weights": f"{work.weight_format} {size(work.weight_bytes)}",
        "KV/token": size(work.cache_bytes_per_token),
        "context": f"{model.max_context:,}" if model.max_context else "-",
    }


def cautions(entries: Iterable[Any]) -> list[str]:
    """Say of listed entries what a reader must not overlook: assumed, remembered, unsure."""
    found: dict[str, list[str]] = {}
    for entry in entries:
        if getattr(entry, "hypothetical", False):
            found.setdefault("hypothetical", []).append(entry.id)
        confidence = getattr(entry, "confidence", None)
        if confidence in ("low", "memory"):
            found.setdefault(f"confidence {confidence}", []).append(entry.id)
    return [f"{caution}: {', '.join(ids)}" for caution, ids in found.items()]


def engine_row(engine: Engine) -> dict[str, str]:
    """Return an engine's line of the list."""
    kinds = [kind for kind, name in ENGINES.items() if name == engine.id]
    return {
        "id": engine.id,
        "name": engine.name,
        "default for": ", ".join(kinds) or "-",
        "fitted on": " ".join(engine.fitted_on.split()).split(";")[0],
    }


# -- one entry --------------------------------------------------------------------------


def hardware_parts(chip: Hardware) -> list[Part]:
    """Return a chip as tables: every number as written, its source, and what was printed."""
    runs = "layer after layer on the whole chip"
    if chip.execution == "spatial":
        runs = "each layer in a region of its own"
    about = f"{chip.name}; {chip.kind}, {chip.scope}; runs {runs}"
    found: list[Part] = [Title(chip.id, about), "", _quantities(chip)]
    return [*found, *_sources(chip.sources), *_remarks([*_readings(chip), *chip.notes])]


def engine_parts(engine: Engine) -> list[Part]:
    """Return an engine as tables: every parameter, what it means and where it is from."""
    about = f"{engine.name}; fitted on {' '.join(engine.fitted_on.split())}"
    found: list[Part] = [Title(engine.id, about)]
    rows = [
        (name, value.text, value.source or "-", value.note or "")
        for name, value in engine.parameters
        if value is not None
    ]
    if rows:
        heads = [("parameter",), ("value",), ("source",), ("meaning",)]
        found += ["", Table(heads, rows, left=(0, 1, 2, 3))]
    extra = [
        f"on {architecture}: {name} {value.text} ({value.note or value.source})"
        for architecture, own in engine.architectures.items()
        for name, value in own
        if value is not None
    ]
    return [*found, *_sources(engine.sources), *_remarks([*extra, *engine.notes])]


def model_parts(model: Model, weights: str | None, kv: str | None) -> list[Part]:
    """Return a model as tables: what it weighs, what a token costs, and its blocks."""
    work = workload(model, weights, kv)
    found: list[Part] = [Title(model.id, model.name), "", _counts(work)]
    if model.blocks:
        rows = [row for block in model.blocks for row in _block_rows(block)]
        found += ["", Table([("layers",), ("what is in one",)], rows, left=(1,))]
    return [*found, *_sources(model.sources), *_remarks([*cautions([model]), *model.notes])]


def _counts(work: Workload) -> Table:
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
    others = checkpoint_parameters(model) - work.total_parameters
    if others:
        kinds = (("MTP layers", model.mtp), ("vision tower", model.vision_parameters))
        named = " and ".join(kind for kind, there in kinds if there)
        rows.append(("alongside the core", f"{others:,.0f}", f"parameters of {named}"))
    published = model.published
    if published.checkpoint:
        count = f"{published.checkpoint.si:,.0f}"
        rows.append(("checkpoint", count, f"parameters; label {published.label or '-'}"))
    return Table([("count",), ("value",), ("of",)], rows, left=(0, 2))


def _block_rows(block: Block) -> Iterator[tuple[str, str]]:
    count = str(block.count)
    for part in (block.attention, block.ffn):
        if part is not None:
            yield count, _shape(part)
            count = ""


def _shape(part: Any) -> str:
    fields = part.model_dump(exclude_defaults=True, exclude_none=True)
    return f"{fields.pop('kind')}: {_named(fields)}"


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


def walk(entry: Any, path: str = "") -> Iterator[tuple[str, Quantity]]:
    """Yield every quantity of an entry with the path to it, in the order of the file's keys."""
    if isinstance(entry, Quantity):
        yield path, entry
    elif isinstance(entry, dict):
        for key, value in entry.items():
            yield from walk(value, f"{path} {key}".strip())
    elif isinstance(entry, list):
        for value in entry:
            name = getattr(value, "name", "")
            yield from walk(value, f"{path} {name}".strip())
    elif hasattr(type(entry), "model_fields"):
        for key in type(entry).model_fields:
            yield from walk(getattr(entry, key), f"{path} {key}".strip())


def _quantities(entry: Hardware) -> Table:
    rows = [
        (path.replace("_", " "), value.text, value.source or "-", value.printed or "")
        for path, value in walk(entry)
    ]
    heads = [("number",), ("value",), ("source",), ("printed",)]
    return Table(heads, rows, left=(0, 1, 2, 3))


def _readings(entry: Hardware) -> list[str]:
    """Say what a reader must know of single numbers: how they were read, how sure they are."""
    lines = []
    for path, value in walk(entry):
        remarks = [value.reading, value.note, value.date and f"of {value.date}"]
        if value.confidence in ("low", "memory"):
            remarks.append(f"confidence {value.confidence}")
        said = "; ".join(remark for remark in remarks if remark)
        if said:
            lines.append(f"{path.replace('_', ' ')}: {said}")
    return lines


def _sources(sources: dict[str, Any]) -> list[Part]:
    if not sources:
        return []
    lines = [
        f"{key}: {source.title}" + (f", {source.url}" if source.url else "")
        for key, source in sources.items()
    ]
    return ["", "sources", Notes(lines)]


def _remarks(lines: list[str]) -> list[Part]:
    return ["", "notes", Notes(lines)] if lines else []
