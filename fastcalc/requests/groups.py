"""The fields that requests share, each declared once, in groups that requests are composed of."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from fastcalc.mentions import option
from fastcalc.requests import offered
from fastcalc.requests.fields import FieldSetting, Request, argument, declared, flag
from fastcalc.requests.readers import file_of, format_of, kind_of, share_of, tokens_of

if TYPE_CHECKING:
    from fastcalc.requests.given import (
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

    models: Annotated[
        "ModelsGiven | None",
        argument(
            "MODEL",
            "Models: names, YAML files or config.json.",
            completion=offered.models,
            is_repeated=True,
        ),
    ] = None


class ModelName(Request):
    """Arguments."""

    model: Annotated[
        "ModelGiven",
        argument("MODEL", "A model: a name, YAML file or config.json.", completion=offered.models),
    ]


def _tokens(name: str, summary: str) -> FieldSetting:
    return flag("TOKENS", summary, parser=tokens_of(option(name)))


def a_share(name: str, summary: str, **settings: Any) -> FieldSetting:
    """Return what is shown of a flag that takes a share."""
    return flag("SHARE", summary, parser=share_of(option(name)), **settings)


class RequestTokens(Request):
    """Traffic."""

    prompt: Annotated[int, _tokens("prompt", "Prompt tokens of a request: 8k.")] = 1000
    output: Annotated[int, _tokens("output", "Output tokens of a request.")] = 1000


class MeanContext(Request):
    """Traffic."""

    context: Annotated[
        int | None, _tokens("context", "Mean context in decode; prompt + output/2 unless given.")
    ] = None


class PrefixHits(Request):
    """Traffic."""

    prefix_hit: Annotated[
        float, a_share("prefix_hit", "Share of the prompt found in the prefix cache: 0.4 or 40%.")
    ] = 0.0
    prefix_tier: Annotated[
        str | None, flag("MEMORY", "Memory that holds the prefix cache; in place unless given.")
    ] = None


def _format(name: str, summary: str) -> FieldSetting:
    return flag("FORMAT", summary, parser=format_of(option(name)), completion=offered.formats)


def formats_named(summary: str, metavar: str = "NAMES") -> FieldSetting:
    """Return what is shown of a flag that names formats."""
    return flag(metavar, summary, completion=offered.formats)


class FormatOfEach(Request):
    """Formats."""

    weights: Annotated[
        str | None, _format("weights", "Weight format; the model's own unless given.")
    ] = None
    kv: Annotated[str | None, _format("kv", "KV cache format; the model's own unless given.")] = (
        None
    )


class FormatsToTry(Request):
    """Formats."""

    weights: Annotated["WordsGiven | None", formats_named("Weight formats to try: bf16,fp8.")] = (
        None
    )
    kv: Annotated["WordsGiven | None", formats_named("KV cache formats to try: bf16,fp8.")] = None


class DraftsToTry(Request):
    """Traffic."""

    speculate: Annotated[
        "DraftsGiven | None", flag("LIST", "Ways to draft ahead, as of compare: none,2.5,0.8x3.")
    ] = None


def chips_named(summary: str, metavar: str = "CHIPS") -> FieldSetting:
    """Return what is shown of a flag that names chips."""
    return flag(metavar, summary, completion=offered.hardware)


class ChipNames(Request):
    """Deployment."""

    on: Annotated[
        "ChipsGiven",
        chips_named("Hardware: names, YAML files, patterns (mi3*), vendors; -NAME leaves out."),
    ] = "h100-sxm,gb200,wse-3"


class AnyChips(Request):
    """Deployment."""

    on: Annotated[
        "ChipsGiven",
        chips_named(
            "Hardware: names, YAML files, patterns (mi3*), vendors, rentable, all; -NAME leaves "
            "out.",
            "CHIPS|all",
        ),
    ] = ChipNames.on


def engine_named(summary: str, metavar: str = "NAME") -> FieldSetting:
    """Return what is shown of a flag that names engines."""
    return flag(metavar, summary, completion=offered.engines)


class EngineName(Request):
    """Deployment."""

    engine: Annotated[
        "EngineGiven | None", engine_named("Engine; by kind of chip unless given.")
    ] = None


class EngineLimits(Request):
    """Engine limits. By the names that vLLM gives them."""

    gpu_memory_utilization: Annotated[
        float | None,
        a_share("gpu_memory_utilization", "Share of the memory that the engine may fill."),
    ] = None
    max_model_len: Annotated[
        int | None,
        _tokens("max_model_len", "Tokens of a sequence at most, of which one is to fit."),
    ] = None
    max_num_seqs: Annotated[int | None, flag("N", "Sequences in a step, at most.")] = None
    max_num_batched_tokens: Annotated[
        int | None, _tokens("max_num_batched_tokens", "Prompt tokens in a step, at most.")
    ] = None


class OwnRuns(Request):
    """Measurements."""

    like: Annotated[
        Path | None,
        flag("FILE", "Your own runs, as validate reads them: predict as your server was measured."),
    ] = None


class StartUpLog(Request):
    """Measurements."""

    log: Annotated[
        Path | None, flag("FILE", "What the server printed when it started: vLLM or SGLang.")
    ] = None


class ChipCount(Request):
    """Deployment."""

    chips: Annotated[
        int | None, flag("N", "Chips; the fewest that hold each batch unless given.")
    ] = None


class ParallelRanks(Request):
    """Deployment."""

    tp: Annotated[int | None, flag("N", "Tensor-parallel ranks.")] = None
    pp: Annotated[int | None, flag("N", "Pipeline stages.")] = None
    ep: Annotated[int | None, flag("N", "Ranks that share the experts.")] = None
    dp: Annotated[int | None, flag("N", "Attention replicas.")] = None


class HostName(Request):
    """Memory."""

    host: Annotated[
        "HostGiven | None",
        flag(
            "NAME|dram=SIZE@BANDWIDTH,...",
            "A host: dram=256GiB@300GB/s,link=64GB/s,chips=N; cores multiply with compute=FLOP/s.",
            completion=offered.hosts,
        ),
    ] = None


class HostMemory(HostName):
    """Memory."""

    host_use: Annotated[
        str | None, flag("stream|compute", "How it is used; the faster unless given.")
    ] = None
    place: Annotated[
        "PlacesGiven | None", flag("KIND=MEMORY,...", "What lives where: experts=host,kv=HBM3.")
    ] = None
    place_for: Annotated[
        str, flag("served|decode", "What all else is placed for: requests, or decode alone.")
    ] = "served"


class Deployed(ChipNames, EngineName, ChipCount, ParallelRanks, HostMemory):
    """Where a model lives."""


class Placed(FormatOfEach, Deployed):
    """In which formats a model lives where."""


class PriceBasisOnly(Request):
    """Prices."""

    price_basis: Annotated[str, flag("cloud|tco", "Cloud price, or cost of ownership.")] = "cloud"
    offer: Annotated[
        str | None,
        flag(
            "on-demand|reserved|spot|marketplace|survey|estimate",
            "Kind of price, and no other; unless given on-demand, else a survey's, an analyst's, a "
            "marketplace's.",
        ),
    ] = None
    years: Annotated[
        float | None, flag("N", "Years over which owned chips are written off: 4.")
    ] = None
    electricity: Annotated[
        float | None, flag("USD/KWH", "Price of electricity of owned chips: 0.08.")
    ] = None


class Prices(PriceBasisOnly):
    """Prices."""

    price: Annotated[
        "PricesGiven | None",
        flag("CHIP=USD", "Price of a chip-hour, e.g. h100-sxm=2.10; repeatable.", is_repeated=True),
    ] = None


class PaidHours(Request):
    """Prices."""

    utilization: Annotated[
        float, a_share("utilization", "Share of the paid hours in which the machine serves.")
    ] = 1.0


class Paid(Prices, PaidHours):
    """Prices."""


class EarlierRun(Request):
    """Options."""

    baseline: Annotated[
        Path | None, flag("FILE", "What an earlier run wrote: validate as csv, check as json.")
    ] = None


class OutputFile(Request):
    """Output."""

    out: Annotated[
        Path | None,
        flag(
            "FILE",
            "Write to a file, whole or not at all; - is standard output.",
            "-o",
            "--out",
            parser=file_of,
        ),
    ] = None


def format_named(formats: str) -> FieldSetting:
    """Return what is shown of ``--format`` where a command writes some formats, its own first."""
    return flag(formats, f"Output format; by the ending of {option('out')} unless given.")


class Output(OutputFile):
    """Output."""

    format: Annotated[str | None, format_named("table|json|csv|markdown|html|xlsx|parquet")] = None

    def __post_init__(self) -> None:
        """Refuse a format that the command does not write."""
        assert self.written_as

    @property
    def written_as(self) -> str:
        """The format to write: what is asked for, by name or by the ending of the file."""
        shown, _ = declared(type(self))["format"]
        formats = shown.__metadata__[0].metavar.split("|")
        return kind_of(self.format, self.out, formats)


class Reading(Request):
    """Output."""

    notes: Annotated[bool, flag(None, "Print every note.")] = False
    wide: Annotated[bool, flag(None, "Print every column and row.")] = False


def _folder(variable: str, kind: str) -> FieldSetting:
    summary = f"Folder of your own {kind} YAMLs."
    return flag("FOLDER", summary, variable=variable, is_repeated=True)


class Plugins(Request):
    """Your own files."""

    plugins: Annotated[
        "WordsGiven | None",
        flag("NAMES", "Installed packages that bring files.", variable="FASTCALC_PLUGINS"),
    ] = None


class OwnFolders(Plugins):
    """Your own files."""

    set: Annotated[
        "ChangesGiven | None",
        flag(
            "PATH=VALUE",
            "What if: memory.SRAM.capacity=60GB, or wse-3:price.cloud='20 USD/h'; repeatable.",
            is_repeated=True,
        ),
    ] = None

    hardware_dir: Annotated[list[Path] | None, _folder("FASTCALC_HARDWARE_DIR", "hardware")] = None
    models_dir: Annotated[list[Path] | None, _folder("FASTCALC_MODELS_DIR", "model")] = None
    engines_dir: Annotated[list[Path] | None, _folder("FASTCALC_ENGINES_DIR", "engine")] = None


class Written(Output, Reading, OwnFolders):
    """What stands at the end of most commands."""
