"""Load what requests name: models, the catalogue with own folders, formats and memory settings."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, cast, get_args

from fastcalc.catalogue.difference import changes
from fastcalc.catalogue.kinds import SCHEMAS, Kind
from fastcalc.catalogue.limits import LIMITS
from fastcalc.catalogue.once import once
from fastcalc.catalogue.schema import Model, Parameters
from fastcalc.catalogue.schema.engine_parameters import PARAMETERS, STARTED_WITH
from fastcalc.catalogue.store import Catalogue
from fastcalc.core.chip.host import memory_choice
from fastcalc.core.chip.tier import MemoryChoice, PlaceFor
from fastcalc.kit.request import readers
from fastcalc.kit.request.groups import (
    EngineLimits,
    FormatsToTry,
    HostMemory,
    OwnFolders,
    Plugins,
    PrefixHits,
)
from fastcalc.kit.request.readers import as_text
from fastcalc.kit.request.repositories import repository_model
from fastcalc.mentions import option
from fastcalc.written import ReadingNote

if TYPE_CHECKING:
    from fastcalc.kit.request.given_types import ModelGiven


DEFAULT_MODELS = ("llama-3.1-70b",)


def models_of(
    entries: Catalogue, names: Sequence["ModelGiven"] | None, notes: list[str]
) -> list[Model]:
    """Load the models that the user named, or the default one."""
    models: list[Model] = []
    given_names: list[list[str]] = []
    for name in names or DEFAULT_MODELS:
        named = repository_model(entries, name, notes)
        model = named or entries.model(name)
        if model not in models:
            models.append(model)
            given_names.append([])
        given_names[models.index(model)].append(_name_in(model, as_text(name)))
        notes += [] if named else reading_of(entries, name)
    entries.refuse_idle_changes("models", models)
    return [
        _asked_as(model, tuple(given)) for model, given in zip(models, given_names, strict=True)
    ]


def _name_in(model: Model, given: str) -> str:
    """Return the longest id or alias of a model with which the name of a repository begins."""
    base = f"{given.rpartition('/')[2].lower()}-"  # so that a name ends where a word does
    names = (name for name in (model.id, *model.aliases) if base.startswith(f"{name.lower()}-"))
    return max(names, key=len, default=given)


def reading_of(entries: Catalogue, name: "ModelGiven | None") -> list[str]:
    """Describe how a model's configuration was read. Warnings appear on the first screen."""
    if name is None or not entries.is_configuration(name):
        return []
    model = entries.model(name)
    return [
        ReadingNote(f"{model.id}: {note}")
        if note.startswith("Warning: ")
        else f"{model.id}: {note}"
        for note in model.notes
    ]


_asked_as = once(Model.asked_as)


def format_pairs(request: FormatsToTry) -> Iterator[tuple[str | None, str | None]]:
    """Yield each pair of weight and cache formats to try. None means the model's own format."""
    weights = readers.weights_if_any(request.weights) or (None,)
    caches = readers.caches_if_any(request.kv) or (None,)
    yield from product(weights, caches)


def catalogue(request: OwnFolders) -> Catalogue:
    """Load the catalogue. The user's own folders take precedence over the shipped files."""
    limits: dict[str, float] = {}  # without those that have their defaults
    for field, names in STARTED_WITH.items() if isinstance(request, EngineLimits) else ():
        if (text := request.values[field]) is not None:
            limit = PARAMETERS[names[0]].reader.limit
            value = readers.number(text, option(field), limit, 256 if limit.is_whole else 0.9)
            limits |= dict.fromkeys(names, value)
    parameters = Parameters.model_validate(limits) if limits else None
    return Catalogue(folders_of(request), tuple(changes(request.set)), parameters)


def folders_of(request: Plugins) -> dict[Kind, tuple[Path, ...]]:
    """Return the additional folders of each type: the user's own, then those of plugins."""
    folders: dict[Kind, tuple[Path, ...]] = {
        dimension: tuple(request.values.get(f"{dimension}_dir") or ()) for dimension in SCHEMAS
    }
    if request.plugins is not None:
        from fastcalc.catalogue.plugins import plugin_folders

        brought = plugin_folders(tuple(readers.names(request.plugins, option("plugins"))))
        folders = {dimension: (*folders[dimension], *brought[dimension]) for dimension in folders}
    return folders


def memory_of(entries: Catalogue, request: HostMemory) -> MemoryChoice:
    """Read the memory settings of a request."""
    goal = readers.choice(request.place_for, option("place_for"), get_args(PlaceFor))
    limits = request if isinstance(request, EngineLimits) else None
    tier = request.prefix_tier if isinstance(request, PrefixHits) else None
    memory = memory_choice(entries, request.host, request.host_use, request.place, tier)
    layers = {name: request.values.get(name) for name in ("n_gpu_layers", "n_cpu_moe")}
    for name, count in layers.items():
        if count is not None:
            readers.number(count, option(name), LIMITS["layers"], 20, zero=True)
    return replace(
        memory,
        place_for=cast(PlaceFor, goal),
        gpu_layers=layers["n_gpu_layers"],
        cpu_moe_layers=layers["n_cpu_moe"],
        longest=float(limits.max_model_len or 0.0) if limits else 0.0,
        slots=float(limits.max_num_seqs or 1) if limits else 1.0,
        lowers_sequence_limit=limits is None or limits.max_num_seqs is None,
        language_model_only=limits is not None and limits.language_model_only,
    )
