"""Models by the names of Hugging Face repositories, which may be fine-tunes and checkpoints."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fastcalc.catalogue.formats import weight_name
from fastcalc.catalogue.once import once
from fastcalc.catalogue.schema import Model
from fastcalc.catalogue.store import Catalogue
from fastcalc.core.model.workload import formats_asked
from fastcalc.importers.naming import (
    checkpoint_format,
    is_quantized_copy,
    model_id,
    repository,
)
from fastcalc.mentions import option

if TYPE_CHECKING:
    from fastcalc.kit.request.given_types import ModelGiven


_FILE_TYPE = re.compile(r"(ud-)?((iq|tq|q)\d|mxfp4)", re.IGNORECASE)
"""How names of quantizations of llama.cpp begin."""


def published_formats(entries: Catalogue, names: Sequence["ModelGiven"] | None) -> Iterator[str]:
    """Weight formats that names of repositories, and configurations of checkpoints, state."""
    for name in names or ():
        if entries.is_configuration(name):
            yield entries.model(name).own_formats.text
        elif repository_model(entries, name, []) and (stored := checkpoint_format(str(name))):
            yield stored


def repository_model(entries: Catalogue, name: "ModelGiven", notes: list[str]) -> Model | None:
    """Entry of a Hugging Face repository, or of a name with a format; None for anything else.

    A fine-tune has the shape of the model whose name ends its own. The weights are in the format
    that the name states.
    """
    text = str(name)
    if isinstance(name, Model) or Path(text).exists() or text.startswith("."):
        return None
    if text.lower().endswith((".json", ".yaml", ".yml", ".gguf")):
        return None
    is_repository = "/" in text
    if not is_repository and entries.knows(text, "models"):
        return None
    known_id = model_id(text, entries)
    if known_id is None and is_repository:
        words = repository(text).rpartition("/")[2].lower().split("-")
        ends = ("-".join(words[at:]) for at in range(1, len(words)))
        known_id = next(filter(None, (model_id(end, entries) for end in ends)), None)
    if known_id is None:
        named, _, tag = text.partition(":")
        if _FILE_TYPE.match(tag) and repository_model(entries, named, []):
            weight_name(tag)  # says what it may mean
        return None
    stored = checkpoint_format(text)
    if stored is None:
        notes.append(
            f"Warning: {text} does not say how its weights are stored: they are taken as "
            f"{entries.model(known_id).own_formats.text}; {option('weights')} says another format"
        )
    weights = f"; its weights are {stored}" if stored else ""
    model = entries.model(known_id)
    longest = ""
    is_copy = not is_repository or is_quantized_copy(text, model.repositories.values())
    if model.max_context and not is_copy:
        longest = f"; its config.json may state another longest context than {model.max_context:,}"
    notes.append(f"{text} is computed as {known_id}, which has the same shape{weights}{longest}")
    return _stored_as(model, stored or None)


@once
def _stored_as(model: Model, stored: str | None) -> Model:
    """The same model as a checkpoint that has its weights in a format."""
    formats = formats_asked(model, stored)
    if formats == model.own_formats:
        return model
    groups = {name: mixed.id for name, mixed in formats.groups}
    own = {"weight_format": formats.base.id, "expert_format": None, "group_formats": groups}
    return model.model_copy(update=own)
