"""What a hardware, model or engine file may hold: types, and nothing computed.

One schema serves the shipped catalogue and people's own files. Every number may be bare
(``3.35 TB/s``) or carry its provenance (``{value: 3.35 TB/s, source: datasheet, printed:
"3.35TB/s"}``); either way it is read into a `Quantity` whose ``si`` is a float.
"""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic_core import core_schema

from fastcalc.catalogue.formats import FORMATS, number_format
from fastcalc.errors import InputError
from fastcalc.units import parse_quantity

Confidence = Literal["high", "medium", "low", "memory"]
Identifier = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]*$", max_length=80)]
Whole = Annotated[int, Field(gt=0, le=10**9, strict=True)]
LayerCount = Annotated[int, Field(gt=0, le=10_000, strict=True)]
WholeOrZero = Annotated[int, Field(ge=0, le=10**9, strict=True)]
Excuses = dict[str, Annotated[str, Field(min_length=10)]]
"""Rules of `fastcalc check` that a file breaks and is right, each with the reason."""


class Entry(BaseModel):
    """A frozen record that refuses keys it does not know."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, protected_namespaces=(), defer_build=True
    )


class Source(Entry):
    """A document that numbers were taken from."""

    title: str
    url: str | None = None
    accessed: str | None = None
    note: str | None = None


class Quantity(Entry):
    """A number in SI units with where it came from.

    Attributes
    ----------
    si : float
        The value. [SI]
    text : str
        The value as the file writes it.
    source : str or None
        A key of the entry's ``sources``.
    printed : str or None
        The source's own characters, for whoever searches the document.
    reading : str or None
        How the printed characters were read, where they need reading.
    """

    si: float
    text: str
    source: str | None = None
    printed: str | None = None
    reading: str | None = None
    note: str | None = None
    date: str | None = None
    confidence: Confidence | None = None
    band: list[float] | None = None


def _plain_number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise InputError(f"'{str(value)[:60]}' is not a plain number")
    return float(value)


class QuantityError(ValueError):
    """A quantity that cannot be read, and the rule that says so."""

    def __init__(self, sentence: str, rule: str) -> None:
        super().__init__(sentence)
        self.rule = rule


@dataclass(frozen=True)
class QuantityReader:
    """Reads what a file writes for a `Quantity`: bare, or a mapping with its provenance.

    Attributes
    ----------
    dimension : str
        A dimension of `units`, or ``number`` for a plain one.
    least, most : float
        Limits, far outside what exists: beyond them a unit or a prefix is wrong. [SI]
    whole : bool
        Whether only whole numbers will do.
    """

    dimension: str
    least: float
    most: float
    whole: bool = False

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        """Let pydantic call this before it validates the fields."""
        return core_schema.no_info_before_validator_function(self, handler(source))

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        """Describe what people write; `json_schema` knows each dimension."""
        return {"quantity": [self.dimension, self.least, self.most, self.whole]}

    def __call__(self, raw: Any) -> Any:
        """Return the fields of a `Quantity`."""
        if isinstance(raw, Quantity):
            return raw
        fields = dict(raw) if isinstance(raw, dict) else {"value": raw}
        if fields.get("value") is None:
            sentence = "a value is missing: write 'value:' or the bare number with its unit"
            raise QuantityError(sentence, "ST016")
        value = fields.pop("value")
        return {**fields, "si": self.si(value), "text": str(value)}

    def si(self, value: object) -> float:
        """Return the SI value of a bare quantity, or raise a `QuantityError`."""
        try:
            plain = self.dimension == "number"
            si = _plain_number(value) if plain else parse_quantity(value, self.dimension)
        except InputError as error:
            raise QuantityError(str(error), getattr(error, "rule", "ST017")) from error
        if not self.least <= si <= self.most:
            unit = "" if self.dimension == "number" else f" {_SI_UNIT[self.dimension]}"
            sentence = f"'{value}' is out of range: from {self.least:g} to {self.most:g}{unit}"
            raise QuantityError(sentence, "ST018")
        if self.whole and si != int(si):
            raise QuantityError(f"'{value}' is not a whole number", "ST018")
        return si


_SI_UNIT = {
    "size": "B",
    "bandwidth": "B/s",
    "compute rate": "FLOP/s",
    "time": "s",
    "power": "W",
    "area": "m2",
    "price": "USD",
    "hourly price": "USD/h",
}
Size = Annotated[Quantity, QuantityReader("size", 1e3, 1e18)]
Bandwidth = Annotated[Quantity, QuantityReader("bandwidth", 1e3, 1e20)]
ComputeRate = Annotated[Quantity, QuantityReader("compute rate", 1e6, 1e22)]
Time = Annotated[Quantity, QuantityReader("time", 0.0, 1e3)]
Watts = Annotated[Quantity, QuantityReader("power", 1e-3, 1e9)]
Area = Annotated[Quantity, QuantityReader("area", 1e-9, 1e2)]
Dollars = Annotated[Quantity, QuantityReader("price", 1e-2, 1e12)]
DollarsPerHour = Annotated[Quantity, QuantityReader("hourly price", 1e-6, 1e9)]
Count = Annotated[Quantity, QuantityReader("number", 1.0, 1e15, whole=True)]
Fraction = Annotated[Quantity, QuantityReader("number", 1e-6, 1.0)]
Number = Annotated[Quantity, QuantityReader("number", 0.0, 1e6)]
Factor = Annotated[Quantity, QuantityReader("number", 1.0, 100.0)]

# -- hardware ---------------------------------------------------------------------------


class Memory(Entry):
    """A place where weights and cache can live."""

    name: str
    capacity: Size
    bandwidth: Bandwidth


class Link(Entry):
    """A way between chips: one direction, one chip."""

    bandwidth: Bandwidth
    domain: Count | None = None
    latency: Time | None = None


class Links(Entry):
    """The fast link inside a domain, and the slower one beyond it."""

    scale_up: Link | None = None
    scale_out: Link | None = None


class Fabric(Entry):
    """The network on the chip itself: not memory, and not between chips."""

    bandwidth: Bandwidth


class Power(Entry):
    """What the chip draws at most, as the vendor prints it, and with its share of the site."""

    chip: Watts
    all_in: Watts | None = None


class Price(Entry):
    """What an hour costs from a cloud, and what the chip costs to buy."""

    cloud: DollarsPerHour | None = None
    purchase: Dollars | None = None


RateFormat = Literal["fp32", "tf32", "bf16", "fp16", "fp8", "int8", "fp6", "fp4", "int4"]


class Hardware(Entry):
    """One accelerator as its vendor prints it: nothing fitted, nothing guessed."""

    id: Identifier
    name: str
    vendor: str
    kind: Literal["gpu", "wafer", "lpu", "rdu", "tpu", "npu", "apple", "soc", "cpu"]
    scope: str
    execution: Literal["sequential", "spatial"] = "sequential"
    architecture: Identifier | None = None
    released: str | None = None
    hypothetical: bool = False
    aliases: list[Identifier] = []
    sources: dict[str, Source] = {}
    cores: Count | None = None
    memory: Annotated[list[Memory], Field(min_length=1)]
    peak: Annotated[dict[RateFormat, ComputeRate], Field(min_length=1)]
    vector: ComputeRate | None = None
    fabric: Fabric | None = None
    links: Links = Field(default_factory=Links)
    power: Power | None = None
    price: Price = Field(default_factory=Price)
    area: Area | None = None
    transistors: Count | None = None
    notes: list[str] = []
    excused: Excuses = {}

    def rate(self, name: str) -> Quantity | None:
        """Return the dense peak of a number format, or None where the chip has none."""
        return next((peak for known, peak in self.peak.items() if known == name), None)

    @model_validator(mode="after")
    def _sixteen_bit_peak(self) -> "Hardware":
        if not {"bf16", "fp16"} & set(self.peak):
            raise ValueError("peak needs the dense bf16 or fp16 rate; every model has 16-bit parts")
        return self


# -- models -----------------------------------------------------------------------------


class Indexer(Entry):
    """Light heads that score the whole context and pick the tokens that attention reads.

    ``top_k`` counts what attention reads: tokens, or compressed entries. ``pool`` tokens share
    a key. A ``shared`` indexer is an earlier layer's: it costs neither weights nor keys.
    """

    heads: Whole
    head_dim: Whole
    top_k: Whole
    pool: Whole = 1
    head_weights: bool = True
    shared: bool = False


class Attention(Entry):
    """Multi-head or grouped-query attention; with ``window`` it sees that many tokens back.

    ``chunked`` windows start anew every ``window`` tokens and are counted full. ``qk_norm`` is
    per head (true) or over the ``full`` width; ``output_gate`` is as wide as all heads (true)
    or ``per-head``. With ``k_eq_v`` one projection serves keys and values, both of which are
    cached.
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

    @property
    def cached_heads(self) -> int:
        """Key-value heads that the cache holds. [1]"""
        return self.kv_heads or self.heads

    @model_validator(mode="after")
    def _heads_divide(self) -> "Attention":
        if self.kind == "mha" and self.cached_heads != self.heads:
            raise ValueError("mha has as many kv_heads as heads; write kind: gqa")
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

    It reads the last ``window`` tokens and, with ``compression``, one entry for every so many
    tokens: all of them (HCA), or those that an indexer picks (CSA).
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

    Gated DeltaNet, Kimi Delta Attention and Mamba-2; the latter's groups are key heads, its
    heads are value heads, its state size is the key dimension.
    """

    kind: Literal["gated-deltanet", "kda", "mamba2"]
    key_heads: Whole
    value_heads: Whole
    key_dim: Whole
    value_dim: Whole
    conv_kernel: Whole = 4
    full_rank_gate: bool = False

    @model_validator(mode="after")
    def _gate_of_kda(self) -> "LinearAttention":
        if self.full_rank_gate and self.kind != "kda":
            raise ValueError(f"full_rank_gate is of kda; {self.kind} has one kind of gate")
        return self


class DenseFFN(Entry):
    """A feed-forward network that every token passes whole."""

    kind: Literal["dense"]
    width: Whole
    matrices: Literal[2, 3] = 3
    bias: bool = False


class MixtureOfExperts(Entry):
    """Experts of which a router picks a few for every token, and shared ones for all.

    ``shared_width`` is the width of everything that each token passes whole: shared experts
    together, or a dense network beside the experts. With ``latent_size``, routed experts work
    on a projection of the hidden state to that width.
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

    @model_validator(mode="after")
    def _active_exist(self) -> "MixtureOfExperts":
        if self.active_experts > self.experts:
            raise ValueError(f"active_experts {self.active_experts} exceeds experts {self.experts}")
        return self


