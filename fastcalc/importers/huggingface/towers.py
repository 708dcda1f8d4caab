"""Vision towers, counted from ``vision_config``: a transformer over patches, and a projection."""

from collections.abc import Mapping

from fastcalc.written import Json

_LAYERS = ("depth", "num_hidden_layers", "vt_num_hidden_layers")
_HIDDEN = ("hidden_size", "vt_hidden_size")
_WIDTH = ("intermediate_size", "vt_intermediate_size")
_GATED = ("gemma4", "qwen2_5_vl", "pixtral")
"""Towers with three matrices per feed-forward network and no biases."""


def vision_parameters(config: Json, text_hidden: int) -> int | None:
    """Count a vision tower and its projection, or return None if dimensions are missing.

    The count is exact for Qwen3-VL and Qwen 3.5, and within a few percent for other towers, because
    the projection to the text model differs between families.

    text_hidden : The width of the text model's hidden states.
    """
    if not isinstance(config, dict):
        return None
    layers, hidden, width = (_count(config, names) for names in (_LAYERS, _HIDDEN, _WIDTH))
    if not (layers and hidden and width):
        return None
    is_gated = str(config.get("model_type", "")).startswith(_GATED)
    biases = 0 if is_gated else 5 * hidden + width
    layer = 4 * hidden**2 + (3 if is_gated else 2) * hidden * width + biases + 4 * hidden
    patch = _count(config, ("patch_size",)) or 14
    frames = _count(config, ("temporal_patch_size",)) or 1
    patches = 3 * frames * patch**2 * hidden + hidden
    positions = _count(config, ("num_position_embeddings",)) or 0
    positions = positions or 2 * (_count(config, ("position_embedding_size",)) or 0)
    out = _count(config, ("out_hidden_size",)) or text_hidden
    return layers * layer + patches + positions * hidden + _joining(config, hidden, out)


def _joining(config: Mapping[str, Json], hidden: int, out: int) -> int:
    """Count the mergers of neighboring patches, or a single projection if there are none."""
    merged = _count(config, ("spatial_merge_size",))
    if not merged:
        return hidden * out
    wide = hidden * merged**2
    projection = wide * wide + wide + wide * out + out
    tapped = config.get("deepstack_visual_indexes")
    deep = len(tapped) if isinstance(tapped, list) else 0  # layers with their own merger
    return projection + 2 * hidden + deep * (projection + 2 * wide)


def _count(config: Mapping[str, Json], names: tuple[str, ...]) -> int | None:
    values = (config.get(name) for name in names)
    return next((v for v in values if isinstance(v, int) and 0 < v < 10**7), None)
