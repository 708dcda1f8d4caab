"""Conversion of a configuration to the mapping of a model file, with remarks."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from math import floor
from pathlib import Path

from fastcalc.catalogue.formats import format_mix
from fastcalc.catalogue.reader import Document, Path_
from fastcalc.catalogue.schema import Model
from fastcalc.catalogue.validation import validate
from fastcalc.core.model.workload import checkpoint_parameters
from fastcalc.errors import InputError
from fastcalc.importers.gguf import read_header
from fastcalc.importers.huggingface import unknown
from fastcalc.importers.huggingface.config import Fields
from fastcalc.importers.huggingface.families import ALIASES, FAMILIES, ModelFamily
from fastcalc.importers.huggingface.from_gguf import configuration
from fastcalc.importers.huggingface.json_file import CONFIG, JsonFile, config_path, read_json
from fastcalc.importers.huggingface.parts import Layer
from fastcalc.importers.huggingface.quantization import Formats, as_formats, formats, quoted
from fastcalc.importers.huggingface.rotary import rotary_embeddings
from fastcalc.importers.huggingface.towers import vision_parameters
from fastcalc.mentions import option
from fastcalc.written import Json, without_controls

_INNER = ("text_config", "llm_config", "language_config")
_OUTER = ("torch_dtype", "dtype", "quantization_config", "tie_word_embeddings")
_TOWERS = ("vision_config", "audio_config", "vision_tower_config", "visual")
_SIDECARS = {
    "hf_quant_config.json": "modelopt",
    "quantize_config.json": "gptq",
    "quant_config.json": "awq",
}
"""Files that quantizers write next to a configuration, and the methods that write them."""

_QUANTIZED_NAME = re.compile(
    r"nvfp4|mxfp4|fp8|awq|gptq|int[48]|w[48]a(?:4|8|16)|[0-9]-?bit|bnb|quantized|exl[23]", re.I
)
_PREDICTING = ("num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_modules")
_HASH = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True)
class Imported:
    """An imported model, the mapping of its file, and remarks on how it was read."""

    entry: dict[str, Json]
    model: Model
    remarks: list[str]


def import_model(name: str | Path, *, id: str | None = None) -> Imported:  # noqa: A002
    """Read a Hugging Face configuration (file or folder), or the header of a GGUF file."""
    path = config_path(name)
    if path.suffix.lower() == ".gguf":
        header = read_header(path)
        file = JsonFile(str(path), configuration(path, header))
        stored = replace(as_formats(header.stored, header.sizes), cache="fp16")
        entry, remarks = mapping(file, stored)
        read = _loaded(file, label(path, file.data), id, entry, remarks)
        counted = checkpoint_parameters(read.model)
        if abs(counted / header.parameters - 1.0) <= _MOST_OFF:
            return read
        warning = (
            f"Warning: the file's tensors have {header.parameters / 1e9:.2f} B parameters, but "
            f"{counted / 1e9:.2f} B follow from its keys: the imported model may be incomplete."
        )
        entry = {**read.entry, "notes": [warning, *remarks]}
        return _loaded(file, label(path, file.data), id, entry, [warning, *remarks])
    file = read_json(path)
    hint = _with_sidecar(path, file)
    name = label(path, file.data)
    entry, remarks = mapping(file)
    if hint:
        remarks = [hint, *remarks]
        entry["notes"] = [*remarks]
    return _loaded(file, name, id, entry, remarks)


def _with_sidecar(path: Path, file: JsonFile) -> str:
    """Add the quantization from a file next to a configuration. Return a warning if it is missing.

    ModelOpt, AutoGPTQ and AutoAWQ write it to a separate file, and MLX under another key.
    """
    of_mlx = file.data.get("quantization")
    if isinstance(of_mlx, dict) and not file.data.get("quantization_config"):
        file.data["quantization_config"] = of_mlx
    if file.data.get("quantization_config") or not file.data.get("model_type"):
        return ""
    sidecar = next((name for name in _SIDECARS if path.with_name(name).is_file()), None)
    if sidecar is not None and path.name == CONFIG:
        file.sidecar = read_json(path.with_name(sidecar))
        stated = file.sidecar.data.get("quantization", file.sidecar.data)
        if isinstance(stated, dict):
            file.data["quantization_config"] = {"quant_method": _SIDECARS[sidecar], **stated}
        return ""
    if sidecar is not None:
        return (
            f"Warning: {sidecar} next to this file states how weights are stored, but is read only "
            f"with a {CONFIG}: name the folder."
        )
    names = (path.stem, path.resolve().parent.name, str(file.data.get("_name_or_path") or ""))
    term = next((match[0] for name in names if (match := _QUANTIZED_NAME.search(name))), None)
    return (
        f"Warning: the name states '{term}', but the configuration has no quantization_config: put "
        f"{' or '.join(list(_SIDECARS)[:2])} next to it, or give {option('weights')} FORMAT."
        if term
        else ""
    )


_MOST_OFF = 0.005
"""The tolerated relative difference between counted and stored parameters."""


def _loaded(
    file: JsonFile,
    name: str,
    id: str | None,  # noqa: A002
    entry: dict[str, Json],
    remarks: list[str],
) -> Imported:
    entry = {"id": id or slug(name), "name": name, **entry}
    # Violations of the schema are problems in the configuration.
    locations = dict.fromkeys(_paths(entry), (1, 1))
    model, faults = validate(Document(file.file, entry, locations, dict(locations)), Model)
    if model is None:
        raise InputError(str(faults[0]))
    return Imported(entry, model, remarks)


def mapping(file: JsonFile, stored: Formats | None = None) -> tuple[dict[str, Json], list[str]]:
    """Build the mapping of a model file, without id and name, and the remarks."""
    thinker = file.data.get("thinker_config")
    if isinstance(thinker, dict):  # of an omni model: the text model, not the speech model
        file.data |= thinker
    fields, family = _fields(file)
    fields.require("hidden_size", "vocab_size", *family.needs)
    layers = family.read(fields)
    tied = _is_tied(file, fields, is_usual=family.tied)
    predicting = fields.maybe(*_PREDICTING, minimum=0) or 0
    is_stated = stored is None
    if stored is None:
        stored = formats(fields, layers, predicting if family.mtp is not None else 0)
    context = fields.maybe("max_position_embeddings", "n_positions", "max_sequence_length")
    entry: dict[str, Json] = {
        "sources": {"config": {"title": _title(file, is_stated=is_stated)}},
        "shape_source": "config",
        **({"printed": printed} if (printed := _printed(fields, stored, is_stated)) else {}),
        "weight_format": stored.weights,
        **({"expert_format": stored.experts} if stored.experts else {}),
        **({"group_formats": {**stored.groups}} if stored.groups else {}),
        **({"block_sizes": {"fp8": stored.block_side}} if stored.block_side else {}),
        "kv_format": stored.cache,
        **({"max_context": context} if context else {}),
        **(rotary_embeddings(fields, layers) if context else {}),
        "hidden_size": fields.count("hidden_size"),
        "vocabulary": fields.count("vocab_size"),
        "tied_embeddings": tied,
        **({"norm_bias": True} if family.norm_bias else {}),
        **(family.extras(fields) if family.extras else {}),
        "blocks": blocks(layers),
    }
    if predicting:
        fields.remark(
            "Multi-token-prediction layers are also stored, and are not counted in the text core."
        )
        if family.mtp is not None:
            entry["mtp"] = {"layers": predicting, **family.mtp}
    entry |= _towers(file, fields)
    if notes := fields.notes():
        entry["notes"] = [*notes]
    return entry, notes


def _is_tied(file: JsonFile, fields: Fields, *, is_usual: bool) -> bool:
    """Check whether embedding and head are one matrix. A contradictory file adds a warning."""
    tied = fields.flag("tie_word_embeddings", is_usual)
    if file.data.get("tie_word_embeddings") not in (None, tied):
        fields.remark(
            f"Warning: tie_word_embeddings is {str(tied).lower()} for the text model and "
            f"{str(not tied).lower()} outside it; engines differ in which value they use."
        )
    return tied


def _title(file: JsonFile, *, is_stated: bool) -> str:
    """Return the title of the source: type and name of the file, and its model type."""
    writer = "Hugging Face configuration" if is_stated else "header of GGUF file"
    model_type = file.data.get("model_type")
    of_type = (
        f", model_type {without_controls(model_type)[:40]}" if isinstance(model_type, str) else ""
    )
    return f"{writer} {without_controls(file.file)[:200]}{of_type}"


def _towers(file: JsonFile, fields: Fields) -> dict[str, Json]:
    """Count the parameters of a vision tower if its configuration gives the dimensions."""
    if not any(file.data.get(tower) for tower in _TOWERS):
        return {}
    vision_size = vision_parameters(file.data.get("vision_config"), fields.count("hidden_size"))
    if not vision_size:
        fields.remark("Only the text model is counted, not the vision or audio tower.")
        return {}
    unheard = ", and the audio tower is not counted" if file.data.get("audio_config") else ""
    fields.remark(
        f"vision_parameters is counted from vision_config, separately from the text{unheard}."
    )
    return {"vision_parameters": {"value": vision_size, "source": "config", "confidence": "medium"}}


def _printed(fields: Fields, stored: Formats, is_stated: bool) -> dict[str, Json]:
    if is_stated:
        return quoted(fields.data, stored)
    bits = floor(format_mix(stored.weights).bits)
    return {"weight_format": f"tensors of {stored.weights}, {bits}-bit"} if bits < 16 else {}


def blocks(layers: list[Layer]) -> list[Json]:
    """Group identical layers into blocks with counts, in order of first appearance."""
    type_names = list(map(repr, layers))
    counts = Counter(type_names)
    return [
        {"count": counts[model_type], **layers[type_names.index(model_type)]}
        for model_type in counts
    ]


def label(path: Path, data: dict[str, Json]) -> str:
    """Return a name for a model from the file, its folder or the configuration.

    >>> label(Path("Llama-3.1-8B/config.json"), {})
    'Llama-3.1-8B'
    >>> label(Path("config.json"), {"model_type": "llama"})
    'llama'
    """
    folder = path.parent
    if folder.parent.name == "snapshots" and _HASH.fullmatch(folder.name):
        folder = folder.parent.parent
    stem = "" if path.name == CONFIG else path.stem.removesuffix("_config")
    names = (data.get("_name_or_path"), data.get("model_type"))
    for text in (stem, folder.name, *names):
        last = re.split(r"/|\\|--", text.rstrip("/\\"))[-1] if isinstance(text, str) else ""
        if slug(last):
            return without_controls(last)[:80]
    return "imported-model"


def slug(text: str) -> str:
    """Convert a text to an id: lowercase letters, digits, dots, dashes and underscores.

    >>> slug("Llama 3.1 (8B)")
    'llama-3.1-8b'
    """
    return re.sub(r"[^a-z0-9._-]+", "-", text.lower()).strip("-._")[:80].strip("-._")


def _fields(file: JsonFile) -> tuple[Fields, ModelFamily]:
    data, outer = file.data, Fields(file.data, file)
    roots: tuple[Path_, ...] = ((),)
    inner = next((name for name in _INNER if outer.mapping(name)), None)
    type_names = [outer.word("model_type")]
    if inner is not None:
        type_names.insert(0, outer.nested(inner).word("model_type"))
        inherited = {key: data[key] for key in _OUTER if key in data}
        stated = outer.nested(inner).data.items()
        data = inherited | {key: value for key, value in stated if value is not None}
        roots = ((inner,), ())
    refused = next((model_type for model_type in type_names if model_type in unknown.REFUSED), None)
    for model_type in type_names if refused is None else ():
        family = FAMILIES.get(ALIASES.get(model_type or "", model_type or ""))
        if family:
            return Fields(data, file, family.defaults, roots), family
    fields = Fields(data, file, roots=roots)
    return fields, unknown.family(
        fields, refused or next((model_type for model_type in type_names if model_type), None)
    )


def _paths(value: Json, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    yield path
    if isinstance(value, (dict, list)):
        steps: Iterable[tuple[str | int, Json]] = (
            value.items() if isinstance(value, dict) else enumerate(value)
        )
        for step, inner in steps:
            yield from _paths(inner, (*path, step))
