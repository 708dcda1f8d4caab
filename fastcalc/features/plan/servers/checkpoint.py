"""Weights that a server loads: a repository, or a folder that the user has."""

from collections.abc import Container
from pathlib import PurePath

from fastcalc.catalogue.formats import number_format
from fastcalc.catalogue.schema import Model
from fastcalc.catalogue.schema.models import REPOSITORY


def checkpoint_of(
    loaded_as: Container[str], model: Model, weights: str | None, name: str
) -> tuple[str, str | None]:
    """What a server loads, and the format that the engine brings it to, if any.

    A folder is named where no repository is known of the model, or of these weights.

    loaded_as : formats that the engine brings 16-bit weights to
    weights : format of the weights; None for the model's own
    name : of the model or its file, as the user typed it
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
    """The stem of a model file, or the name of a model as it is.

    >>> [_folder_name(name) for name in ("../models/my-model.yaml", "llama-3.3-70b")]
    ['my-model', 'llama-3.3-70b']
    """
    path = PurePath(name)
    return path.stem if path.suffix in (".yaml", ".yml") else path.name
