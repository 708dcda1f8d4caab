"""Find models by Hugging Face repository names, including fine-tunes and checkpoints."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from fastcalc.catalogue.once import once
from fastcalc.catalogue.schema import Model
from fastcalc.catalogue.store import Catalogue
from fastcalc.catalogue.weight_formats import weight_name
from fastcalc.core.model.workload import formats_asked
from fastcalc.importers.naming import (
    checkpoint_cache,
    checkpoint_format,
    is_quantized_copy,
    model_id,
    repository,
    usual_format,
)
from fastcalc.mentions import option

if TYPE_CHECKING:
    from fastcalc.kit.request.given_types import ModelGiven


_FILE_TYPE = re.compile(r"(ud-)?((iq|tq|q)\d|mxfp4)", re.IGNORECASE)
"""Matches the prefixes of llama.cpp quantization names."""


def repository_model(entries: Catalogue, name: "ModelGiven", notes: list[str]) -> Model | None:
    """Load the model of a Hugging Face repository, or of a name with a format. None otherwise.

    A fine-tune has the shape of the model whose name ends its own name. Weights are in the format
    that the name specifies.
    """
    text = str(name)
    if isinstance(name, Model) or Path(text).exists() or text.startswith("."):
        return None
    is_file = text.lower().endswith(".gguf")
    if text.lower().endswith((".json", ".yaml", ".yml")) or (
        is_file and not checkpoint_format(text)
    ):
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
        base_name, _, tag = text.partition(":")
        if _FILE_TYPE.match(tag) and repository_model(entries, base_name, []):
            weight_name(tag)  # its error suggests formats
        return None
    model = entries.model(known_id)
    stored, cache, longest = _stored(text, model), checkpoint_cache(text), ""
    notes += _sentences_on_formats(text, model, stored)
    weights = f"; its weights are {stored}" if stored else ""
    weights += f", its cache is {cache}" if cache else ""
    is_copy = not is_repository or is_quantized_copy(text, model.repositories.values())
    if model.max_context and not is_copy:
        longest = f"; its config.json may state another longest context than {model.max_context:,}"
    missing = ": there is no such file; its name" if is_file else ""
    notes.append(
        f"{text}{missing} is computed as {known_id}, which has the same shape{weights}{longest}"
    )
    return _stored_as(model, stored, cache)


def _stored(text: str, model: Model) -> str | None:
    """Return the weight format a name specifies or usually implies, or None for the model's own.

    From a GGUF repository, llama.cpp loads Q4_K_M, or the only file for gpt-oss. Experts published
    in mxfp4 stay in mxfp4, whatever format the name of the GGUF file specifies.
    """
    stored = checkpoint_format(text)
    if not re.search(r"[-.]gguf$", repository(text).lower()):
        return usual_format(text) if stored is None else stored or None
    if model.expert_format != "mxfp4" or (stored or "").startswith("mxfp4-"):
        return stored or "q4_k_m"
    return f"mxfp4-experts-{stored if stored not in {None, '', 'mxfp4'} else 'q8_0'}"


def _sentences_on_formats(text: str, model: Model, stored: str | None) -> Iterator[str]:
    """Yield notes on the assumed format if the name does not specify one."""
    hint = f"{option('weights')} sets another format"
    stated = checkpoint_format(text)
    if stated is None:
        written = stored or model.own_formats.text
        yield (
            f"Warning: {text} does not say how its weights are stored: they are taken as "
            f"{written}; {hint}"
        )
    elif not stated and stored:
        yield f"{text} has files in several formats: llama.cpp loads {stored}; {hint}"


@once
def _stored_as(model: Model, stored: str | None, cache: str | None) -> Model:
    """Convert the weights and cache of a model's checkpoint to other formats."""
    formats = formats_asked(model, stored)
    changes: dict[str, object] = {"kv_format": cache or model.kv_format}
    if stored and (model.expert_format or formats != model.own_formats):
        groups = {name: mixed.id for name, mixed in formats.groups}
        changes |= {
            "weight_format": formats.base.id,
            "expert_format": None,
            "group_formats": groups,
        }
    if changes == {"kv_format": model.kv_format}:
        return model
    return model.model_copy(update=changes)
