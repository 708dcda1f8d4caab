"""Notes on the catalogue files behind an answer: inherited and missing values."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from fastcalc.catalogue.schema import Engine, Hardware
from fastcalc.core.chip.formats_run import widened_by
from fastcalc.core.chip.machine_class import class_of, engine_of_class
from fastcalc.core.placement.placement import Placement
from fastcalc.core.pricing import Pricing
from fastcalc.core.speed_range import publishers_on
from fastcalc.core.undetermined import is_assumed
from fastcalc.mentions import option
from fastcalc.written import listed

_OF_A_CHIP = ("memory", "peak", "vector", "cores", "ranks", "fabric", "links", "power", "price")
"""The keys of a chip's file that affect answers."""


def inherited_notes(hardware: Hardware, pricing: Pricing) -> Iterator[str]:
    """Yield notes on values that a chip inherits from the chip that its file extends."""
    keys = dict[str, list[str]]()
    for key in _OF_A_CHIP:
        is_given = key == "price" and hardware.id in pricing.user_prices
        if key in hardware.inherited and not is_given:
            keys.setdefault(hardware.inherited[key], []).append(key)
    for parent, names in keys.items():
        yield f"{hardware.id} inherits {listed(names)} from {parent}"


def instance_notes(hardware: Hardware, pricing: Pricing) -> Iterator[str]:
    """Yield a note if the chip's price refers to instances with several chips."""
    offer = pricing.quote(hardware).offer
    if offer is not None and offer.instance_chips is not None:
        size = "one chip" if offer.instance_chips == 1 else f"{offer.instance_chips} chips"
        yield (
            f"{hardware.id} is only priced in instances of {size} ({offer.name}). For larger "
            f"machines, set a price with {option('price', f'{hardware.id}=USD')}"
        )


def plugin_notes(hardware: Hardware, engine: Engine) -> Iterator[str]:
    """Yield a note if an engine supports a chip only through a plugin.

    Source: docs.vllm.ai, getting_started/installation/gpu (Apple Silicon).
    """
    if engine.program == "vllm" and hardware.vendor == "Apple":
        yield (
            f"{hardware.id}: {engine.id} only runs on this GPU with the plugin vLLM-Metal, which "
            f"uses the kernels of MLX, so {option('engine', 'mlx')} is more accurate; its memory "
            "at start-up has not been measured"
        )


def engine_notes(hardware: Hardware, engine: Engine, *, is_borrowed: bool) -> Iterator[str]:
    """Yield a note if the engine was not fitted on this chip, with its borrowed values."""
    yield from plugin_notes(hardware, engine)
    is_fitted = hardware.architecture in engine.fitted_architectures
    if is_fitted or is_assumed(engine) or not (engine.ranges or is_borrowed):
        return
    is_default = engine.id == engine_of_class(hardware)[0]
    title = f" (default for {class_of(hardware)} chips)" if is_default else ""
    wider = "" if publishers_on(engine, hardware) else ", and the 80% range is wider"
    chips = f"{hardware.architecture} chips" if hardware.architecture else "this chip"
    yield (
        f"{hardware.id}: engine {engine.id}{title} has no measurements of {chips}, so latency "
        f"floors are those fitted on other chips{wider}"
    )


def model_notes(placement: Placement) -> Iterator[str]:
    """Yield notes on unpublished parts of a model's architecture, and on terms omitted for them."""
    work = placement.work
    model = work.model
    if model.confidence in ("low", "memory"):
        yield f"the shape of {model.id} has confidence '{model.confidence}'"
    if model.is_minimal:
        yield f"the heads of {model.id} are not published, so attention FLOPs are not counted"
        if model.vocabulary is None and placement.kept.sampling:
            yield (
                f"the vocabulary of {model.id} is not published; the memory of logits assumes "
                f"{work.vocabulary:,} entries, the median of all models"
            )
        if model.hidden_size is None and placement.layout.chips > 1:
            yield (
                f"the hidden size of {model.id} is not published; communication assumes "
                f"{work.sent_width:,.0f}, the median of models with as many parameters per layer"
            )
        if work.experts and model.experts is None:
            yield (
                f"the experts of {model.id} are not published; all active parameters are assumed "
                "to be routed"
            )


def unpacking_notes(placement: Placement) -> Iterator[str]:
    """Yield notes on engine kernels that process low-bit formats at the 16-bit rate."""
    machine = placement.machine
    kernels = widened_by(machine.engine, machine.hardware)
    names: dict[str, None] = {}
    for group, mix in placement.work.formats._asdict().items():
        for stored, _ in mix.shares:
            if kernel := kernels.of(group).get(stored.id):
                weights = "weights" if stored.id in kernels.dense else "experts"
                multiplied = "KV cache" if group == "kv" else weights
                names[f"{stored.id} {multiplied} ({kernel})"] = None
    for name in names:
        yield (
            f"{machine.hardware.id}: {machine.engine.id} computes {name} no faster than in 16 bits"
        )


def no_price_note(hardware: Hardware, pricing: Pricing) -> str:
    """Return a note on a chip without the requested type of price, and how to set one."""
    terms = dict.fromkeys(offer.terms for offer in hardware.chip_price.offers)
    only_terms = f" (only {', '.join(terms)})" if terms and pricing.offer else ""
    remedy = f"set one with {option('price', f'{hardware.id}=USD')}"
    owned = replace(pricing, basis="tco")
    if pricing.offer is None and owned.per_chip_hour(hardware) is not None:
        remedy += f", or use its ownership cost with {option('price_basis', 'tco')}"
    missing = "ownership cost" if pricing.basis == "tco" else f"{pricing.name} price{only_terms}"
    return f"{hardware.id} has no {missing}, so its costs are blank; {remedy}"


def limit_notes(placement: Placement, batch: int) -> Iterator[str]:
    """Yield a note if the batch exceeds the engine's default limit on sequences.

    batch : The largest batch.
    """
    limit = float(np.min(placement.engine_batch)) / placement.layout.dp
    if batch / placement.layout.dp > limit:
        name, setting = placement.machine.engine.id, option(limiting_setting(placement))
        yield (
            f"{name} runs at most {limit:,.0f} sequences per replica; raise {setting} for larger "
            "batches"
        )


def limiting_setting(placement: Placement) -> str:
    """Return the setting that changes the engine's limit on concurrent sequences."""
    machine = placement.machine
    limit = float(np.min(machine.max_sequences))
    if np.min(placement.engine_batch) < np.floor(limit) * placement.layout.dp:
        return "max_model_len"  # all sequences share a context
    is_of_budget = limit == float(np.min(machine.software.prompt_chunk))
    return "max_num_batched_tokens" if is_of_budget else "max_num_seqs"
