"""The network of a shape with random weights, and one decode step through it."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cached_property, partial

import torch
import torch.nn.functional as nn
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from benchmarks.gpu_decode import pointwise
from benchmarks.gpu_decode.shape import Layer, Shape, Tensors

TYPE = torch.bfloat16
Weights = dict[str, Tensor]


def random_tensors(sizes: Tensors, device: torch.device) -> Weights:
    """Return weights that keep activations finite: norms of one, matrices of variance 1 / inputs.

    Zeros, or whatever lies in memory, would draw less power than weights do, and let a chip at
    its limit run faster.
    """
    return {
        name: torch.ones(size, dtype=TYPE, device=device)
        if len(size) == 1
        else torch.empty(size, dtype=TYPE, device=device).normal_(std=size[-1] ** -0.5)
        for name, size in sizes.items()
    }


@dataclass
class Network:
    """The weights of a whole network, each layer's its own, so that no cache holds them.

    Attributes
    ----------
    shape : Shape
        What it is made of.
    device : torch.device
        Where it lies.
    """

    shape: Shape
    device: torch.device
    outer: Weights = field(init=False)
    layers: list[Weights] = field(init=False)

    def __post_init__(self) -> None:
        self.outer = random_tensors(self.shape.tensors(), self.device)
        self.layers = [
            random_tensors(layer.tensors(self.shape.hidden), self.device)
            for layer in self.shape.layers
        ]


@dataclass
class Routing:
    """Which experts each sequence of a batch goes to in one layer: uniformly drawn, kept fixed.

    Attributes
    ----------
    experts : Tensor
        Ids, one row a sequence.
    count : int
        Experts of the layer. [1]
    """

    experts: Tensor
    count: int

    @classmethod
    def draw(cls, layer: Layer, batch: int, device: torch.device) -> "Routing":
        """Draw the experts of a batch."""
        odds = torch.rand(batch, layer.experts, device=device)
        return cls(odds.topk(layer.active_experts).indices, layer.experts)

    @cached_property
    def every(self) -> Tensor:
        """The ids of all experts."""
        return torch.arange(self.count, device=self.experts.device)

    @cached_property
    def plan(self) -> list[tuple[int, Tensor, Tensor]]:
        """Each expert in use, with the sequences that come to it and their places."""
        found = []
        for expert in self.experts.unique().tolist():
            rows, places = torch.where(self.experts == expert)
            found.append((expert, rows, places))
        return found


def grouped(hidden: Tensor, weights: Weights, shares: Tensor, routing: Routing) -> Tensor:
    """Return what the experts make of sequences sorted by expert, in one grouped GEMM a matrix."""
    product = getattr(nn, "grouped_mm", None) or torch._grouped_mm
    ids, order = routing.experts.flatten().sort()
    ends = torch.searchsorted(ids, routing.every, right=True, out_int32=True)
    rows = order // routing.experts.shape[1]
    inner = product(hidden[rows], weights["gate_up"].transpose(1, 2), offs=ends)
    outer = product(pointwise.gated(inner), weights["down"].transpose(1, 2), offs=ends)
    return torch.zeros_like(hidden).index_add_(0, rows, outer * shares.flatten()[order, None])


def one_by_one(hidden: Tensor, weights: Weights, shares: Tensor, routing: Routing) -> Tensor:
    """Return the same by two GEMMs an expert in use, which the host knows beforehand."""
    total = torch.zeros_like(hidden)
    for expert, rows, places in routing.plan:
        inner = pointwise.gated(nn.linear(hidden[rows], weights["gate_up"][expert]))
        outer = nn.linear(inner, weights["down"][expert])
        total.index_add_(0, rows, outer * shares[rows, places, None])
    return total


EXPERTS: dict[str, Callable[[Tensor, Weights, Tensor, Routing], Tensor]] = {
    "grouped GEMM": grouped,
    "one GEMM an expert, routing known beforehand": one_by_one,
}
ATTENTION = {
    "cuda": {
        "flash": SDPBackend.FLASH_ATTENTION,
        "efficient": SDPBackend.EFFICIENT_ATTENTION,
        "cudnn": SDPBackend.CUDNN_ATTENTION,
    },
    "cpu": {"flash": SDPBackend.FLASH_ATTENTION, "math": SDPBackend.MATH},
}


def attend(query: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """Return what one new token of each sequence reads from its cache.

    The query heads that share a cached head stand where tokens of one head would: a new token
    sees the whole cache, so no mask tells them apart. Every kernel takes grouped heads this way,
    and reads the cache once.

    Parameters
    ----------
    query : Tensor
        Batch, heads, head dimension.
    keys, values : Tensor
        Batch, cached heads, tokens, head dimension.
    """
    batch, heads, width = query.shape
    cached = keys.shape[1]
    rows = query.reshape(batch, cached, heads // cached, width)
    return nn.scaled_dot_product_attention(rows, keys, values).reshape(batch, heads * width)


class Step:
    """One decode step of a batch at a context: every sequence gets its next token.

    The cache is full: each run writes the newest token's place again, and attends to all.
    """

    def __init__(self, network: Network, batch: int, context: int) -> None:
        shape, device = network.shape, network.device
        self.network, self.context = network, context
        self.tokens = torch.randint(shape.vocabulary, (batch,), device=device)
        self.caches = [
            tuple(self._random(layer.cache(batch, context)) for _ in range(2))
            for layer in shape.layers
        ]
        self.routing = [
            Routing.draw(layer, batch, device) if layer.experts else None for layer in shape.layers
        ]
        self.turns = {
            layer.head_dim: pointwise.rotation(layer.head_dim, context, device, TYPE)
            for layer in shape.layers
        }
        self.attention = next(iter(ATTENTION[device.type]))
        self.experts = next(iter(EXPERTS))

    def _random(self, size: tuple[int, ...]) -> Tensor:
        return torch.empty(size, dtype=TYPE, device=self.network.device).normal_()

    def __call__(self) -> Tensor:
        """Run the step, and return the next tokens, which are the next run's input."""
        outer = self.network.outer
        with self.backend(self.attention):
            hidden = nn.embedding(self.tokens, outer["embedding"])
            for place in range(len(self.network.layers)):
                hidden = hidden + self.attention_part(place, hidden)
                hidden = hidden + self.ffn_part(place, hidden)
            scores = nn.linear(
                pointwise.norm(hidden, outer["final_norm"]), outer.get("head", outer["embedding"])
            )
            return self.tokens.copy_(scores.argmax(-1))

    def backend(self, name: str) -> AbstractContextManager[None]:
        """Return the context in which attention uses one kind of kernel alone."""
        return sdpa_kernel(ATTENTION[self.network.device.type][name])

    def attention_part(self, place: int, hidden: Tensor) -> Tensor:
        """Return what attention adds in one layer."""
        layer, weights = self.network.shape.layers[place], self.network.layers[place]
        keys, values = self.caches[place]
        heads, cached = layer.heads, layer.kv_heads
        normed = pointwise.norm(hidden, weights["attention_norm"])
        mixed = nn.linear(normed, weights["qkv"]).view(len(hidden), -1, layer.head_dim)
        turned, value = mixed.split([heads + cached, cached], dim=1)
        if layer.qk_norm:
            query, key = turned.split([heads, cached], dim=1)
            query = pointwise.norm(query, weights["query_norm"])
            turned = torch.cat([query, pointwise.norm(key, weights["key_norm"])], dim=1)
        turned = pointwise.rotated(turned, *self.turns[layer.head_dim])
        query, key = turned.split([heads, cached], dim=1)
        keys[:, :, -1].copy_(key)
        values[:, :, -1].copy_(value)
        return nn.linear(attend(query, keys, values), weights["output"])

    def ffn_part(self, place: int, hidden: Tensor) -> Tensor:
        """Return what the feed-forward network adds in one layer."""
        weights, routing = self.network.layers[place], self.routing[place]
        normed = pointwise.norm(hidden, weights["ffn_norm"])
        if routing is None:
            return nn.linear(
                pointwise.gated(nn.linear(normed, weights["gate_up"])), weights["down"]
            )
        # The router's own choice is computed and paid for; the experts are those drawn, since a
        # random router would send a batch to fewer of them, or to more, than a trained one.
        odds = nn.linear(normed, weights["router"]).softmax(-1, dtype=torch.float32)
        shares = odds.topk(routing.experts.shape[1]).values
        shares = (shares / shares.sum(-1, keepdim=True)).to(TYPE)
        return EXPERTS[self.experts](normed, weights, shares, routing)

    def attention_ways(self) -> list[tuple[str, Callable[[], object]]]:
        """Return attention over all layers' caches by every kind of kernel, to pick from."""
        return [
            (name, partial(self._attention_alone, name))
            for name in ATTENTION[self.network.device.type]
        ]

    def expert_ways(self) -> list[tuple[str, Callable[[], object]]]:
        """Return all feed-forward networks by every way to run experts, to pick from."""
        return [(name, partial(self._experts_alone, name)) for name in EXPERTS]

    def _attention_alone(self, name: str) -> None:
        with self.backend(name):
            for layer, (keys, values) in zip(self.network.shape.layers, self.caches, strict=True):
                query = keys[:, :, 0].repeat_interleave(layer.heads // layer.kv_heads, dim=1)
                attend(query, keys, values)

    def _experts_alone(self, name: str) -> None:
        kept, self.experts = self.experts, name
        try:
            hidden = nn.embedding(self.tokens, self.network.outer["embedding"])
            for place in range(len(self.network.layers)):
                hidden = hidden + self.ffn_part(place, hidden)
        finally:
            self.experts = kept
