"""The flags that commands share, each declared once, in groups that commands are composed of."""

from dataclasses import dataclass
from inspect import get_annotations
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self, dataclass_transform

from typer import Argument, Option

from fastcalc.catalogue.once import once
from fastcalc.cli import completion
from fastcalc.cli.options import file_of, format_of, kind_of, share_of, tokens_of


@dataclass_transform(kw_only_default=True, frozen_default=True)
class Flags:
    """A group of flags, or a command: a frozen dataclass of its own flags and its groups'.

    A flag is a field with a default and what ``typer`` shows of it; a class that repeats a field
    without the latter changes the default alone. The summary of a group heads it in ``--help``.

    examples : commands that ``--help`` shows; tests run them
    """

    examples: ClassVar[tuple[str, ...]] = ()

    def __new__(cls, **_: Any) -> Self:
        """Make the class a dataclass at first use: a millisecond that ``--help`` has no use for."""
        if "__dataclass_fields__" not in vars(cls):
            cls.__annotations__ = {name: flag for name, (flag, _) in declared(cls).items()}
            dataclass(frozen=True, kw_only=True)(cls)
        return super().__new__(cls)

    @classmethod
    def like(cls, flags: "Flags", **changes: Any) -> Self:
        """Return flags of this class: those it shares with another, but for the changes."""
        shared = {name: getattr(flags, name) for name in declared(cls) if hasattr(flags, name)}
        return cls(**shared | changes)


@once
def declared(flags: type[Flags]) -> dict[str, tuple[Any, str]]:
    """Return the annotation of each flag and the heading that it stands under, by name."""
    annotations: dict[str, tuple[Any, str]] = {}
    for owner in flags.__mro__:
        heading = "Options" if owner is flags else (owner.__doc__ or "").partition(".")[0]
        for name, annotation in get_annotations(owner).items():
            if "ClassVar" in str(annotation):
                continue
            # Taken out, so that it stands where it is declared first.
            nearest, _ = annotations.pop(name, (annotation, heading))
            is_shown = hasattr(nearest, "__metadata__")
            annotations[name] = (nearest if is_shown else annotation, heading)
    return annotations


def argument(metavar: str, summary: str, **settings: Any) -> Any:
    """Return what is shown of an argument; the shell completes the words of its metavar."""
    return Argument(metavar=metavar, help=summary, **_completed(metavar, settings))


def flag(metavar: str | None, summary: str, *names: str, **settings: Any) -> Any:
    """Return what is shown of a flag; one that takes no value has no metavar."""
    return Option(*names, metavar=metavar, help=summary, **_completed(metavar, settings))


def _completed(metavar: str | None, settings: dict[str, Any]) -> dict[str, Any]:
    """Return settings with what the shell completes: the words that a metavar lists, if it does."""
    words = [word for word in (metavar or "").split("|") if word.isalnum() and word.islower()]
    return {"autocompletion": completion.offered(lambda: words), **settings} if words else settings


class ModelNames(Flags):
    """Arguments."""

    models: Annotated[
        list[str] | None,
        argument(
            "MODEL", "Models: names, YAML files or config.json.", autocompletion=completion.models
        ),
    ] = None


class ModelName(Flags):
    """Arguments."""

    model: Annotated[
        str,
        argument(
            "MODEL", "A model: a name, YAML file or config.json.", autocompletion=completion.models
        ),
    ]


def _tokens(name: str, summary: str) -> Any:
    return flag("TOKENS", summary, parser=tokens_of(name))


def a_share(name: str, summary: str, **settings: Any) -> Any:
    """Return what is shown of a flag that takes a share."""
    return flag("SHARE", summary, parser=share_of(name), **settings)


class RequestTokens(Flags):
    """Traffic."""

    prompt: Annotated[int, _tokens("--prompt", "Prompt tokens of a request: 8k.")] = 1000
    output: Annotated[int, _tokens("--output", "Output tokens of a request.")] = 1000


class MeanContext(Flags):
    """Traffic."""

    context: Annotated[
        int | None, _tokens("--context", "Mean context in decode; prompt + output/2 unless given.")
    ] = None


class PrefixHits(Flags):
    """Traffic."""

    prefix_hit: Annotated[
        float, a_share("--prefix-hit", "Share of the prompt found in the prefix cache: 0.4 or 40%.")
    ] = 0.0
    prefix_tier: Annotated[
        str | None, flag("MEMORY", "Memory that holds the prefix cache; in place unless given.")
    ] = None


def _format(name: str, summary: str) -> Any:
    return flag("FORMAT", summary, parser=format_of(name), autocompletion=completion.formats)


def formats_named(summary: str, metavar: str = "NAMES") -> Any:
    """Return what is shown of a flag that names formats."""
    return flag(metavar, summary, autocompletion=completion.formats)


class FormatOfEach(Flags):
    """Formats."""

    weights: Annotated[
        str | None, _format("--weights", "Weight format; the model's own unless given.")
    ] = None
    kv: Annotated[str | None, _format("--kv", "KV cache format; the model's own unless given.")] = (
        None
    )


