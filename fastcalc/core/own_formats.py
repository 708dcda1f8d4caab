"""Comparison of requested number formats with those that a model is published in."""

from fastcalc.catalogue.formats import number_format
from fastcalc.catalogue.once import once
from fastcalc.catalogue.schema import Engine, Hardware, Model
from fastcalc.catalogue.weight_formats import QUANTIZED
from fastcalc.core.model.workload import formats_asked, workload
from fastcalc.core.scenario import Scenario, cache_format, default_weights


def own_formats(model: Model) -> tuple[str, str]:
    """Return the published formats of a model's weights and cache."""
    return model.format_name, model.kv_format


def narrows_weights(scenario: Scenario) -> bool:
    """Check whether weights are quantized below every release by the model's maker."""
    return _narrows_weights(scenario.model, scenario.weights)


@once
def _narrows_weights(model: Model, chosen_format: str | None) -> bool:
    if chosen_format is None or chosen_format in (own_formats(model)[0], *model.also_published):
        return False
    chosen, published = formats_asked(model, chosen_format), model.own_formats
    return any(chosen.of(group).bits < published.of(group).bits for group in QUANTIZED)


def narrows_cache(scenario: Scenario) -> bool:
    """Check whether the cache has lower precision than the engine's default for the model."""
    return _narrows_cache(scenario.model, scenario.engine, scenario.hardware, scenario.kv)


@once
def _narrows_cache(model: Model, engine: Engine, hardware: Hardware, kv: str | None) -> bool:
    weights = default_weights(model, engine)
    chosen, default = (
        workload(model, weights, cache_format(model, engine, hardware, weights, name)).kv_format
        for name in (kv, None)
    )
    in_cache = {name: number_format(name, cache=True) for name in (chosen, default)}
    return in_cache[chosen].cache_bytes < in_cache[default].cache_bytes


def is_narrowed(scenario: Scenario) -> bool:
    """Check whether weights or cache have lower precision than the published or default format."""
    return narrows_weights(scenario) or narrows_cache(scenario)
