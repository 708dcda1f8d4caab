"""The fields that requests share, each declared once, in groups that requests are composed of."""

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


class ModelName(Request):
    """Arguments."""

    premise = "model"

    model: Annotated[
        "ModelGiven",
        argument("MODEL", "A model: a name, YAML file or config.json.", completion=offered.models),
    ]


def _tokens(name: str, summary: str, **settings: Any) -> FieldSetting:
    return flag("TOKENS", summary, parser=tokens_of(option(name)), **settings)


def a_share(name: str, summary: str, says: str | None = None, **settings: Any) -> FieldSetting:
    """Return what is shown of a flag that takes a share; a heading says it in percent."""

    def said(share: float) -> str:
        from fastcalc.kit.answer.numbers_as_text import stated_percent  # help needs none

        return str(says).format(stated_percent(share))

    parser = share_of(option(name))
    return flag("SHARE", summary, parser=parser, says=says and said, **settings)


class RequestTokens(Request):
    """Traffic."""

    premise = "traffic"

    prompt: Annotated[int, _tokens("prompt", "Prompt tokens of a request: 8k.")] = 1000
    output: Annotated[int, _tokens("output", "Output tokens of a request.")] = 1000


class MeanContext(Request):
    """Traffic."""

    premise = "traffic"

    context: Annotated[
        int | None,
        _tokens(
            "context",
            "Mean context in decode; prompt + output/2 unless given.",
            says="mean context {:,}",
        ),
    ] = None


class PrefixHits(Request):
    """Traffic."""

    premise = "traffic"

    prefix_hit: Annotated[
        float,
        a_share(
            "prefix_hit",
            "Share of the prompt found in the prefix cache: 0.4 or 40%.",
            says="{} of prompts cached",
        ),
    ] = 0.0
    prefix_tier: Annotated[
        str | None,
        flag(
            "MEMORY",
            "Memory that holds the prefix cache; in place unless given.",
            says="prefix cache in {}",
            premise="memory",
        ),
    ] = None


_OF_CACHE = "KV cache {}"


def _format(name: str, summary: str, says: str | None = None) -> FieldSetting:
    parser = format_of(option(name))
    return flag("FORMAT", summary, parser=parser, completion=offered.formats, says=says)


def formats_named(summary: str, metavar: str = "NAMES", says: Says = None) -> FieldSetting:
    """Return what is shown of a flag that names formats."""
    return flag(metavar, summary, completion=offered.formats, says=says)


class FormatOfEach(Request):
    """Formats."""

    premise = "formats"

    weights: Annotated[
        str | None, _format("weights", "Weight format; the model's own unless given.")
    ] = None
    kv: Annotated[
        str | None, _format("kv", "KV cache format; the model's own unless given.", _OF_CACHE)
    ] = None


def caches_said(formats: "WordsGiven") -> str:
    """Say in a heading which formats of the KV cache are tried."""
    return _OF_CACHE.format(as_text(formats).replace(",", ", "))


class FormatsToTry(Request):
    """Formats."""

    premise = "formats"

    weights: Annotated["WordsGiven | None", formats_named("Weight formats to try: bf16,fp8.")] = (
        None
    )
    kv: Annotated[
        "WordsGiven | None",
        formats_named("KV cache formats to try: bf16,fp8.", says=caches_said),
    ] = None


class DraftsToTry(Request):
    """Traffic."""

    premise = "traffic"

    speculate: Annotated[
        "DraftsGiven | None",
        flag(
            "LIST",
            "Ways to draft ahead, as of compare: none,2.5,0.8x3.",
            says=lambda drafts: f"speculative decoding {as_text(drafts)}",
        ),
    ] = None


def chips_named(summary: str, metavar: str = "CHIPS", **settings: Any) -> FieldSetting:
    """Return what is shown of a flag that names chips."""
    return flag(metavar, summary, completion=offered.hardware, **settings)


class ChipNames(Request):
    """Deployment."""

    premise = "deployment"

    on: Annotated[
        "ChipsGiven",
        chips_named("Hardware: names, YAML files, patterns (mi3*), vendors; -NAME leaves out."),
    ] = "h100-sxm,gb200,wse-3"


class AnyChips(Request):
    """Deployment."""

    premise = "deployment"

    on: Annotated[
        "ChipsGiven",
        chips_named(
            "Hardware: names, YAML files, patterns (mi3*), vendors, rentable, all; -NAME leaves "
            "out.",
            "CHIPS|all",
        ),
    ] = ChipNames.on


def engine_named(summary: str, metavar: str = "NAME", says: Says = None) -> FieldSetting:
    """Return what is shown of a flag that names engines."""
    return flag(metavar, summary, completion=offered.engines, says=says)


class EngineName(Request):
    """Deployment."""

    premise = "deployment"

    engine: Annotated[
        "EngineGiven | None",
        engine_named(
            "Engine; by kind of chip unless given.",
            says=lambda engine: f"engine {as_text(engine)}",
        ),
    ] = None


