"""Find separate draft models for speculative decoding: catalogue models, EAGLE-3, or by size."""

import re
from dataclasses import replace
from pathlib import Path

from fastcalc.catalogue.schema import Attention, DenseFFN, Model
from fastcalc.catalogue.store import Catalogue
from fastcalc.core.model.workload import workload
from fastcalc.errors import InputError
from fastcalc.kit.request.repositories import repository_model
from fastcalc.mentions import option
from fastcalc.written import shown

EAGLE = re.compile(r"eagle-?3", re.IGNORECASE)
"""Matches names of EAGLE-3 heads (arXiv:2503.01840)."""
EAGLE_HEAD = "eagle-3-head"
"""The id of an EAGLE-3 head."""
_OTHER_DRAFTS = re.compile(r"eagle|medusa|mtp|dflash|dspark|draft|assistant|specul", re.IGNORECASE)
"""Names of draft models with shapes of their own, despite the name of a model or EAGLE-3 head."""
_SIZE = re.compile(r"(?<![\d.a-z])(\d{1,4}(?:\.\d{1,3})?)([bm])(?![a-z\d])", re.IGNORECASE)
"""Matches a parameter count in a name, such as 0.5B or 135M."""
_HEAD_VOCABULARY = 32_000
_HEAD_DIM, _KV_HEADS = 128, 8
_WIDTHS = 6
"""Feed-forward width of a head relative to its hidden width, for models with experts in all layers.

Sources: configurations of sgl-project/SpecForge, November 2026 (Qwen3 30B-A3B and 235B-A22B,
gpt-oss 20B; all with a vocabulary of 32,000)."""
_LAYERS, _KV_BYTES = 28, 114_688
"""Layers and KV-cache bytes per token of Qwen3 0.6B and 1.7B, the most common draft models."""


def draft_model(
    entries: Catalogue, name: str | None, model: Model, notes: list[str] | None = None
) -> Model | None:
    """Return the draft model with the given name for a target model, or None without a name.

    The shape of an EAGLE-3 head follows from the target model. A model that is not in the catalogue
    gets the parameter count in its name, at 16 bits.

    notes : The list that receives a note on its size.
    """
    if not name:
        return None
    reading: list[str] = []
    stem = Path(name).stem if name.endswith(".gguf") else name
    if EAGLE.search(name):
        draft, source = _head(model), "an EAGLE-3 head of one layer"
        draft = draft.model_copy(update={"name": shown(name)} if "/" in name else {})
    elif (entry := _known(entries, stem, reading)) is not None:
        draft, source = entry, entry.name
    else:
        draft, source = _of_size(name, stem), "by the size in its name; its cache is assumed"
    work = workload(draft)
    weights, token = work.weight_bytes / 1e9, float(work.cache_bytes_per_token) / 1e3
    if notes is not None:
        notes += reading
        notes.append(
            f"draft model {shown(name)} ({source}): {weights:,.2f} GB of weights and "
            f"{token:,.1f} kB of KV cache per token, divided by the tensor-parallel ranks "
            "(llama.cpp and chips with regions: also by the pipeline stages)"
        )
    return draft


def has_own_shape(name: str) -> bool:
    """Check whether the shape of a draft model does not follow from its name."""
    return bool(_OTHER_DRAFTS.search(name) and not EAGLE.search(name))


def counted_draft(
    entries: Catalogue, name: str, model: Model, notes: list[str] | None = None
) -> Model | None:
    """Find the draft model that a server names, or None if its size is unknown."""
    try:
        return None if has_own_shape(name) else draft_model(entries, name, model, notes)
    except InputError:
        return None


def _known(entries: Catalogue, name: str, notes: list[str]) -> Model | None:
    """Load a known draft model in the format its name specifies, or None if it is unknown.

    The user's what-ifs apply only to the target model.
    """
    from fastcalc.kit.request.loading import models_of  # it imports this module

    unchanged = replace(entries, changes=())
    is_file = name.endswith((".yaml", ".yml")) or unchanged.is_configuration(name)
    is_known = is_file or unchanged.knows(name, "models")
    if not is_known and repository_model(unchanged, name, []) is None:
        return None
    (model,) = models_of(unchanged, [name], notes)
    return model


def _of_size(name: str, stem: str) -> Model:
    """Build a model with the parameter count in its name.

    stem : The name without its file ending.

    Raises InputError if the name has no parameter count or lists several models.
    """
    if "," in name:
        raise InputError(f"{option('draft_model')} {shown(name)}: only one draft model is used")
    size = _SIZE.search(stem)
    if size is None or not float(size[1]):
        raise InputError(
            f"{option('draft_model')} {shown(name)}: the catalogue has no such model, and its "
            "name states no size above zero; name a similar model, such as qwen3-0.6b, or eagle3 "
            "for a head"
        )
    parameters = float(size[1]) * (1e9 if size[2].lower() == "b" else 1e6)
    return Model.model_validate(
        {
            "id": "draft",
            "name": shown(name),
            "weight_format": "bf16",
            "total_parameters": parameters,
            "layers": _LAYERS,
            "kv_bytes_per_token": _KV_BYTES,
        }
    )


def _head(model: Model) -> Model:
    """Build an EAGLE-3 head: a two-input layer, a fusion of three hidden states, an output head.

    Its embedding is the model's. Source: vllm/model_executor/models/llama_eagle3.py, version 0.33.
    """
    hidden = model.hidden_size
    if model.is_minimal or hidden is None:
        raise InputError(
            f"{option('draft_model')}: an EAGLE-3 head follows from the shape, and {model.id} "
            "publishes none; name a draft model of the catalogue"
        )
    ffns = [block.ffn.width for block in model.blocks if isinstance(block.ffn, DenseFFN)]
    grouped = [block.attention for block in model.blocks if isinstance(block.attention, Attention)]
    heads, kv_heads, width = (
        (grouped[-1].heads, grouped[-1].cached_heads, grouped[-1].head_dim)
        if grouped
        else (hidden // _HEAD_DIM, _KV_HEADS, _HEAD_DIM)
    )
    return Model.model_validate(
        {
            "id": EAGLE_HEAD,
            "name": "EAGLE-3 head",
            "weight_format": "bf16",
            "hidden_size": hidden,
            "vocabulary": _HEAD_VOCABULARY,
            "tied_embeddings": True,
            "blocks": [
                {
                    "count": 1,
                    "attention": {
                        "kind": "gqa",
                        "heads": heads,
                        "kv_heads": kv_heads,
                        "head_dim": width,
                    },
                    "ffn": {"kind": "dense", "width": max(ffns, default=_WIDTHS * hidden)},
                    "other_matrices": (3 * hidden + (heads + 2 * kv_heads) * width) * hidden,
                }
            ],
        }
    )
