"""What a model file may hold: the whole shape, or the minimum that is published."""

import re
from collections.abc import Iterable
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, model_validator

from fastcalc.catalogue.formats import (
    GROUPS,
    WeightFormats,
    format_mix,
    number_format,
)
from fastcalc.catalogue.once import once
from fastcalc.catalogue.schema.quantities import (
    Confidence,
    Count,
    Entry,
    Excuses,
    FormatName,
    Identifier,
    LayerCount,
    Name,
    Size,
    Source,
    Whole,
    WholeOrZero,
)
from fastcalc.errors import InputError
from fastcalc.written import listed, shown


class Indexer(Entry):
    """Light heads that score the whole context and pick the tokens that attention reads.

    ``top_k`` counts tokens or compressed entries. ``pool`` tokens share a key. A ``shared`` indexer
    is an earlier layer's: it costs neither weights nor keys.
    """

    heads: Whole
    head_dim: Whole
    top_k: Whole
    pool: Whole = 1
    head_weights: bool = True
    shared: bool = False


class Attention(Entry):
    """Multi-head or grouped-query attention; with ``window`` it sees that many tokens back.

    ``chunked`` windows start anew every ``window`` tokens and are counted full. ``qk_norm`` is per
    head (true) or over the ``full`` width; ``output_gate`` is as wide as all heads (true) or
    ``per-head``. With ``k_eq_v`` one projection serves keys and values, both of which are cached.
    With ``shared_cache`` a layer attends to keys and values that an earlier one keeps.
    """

    kind: Literal["mha", "gqa"]
    heads: Whole
    kv_heads: Whole | None = None
    head_dim: Whole
    value_dim: Whole | None = None
    window: Whole | None = None
    chunked: bool = False
    indexer: Indexer | None = None
    qkv_bias: bool = False
    output_bias: bool = False
    qk_norm: bool | Literal["full"] = False
    sinks: bool = False
    output_gate: bool | Literal["per-head"] = False
    k_eq_v: bool = False
    shared_cache: bool = False

    @property
    def cached_heads(self) -> int:
        """Key-value heads that the cache holds. [1]"""
        return self.kv_heads or self.heads

    @model_validator(mode="after")
    def _heads_divide(self) -> "Attention":
        if self.kind == "mha" and self.cached_heads != self.heads:
            raise ValueError("mha has one kv_head per head; write kind: gqa")
        if self.heads % self.cached_heads:
            raise ValueError(f"kv_heads {self.cached_heads} does not divide heads {self.heads}")
        if self.chunked and self.window is None:
            raise ValueError("chunked attention needs window, the tokens of a chunk")
        return self


class LatentAttention(Entry):
    """Multi-head latent attention: one compressed vector a token is cached for all heads."""

    kind: Literal["mla"]
    heads: Whole
    q_rank: Whole | None = None
    kv_rank: Whole
    nope_dim: Whole
    rope_dim: WholeOrZero
    value_dim: Whole
    output_gate: bool = False
    indexer: Indexer | None = None


class CompressedAttention(Entry):
    """DeepSeek V4's attention: one vector is key and value of all heads.

    It reads the last ``window`` tokens and, with ``compression``, one entry for every
    ``compression`` earlier tokens.
    """

    kind: Literal["compressed"]
    heads: Whole
    head_dim: Whole
    q_rank: Whole
    output_groups: Whole
    output_rank: Whole
    window: Whole
    compression: Whole | None = None
    indexer: Indexer | None = None

    @model_validator(mode="after")
    def _indexer_picks_entries(self) -> "CompressedAttention":
        if self.indexer is not None and self.compression is None:
            raise ValueError("an indexer picks compressed entries: compression is missing")
        return self


class LinearAttention(Entry):
    """Attention with a fixed state per sequence instead of a cache that grows.

    Of Mamba-2, groups are key heads, heads are value heads, the state size is the key dimension.
    Mamba has one value a head and a ``step_rank``, the rank of its step size. Lightning attention
    keeps one matrix a head; a short convolution keeps its last tokens alone.
    """

    kind: Literal["gated-deltanet", "kda", "mamba2", "mamba", "lightning", "short-conv"]
    key_heads: Whole
    value_heads: Whole
    key_dim: Whole
    value_dim: Whole
    conv_kernel: Whole = 4
    full_rank_gate: bool = False
    step_rank: Whole | None = None

    @model_validator(mode="after")
    def _gate_of_kda(self) -> "LinearAttention":
        if (self.step_rank is None) == (self.kind == "mamba"):
            raise ValueError("step_rank belongs to kind: mamba, which needs it")
        if self.full_rank_gate and self.kind != "kda":
            raise ValueError(f"full_rank_gate belongs to kda; {self.kind} has no such choice")
        return self


class DenseFFN(Entry):
    """A feed-forward network that every token passes whole."""

    kind: Literal["dense"]
    width: Whole
    matrices: Literal[2, 3] = 3
    bias: bool = False