class EngineLimits(Request):
    """Engine limits. By the names that vLLM gives them."""

    premise = "engine_limits"

    gpu_memory_utilization: Annotated[
        float | None,
        a_share(
            "gpu_memory_utilization",
            "Share of the memory that the engine may fill.",
            says="engine limited to {} of memory",
        ),
    ] = None
    max_model_len: Annotated[
        int | None,
        _tokens(
            "max_model_len",
            "Tokens of a sequence at most, of which one is to fit.",
            says="at most {:,} tokens per sequence",
        ),
    ] = None
    max_num_seqs: Annotated[
        int | None,
        flag("N", "Sequences in a step, at most.", says="at most {:,} sequences per step"),
    ] = None
    max_num_batched_tokens: Annotated[
        int | None,
        _tokens(
            "max_num_batched_tokens",
            "Prompt tokens in a step, at most.",
            says="at most {:,} prompt tokens per step",
        ),
    ] = None
    language_model_only: Annotated[
        bool,
        flag(None, "Leave out what encodes images and sound.", says="without encoders"),
    ] = False


class OwnRuns(Request):
    """Measurements."""

    premise = "measurements"

    like: Annotated[
        Path | None,
        flag(
            "FILE",
            "Your own runs, as validate reads them: predict as your server was measured.",
            says=lambda file: f"as measured in {file.name}",
        ),
    ] = None


class StartUpLog(Request):
    """Measurements."""

    premise = "measurements"

    log: Annotated[
        Path | None, flag("FILE", "What the server printed when it started: vLLM or SGLang.")
    ] = None


class ChipCount(Request):
    """Deployment."""

    premise = "deployment"

    chips: Annotated[
        int | None, flag("N", "Chips; the fewest that hold each batch unless given.")
    ] = None


class ParallelRanks(Request):
    """Deployment."""

    premise = "deployment"

    tp: Annotated[int | None, flag("N", "Tensor-parallel ranks.")] = None
    pp: Annotated[int | None, flag("N", "Pipeline stages.")] = None
    ep: Annotated[int | None, flag("N", "Ranks that share the experts.")] = None
    dp: Annotated[int | None, flag("N", "Attention replicas.")] = None


class HostName(Request):
    """Memory."""

    premise = "memory"

    host: Annotated[
        "HostGiven | None",
        flag(
            "NAME|dram=SIZE@BANDWIDTH,...",
            "A host: dram=256GiB@300GB/s,link=64GB/s,chips=N; cores multiply with compute=FLOP/s.",
            completion=offered.hosts,
            says=lambda host: f"host {as_text(host)}",
        ),
    ] = None


class HostMemory(HostName):
    """Memory."""

    premise = "memory"

    host_use: Annotated[
        str | None,
        flag(
            "stream|compute",
            "How it is used; the faster unless given.",
            says="host used to {}",
        ),
    ] = None
    place: Annotated[
        "PlacesGiven | None",
        flag(
            "KIND=MEMORY,...",
            "What lives where: experts=host,kv=HBM3.",
            says=lambda places: f"placed {as_text(places).replace('=', ' in ').replace(',', ', ')}",
        ),
    ] = None
    place_for: Annotated[
        str,
        flag(
            "served|decode",
            "What all else is placed for: requests, or decode alone.",
            says="placed for {}",
        ),
    ] = "served"


class Deployed(ChipNames, EngineName, ChipCount, ParallelRanks, HostMemory):
    """Where a model lives."""


class Placed(FormatOfEach, Deployed):
    """In which formats a model lives where."""


def _prices_said(given: "PricesGiven") -> str:
    from fastcalc.kit.answer.numbers_as_text import dollars  # help needs none

    return ", ".join(f"{chip} at ${dollars(usd)} per chip-hour" for chip, usd in prices(given))


class PriceBasisOnly(Request):
    """Prices."""

    premise = "prices"

    price_basis: Annotated[
        str,
        flag("cloud|tco", "Cloud price, or cost of ownership.", says="cost of ownership"),
    ] = "cloud"
    offer: Annotated[
        str | None,
        flag(
            "on-demand|reserved|spot|marketplace|survey|estimate",
            "Kind of price, and no other; unless given on-demand, else a survey's, an analyst's, a "
            "marketplace's.",
            says="{} prices",
        ),
    ] = None
    years: Annotated[
        float | None,
        flag(
            "N",
            "Years over which owned chips are written off: 4.",
            says="written off over {:g} years",
        ),
    ] = None
    electricity: Annotated[
        float | None,
        flag(
            "USD/KWH",
            "Price of electricity of owned chips: 0.08.",
            says="electricity at ${:g} per kWh",
        ),
    ] = None


class Prices(PriceBasisOnly):
    """Prices."""

    premise = "prices"

    price: Annotated[
        "PricesGiven | None",
        flag(
            "CHIP=USD",
            "Price of a chip-hour, e.g. h100-sxm=2.10; repeatable.",
            is_repeated=True,
            says=_prices_said,
        ),
    ] = None


class PaidHours(Request):
    """Prices."""

    premise = "prices"

    utilization: Annotated[
        float,
        a_share(
            "utilization",
            "Share of the paid hours in which the machine serves.",
            says="in use {} of the hours paid for",
        ),
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

    premise = "files"

    plugins: Annotated[
        "WordsGiven | None",
        flag("NAMES", "Installed packages that bring files.", variable="FASTCALC_PLUGINS"),
    ] = None


class OwnFolders(Plugins):
    """Your own files."""

    premise = "files"

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
