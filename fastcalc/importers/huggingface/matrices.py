"""The matrices of a checkpoint, by the names used in quantization settings."""

import fnmatch
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from fastcalc.catalogue.schema import (
    AnyAttention,
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
"""The expert whose name represents all experts in a layer."""


@dataclass(frozen=True)
class Matrix:
    """A matrix of a layer, or the matrices of all experts with this name.

    group : The group that determines the number format.
    layer : The layer of the model, counted from 0; None outside of layers.
    names : Names after ``layers.N.``, which depend on the code that wrote the checkpoint.
    parameters : The parameters, summed over all experts.
    experts : The number of experts whose names differ only by a number, or 0 for other matrices.
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
    """Yield the matrices of consecutive layers, and of prediction layers like the last one.

    is_mentioned : Whether quantization settings mention a word; other names are skipped.
    predicting : The layers for multi-token prediction.
    are_experts_beside : Whether experts are next to ``mlp``, which is then the shared network.
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
        counted, containers = count_ffn(block.ffn, hidden), _used(_NETWORK, is_mentioned)
        names = ("gate_proj", "up_proj", "down_proj")[3 - block.ffn.matrices :]
        if isinstance(block.ffn, DenseFFN):
            for name in names:
                yield Matrix(
                    "ffn", 0, _called(containers, name, is_mentioned), counted.ffn / len(names)
                )
        else:
            shared = _used(_SHARED, is_mentioned)
            for name in names:
                single = [f"{container}.experts.{EXPERT}" for container in containers]
                fused = [f"{container}.experts" for container in containers]
                all_names = (
                    *_called(single, name, is_mentioned),
                    *_called(fused, name, is_mentioned),
                )
                parameters = counted.experts / len(names)
                yield Matrix("experts", 0, all_names, parameters, block.ffn.experts)
                if counted.shared_experts:
                    called = _called(shared, name, is_mentioned)
                    yield Matrix("shared_experts", 0, called, counted.shared_experts / len(names))


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


def _used(options: Sequence[str], is_mentioned: Callable[[str], bool]) -> list[str]:
    return [options[0], *(name for name in options[1:] if is_mentioned(name.split(".")[-1]))]


def _called(
    containers: Sequence[str], name: str, is_mentioned: Callable[[str], bool]
) -> tuple[str, ...]:
    names = [name, *(alias for alias in _OTHER_NAMES.get(name, ()) if is_mentioned(alias))]
    return tuple(f"{container}.{alias}" for container in containers for alias in names)


_PREFIXES = ("model.", "model.language_model.", "language_model.model.", "")
_ELSEWHERE = re.compile(r"vis|audio|encoder|talker|projector|mtp|draft|eagle|embed")
_EXPERT_NUMBER = re.compile(r"\bexperts\.([0-9]{1,5})(?=\.|$)")
_LONGEST = 300
_MOST_REPEATS = 5
_MOST_PATTERNS = 400


class ModulePatterns:
    """Matches matrices against the names in a list.

    A name without wildcards matches all modules within it: ``self_attn``, ``mlp.gate`` or
    ``model.layers.0.self_attn.q_proj``. ``re:`` marks a regular expression, ``*`` a wildcard.
    ``unread`` contains expressions that are too complex to evaluate.
    """

    def __init__(self, patterns: Iterable[str]) -> None:
        self._named: set[tuple[str, ...]] = set()
        self._experts: dict[tuple[str, ...], set[str]] = defaultdict(set)
        self._matched: list[re.Pattern[str]] = []
        self.unread: list[str] = []
        for pattern in patterns:
            self._add(pattern.strip())

    def __bool__(self) -> bool:
        return bool(self._named or self._matched or self._experts)

    def _add(self, pattern: str) -> None:
        if pattern.startswith("re:"):
            self._compile(pattern[3:], pattern)
        elif "*" in pattern or "?" in pattern or "[" in pattern:
            before, layers, after = pattern.partition("layers.")
            if layers and not set(before) & set("*?[") and not _ELSEWHERE.search(before):
                pattern = f"*{layers}{after}"
            inside = fnmatch.translate(pattern).removesuffix("\\Z")
            self._compile(inside + r"(?:\.|\Z)", pattern)
        elif pattern:
            before, layers, _ = pattern.partition("layers.")
            is_text = bool(layers) and not _ELSEWHERE.search(before)
            pieces = (pattern[len(before) :] if is_text else pattern).split(".")
            numbers = _EXPERT_NUMBER.findall(pattern)
            if numbers:
                at = pieces.index(numbers[0], pieces.index("experts"))
                self._experts[(*pieces[:at], EXPERT, *pieces[at + 1 :])].add(numbers[0])
            else:
                self._named.add(tuple(pieces))

    def _compile(self, expression: str, pattern: str) -> None:
        repeats = len(re.findall(r"[*+}]", re.sub(r"(\.\*)+", ".*", expression)))
        is_nested = re.search(r"\)[*+{]", expression.replace("\\)", ""))
        too_many = len(self._matched) >= _MOST_PATTERNS
        if len(expression) > _LONGEST or repeats > _MOST_REPEATS or is_nested or too_many:
            self.unread.append(pattern)
            return
        try:
            self._matched.append(re.compile(expression))
        except (re.error, OverflowError, RecursionError):
            self.unread.append(pattern)

    def names(self, *modules: str) -> bool:
        """Check whether the list names a module outside of layers."""
        return any(self._covers(module) for module in modules)

    def share(self, matrix: Matrix) -> float:
        """Compute the listed fraction of a matrix, below 1 if some experts are not listed."""
        best = 0.0
        layers = () if matrix.layer is None else (f"layers.{matrix.layer}.",)
        if matrix.group == "mtp":
            layers = (*layers, "mtp.layers.0.", "mtp.")
        for name in (f"{layer}{name}" for name in matrix.names for layer in layers or ("",)):
            if self._covers(name):
                return 1.0
            if matrix.experts and self._experts:
                numbers = (self._experts.get(run, set()) for run in _runs(name))
                best = max(best, max(map(len, numbers)) / matrix.experts)
        return min(best, 1.0)

    def _covers(self, name: str) -> bool:
        if self._named and any(run in self._named for run in _runs(name)):
            return True
        if not self._matched:
            return False
        full = [f"{prefix}{name}" for prefix in _PREFIXES]
        return any(pattern.match(text) for pattern in self._matched for text in full)


def _runs(name: str) -> Iterable[tuple[str, ...]]:
    """List all contiguous runs of components in a dotted name."""
    pieces = tuple(name.split("."))
    for start in range(len(pieces)):
        yield from (pieces[start:end] for end in range(start + 1, len(pieces) + 1))