class MixtureOfExperts(Entry):
    """Experts of which a router picks a few for every token, and shared ones for all.

    ``shared_width`` is the width of everything that every token passes. With ``latent_size``,
    routed experts work on a projection of the hidden state to that width. The router also picks
    ``zero_experts``, which return their input; ``active_experts`` are without them.
    """

    kind: Literal["moe"]
    experts: Whole
    active_experts: Whole
    width: Whole
    matrices: Literal[2, 3] = 3
    latent_size: Whole | None = None
    shared_width: WholeOrZero = 0
    shared_gate: bool = False
    router_bias: bool = False
    expert_bias: bool = False
    zero_experts: WholeOrZero = 0

    @model_validator(mode="after")
    def _active_exist(self) -> "MixtureOfExperts":
        if self.active_experts > self.experts:
            raise ValueError(f"active_experts {self.active_experts} exceeds experts {self.experts}")
        return self


AnyAttention = Annotated[
    Attention | LatentAttention | CompressedAttention | LinearAttention, Field(discriminator="kind")
]
AnyFFN = Annotated[DenseFFN | MixtureOfExperts, Field(discriminator="kind")]


class Block(Entry):
    """A run of equal layers; ``norms`` as wide as the hidden state, one a part unless given.

    ``other_matrices`` and ``other_parameters`` are weights of each layer without a key of their
    own: in matrices that every token is multiplied with, and in small vectors.
    """

    count: LayerCount
    attention: AnyAttention | None = None
    ffn: AnyFFN | None = None
    norms: WholeOrZero | None = None
    other_matrices: WholeOrZero = 0
    other_parameters: WholeOrZero = 0

    @property
    def parts(self) -> int:
        """Which a layer has of attention and feed-forward network: one or two. [1]"""
        return (self.attention is not None) + (self.ffn is not None)

    @model_validator(mode="after")
    def _is_a_layer(self) -> "Block":
        if self.parts == 0:
            raise ValueError("a block needs attention, ffn or both")
        return self


class Mtp(Entry):
    """Multi-token-prediction layers of a checkpoint; like the last block unless given."""

    layers: Whole
    own_embedding: bool = False
    own_head: bool = False
    attention: AnyAttention | None = None
    ffn: AnyFFN | None = None


class Published(Entry):
    """Counts that others publish, to check ours against."""

    label: Name | None = None
    total: Count | None = None
    active: Count | None = None
    checkpoint: Count | None = None
    checkpoint_bytes: Size | None = None


def _repository(name: object) -> object:
    if isinstance(name, str) and REPOSITORY.fullmatch(name):
        return name
    raise ValueError(
        f"'{shown(name)}' is no repository; write owner/name as Hugging Face has it, such as "
        "meta-llama/Llama-3.1-8B"
    )


REPOSITORY = re.compile(r"\w[\w.-]{0,59}/\w[\w.-]{0,95}", re.ASCII)
"""An owner and a name on Hugging Face."""

RepositoryName = Annotated[str, BeforeValidator(_repository)]


def _mix(name: object) -> str:
    try:
        return format_mix(str(name)).id
    except InputError as error:
        raise ValueError(str(error)) from error


def _group(name: object) -> str:
    if name in GROUPS:
        return str(name)
    raise ValueError(f"'{shown(name)}' is not a group of matrices; known: {', '.join(GROUPS)}")


FormatMix = Annotated[str, BeforeValidator(_mix)]
GroupName = Annotated[str, BeforeValidator(_group)]


class Quotation(Entry):
    """What a source other than the shape's prints, in its own characters."""

    text: str
    source: str


Uncounted = Literal[
    "weight_format", "expert_format", "kv_format", "max_context", "window", "top_k", "pool"
]
"""What moves bytes and FLOPs, and no count of parameters can check."""


