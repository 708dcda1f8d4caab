"""Checkpoint that a server loads: a repository, or a folder of the user."""

from collections.abc import Container
from pathlib import PurePath

from fastcalc.catalogue.formats import number_format
from fastcalc.catalogue.schema import Model
from fastcalc.catalogue.schema.models import REPOSITORY


def checkpoint_of(
    loaded_as: Container[str], model: Model, weights: str | None, name: str
) -> tuple[str, str | None]:
    """Checkpoint that a server loads, and the format that the engine quantizes it to, if any.

    A folder is named if no repository is known for the model, or for these weights.

    loaded_as : formats to which the engine quantizes 16-bit weights
    weights : format of the weights; None for the model's own
    name : name of the model or its file, as the user typed it
    """
    repository = model.repositories.get(name.lower())
    model_format = model.format_name
    folder = f"./{_folder_name(name)}"
    if weights in (None, model_format):
        return repository or folder, None
    published = model.also_published.get(weights)
    if published is not None and name.lower() == model.id and REPOSITORY.fullmatch(published.text):
        return published.text, None
    is_wide = number_format(model.weight_format).bits == 16 and model_format == model.weight_format
    if repository and is_wide and weights in loaded_as:
        return repository, weights
    return f"{folder}-{weights}", None


def _folder_name(name: str) -> str:
    """Stem of a model file, or the unchanged name of a model.

    >>> [_folder_name(name) for name in ("../models/my-model.yaml", "llama-3.3-70b")]
    ['my-model', 'llama-3.3-70b']
    """
    path = PurePath(name)
    return path.stem if path.suffix in (".yaml", ".yml") else path.name
