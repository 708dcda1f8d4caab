"""The formats that a model is published in, and what has fewer bits than those."""

from fastcalc.catalogue.formats import number_format, weight_formats
from fastcalc.catalogue.schema import Model
from fastcalc.core.scenario import Scenario, default_cache


def own_formats(model: Model) -> tuple[str, str]:
    """Return the formats that a model is published in: of its weights, and of its cache."""
    return model.expert_format or model.weight_format, model.kv_format


def narrows_weights(scenario: Scenario) -> bool:
    """Return whether weights have fewer bits than any release of the model's maker."""
    model, given = scenario.model, scenario.weights
    if given is None or given in (own_formats(model)[0], *model.also_published):
        return False
    published = model.expert_format or model.weight_format
    own = weight_formats(model.weight_format)[0], weight_formats(published)[1]
    pairs = zip(weight_formats(given), own, strict=True)
    return any(one.bits < other.bits for one, other in pairs)


def narrows_cache(scenario: Scenario) -> bool:
    """Return whether a cache of fewer bits than the engine keeps for the model is asked for."""
    own = default_cache(scenario.model, scenario.engine, None)
    kept, whole = (number_format(name) for name in (scenario.kv or own, own))
    return kept.cache_bytes < whole.cache_bytes


def is_narrowed(scenario: Scenario) -> bool:
    """Return whether weights or cache have fewer bits than published, or than the engine keeps."""
    return narrows_weights(scenario) or narrows_cache(scenario)
