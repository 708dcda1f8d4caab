"""Catalogue entries as flat records, and all numbers of an entry by path."""

from collections.abc import Iterable
from typing import get_args

from fastcalc.catalogue.entry_numbers import numbers_of
from fastcalc.catalogue.schema import Engine, Hardware, Memory, Model, Quantity
from fastcalc.catalogue.schema.hardware import RateFormat
from fastcalc.core.chip.machine_class import ENGINES, OF_ARCHITECTURES
from fastcalc.core.model.workload import checkpoint_parameters, workload
from fastcalc.core.pricing import Pricing
from fastcalc.formulas.roofline import critical_batch
from fastcalc.kit.answer.point_records import Record, plain, plainly

CatalogueEntry = Hardware | Model | Engine

_PREFILL_TOKENS = 1000.0
_NAMES = {
    *("id", "name", "vendor", "kind", "scope", "execution", "architecture", "released"),
    *("hypothetical", "aliases"),
}
"""Keys of a file that are copied to its record, in file order, if present."""


def record_of(entry: CatalogueEntry, weights: str | None = None, kv: str | None = None) -> Record:
    """Describe an entry as a record. Models are described in the given formats."""
    if isinstance(entry, Model):
        return model_record(entry, weights, kv)
    return hardware_record(entry) if isinstance(entry, Hardware) else engine_record(entry)


def fastest_memory(chip: Hardware) -> Memory:
    """Return the memory with the highest bandwidth."""
    return max(chip.memory, key=lambda memory: memory.bandwidth.si)


def peak_16bit(chip: Hardware) -> Quantity:
    """Return the dense 16-bit peak: bf16, or fp16 if the chip has no bf16."""
    return chip.rate("bf16") or chip.peak["fp16"]


def _si(quantity: Quantity | None) -> float | None:
    return plain(quantity.si) if quantity else None


def hardware_record(chip: Hardware) -> Record:
    """Return the numbers of a chip in SI units. Each key ends with its unit."""
    fastest = fastest_memory(chip)
    balance = critical_batch(
        peak=peak_16bit(chip).si, bandwidth=fastest.bandwidth.si, bytes_per_weight=2.0
    )
    # All formats are included, so that all records have the same keys.
    formats = ("bf16", "fp16", "fp8", "int8", "fp4", *get_args(RateFormat))
    quote = Pricing().quote(chip)
    up, out = chip.links.scale_up, chip.links.scale_out
    return {
        **chip.model_dump(include=_NAMES),
        "cores": _si(chip.cores),
        "memory_tier": fastest.name,
        **{f"memory_{key}": size for key, size in _tier(fastest).items()},
        "memory": [{"name": tier.name, **_tier(tier)} for tier in chip.memory],
        "fabric_bandwidth_bytes_per_s": _si(chip.fabric.bandwidth if chip.fabric else None),
        **{f"peak_{name}_flop_per_s": _si(chip.rate(name)) for name in formats},
        "critical_batch_16bit": plain(float(balance)),
        "vector_flop_per_s": _si(chip.vector),
        "scale_up_bandwidth_bytes_per_s": _si(up.bandwidth if up else None),
        "scale_up_domain_chips": _si(up.domain if up else None),
        "scale_up_latency_s": _si(up.latency if up else None),
        "scale_out_bandwidth_bytes_per_s": _si(out.bandwidth if out else None),
        "scale_out_latency_s": _si(out.latency if out else None),
        "power_chip_w": _si(chip.power.chip if chip.power else None),
        "power_all_in_w": _si(chip.power.all_in if chip.power else None),
        **_prices(chip),
        "ranks": _si(chip.ranks),
        "price_terms": quote.terms,
        "price_is_uncertain": quote.is_uncertain,
    }


def _tier(memory: Memory) -> Record:
    return {"capacity_bytes": _si(memory.capacity), "bandwidth_bytes_per_s": _si(memory.bandwidth)}


def _prices(chip: Hardware) -> Record:
    """Return the prices of a chip, with its area and transistor count in between."""
    rent = chip.price.rent
    return {
        "price_cloud_usd_per_h": _si(rent),
        "price_cloud_date": rent and rent.date,
        "price_purchase_usd": _si(chip.price.purchase),
        "area_m2": _si(chip.area),
        "transistors": _si(chip.transistors),
        "price_offers": [
            {
                "provider": offer.provider,
                "terms": offer.terms,
                "region": offer.region,
                "instance_chips": offer.instance_chips,
                "usd_per_h": _si(offer.price),
                "date": offer.price.date,
                "commitment_months": offer.commitment_months,
                "confidence": offer.price.confidence,
            }
            for offer in chip.price.offers
        ],
    }


def model_record(model: Model, weights: str | None = None, kv: str | None = None) -> Record:
    """Return a model's size and costs per token. Null if its shape is not published."""
    work = workload(model, weights, kv)
    prompt = work.flops_per_token - 2.0 * work.weights.head.parameters
    attention: float | None = float(work.attention_flops(1.0))
    prefill: float | None = _PREFILL_TOKENS * (
        prompt + float(work.attention_flops(_PREFILL_TOKENS / 2.0, prompt=True))
    )
    if model.is_minimal:
        attention = prefill = None
    record = {
        **model.model_dump(include=_NAMES),
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
        "default_for": default_kinds(engine),
        "parameters_si": {name: _si(value) for name, value in engine.parameters},
    }


def default_kinds(engine: Engine) -> list[str]:
    """Return the chip types that use an engine by default."""
    return [chips for chips, name in (*ENGINES.items(), *OF_ARCHITECTURES) if name == engine.id]


def cautions(entries: Iterable[CatalogueEntry]) -> list[str]:
    """Collect cautions about entries: assumed values, values from memory, and low confidence."""
    ids_by_caution: dict[str, list[str]] = {}
    for entry in entries:
        if not isinstance(entry, Engine) and entry.hypothetical:
            ids_by_caution.setdefault("Hypothetical", []).append(entry.id)
        if isinstance(entry, Model) and entry.confidence in ("low", "memory"):
            ids_by_caution.setdefault(f"Confidence {entry.confidence}", []).append(entry.id)
    return [f"{caution}: {', '.join(ids)}" for caution, ids in ids_by_caution.items()]


def quantities(entry: Hardware | Engine) -> dict[str, Quantity]:
    """Return every quantity of an entry by its ``--set`` path, in file order."""
    numbers = numbers_of(entry)
    return {path: number for _, path, number, _ in numbers if isinstance(number, Quantity)}


def offers_of(chip: Hardware) -> dict[str, str]:
    """Describe the provider, region and terms of each price offer, by path."""
    offers = enumerate(chip.price.offers)
    return {f"price.offers[{index}].price": offer.name for index, offer in offers}
