"""The flags that commands share, and how their texts are read."""

import math
import re
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated

import typer

from fastcalc.cli import completion
from fastcalc.errors import InputError

MOST_SEQUENCES = 1_000_000
MOST_TOKENS = 1_000_000_000

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
Numbers = Annotated[str, typer.Option(metavar="LIST")]
NumbersOrNone = Annotated[str | None, typer.Option(metavar="LIST")]
Names = Annotated[str | None, typer.Option(metavar="NAMES")]
Speculations = Annotated[
    str | None,
    typer.Option(
        "--speculate", metavar="LIST", help="Ways to draft ahead, as of compare: none,2.5,0.8x3."
    ),
]
Batch = Annotated[str, typer.Option(metavar="LIST", help="Batches: 1,8,32 or 1..256x2 or 8..64+8.")]
Prompt = Annotated[int, typer.Option(metavar="TOKENS", help="Prompt tokens of a request.")]
Output = Annotated[
    int, typer.Option("--output", metavar="TOKENS", help="Output tokens of a request.")
]
Context = Annotated[
    int | None,
    typer.Option(metavar="TOKENS", help="Mean context in decode; prompt + output/2 unless given."),
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
    str | None, typer.Option(metavar="FORMAT", help="Weight format; the model's own unless given.")
]
KV = Annotated[
    str | None,
    typer.Option("--kv", metavar="FORMAT", help="KV cache format; the model's own unless given."),
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
        "--hardware-dir", envvar="FASTCALC_HARDWARE_DIR", help="Folder of your own hardware YAMLs."
    ),
]
ModelsDir = Annotated[
    list[Path] | None,
    typer.Option(
        "--models-dir", envvar="FASTCALC_MODELS_DIR", help="Folder of your own model YAMLs."
    ),
]
EnginesDir = Annotated[
    list[Path] | None,
    typer.Option(
        "--engines-dir", envvar="FASTCALC_ENGINES_DIR", help="Folder of your own engine YAMLs."
    ),
]

_STEPS = re.compile(r"([0-9]+)\.\.([0-9]+)(?:([x+])([0-9]+))?")


def names(text: str, flag: str) -> list[str]:
    """Return the names in a list separated by commas, each once, in order."""
    found = list(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    if not found:
        raise InputError(f"{flag} names nothing; give one name or several separated by commas")
    return found


def batches(text: str) -> tuple[int, ...]:
    """Return the batches of a list such as ``1,8,32``, ``1..256x2`` or ``8..64+8``.

    Raises
    ------
    InputError
        If a part is not a whole number from 1 to a million, or a range never ends.

    Examples
    --------
    >>> batches("1,4..16x2,20..24+2")
    (1, 4, 8, 16, 20, 22, 24)
    """
    found: list[int] = []
    for part in names(text, "--batch"):
        steps = _STEPS.fullmatch(part)
        found += _range(part, steps) if steps else [whole(part, "batch", MOST_SEQUENCES)]
        if len(found) > 10_000:
            raise InputError(f"--batch {text} names more than 10,000 batches; use a larger step")
    return tuple(sorted(set(found)))


def _range(part: str, steps: re.Match[str]) -> list[int]:
    first, last = (whole(steps[place], "batch", MOST_SEQUENCES) for place in (1, 2))
    kind, step = steps[3] or "+", int(steps[4] or 1)
    if first > last or step < (2 if kind == "x" else 1):
        raise InputError(f"batch range '{part}' goes nowhere; write it like 1..256x2 or 8..64+8")
    found: list[int] = []
    while first <= last and len(found) <= 10_000:
        found.append(first)
        first = first * step if kind == "x" else first + step
    return found


def whole(text: str, what: str, most: int) -> int:
    """Return a whole number from 1 to a limit, or say what it is instead."""
    if not re.fullmatch(r"[0-9]{1,12}", text) or not 1 <= int(text) <= most:
        raise InputError(f"{what} '{text}' is not a whole number from 1 to {most:,}")
    return int(text)


def at_least_one(value: int, flag: str) -> int:
    """Return a count of tokens, or refuse one that is not from 1 to a billion."""
    if not 1 <= value <= MOST_TOKENS:
        raise InputError(f"{flag} {value} is not a number of tokens from 1 to {MOST_TOKENS:,}")
    return value


def share(value: float, flag: str, *, zero: bool = False) -> float:
    """Return a share above 0 (or from 0) up to 1."""
    if not math.isfinite(value) or not 0 <= value <= 1 or (value == 0 and not zero):
        raise InputError(f"{flag} {value:g} is not a share {'from' if zero else 'above'} 0 to 1")
    return value


def ranks(value: int | None, flag: str) -> int | None:
    """Return a number of chips or ranks, or refuse one below 1 or beyond a million."""
    if value is not None and not 1 <= value <= MOST_SEQUENCES:
        raise InputError(f"{flag} {value} is not a whole number from 1 to {MOST_SEQUENCES:,}")
    return value


def price(text: str) -> tuple[str, float]:
    """Return the chip and the dollars an hour of ``h100-sxm=2.10``."""
    name, given, number = text.partition("=")
    try:
        value = float(number.removeprefix("$"))
    except ValueError:
        value = math.nan
    if not name or not given or not 0 < value <= 1e9:
        raise InputError(f"--price '{text}' is not CHIP=USD an hour, such as h100-sxm=2.10")
    return name.strip(), value


def choice(text: str, flag: str, known: tuple[str, ...]) -> str:
    """Return one of a few words, or name the nearest."""
    if text in known:
        return text
    near = get_close_matches(text.lower(), known, n=1, cutoff=0.5)
    hint = f"did you mean '{near[0]}'?" if near else f"one of {', '.join(known)}"
    raise InputError(f"{flag} '{text}' is not known: {hint}")


def given(values: dict[str, object]) -> dict[str, str]:
    """Return what a person said of a file of measurements, by the name of the option."""
    names = ("hardware", "model", "engine", "weights", "kv", "chips", "tp", "pp", "ep", "dp")
    return {name: str(values[name]) for name in names if values[name] is not None}
