"""Matrices of a checkpoint, with the names used in quantization settings."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from fastcalc.catalogue.schema import (
    AnyAttention,
    AnyFFN,
    Attention,
    Block,
    DenseFFN,
    LatentAttention,
    LinearAttention,
)
from fastcalc.core.model.layers import count_attention, count_ffn

_ATTENTION = ("self_attn", "attn", "attention", "self_attention", "mixer")
_STATE = ("linear_attn", "self_attn", "mamba", "mixer", "attention")
_NETWORK = ("mlp", "feed_forward", "ffn", "block_sparse_moe", "mixer", "moe")
_SHARED = (
    *("mlp.shared_experts", "mlp.shared_expert", "shared_mlp", "mixer.shared_experts"),
    *("feed_forward.shared_expert", "block_sparse_moe.shared_experts", "ffn.shared_experts"),
)
_OTHER_NAMES = {
    "q_proj": ("qkv_proj", "query_key_value", "wq"),
    "k_proj": ("qkv_proj", "query_key_value", "wk"),
    "v_proj": ("qkv_proj", "query_key_value", "wv"),
    "o_proj": ("out_proj", "dense", "wo", "wo_b"),
    "q_a_proj": ("wq_a", "fused_qkv_a_proj"),
    "q_b_proj": ("wq_b",),
    "kv_a_proj_with_mqa": ("kv_a_proj", "wkv_a", "fused_qkv_a_proj"),
    "kv_b_proj": ("wkv_b",),
    "gate_proj": ("gate_up_proj", "w1", "w13", "fc1"),
    "up_proj": ("gate_up_proj", "w3", "w13", "fc1"),
    "down_proj": ("w2", "fc2"),
    "in_proj": ("in_proj_qkvz", "in_proj_qkv", "in_proj_z", "qkv_proj"),
    "out_proj": ("o_proj", "wo"),
}
EXPERT = "0"
"""Expert whose name represents all experts of a layer."""


@dataclass(frozen=True)
class Matrix:
    """One matrix of a layer, or the matrices of all experts with that name.

    group : group that determines its number format
    layer : layer of the model, from 0; None outside all layers
    names : names after ``layers.N.``, which depend on the code that wrote the checkpoint
    parameters : parameters in all of its experts [1]
    experts : number of experts whose names differ only in a number; 0 for other matrices [1]
    """

    group: str
    layer: int | None
    names: tuple[str, ...]
    parameters: float
    experts: int = 0


def matrices_of(
    blocks: Sequence[Block],
    hidden: int,
    is_mentioned: Callable[[str], bool],
    predicting: int = 0,
    *,
    are_experts_beside: bool = False,
) -> Iterator[Matrix]:
    """Matrices of consecutive layers, and of prediction layers like the last one.

    is_mentioned : whether quantization settings use a word, so that other names can be skipped
    predicting : layers for multi-token prediction [1]
    are_experts_beside : whether experts are next to ``mlp``, which is then the shared network
    """
    matrices_by_block: dict[Block, list[Matrix]] = {}
    for number, block in enumerate(blocks):
        if block not in matrices_by_block:
            made = list(_of_layer(block, float(hidden), is_mentioned))
            matrices_by_block[block] = [*map(_beside, made)] if are_experts_beside else made
        yield from (replace(matrix, layer=number) for matrix in matrices_by_block[block])
    for number in range(len(blocks), len(blocks) + predicting):
        yield from (
            replace(matrix, layer=number, group="mtp") for matrix in matrices_by_block[blocks[-1]]
        )


def _beside(matrix: Matrix) -> Matrix:
    if matrix.group == "experts":
        return replace(matrix, names=tuple(name.partition(".")[2] for name in matrix.names))
    if matrix.group == "shared_experts":
        names = {f"mlp.{name.rpartition('.')[2]}" for name in matrix.names}
        return replace(matrix, names=tuple(sorted(names)))
    return matrix


def _of_layer(block: Block, hidden: float, is_mentioned: Callable[[str], bool]) -> Iterator[Matrix]:
    if block.attention is not None:
        is_state = isinstance(block.attention, LinearAttention)
        containers = _used(_STATE if is_state else _ATTENTION, is_mentioned)
        for name, parameters in _attention(block.attention, hidden):
            yield Matrix("attention", 0, _called(containers, name, is_mentioned), parameters)
    if block.ffn is not None:
        yield from _network(block.ffn, hidden, is_mentioned)


def _attention(attention: AnyAttention, hidden: float) -> Iterator[tuple[str, float]]:
    total_parameters = count_attention(attention, hidden).attention
    parameters_by_name: dict[str, float] = {}
    if isinstance(attention, Attention):
        key, value = attention.head_dim, attention.value_dim or attention.head_dim
        parameters_by_name = {
            "k_proj": hidden * attention.cached_heads * key,
            "v_proj": 0.0 if attention.k_eq_v else hidden * attention.cached_heads * value,
            "o_proj": hidden * attention.heads * value,
        }
    elif isinstance(attention, LatentAttention):
        heads, rank = attention.heads, attention.kv_rank
        wide = heads * (attention.nope_dim + attention.rope_dim)
        parameters_by_name = {
            "kv_a_proj_with_mqa": hidden * (rank + attention.rope_dim),
            "kv_b_proj": rank * heads * (attention.nope_dim + attention.value_dim),
            "o_proj": hidden * heads * attention.value_dim,
        }
        if attention.q_rank:
            parameters_by_name |= {
                "q_a_proj": hidden * attention.q_rank,
                "q_b_proj": attention.q_rank * wide,
            }
        else:
            parameters_by_name["q_proj"] = hidden * wide
    elif isinstance(attention, LinearAttention):
        parameters_by_name["out_proj"] = hidden * attention.value_heads * attention.value_dim
    yield from parameters_by_name.items()
    # The remaining parameters are queries with their gate, inputs of a state, or an indexer.
    remainder_names = {Attention: "q_proj", LatentAttention: "indexer", LinearAttention: "in_proj"}
    if (left := total_parameters - sum(parameters_by_name.values())) > 0:
        yield remainder_names.get(type(attention), "wq_b"), left


def _network(ffn: AnyFFN, hidden: float, is_mentioned: Callable[[str], bool]) -> Iterator[Matrix]:
    counted, containers = count_ffn(ffn, hidden), _used(_NETWORK, is_mentioned)
    names = ("gate_proj", "up_proj", "down_proj")[3 - ffn.matrices :]
    if isinstance(ffn, DenseFFN):
        for name in names:
            yield Matrix(
                "ffn", 0, _called(containers, name, is_mentioned), counted.ffn / len(names)
            )
        return
    shared = _used(_SHARED, is_mentioned)
    for name in names:
        single = [f"{container}.experts.{EXPERT}" for container in containers]
        fused = [f"{container}.experts" for container in containers]
        all_names = (*_called(single, name, is_mentioned), *_called(fused, name, is_mentioned))
        parameters = counted.experts / len(names)
        yield Matrix("experts", 0, all_names, parameters, ffn.experts)
        if counted.shared_experts:
            called = _called(shared, name, is_mentioned)
            yield Matrix("shared_experts", 0, called, counted.shared_experts / len(names))


def _used(options: Sequence[str], is_mentioned: Callable[[str], bool]) -> list[str]:
    return [options[0], *(name for name in options[1:] if is_mentioned(name.split(".")[-1]))]


def _called(
    containers: Sequence[str], name: str, is_mentioned: Callable[[str], bool]
) -> tuple[str, ...]:
    names = [name, *(alias for alias in _OTHER_NAMES.get(name, ()) if is_mentioned(alias))]
    return tuple(f"{container}.{alias}" for container in containers for alias in names)
