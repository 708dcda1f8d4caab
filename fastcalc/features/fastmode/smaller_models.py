"""Smaller models, from the catalogue or hypothetical. This technique changes the answers."""

from bisect import bisect_left
from dataclasses import dataclass, replace
from math import inf
from typing import Any

from fastcalc.catalogue.schema import DenseFFN, MixtureOfExperts, Model
from fastcalc.core.model.workload import workload
from fastcalc.core.outcome import solve
from fastcalc.core.scenario import Sharding
from fastcalc.errors import InputError
from fastcalc.features.fastmode.option import Option
from fastcalc.features.fastmode.start import Base, family_of, with_model


def smaller_models(base: Base) -> list[Option]:
    """Build options with smaller models that may replace today's, the largest first."""
    if not base.smaller:
        none = f"the catalogue has no smaller {family_of(base.scenario.model.id)}"
        reason = none if base.models is None else "none is given"
        return [Option("smaller-model", "", why_not=reason, is_ruled_out=base.keeps_model)]
    return base.options(
        ("smaller-model", model.id, with_model(base.scenario, model)) for model in base.smaller
    )


@dataclass(frozen=True)
class SmallerShape:
    """A hypothetical smaller model that reaches the speed at today's batch and chips."""

    active_parameters: float
    total_parameters: float
    layers: float


def fewer_layers(base: Base) -> SmallerShape | None:
    """Find the most layers with which today's shape still reaches the speed, if possible."""
    model, layers = base.scenario.model, int(base.today.placement.work.layers)
    return _largest(base, [_with_fewer_layers(model, count / layers) for count in range(1, layers)])


def thinner_layers(base: Base) -> SmallerShape | None:
    """Narrow the feed-forward networks of today's shape until it reaches the speed, if possible."""
    steps = 64
    shapes = [_with_thinner_ffn(base.scenario.model, step / steps) for step in range(1, steps)]
    return None if base.scenario.model.is_minimal else _largest(base, shapes)


def _largest(base: Base, shapes: list[Model]) -> SmallerShape | None:
    """Find the largest shape that reaches the speed. They must be in ascending order."""
    served = replace(base.scenario, batches=(base.batch,), sharding=Sharding.of(base.layout))

    def speed(model: Model) -> float:
        try:
            outcome = solve(replace(served, model=model))
        except InputError:
            return inf  # fewer layers than pipeline stages cannot be placed
        return float(outcome.estimate.speed[0]) if outcome.estimate.fits[0] else 0.0

    count = bisect_left(shapes, True, key=lambda model: speed(model) < base.speed)
    if not count or speed(shapes[count - 1]) == inf:
        return None
    work = workload(shapes[count - 1], base.scenario.weights, base.scenario.kv)
    return SmallerShape(work.active_parameters, work.total_parameters, work.layers)


def _with_fewer_layers(model: Model, fraction: float) -> Model:
    """Reduce a model to a fraction of its layers, or of its totals if only those are known."""
    update: dict[str, Any] = {"hypothetical": True}
    if model.is_minimal:  # only totals are known
        assert model.layers
        for key in ("total_parameters", "active_parameters", "kv_bytes_per_token"):
            quantity = getattr(model, key)
            if quantity is not None:
                update[key] = quantity.model_copy(update={"si": quantity.si * fraction})
        update["layers"] = max(round(model.layers * fraction), 1)
    else:
        update["blocks"] = [
            block.model_copy(update={"count": max(round(block.count * fraction), 1)})
            for block in model.blocks
        ]
    return model.model_copy(update=update)


def _with_thinner_ffn(model: Model, fraction: float) -> Model:
    """Reduce a model's feed-forward networks to a fraction of their width."""
    blocks = []
    for block in model.blocks:
        ffn = block.ffn
        if isinstance(ffn, (DenseFFN, MixtureOfExperts)):
            update = {"width": max(round(ffn.width * fraction), 1)}
            if isinstance(ffn, MixtureOfExperts):
                update["shared_width"] = round(ffn.shared_width * fraction)
            ffn = ffn.model_copy(update=update)
        blocks.append(block.model_copy(update={"ffn": ffn}))
    return model.model_copy(update={"blocks": blocks, "hypothetical": True})
