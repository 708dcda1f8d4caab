"""Schema of a model file: the full architecture, or the minimum that is published."""

import re
from collections.abc import Iterable
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, model_validator

from fastcalc.catalogue.formats import format_mix, number_format
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
    NamedEntry,
    Size,
    Source,
    Whole,
    WholeOrZero,
)
from fastcalc.catalogue.weight_formats import GROUPS, WeightFormats
from fastcalc.errors import InputError
from fastcalc.written import listed, shown


class Indexer(Entry):
    """A lightweight indexer that scores the context and selects the tokens to attend to.

    ``top_k`` counts tokens or compressed entries. ``pool`` tokens share a key. A ``shared`` indexer
    belongs to an earlier layer and adds neither weights nor keys.
    """

    heads: Whole
    head_dim: Whole
    top_k: Whole
    pool: Whole = 1
    head_weights: bool = True
    shared: bool = False


class Attention(Entry):
    """Multi-head or grouped-query attention, optionally with a ``window`` of past tokens.

    ``chunked`` windows restart every ``window`` tokens and count as full. ``qk_norm`` applies per
    head (true) or to the ``full`` width; ``output_gate`` is as wide as all heads (true) or
    ``per-head``. With ``k_eq_v``, a single projection yields keys and values, and both are cached.
    With ``shared_cache``, a layer attends to the keys and values of an earlier layer.
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
        """The number of key-value heads in the cache."""
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
    """Multi-head latent attention (MLA), which caches one latent per token."""

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
    """The compressed attention of DeepSeek V4, with one vector as key and value.

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
    """Attention with a fixed-size state per sequence instead of a growing cache.

    For Mamba-2, groups are key heads, heads are value heads, and the state size is the key
    dimension. Mamba has one value per head and a ``step_rank``, the rank of its step size.
    Lightning attention stores one matrix per head, a short convolution only the last tokens.
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


def _rotary_width(attention: object) -> int:
    if isinstance(attention, LatentAttention):
        return attention.rope_dim
    return attention.head_dim if isinstance(attention, Attention) else 0


class DenseFFN(Entry):
    """A dense feed-forward network."""

    kind: Literal["dense"]
    width: Whole
    matrices: Literal[2, 3] = 3
    bias: bool = False


class MixtureOfExperts(Entry):
    """Experts of which a router selects a few per token, and shared experts.

    ``shared_width`` is the total width of networks that every token uses. With ``latent_size``,
    routed experts operate on a projection of the hidden state to that width. The router may also
    select ``zero_experts``, which return their input and are not included in ``active_experts``.
    ``redundant_experts`` are copies that engines load to balance expert-parallel ranks.
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
    redundant_experts: WholeOrZero = 0

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
    """A number of identical layers in a row.

    ``norms`` counts norms as wide as the hidden state, by default one per component.
    ``other_matrices`` and ``other_parameters`` are per-layer weights without their own key, in
    matrices used by every token and in small vectors.
    """

    count: LayerCount
    attention: AnyAttention | None = None
    ffn: AnyFFN | None = None
    norms: WholeOrZero | None = None
    other_matrices: WholeOrZero = 0
    other_parameters: WholeOrZero = 0

    @property
    def parts(self) -> int:
        """The number of components in a layer: attention, feed-forward network or both."""
        return (self.attention is not None) + (self.ffn is not None)

    @model_validator(mode="after")
    def _is_a_layer(self) -> "Block":
        if self.parts == 0:
            raise ValueError("a block needs attention, ffn or both")
        return self


class Mtp(Entry):
    """The multi-token-prediction layers of a checkpoint, by default like the last."""

    layers: Whole
    own_embedding: bool = False
    own_head: bool = False
    attention: AnyAttention | None = None
    ffn: AnyFFN | None = None


class Published(Entry):
    """Published counts that are compared with computed ones."""

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
"""The owner and name of a Hugging Face repository."""

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
    """A quotation from a source other than that of the architecture."""

    text: str
    source: str


Uncounted = Literal[
    "weight_format", "expert_format", "kv_format", "max_context", "window", "top_k", "pool"
]
"""The keys that affect bytes and FLOPs but cannot be verified by counting parameters."""