AnyAttention = Annotated[
    Attention | LatentAttention | CompressedAttention | LinearAttention,
    Field(discriminator="kind"),
]
AnyFFN = Annotated[DenseFFN | MixtureOfExperts, Field(discriminator="kind")]


class Block(Entry):
    """A run of equal layers, which may lack attention or the feed-forward network.

    ``norms`` counts the norms as wide as the hidden state: one for each part unless given.
    """

    count: LayerCount
    attention: AnyAttention | None = None
    ffn: AnyFFN | None = None
    norms: WholeOrZero | None = None

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
    """Multi-token-prediction layers that a checkpoint stores beside the text core.

    Their attention and feed-forward network are the last block's unless given.
    """

    layers: Whole
    own_embedding: bool = False
    own_head: bool = False
    attention: AnyAttention | None = None
    ffn: AnyFFN | None = None


class Published(Entry):
    """Parameter counts that others publish, to check ours against."""

    label: str | None = None
    total: Count | None = None
    active: Count | None = None
    checkpoint: Count | None = None


def _known_format(name: str) -> str:
    try:
        return number_format(name).id
    except InputError as error:
        raise ValueError(str(error)) from error


FormatName = Annotated[str, BeforeValidator(lambda raw: _known_format(str(raw)))]


class Model(Entry):
    """One language model: its whole shape, or the minimum that a closed model publishes.

    ``confidence`` is of the shape. ``norm_bias`` doubles every norm. ``residual_streams`` are
    those of hyper-connections. ``other_parameters`` are small vectors and tables without a key
    of their own, which the notes name. ``vision_parameters`` lie outside the text core.
    """

    id: Identifier
    name: str
    released: str | None = None
    hypothetical: bool = False
    aliases: list[Identifier] = []
    sources: dict[str, Source] = {}
    shape_source: str | None = None
    confidence: Confidence | None = None
    weight_format: FormatName
    expert_format: FormatName | None = None
    kv_format: FormatName = "bf16"
    max_context: Whole | None = None
    hidden_size: Whole | None = None
    vocabulary: Whole | None = None
    tied_embeddings: bool = False
    norm_bias: bool = False
    residual_streams: Whole = 1
    other_parameters: WholeOrZero = 0
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

    @property
    def is_minimal(self) -> bool:
        """True where only totals are known, not the shape."""
        return not self.blocks

    @model_validator(mode="after")
    def _shape_or_minimum(self) -> "Model":
        minimum = ("total_parameters", "layers", "kv_bytes_per_token")
        if self.blocks:
            given = [
                key
                for key in (*minimum, "active_parameters", "experts", "active_experts")
                if getattr(self, key) is not None
            ]
            if given:
                raise ValueError(
                    f"{', '.join(given)} cannot stand beside blocks, from which they follow; "
                    "published counts go under 'published'"
                )
            missing = [key for key in ("hidden_size", "vocabulary") if not getattr(self, key)]
        else:
            missing = [key for key in minimum if getattr(self, key) is None]
            if self.expert_format is not None:
                raise ValueError(
                    "expert_format needs blocks; a minimal model has one weight_format"
                )
        if missing:
            raise ValueError(
                f"{', '.join(missing)} missing: a model needs hidden_size, vocabulary and blocks, "
                "or at least total_parameters, layers and kv_bytes_per_token"
            )
        self._check_counts()
        return self

    def _check_counts(self) -> None:
        kinds = {
            (block.ffn.experts, block.ffn.active_experts)
            for block in self.blocks
            if isinstance(block.ffn, MixtureOfExperts)
        }
        if len(kinds) > 1:
            raise ValueError("all blocks with experts need the same experts and active_experts")
        total, active = self.total_parameters, self.active_parameters
        if total is not None and active is not None and active.si > total.si:
            raise ValueError("active_parameters exceed total_parameters")
        if (self.experts is None) != (self.active_experts is None):
            raise ValueError("experts and active_experts go together; the other one is missing")
        if self.experts is not None and (self.active_experts or 0) > self.experts:
            raise ValueError(f"active_experts {self.active_experts} exceeds experts {self.experts}")
        if FORMATS[self.kv_format].cache_bits is None:
            raise ValueError(f"kv_format '{self.kv_format}' is not one that a KV cache has")


