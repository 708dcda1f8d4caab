"""Rotary embeddings: the sines and cosines that engines store for each position."""

from itertools import zip_longest

from fastcalc.importers.huggingface.config import Fields
from fastcalc.importers.huggingface.parts import Layer
from fastcalc.written import Json

_WITHOUT = ("nope", "alibi", "absolute", "learned_absolute")
_UNROTATED = ("nemotron_h", "jamba", "kimi_linear", "kimi_k3", "bloom")


def rotary_embeddings(fields: Fields, layers: list[Layer]) -> dict[str, int]:
    """Return ``rotary_columns`` of a model file unless they are those of a head, and ``mrope``.

    Values of another type than expected are ignored. If windows have a base of their own, there are
    two tables. Linear scaling stores as many positions more as its factor.
    """
    compressed = any(_attention(layer).get("kind") == "compressed" for layer in layers)
    if compressed:  # vLLM: two tables at 32 bits; SGLang: twice two, by two classes
        return {"rotary_columns": 4 * (fields.maybe("qk_rope_head_dim") or 64)}
    widths = sorted({width for layer in layers if (width := _width(_attention(layer)))})
    if not widths:
        return {}
    unrotated = fields.data.get("position_embedding_type") in _WITHOUT
    if unrotated or fields.data.get("model_type") in _UNROTATED:
        return {"rotary_columns": 0}
    tables = _tables(fields)
    pairs = zip_longest(widths, tables)
    columns = round(
        sum(
            _columns(fields, widths[-1] if width is None else width, table or tables[-1])
            for width, table in pairs
        )
    )
    found = {} if columns == sum(widths) else {"rotary_columns": columns}
    return found | ({"mrope": True} if any(table.get("mrope_section") for table in tables) else {})


def _attention(layer: Layer) -> dict[str, Json]:
    attention = layer.get("attention")
    return attention if isinstance(attention, dict) else {}


def _width(attention: dict[str, Json]) -> int:
    kind = {"mla": "rope_dim", "mha": "head_dim", "gqa": "head_dim"}.get(str(attention.get("kind")))
    width = attention.get(kind) if kind else None
    return width if isinstance(width, int) else 0


def _tables(fields: Fields) -> list[dict[str, Json]]:
    """Return the settings of each table: one, or one for each type of layer."""
    stated = fields.data.get("rope_parameters") or fields.data.get("rope_scaling")
    settings = stated if isinstance(stated, dict) else {}
    by_type = [value for value in settings.values() if isinstance(value, dict)]
    own_base = ("rope_local_base_freq", "swa_rope_theta")
    if not by_type and fields.has(*own_base):
        return [settings, {}]
    return by_type or [settings]


def _columns(fields: Fields, width: int, settings: dict[str, Json]) -> float:
    """Count the columns of one table, times its positions over the maximum context. [1]"""
    rope_type = settings.get("rope_type", settings.get("type"))
    part = settings.get("partial_rotary_factor", fields.data.get("partial_rotary_factor"))
    rotated = fields.data.get("rotary_dim")
    columns = float(width)
    if isinstance(rotated, int) and 0 < rotated < width:
        columns = float(rotated)
    elif isinstance(part, float) and 0.0 < part < 1.0 and rope_type != "proportional":
        columns = float(int(width * part))
    factor = settings.get("factor")
    if rope_type == "linear" and isinstance(factor, (int, float)) and 1.0 < factor < 1e3:
        columns *= factor
    return columns