DENSE = "dense-models"
"""The name in engine files for models without experts and recurrent states."""


class Model(NamedEntry):
    """A language model by its architecture or by the published data of a closed model.

    ``norm_bias`` doubles every norm. ``residual_streams`` belong to hyper-connections.
    ``group_formats`` gives a format, or a mix of formats, for matrix groups not stored in
    ``weight_format``: ``{attention: bf16, head: 60%fp8/40%bf16}``; ``expert_format`` is short for
    the format of ``experts``. ``other_parameters`` are small vectors and tables without their own
    key; ``lookup_parameters`` are tables of which a token reads a few rows, like the embedding
    (an embedding for each layer), and ``ngram_parameters`` those of hashed n-grams, which vLLM
    stores on the host. ``block_sizes`` gives the side of square blocks that share a
    scale, by format; such blocks are not split between ranks. ``also_published`` lists other
    releases by the same maker, by weight format, as quoted from a source. ``repositories`` gives
    the repository of the weights in their published formats, for each of the model's names.
    ``rotary_columns`` counts the sines and cosines that engines store for each position, if they
    are not as wide as a head: 0 without rotary embeddings. With ``mrope`` (M-RoPE), positions have
    axes for time, height and width, for which some engines store more positions.
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
    rotary_columns: WholeOrZero | None = None
    mrope: bool = False
    hidden_size: Whole | None = None
    vocabulary: Whole | None = None
    tied_embeddings: bool = False
    norm_bias: bool = False
    residual_streams: Whole = 1
    other_parameters: WholeOrZero = 0
    lookup_parameters: Count | None = None
    ngram_parameters: Count | None = None
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
        """Record the name that the user typed, since an alias may mean a different model."""
        names_by_key = {name.lower(): name for name in (self.id, *self.aliases)}
        known_names = [names_by_key[name.lower()] for name in names if name.lower() in names_by_key]
        if all(name == self.id for name in known_names):
            return self
        copy = self.model_copy()
        copy._asked_as = tuple(known_names)
        return copy

    @property
    def asked_name(self) -> str:
        """The id or alias by which the user refers to the model, used in sentences."""
        return self._asked_as[0] if self._asked_as else self.id

    @property
    def checkpoint(self) -> tuple[str, str]:
        """The id of the model and the formats of the weights, which repositories may change."""
        return self.id, self.own_formats.text

    @property
    def heading(self) -> str:
        """The name of the model, or the requested aliases with the name of their architecture."""
        if not self._asked_as:
            return self.name
        printed = {alias: self.repositories.get(alias, alias) for alias in self._asked_as}
        names = printed | dict.fromkeys([self.id] * (self.id in printed), self.name)
        heading = listed([name.rpartition("/")[2] for name in names.values()])
        return heading if self.id in names else f"{heading} (same shape as {self.name})"

    @property
    @once
    def own_formats(self) -> WeightFormats:
        """The published number format of each group of matrices."""
        groups = {"experts": self.expert_format, **self.group_formats}
        stored = {name: format_mix(text) for name, text in groups.items() if text}
        return WeightFormats(number_format(self.weight_format)).with_groups(stored.items())

    @property
    def format_name(self) -> str:
        """The name of the published formats in records, or the experts' if only theirs differs."""
        formats = self.own_formats
        only_experts = [name for name, _ in formats.groups] == ["experts"]
        return formats.of("experts").id if only_experts else formats.text

    @property
    @once
    def rotary_values(self) -> float:
        """The number of sines and cosines of rotary embeddings up to the maximum context."""
        columns = self.rotary_columns
        if columns is None:
            attentions = (block.attention for block in self.blocks)
            columns = sum({_rotary_width(each) for each in attentions})
        return float((self.max_context or 0) * columns)

    @property
    @once
    def groups(self) -> tuple[str, ...]:
        """The groups for which engines may have separate values."""
        is_dense = all(
            isinstance(block.ffn, DenseFFN | None)
            and not isinstance(block.attention, LinearAttention)
            for block in self.blocks
        )
        return (DENSE,) if self.blocks and is_dense else ()

    @property
    def is_minimal(self) -> bool:
        """Whether only totals are known, not the architecture."""
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
