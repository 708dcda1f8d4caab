"""What a network is made of, from a model of the catalogue: tensors and their sizes, no torch."""

from dataclasses import dataclass
from math import prod
from pathlib import Path

from fastcalc.catalogue.schema import Attention, Block, DenseFFN, MixtureOfExperts, Model
from fastcalc.catalogue.store import Catalogue
from fastcalc.errors import InputError

ELEMENT_BYTES = 2
"""Of bf16, in which weights and cache are kept."""

TINY = Path(__file__).parent / "shapes"
Tensors = dict[str, tuple[int, ...]]
_ATTENTION = ("kind", "heads", "kv_heads", "head_dim", "qk_norm")
_FFN = ("kind", "experts", "active_experts", "width")


@dataclass(frozen=True)
class Layer:
    """One layer of grouped-query attention and a gated feed-forward network.

    Attributes
    ----------
    heads, kv_heads, head_dim : int
        Query heads, heads in the cache, elements of a head. [1]
    qk_norm : bool
        Whether queries and keys are normalised by head.
    width : int
        Of the feed-forward network, or of one expert. [1]
    experts, active_experts : int
        In the layer, and those of one token; 0 in a dense layer. [1]
    """

    heads: int
    kv_heads: int
    head_dim: int
    qk_norm: bool
    width: int
    experts: int = 0
    active_experts: int = 0

    def tensors(self, hidden: int) -> Tensors:
        """Return the sizes of its weights; rows of a matrix are its outputs."""
        rows = (self.heads + 2 * self.kv_heads) * self.head_dim
        of_each = (self.experts,) if self.experts else ()
        found: Tensors = {
            "attention_norm": (hidden,),
            "qkv": (rows, hidden),
            "output": (hidden, self.heads * self.head_dim),
            "ffn_norm": (hidden,),
            "gate_up": (*of_each, 2 * self.width, hidden),
            "down": (*of_each, hidden, self.width),
        }
        if self.qk_norm:
            found |= {"query_norm": (self.head_dim,), "key_norm": (self.head_dim,)}
        if self.experts:
            found["router"] = (self.experts, hidden)
        return found

    def cache(self, batch: int, context: int) -> tuple[int, ...]:
        """Return the size of its keys, which is that of its values."""
        return batch, self.kv_heads, context, self.head_dim


@dataclass(frozen=True)
class Shape:
    """A whole network: the model's id, its layers, and what surrounds them."""

    model: str
    hidden: int
    vocabulary: int
    tied: bool
    layers: tuple[Layer, ...]

    def tensors(self) -> Tensors:
        """Return the sizes of the weights outside the layers."""
        table = (self.vocabulary, self.hidden)
        found: Tensors = {"embedding": table, "final_norm": (self.hidden,)}
        return found if self.tied else found | {"head": table}

    @property
    def routed(self) -> bool:
        """Whether any layer has experts."""
        return any(layer.experts for layer in self.layers)

    @property
    def parameters(self) -> int:
        """All weights. [1]"""
        groups = [self.tensors(), *(layer.tensors(self.hidden) for layer in self.layers)]
        return sum(prod(size) for group in groups for size in group.values())

    def weight_bytes(self) -> int:
        """Return what the weights take. [byte]"""
        return self.parameters * ELEMENT_BYTES

    def step_bytes(self, batch: int, context: int) -> int:
        """Return what a step needs alongside the weights: its cache and the words' scores. [byte]

        Other activations are small alongside these, and there for one layer at a time.
        """
        cache = sum(2 * prod(layer.cache(batch, context)) for layer in self.layers)
        return (cache + 2 * batch * self.vocabulary) * ELEMENT_BYTES


def shape_named(name: str) -> Shape:
    """Return the shape of a model by id, alias or path; the tiny ones are among them.

    Raises
    ------
    InputError
        If there is no such model, or it has parts that the benchmark does not build.
    """
    return shape_of(Catalogue({"models": (TINY,)}).model(name))


def shape_of(model: Model) -> Shape:
    """Return the shape of a model whose layers are all plain."""
    if model.is_minimal or not model.hidden_size or not model.vocabulary:
        raise InputError(f"{model.id}: its layers are not published, so none can be built")
    layers = tuple(
        _layer(block, f"{model.id}: block {place}")
        for place, block in enumerate(model.blocks, start=1)
        for _ in range(block.count)
    )
    return Shape(model.id, model.hidden_size, model.vocabulary, model.tied_embeddings, layers)


def _layer(block: Block, where: str) -> Layer:
    attention, ffn = block.attention, block.ffn
    if not isinstance(attention, Attention):
        raise InputError(f"{where} has no plain attention; the benchmark builds mha and gqa alone")
    if ffn is None or block.norms not in (None, 2):
        raise InputError(f"{where} is not attention and a feed-forward network with a norm each")
    _refuse_extras(attention, _ATTENTION, where)
    _refuse_extras(ffn, _FFN, where)
    if attention.qk_norm == "full":
        raise InputError(f"{where} normalises heads together, which the benchmark does not build")
    experts = (0, 0) if isinstance(ffn, DenseFFN) else (ffn.experts, ffn.active_experts)
    return Layer(
        attention.heads,
        attention.cached_heads,
        attention.head_dim,
        bool(attention.qk_norm),
        ffn.width,
        *experts,
    )


def _refuse_extras(
    part: Attention | DenseFFN | MixtureOfExperts, built: tuple[str, ...], where: str
) -> None:
    """Refuse what a part has beyond the keys that the benchmark builds."""
    for key, field in type(part).model_fields.items():
        value = getattr(part, key)
        if key not in built and value != field.default:
            raise InputError(f"{where} has {key} {value}, which the benchmark does not build")