class Model(Entry):
    """One language model: its whole shape, or the minimum that a closed model publishes.

    ``norm_bias`` doubles every norm. ``residual_streams`` are those of hyper-connections.
    ``group_formats`` are those of groups of matrices that are not in ``weight_format``, each a
    format or a mix: ``{attention: bf16, head: 60%fp8/40%bf16}``; ``expert_format`` is short for
    that of ``experts``. ``other_parameters`` are small vectors and tables without a key of their
    own; ``lookup_parameters`` are further tables of which a token reads a few rows, as it does of
    the embedding (embeddings of layers, of n-grams).
    ``block_sizes`` are the sides of square blocks that share a scale, by the format that a
    checkpoint stores in such blocks: no rank can have a part of one.
    ``also_published`` names, by the format of its weights, what else its maker releases, as a
    source prints it. ``repositories`` says where weights in its own formats are to be had, by its
    names.
    """

    id: Identifier
    name: Name
    released: Name | None = None
    hypothetical: bool = False
    aliases: list[Identifier] = []
    extends: Identifier | None = None
    sources: dict[str, Source] = {}
    shape_source: str | None = None
    printed: dict[Uncounted, str | Quotation] = {}
    confidence: Confidence | None = None
    weight_format: FormatName
    expert_format: FormatName | None = None
    group_formats: dict[GroupName, FormatMix] = {}
    kv_format: FormatName = "bf16"
    block_sizes: dict[FormatName, Whole] = {}
    also_published: dict[FormatName, Quotation] = {}
    repositories: dict[Identifier, RepositoryName] = {}
    max_context: Whole | None = None
    hidden_size: Whole | None = None
    vocabulary: Whole | None = None
    tied_embeddings: bool = False
    norm_bias: bool = False
    residual_streams: Whole = 1
    other_parameters: WholeOrZero = 0
    lookup_parameters: Count | None = None
    blocks: list[Block] = []
    mtp: Mtp | None = None
    vision_parameters: Count | None = None
    published: Published = Field(default_factory=Published)
    total_parameters: Count | None = None
    active_parameters: Count | None = None
    layers: LayerCount | None = None
    kv_bytes_per_token: Count | None = None
    experts: Whole | None = None
    active_experts: Whole | None = None
    notes: list[str] = []
    excused: Excuses = {}
    _asked_as: tuple[str, ...] = ()

    def asked_as(self, names: Iterable[str]) -> "Model":
        """Return the same by the names that a user asks for; an alias may be another model's."""
        names_by_key = {name.lower(): name for name in (self.id, *self.aliases)}
        known_names = [names_by_key[name.lower()] for name in names if name.lower() in names_by_key]
        if all(name == self.id for name in known_names):
            return self
        copy = self.model_copy()
        copy._asked_as = tuple(known_names)
        return copy

    @property
    def asked_name(self) -> str:
        """The id or alias that a user asks for: what a sentence calls the model."""
        return self._asked_as[0] if self._asked_as else self.id

    @property
    def heading(self) -> str:
        """The name, or those of the aliases that a user asks for, and the name of their shape."""
        if not self._asked_as:
            return self.name
        printed = {alias: self.repositories.get(alias, alias) for alias in self._asked_as}
        names = printed | dict.fromkeys([self.id] * (self.id in printed), self.name)
        heading = listed([name.rpartition("/")[2] for name in names.values()])
        return heading if self.id in names else f"{heading} (same shape as {self.name})"

    @property
    def own_formats(self) -> WeightFormats:
        """The number format of each group of matrices as published."""
        return _own_formats(self)

    @property
    def format_name(self) -> str:
        """What records call the published formats: that of the experts where only they differ."""
        formats = self.own_formats
        only_experts = [name for name, _ in formats.groups] == ["experts"]
        return formats.of("experts").id if only_experts else formats.text

    @property
    def is_minimal(self) -> bool:
        """True where only totals are known, not the shape."""
        return not self.blocks

    @model_validator(mode="after")
    def _shape_or_minimum(self) -> "Model":
        given, minimum = self.given, ("total_parameters", "layers", "kv_bytes_per_token")
        if self.blocks:
            derived = ("active_parameters", "experts", "active_experts")
            stated = [key for key in (*minimum, *derived) if key in given]
            if stated:
                raise ValueError(
                    f"{', '.join(stated)} cannot be given with blocks, from which they follow; "
                    "published counts go under 'published'"
                )
            missing = [key for key in ("hidden_size", "vocabulary") if key not in given]
        else:
            missing = [key for key in minimum if key not in given]
            if self.expert_format is not None or self.group_formats:
                raise ValueError(
                    "expert_format and group_formats need blocks; a minimal model has one "
                    "weight_format"
                )
        if missing:
            raise ValueError(
                f"{', '.join(missing)} missing: a model needs hidden_size, vocabulary and blocks, "
                "or at least total_parameters, layers and kv_bytes_per_token"
            )
        return self

    @model_validator(mode="after")
    def _counts_agree(self) -> "Model":
        layer_types = {
            (block.ffn.experts, block.ffn.active_experts)
            for block in self.blocks
            if isinstance(block.ffn, MixtureOfExperts)
        }
        if len(layer_types) > 1:
            raise ValueError("all blocks with experts need the same experts and active_experts")
        total, active = self.total_parameters, self.active_parameters
        if total is not None and active is not None and active.si > total.si:
            raise ValueError("active_parameters exceed total_parameters")
        if (self.experts is None) != (self.active_experts is None):
            raise ValueError("experts and active_experts go together; the other one is missing")
        if self.experts is not None and (self.active_experts or 0) > self.experts:
            raise ValueError(f"active_experts {self.active_experts} exceeds experts {self.experts}")
        if self.expert_format is not None and "experts" in self.group_formats:
            raise ValueError("give expert_format or experts in group_formats, not both")
        if number_format(self.kv_format).cache_bits is None:
            raise ValueError(f"kv_format '{self.kv_format}' is not one that a KV cache has")
        return self


@once
def _own_formats(model: Model) -> WeightFormats:
    groups = {"experts": model.expert_format, **model.group_formats}
    stored = {name: format_mix(text) for name, text in groups.items() if text}
    return WeightFormats(number_format(model.weight_format)).with_groups(stored.items())
