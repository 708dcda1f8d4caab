"""The flags that commands share, and how their texts are read."""

import os
import re
from collections.abc import Callable
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated

import typer

from fastcalc.catalogue.limits import LIMITS, Limit
from fastcalc.cli import completion
from fastcalc.errors import InputError
from fastcalc.written import shown

_YAML = (".yaml", ".yml")
_MOST_PIECES = 8
"""Pieces that the commas in a path may leave of it."""

_SCALE = {"": 1, "k": 1_000, "M": 1_000_000}
_NUMBER = re.compile(r"([0-9]{1,12})([kM]?)")


def whole(text: str, flag: str, limit: Limit, example: str = "8") -> int:
    """Return a whole number within a limit, in which ``k`` is a thousand and ``M`` a million.

    Raises
    ------
    InputError
        If it is none.

    Examples
    --------
    >>> whole("8k", "--prompt", LIMITS["tokens"])
    8000
    """
    match = _NUMBER.fullmatch(text)
    value = int(match[1]) * _SCALE[match[2]] if match else 0
    if value not in limit:
        raise InputError(
            f"{flag} '{shown(text, 40)}' is not a whole number {limit}; write for example {example}"
        )
    return value


def number(value: float, flag: str, limit: Limit, example: float, *, zero: bool = False) -> float:
    """Return a number that a flag gives, or refuse one that it cannot be, zero or not."""
    if value not in limit and not (zero and value == 0):
        what = f"{'0 or ' if zero else ''}a {'whole ' if limit.whole else ''}number {limit}"
        text = shown(value) if isinstance(value, int) else f"{value:g}"
        raise InputError(f"{flag} {text} is not {what}; write for example {example:g}")
    return value


def tokens_of(flag: str) -> Callable[[str | int], int]:
    """Return what reads the tokens of a flag, for a parser is not told which flag it reads."""

    def read(text: str | int) -> int:
        return whole(str(text), flag, LIMITS["tokens"], "1000 or 8k")

    return read


def _format_of(flag: str) -> Callable[[str], str]:
    """Return what reads the format of a flag: an empty text, of a script's, is not the default."""

    def read(text: str) -> str:
        if not text.strip():
            raise InputError(f"{flag} names nothing; name a format such as fp8, or leave it out")
        return text

    return read


Models = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="MODEL",
        help="Models: names, YAML files or config.json.",
        autocompletion=completion.models,
    ),
]
Model = Annotated[
    str,
    typer.Argument(
        metavar="MODEL",
        help="A model: a name, YAML file or config.json.",
        autocompletion=completion.models,
    ),
]
On = Annotated[
    str,
    typer.Option(
        "--on",
        metavar="CHIPS",
        help="Hardware: names or YAML files, separated by commas.",
        autocompletion=completion.hardware,
    ),
]
OnOrAll = Annotated[
    str,
    typer.Option(
        "--on",
        metavar="CHIPS|all",
        help="Hardware: names or YAML files, or the whole catalogue.",
        autocompletion=completion.hardware,
    ),
]
Batches = Annotated[str, typer.Option(metavar="LIST", help="Sequences decoded together.")]
Prompts = Annotated[str, typer.Option(metavar="LIST", help="Prompt tokens of a request.")]
Outputs = Annotated[str, typer.Option(metavar="LIST", help="Output tokens of a request.")]
Contexts = Annotated[
    str | None,
    typer.Option(metavar="LIST", help="Mean context in decode; prompt + output/2 unless given."),
]
WeightFormats = Annotated[
    str | None,
    typer.Option(metavar="NAMES", help="Weight formats to try, separated by commas."),
]
KVFormats = Annotated[
    str | None,
    typer.Option("--kv", metavar="NAMES", help="KV cache formats to try, separated by commas."),
]
Engines = Annotated[
    str | None,
    typer.Option(
        "--engine",
        metavar="NAMES",
        help="Engines to try; by kind of chip unless given.",
        autocompletion=completion.engines,
    ),
]
TPs = Annotated[
    str | None,
    typer.Option("--tp", metavar="LIST", help="Tensor-parallel ranks; 1 if others are given."),
]
PPs = Annotated[str | None, typer.Option("--pp", metavar="LIST", help="Pipeline stages.")]
EPs = Annotated[
    str | None, typer.Option("--ep", metavar="LIST", help="Ranks that share the experts.")
]
DPs = Annotated[str | None, typer.Option("--dp", metavar="LIST", help="Attention replicas.")]
Speculations = Annotated[
    str | None,
    typer.Option(
        "--speculate", metavar="LIST", help="Ways to draft ahead, as of compare: none,2.5,0.8x3."
    ),
]
Batch = Annotated[str, typer.Option(metavar="LIST", help="Batches: 1,8,32 or 1..256x2 or 8..64+8.")]
Prompt = Annotated[
    int,
    typer.Option(
        metavar="TOKENS", parser=tokens_of("--prompt"), help="Prompt tokens of a request: 8k."
    ),
]
Output = Annotated[
    int,
    typer.Option(
        "--output",
        metavar="TOKENS",
        parser=tokens_of("--output"),
        help="Output tokens of a request.",
    ),
]
Context = Annotated[
    int | None,
    typer.Option(
        metavar="TOKENS",
        parser=tokens_of("--context"),
        help="Mean context in decode; prompt + output/2 unless given.",
    ),
]
PrefixHit = Annotated[
    float,
    typer.Option(
        "--prefix-hit", metavar="SHARE", help="Share of the prompt found in the prefix cache."
    ),
]
Speculate = Annotated[
    str | None,
    typer.Option(
        metavar="TOKENS|AxN",
        help="Speculative decoding: tokens a pass (2.5), or acceptance x drafted tokens (0.8x3).",
    ),
]
Weights = Annotated[
    str | None,
    typer.Option(
        metavar="FORMAT",
        parser=_format_of("--weights"),
        help="Weight format; the model's own unless given.",
    ),
]
KV = Annotated[
    str | None,
    typer.Option(
        "--kv",
        metavar="FORMAT",
        parser=_format_of("--kv"),
        help="KV cache format; the model's own unless given.",
    ),
]
EngineName = Annotated[
    str | None,
    typer.Option(
        "--engine",
        metavar="NAME",
        help="Engine; by kind of chip unless given.",
        autocompletion=completion.engines,
    ),
]
Measured = Annotated[
    str | None, typer.Option(metavar="NAME", help="What a JSON file was measured on.")
]
Chips = Annotated[
    int | None,
    typer.Option(metavar="N", help="Chips; the fewest that hold the smallest batch unless given."),
]
TP = Annotated[int | None, typer.Option("--tp", metavar="N", help="Tensor-parallel ranks.")]
PP = Annotated[int | None, typer.Option("--pp", metavar="N", help="Pipeline stages.")]
EP = Annotated[int | None, typer.Option("--ep", metavar="N", help="Ranks that share the experts.")]
DP = Annotated[int | None, typer.Option("--dp", metavar="N", help="Attention replicas.")]
Price = Annotated[
    list[str] | None,
    typer.Option(
        "--price", metavar="CHIP=USD", help="Price of a chip-hour, e.g. h100-sxm=2.10; repeatable."
    ),
]
Basis = Annotated[
    str,
    typer.Option("--price-basis", metavar="cloud|tco", help="Cloud price, or cost of ownership."),
]
Utilization = Annotated[
    float,
    typer.Option(metavar="SHARE", help="Share of the paid hours in which the machine serves."),
]
Explain = Annotated[
    bool,
    typer.Option("--explain", help="Take each step apart: every component, rate and source."),
]
Format = Annotated[
    str, typer.Option("--format", metavar="table|json|csv|markdown", help="Output format.")
]