class FormatsToTry(Flags):
    """Formats."""

    weights: Annotated[str | None, formats_named("Weight formats to try: bf16,fp8.")] = None
    kv: Annotated[str | None, formats_named("KV cache formats to try: bf16,fp8.")] = None


class DraftsToTry(Flags):
    """Traffic."""

    speculate: Annotated[
        str | None, flag("LIST", "Ways to draft ahead, as of compare: none,2.5,0.8x3.")
    ] = None


def chips_named(summary: str, metavar: str = "CHIPS") -> Any:
    """Return what is shown of a flag that names chips."""
    return flag(metavar, summary, autocompletion=completion.hardware)


class ChipNames(Flags):
    """Deployment."""

    on: Annotated[str, chips_named("Hardware: names or YAML files, separated by commas.")] = (
        "h100-sxm,gb200,wse-3"
    )


class AnyChips(Flags):
    """Deployment."""

    on: Annotated[
        str, chips_named("Hardware: names or YAML files, or the whole catalogue.", "CHIPS|all")
    ] = ChipNames.on


def engine_named(summary: str, metavar: str = "NAME") -> Any:
    """Return what is shown of a flag that names engines."""
    return flag(metavar, summary, autocompletion=completion.engines)


class EngineName(Flags):
    """Deployment."""

    engine: Annotated[str | None, engine_named("Engine; by kind of chip unless given.")] = None


class ChipCount(Flags):
    """Deployment."""

    chips: Annotated[
        int | None, flag("N", "Chips; the fewest that hold the smallest batch unless given.")
    ] = None


class ParallelRanks(Flags):
    """Deployment."""

    tp: Annotated[int | None, flag("N", "Tensor-parallel ranks.")] = None
    pp: Annotated[int | None, flag("N", "Pipeline stages.")] = None
    ep: Annotated[int | None, flag("N", "Ranks that share the experts.")] = None
    dp: Annotated[int | None, flag("N", "Attention replicas.")] = None


class HostMemory(Flags):
    """Memory."""

    host: Annotated[
        str | None,
        flag(
            "NAME|dram=SIZE@BANDWIDTH,...",
            "A host: dram=256GiB@300GB/s,link=64GB/s,chips=N; cores multiply with compute=FLOP/s.",
            autocompletion=completion.hosts,
        ),
    ] = None
    host_use: Annotated[
        str | None, flag("stream|compute", "How it is used; the faster unless given.")
    ] = None
    place: Annotated[
        str | None, flag("KIND=MEMORY,...", "What lives where: experts=host,kv=HBM3.")
    ] = None
    place_for: Annotated[
        str, flag("served|decode", "What all else is placed for: requests, or decode alone.")
    ] = "served"


class Placed(FormatOfEach, ChipNames, EngineName, ChipCount, ParallelRanks, HostMemory):
    """In which formats a model lives where."""


class PriceBasisOnly(Flags):
    """Prices."""

    price_basis: Annotated[str, flag("cloud|tco", "Cloud price, or cost of ownership.")] = "cloud"


class Prices(PriceBasisOnly):
    """Prices."""

    price: Annotated[
        list[str] | None, flag("CHIP=USD", "Price of a chip-hour, e.g. h100-sxm=2.10; repeatable.")
    ] = None


class PaidHours(Flags):
    """Prices."""

    utilization: Annotated[
        float, a_share("--utilization", "Share of the paid hours in which the machine serves.")
    ] = 1.0


class Paid(Prices, PaidHours):
    """Prices."""


class OutputFile(Flags):
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


def format_named(formats: str) -> Any:
    """Return what is shown of ``--format`` where a command writes some formats, its own first."""
    return flag(formats, "Output format; by the ending of -o unless given.")


class Output(OutputFile):
    """Output."""

    format: Annotated[str | None, format_named("table|json|csv|markdown|xlsx|parquet")] = None

    def __post_init__(self) -> None:
        """Refuse a format that the command does not write."""
        assert self.written_as

    @property
    def written_as(self) -> str:
        """The format to write: what is asked for, by name or by the ending of the file."""
        shown, _ = declared(type(self))["format"]
        formats = shown.__metadata__[0].metavar.split("|")
        return kind_of(self.format, self.out, formats)


class Reading(Flags):
    """Output."""

    notes: Annotated[bool, flag(None, "Print every note.", "--notes")] = False
    wide: Annotated[bool, flag(None, "Print every column and row.", "--wide")] = False


def _folder(variable: str, kind: str) -> Any:
    return flag("FOLDER", f"Folder of your own {kind} YAMLs.", envvar=variable)


class OwnFolders(Flags):
    """Your own files."""

    set: Annotated[
        list[str] | None,
        flag(
            "PATH=VALUE",
            "What if: memory.SRAM.capacity=60GB, or wse-3:price.cloud='20 USD/h'; repeatable.",
        ),
    ] = None

    hardware_dir: Annotated[list[Path] | None, _folder("FASTCALC_HARDWARE_DIR", "hardware")] = None
    models_dir: Annotated[list[Path] | None, _folder("FASTCALC_MODELS_DIR", "model")] = None
    engines_dir: Annotated[list[Path] | None, _folder("FASTCALC_ENGINES_DIR", "engine")] = None


class Written(Output, Reading, OwnFolders):
    """What stands at the end of most commands."""