# -- engines ----------------------------------------------------------------------------


class SpeedRange(Entry):
    """An 80 % range around an expected speed: ``expected / below`` to ``expected * above``."""

    below: Annotated[float, Field(ge=1.0, le=100.0)]
    above: Annotated[float, Field(ge=1.0, le=100.0)]
    basis: str


class Ranges(Entry):
    """Speed ranges by class; ``unseen`` serves chips and models that nothing was fitted on."""

    dense: SpeedRange | None = None
    moe: SpeedRange | None = None
    unseen: SpeedRange


class Parameters(Entry):
    """What software reaches and what it pays; a value left out costs nothing.

    Fractions are of the vendor's peak. Times are paid once per what their name says.
    """

    bandwidth_fraction: Fraction | None = None
    bandwidth_per_core: Bandwidth | None = None
    cache_read_fraction: Fraction | None = None
    compute_fraction: Fraction | None = None
    compute_per_core: ComputeRate | None = None
    grouped_gemm_fraction: Fraction | None = None
    dequantization_operations: Number | None = None
    link_fraction: Fraction | None = None
    collective_latency: Time | None = None
    decode_layer_floor: Time | None = None
    prefill_layer_floor: Time | None = None
    expert_layer_extra: Number | None = None
    latent_layer_extra: Number | None = None
    sequence_overhead: Time | None = None
    request_overhead: Time | None = None
    expert_correlation: Fraction | None = None
    expert_imbalance: Factor | None = None
    memory_fraction: Fraction | None = None
    prompt_chunk: Count | None = None
    max_sequences: Count | None = None


class Engine(Entry):
    """How well one piece of software uses hardware."""

    id: Identifier
    name: str
    date: str | None = None
    aliases: list[Identifier] = []
    sources: dict[str, Source] = {}
    fitted_on: str
    is_bound: bool = False
    fitted_architectures: list[Identifier] = []
    parameters: Parameters = Field(default_factory=Parameters)
    architectures: dict[Identifier, Parameters] = {}
    ranges: Ranges | None = None
    notes: list[str] = []
    excused: Excuses = {}

    def on(self, architecture: str | None) -> Parameters:
        """Return the parameters for a chip's architecture, overrides applied."""
        override = self.architectures.get(architecture or "")
        if override is None:
            return self.parameters
        known = override.model_dump(exclude_none=True)
        return self.parameters.model_copy(update={key: getattr(override, key) for key in known})
