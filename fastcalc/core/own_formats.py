"""The formats that a model is published in, and what has fewer bits than those."""

from fastcalc.catalogue.formats import number_format, weight_formats
from fastcalc.catalogue.schema import Model
from fastcalc.core.scenario import Scenario, default_cache


def own_formats(model: Model) -> tuple[str, str]:
    """Formats that a model is published in: of its weights, and of its cache."""
    return model.expert_format or model.weight_format, model.kv_format


def narrows_weights(scenario: Scenario) -> bool:
    """Whether weights have fewer bits than any release of the model's maker."""
    model, chosen_format = scenario.model, scenario.weights
    if chosen_format is None or chosen_format in (own_formats(model)[0], *model.also_published):
        return False
    published = model.expert_format or model.weight_format
    originals = weight_formats(model.weight_format)[0], weight_formats(published)[1]
    pairs = zip(weight_formats(chosen_format), originals, strict=True)
    return any(chosen.bits < original.bits for chosen, original in pairs)


def narrows_cache(scenario: Scenario) -> bool:
    """Whether a cache of fewer bits than the engine keeps for the model is asked for."""
    default_format = default_cache(scenario.model, scenario.engine, None)
    chosen, default = (
        number_format(name) for name in (scenario.kv or default_format, default_format)
    )
    return chosen.cache_bytes < default.cache_bytes


def is_narrowed(scenario: Scenario) -> bool:
    """Whether weights or cache have fewer bits than published, or than the engine keeps."""
    return narrows_weights(scenario) or narrows_cache(scenario)
