"""Groups of fields that requests share, so that each field is declared once."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from fastcalc.kit.request import offered
from fastcalc.kit.request.fields import FieldSetting, Request, Says, argument, declared, flag
from fastcalc.kit.request.readers import (
    as_text,
    file_of,
    format_of,
    kind_of,
    prices,
    several,
    share_of,
    tokens_of,
)
from fastcalc.mentions import option

if TYPE_CHECKING:
    from fastcalc.kit.request.given_types import (
        ChangesGiven,
        ChipsGiven,
        DraftsGiven,
        EngineGiven,
        HostGiven,
        ModelGiven,
        ModelsGiven,
        PlacesGiven,
        PricesGiven,
        WordsGiven,
    )


class ModelNames(Request):
    """Arguments."""

    premise = "model"

    models: Annotated[
        "ModelsGiven | None",
        argument(
            "MODEL",
            "Models: names, YAML files or config.json.",
            completion=offered.models,
            is_repeated=True,
        ),
    ] = None

    def __post_init__(self) -> None:
        """Split comma-separated names into a list of models."""
        super().__post_init__()
        if self.models is not None:
            models = [name for given in self.models for name in several(given, "MODEL")]
            object.__setattr__(self, "models", models)


class ModelName(Request):
    """Arguments."""

    premise = "model"

    model: Annotated[
        "ModelGiven",
        argument("MODEL", "A model: a name, YAML file or config.json.", completion=offered.models),
    ]


def _tokens(summary: str, **settings: Any) -> FieldSetting:
    return flag("TOKENS", summary, parser_of=tokens_of, **settings)


def a_share(summary: str, says: str | None = None, **settings: Any) -> FieldSetting:
    """Declare a flag for a fraction, which headings show as a percentage."""

    def said(fraction: float) -> str:
        from fastcalc.kit.answer.numbers_as_text import stated_percent  # help does not need it

        return str(says).format(stated_percent(fraction))

    return flag("SHARE", summary, parser_of=share_of, says=says and said, **settings)


class RequestTokens(Request):
    """Traffic."""

    prompt: Annotated[int, _tokens("Prompt tokens per request, e.g. 8k.")] = 1000
    output: Annotated[int, _tokens("Output tokens per request.")] = 1000


class MeanContext(Request):
    """Traffic."""

    context: Annotated[
        int | None,
        _tokens("Mean context in decode; default: prompt + output/2.", says="mean context {:,}"),
    ] = None


class PrefixHits(Request):
    """Traffic."""

    prefix_hit: Annotated[
        float,
        a_share(
            "Prefix-cache hit rate of the prompt, e.g. 0.4 or 40%.", says="{} of prompts cached"
        ),
    ] = 0.0
    prefix_tier: Annotated[
        str | None,
        flag(
            "MEMORY",
            "Memory tier of the prefix cache; default: the KV cache's tier.",
            says="prefix cache in {}",
            premise="memory",
        ),
    ] = None


_OF_CACHE = "KV cache {}"


def _format(summary: str, says: str | None = None) -> FieldSetting:
    return flag("FORMAT", summary, parser_of=format_of, completion=offered.formats, says=says)


def formats_named(summary: str, metavar: str = "NAMES", says: Says = None) -> FieldSetting:
    """Declare a flag for format names."""
    return flag(metavar, summary, completion=offered.formats, says=says)


class FormatOfEach(Request):
    """Formats."""

    weights: Annotated[str | None, _format("Weight format; default: the model's own.")] = None
    kv: Annotated[str | None, _format("KV cache format; default: the model's own.", _OF_CACHE)] = (
        None
    )


def caches_said(formats: "WordsGiven") -> str:
    """Describe the KV-cache formats to try, for headings."""
    return _OF_CACHE.format(as_text(formats).replace(",", ", "))


class FormatsToTry(Request):
    """Formats."""

    weights: Annotated[
        "WordsGiven | None", formats_named("Weight formats to try, e.g. bf16,fp8.")
    ] = None
    kv: Annotated[
        "WordsGiven | None",
        formats_named("KV cache formats to try, e.g. bf16,fp8.", says=caches_said),
    ] = None


DraftModelGiven = Annotated[
    str | None,
    flag(
        "NAME",
        "Draft model for speculative decoding, or eagle3 for a one-layer head. Its memory is "
        f"counted, and with {option('speculate')} its time.",
        completion=offered.models,
        says="drafted by {}",
        premise="deployment",
    ),
]


class DraftsToTry(Request):
    """Traffic."""

    speculate: Annotated[
        "DraftsGiven | None",
        flag(
            "LIST",
            "Speculative decoding to try: tokens per step (2.5), or acceptance rate x draft tokens "
            "(0.8x3), e.g. none,2.5,0.8x3.",
            says=lambda drafts: f"speculative decoding {as_text(drafts)}",
        ),
    ] = None
    draft_model: DraftModelGiven = None


def chips_named(summary: str, metavar: str = "CHIPS", **settings: Any) -> FieldSetting:
    """Declare a flag for chip names."""
    return flag(metavar, summary, completion=offered.hardware, **settings)


class ChipNames(Request):
    """Deployment."""

    on: Annotated[
        "ChipsGiven",
        chips_named("Hardware: names, YAML files, patterns (mi3*), vendors; -NAME excludes."),
    ] = "h100-sxm,gb200,wse-3"


class AnyChips(Request):
    """Deployment."""

    on: Annotated[
        "ChipsGiven",
        chips_named(
            "Hardware: names, YAML files, patterns (mi3*), vendors, rentable, all; -NAME excludes.",
            "CHIPS|all",
        ),
    ] = ChipNames.on


def engine_named(summary: str, metavar: str = "NAME", says: Says = None) -> FieldSetting:
    """Declare a flag for engine names."""
    return flag(metavar, summary, completion=offered.engines, says=says)


class EngineName(Request):
    """Deployment."""

    engine: Annotated[
        "EngineGiven | None",
        engine_named(
            "Engine; default: the usual one of the chip type.",
            says=lambda engine: f"engine {as_text(engine)}",
        ),
    ] = None


class EngineLimits(Request):
    """Engine limits. Named as in vLLM."""

    gpu_memory_utilization: Annotated[
        float | None,
        a_share(
            "Fraction of memory that the engine may fill (gpu_memory_utilization).",
            says="engine limited to {} of memory",
        ),
    ] = None
    max_model_len: Annotated[
        int | None,
        _tokens(
            "Longest sequence in tokens; one such sequence must fit.",
            says="context limit {:,} tokens",
        ),
    ] = None
    max_num_seqs: Annotated[
        int | None,
        flag(
            "N",
            "Largest number of sequences per step (max_num_seqs).",
            says="at most {:,} sequences per step",
        ),
    ] = None
    max_num_batched_tokens: Annotated[
        int | None,
        _tokens(
            "Token budget of a step, which limits the prefill chunk (max_num_batched_tokens).",
            says="at most {:,} tokens per step",
        ),
    ] = None
    language_model_only: Annotated[
        bool, flag(None, "Do not load image and audio encoders.", says="without encoders")
    ] = False


class OwnRuns(Request):
    """Measurements."""

    like: Annotated[
        Path | None,
        flag(
            "FILE",
            "Your measurements, a file or a folder (formats: see `fastcalc validate`), to correct "
            "predictions.",
            says=lambda file: f"corrected by {file.name}",
        ),
    ] = None


class StartUpLog(Request):
    """Measurements."""

    log: Annotated[Path | None, flag("FILE", "Start-up log of your server: vLLM or SGLang.")] = None


class ChipCount(Request):
    """Deployment."""

    chips: Annotated[
        int | None, flag("N", "Number of chips; default: the fewest that fit each batch.")
    ] = None


class ParallelRanks(Request):
    """Deployment."""

    tp: Annotated[int | None, flag("N", "Tensor-parallel ranks.")] = None
    pp: Annotated[int | None, flag("N", "Pipeline stages.")] = None
    ep: Annotated[int | None, flag("N", "Expert-parallel ranks.")] = None
    dp: Annotated[int | None, flag("N", "Data-parallel attention replicas.")] = None


class HostName(Request):
    """Memory."""

    host: Annotated[
        "HostGiven | None",
        flag(
            "NAME|dram=SIZE@BANDWIDTH,...",
            "Host by name, or dram=256GiB@300GB/s,link=64GB/s,chips=CHIPS_PER_HOST; "
            "compute=FLOP/s adds its cores.",
            completion=offered.hosts,
            says=lambda host: f"host {as_text(host)}",
        ),
    ] = None


class HostMemory(HostName):
    """Memory."""

    host_use: Annotated[
        str | None,
        flag(
            "stream|compute",
            "Stream offloaded weights to the chips, or compute on the host's cores; default: the "
            "faster.",
            says="host used to {}",
        ),
    ] = None
    place: Annotated[
        "PlacesGiven | None",
        flag(
            "KIND=MEMORY,...",
            "Memory for weights or cache, e.g. experts=host,kv=HBM3.",
            says=lambda places: f"placed {as_text(places).replace('=', ' in ').replace(',', ', ')}",
        ),
    ] = None
    place_for: Annotated[
        str,
        flag(
            "served|decode",
            f"What to maximize when placing data that {option('place')} does not name: served "
            "throughput or decode speed.",
            says="placed for {}",
        ),
    ] = "served"


class GpuLayers(Request):
    """Memory."""

    n_gpu_layers: Annotated[
        int | None,
        flag(
            "N",
            "Layers that llama.cpp (-ngl) keeps on the card, including the output layer; the host "
            "computes the rest.",
            says="{} layers on the card",
        ),
    ] = None
    n_cpu_moe: Annotated[
        int | None,
        flag(
            "N",
            "Number of leading layers whose routed experts llama.cpp computes on the host.",
            says=lambda layers: (
                f"experts of {'all' if layers >= 999 else layers} layers on the host"
            ),
        ),
    ] = None


class Deployed(ChipNames, EngineName, ChipCount, ParallelRanks, HostMemory, GpuLayers):
    """How a model is deployed."""


class Placed(FormatOfEach, Deployed):
    """How a model is deployed, and in which formats."""


def _prices_said(given: "PricesGiven") -> str:
    from fastcalc.kit.answer.numbers_as_text import dollars  # help does not need it

    return ", ".join(f"{chip} at ${dollars(usd)} per chip-hour" for chip, usd in prices(given))


class PriceBasisOnly(Request):
    """Prices."""

    price_basis: Annotated[
        str, flag("cloud|tco", "Cloud price, or ownership cost.", says="ownership cost")
    ] = "cloud"
    offer: Annotated[
        str | None,
        flag(
            "on-demand|reserved|spot|marketplace|survey|estimate",
            "Kind of rental price; default: on-demand, or the next known of survey median, "
            "estimate and marketplace.",
            says="{} prices",
        ),
    ] = None
    years: Annotated[
        float | None,
        flag(
            "N",
            "Depreciation period of owned chips in years; default: 4.",
            says="depreciated over {:g} years",
        ),
    ] = None
    electricity: Annotated[
        float | None,
        flag(
            "USD/KWH",
            "Electricity price for owned chips in $ per kWh; default: 0.08.",
            says="electricity at ${:g} per kWh",
        ),
    ] = None


class Prices(PriceBasisOnly):
    """Prices."""

    price: Annotated[
        "PricesGiven | None",
        flag(
            "CHIP=USD",
            "Price per chip-hour, e.g. h100-sxm=2.10; repeatable.",
            is_repeated=True,
            says=_prices_said,
        ),
    ] = None


class PaidHours(Request):
    """Prices."""

    utilization: Annotated[
        float,
        a_share(
            "Utilization: fraction of paid hours in which the machine serves.",
            says="{} utilization of paid hours",
        ),
    ] = 1.0


class Paid(Prices, PaidHours):
    """Prices."""


class EarlierRun(Request):
    """Options."""

    baseline: Annotated[
        Path | None,
        flag("FILE", "Earlier result to compare with: CSV from validate, or JSON from check."),
    ] = None


class OutputFile(Request):
    """Output."""

    out: Annotated[
        Path | None,
        flag(
            "FILE", "Output file, written atomically; - is stdout.", "-o", "--out", parser=file_of
        ),
    ] = None


def format_named(formats: str) -> FieldSetting:
    """Declare ``--format`` with the formats of a command, default first."""
    return flag(formats, f"Output format; default: from the ending of {option('out')}.")


class Output(OutputFile):
    """Output."""

    format: Annotated[str | None, format_named("table|json|csv|markdown|html|xlsx|parquet")] = None

    def __post_init__(self) -> None:
        """Reject a format that the command does not support."""
        super().__post_init__()
        assert self.written_as

    @property
    def is_script(self) -> bool:
        """Whether the answer is a script for the shell to run."""
        return False

    @property
    def written_as(self) -> str:
        """The output format, as requested by name or implied by the file ending."""
        formats = (declared(type(self))["format"].setting.metavar or "").split("|")
        return kind_of(self.format, self.out, formats)


class Reading(Request):
    """Output."""

    notes: Annotated[bool, flag(None, "Print every note.")] = False
    wide: Annotated[bool, flag(None, "Print every column and row.")] = False


def _folder(variable: str, entry_type: str) -> FieldSetting:
    summary = f"Folder of your own {entry_type} YAML files."
    return flag("FOLDER", summary, variable=variable, is_repeated=True)


class Plugins(Request):
    """Your own files."""

    plugins: Annotated[
        "WordsGiven | None",
        flag("NAMES", "Installed packages that provide YAML files.", variable="FASTCALC_PLUGINS"),
    ] = None


class OwnFolders(Plugins):
    """Your own files."""

    set: Annotated[
        "ChangesGiven | None",
        flag(
            "PATH=VALUE",
            "What-if value, e.g. memory.SRAM.capacity=60GB or wse-3:price.cloud='20 USD/h'; "
            "repeatable.",
            is_repeated=True,
        ),
    ] = None

    hardware_dir: Annotated[list[Path] | None, _folder("FASTCALC_HARDWARE_DIR", "hardware")] = None
    models_dir: Annotated[list[Path] | None, _folder("FASTCALC_MODELS_DIR", "model")] = None
    engines_dir: Annotated[list[Path] | None, _folder("FASTCALC_ENGINES_DIR", "engine")] = None


class Written(Output, Reading, OwnFolders):
    """Groups that most commands share: output, reading notes and the user's own folders."""