def _file(text: str) -> Path | None:
    """Return the file to write, or None for standard output; ``./-`` is a file called ``-``."""
    if not text:
        raise InputError("-o names no file; write one, such as plan.json, or - for the terminal")
    return None if text == "-" else Path(text)


OutFile = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--out",
        metavar="FILE",
        parser=_file,
        help="Write to a file, whole or not at all; - is standard output.",
    ),
]
HardwareDir = Annotated[
    list[Path] | None,
    typer.Option(
        "--hardware-dir",
        metavar="FOLDER",
        envvar="FASTCALC_HARDWARE_DIR",
        help="Folder of your own hardware YAMLs.",
    ),
]
ModelsDir = Annotated[
    list[Path] | None,
    typer.Option(
        "--models-dir",
        metavar="FOLDER",
        envvar="FASTCALC_MODELS_DIR",
        help="Folder of your own model YAMLs.",
    ),
]
EnginesDir = Annotated[
    list[Path] | None,
    typer.Option(
        "--engines-dir",
        metavar="FOLDER",
        envvar="FASTCALC_ENGINES_DIR",
        help="Folder of your own engine YAMLs.",
    ),
]


def names(text: str, flag: str) -> list[str]:
    """Return the names in a list separated by commas, each once, in order.

    The path of a file is one name, commas and all.
    """
    parts, start = text.split(","), 0
    found: dict[str, None] = {}
    while start < len(parts):
        few = parts[start : start + _MOST_PIECES]
        ends = [end for end, part in enumerate(few, 1) if part.rstrip().endswith(_YAML)]
        paths = (",".join(few[:end]).strip() for end in ends)
        name = next((path for path in paths if os.path.exists(path)), few[0].strip())
        found[name] = None
        start += name.count(",") + 1
    found.pop("", None)
    if not found:
        raise InputError(f"{flag} names nothing; give one or several separated by commas")
    return list(found)


def names_if_any(text: str | None, flag: str) -> list[str] | None:
    """Return the names in a list, or None where the flag is left out."""
    return None if text is None else names(text, flag)


def share(value: float, flag: str, *, zero: bool = False) -> float:
    """Return a share above 0 (or from 0) up to 1."""
    if value not in LIMITS["share"] and not (zero and value == 0):
        least = "from 0" if zero else "above 0"
        raise InputError(f"{flag} {value:g} is not a share {least} to 1; write for example 0.5")
    return value


def ranks(value: int | None, flag: str) -> int | None:
    """Return a number of chips or ranks, or refuse one that no machine has."""
    return None if value is None else int(number(value, flag, LIMITS["chips"], 8))


def price(text: str) -> tuple[str, float]:
    """Return the chip and the dollars an hour of ``h100-sxm=2.10``."""
    name, given, usd = text.partition("=")
    try:
        value = float(usd.removeprefix("$"))
    except ValueError:
        value = 0.0
    if not name or not given or value not in LIMITS["dollars"]:
        raise InputError(f"--price '{shown(text)}' is not CHIP=USD an hour, such as h100-sxm=2.10")
    return name.strip(), value


def choice(text: str, flag: str, known: tuple[str, ...]) -> str:
    """Return one of a few words, or name the nearest."""
    if text in known:
        return text
    near = get_close_matches(text.lower(), known, n=1, cutoff=0.5)
    hint = f"did you mean '{near[0]}'?" if near else f"one of {', '.join(known)}"
    raise InputError(f"{flag} '{shown(text)}' is not known: {hint}")


def given(values: dict[str, object]) -> dict[str, str]:
    """Return what a person said of a file of measurements, by the name of the option."""
    names = ("hardware", "model", "engine", "weights", "kv", "chips", "tp", "pp", "ep", "dp")
    return {name: str(values[name]) for name in names if values[name] is not None}
