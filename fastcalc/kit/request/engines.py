"""Choose the engine of each chip: the one named, or the usual one that can run the request."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from fastcalc.catalogue.schema import Engine, Hardware, Model
from fastcalc.catalogue.schema.engine_parameters import STARTED_WITH
from fastcalc.catalogue.store import Catalogue
from fastcalc.catalogue.weight_formats import is_read_by_llama_cpp
from fastcalc.core.chip.machine_class import engine_of_class
from fastcalc.kit.request import readers
from fastcalc.kit.request.groups import EngineLimits

if TYPE_CHECKING:
    from fastcalc.kit.request.given_types import EngineGiven, WordsGiven


def implied_engine(
    request: EngineLimits, weights: "WordsGiven | None", models: Sequence[Model]
) -> str | None:
    """Return the engine for a request that llama.cpp, the default, cannot run, or None otherwise.

    It is vLLM if limits with its names are set, if no GGUF file exists in one of the formats, or if
    llama.cpp has no cache in one of those requested.

    weights : The requested formats, by default those of the models' checkpoints.
    """
    limits = (*STARTED_WITH, "max_model_len", "language_model_only")
    if any(request.values[name] not in (None, False) for name in limits):
        return "vllm"
    caches = readers.caches_if_any(request.values.get("kv")) or []
    if not all(is_read_by_llama_cpp(name, as_published=True) for name in caches if name):
        return "vllm"
    asked = readers.weights_if_any(weights)
    formats = asked or [model.own_formats.text for model in models]
    is_read = partial(is_read_by_llama_cpp, as_published=not asked)
    if all(map(is_read, formats)):
        return None
    of_engine = (("exllama", "exl"), ("mlx", "mlx-"))
    alone = (
        engine for engine, start in of_engine if all(name.startswith(start) for name in formats)
    )
    return next(alone, "vllm")


def engines_of(
    entries: Catalogue,
    chips: list[Hardware],
    name: "EngineGiven | None",
    *,
    implied: str | None = None,
) -> list[tuple[Engine, bool]]:
    """Return the engine of each chip, with whether it is borrowed.

    implied : The engine from `implied_engine`, which GPUs or Macs run instead of llama.cpp.
    """
    if name is not None:
        return [(entries.engine(name), False)] * len(chips)
    kinds = ("apple",) if implied == "mlx" else ("gpu", "soc")
    names = [
        (implied, False)
        if implied and usual == "llama-cpp" and chip.kind in kinds
        else (usual, is_borrowed)
        for chip, (usual, is_borrowed) in zip(chips, map(engine_of_class, chips), strict=True)
    ]
    engines = {engine: entries.engine(engine) for engine in dict(names)}
    return [(engines[engine], is_borrowed) for engine, is_borrowed in names]
