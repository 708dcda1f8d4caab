"""Settings missing from other programs' files: the machine and the model of measurements."""

import re
from collections.abc import Callable, Mapping
from functools import cache
from math import ceil, prod
from typing import TYPE_CHECKING, Any

from fastcalc.catalogue.limits import LIMITS
from fastcalc.errors import InputError
from fastcalc.mentions import option
from fastcalc.written import shown

if TYPE_CHECKING:
    from fastcalc.catalogue.store import Catalogue

WORDS = ("hardware", "model", "engine", "weights", "kv")
LAYOUT = ("chips", "tp", "ep", "pp", "dp")
OPTIONS = (*WORDS, *LAYOUT)  # settings that the user can give for a file
_LONGEST = 250  # file systems have no longer names
_ENGINES = {
    "vllm": "vllm",
    "sglang": "sglang",
    "sgl": "sglang",
    "lmdeploy": "lmdeploy",
} | dict.fromkeys(("trt", "trtllm", "tensorrt"), "tensorrt-llm")
"""Engines by a word in the names that benchmark programs give to servers."""


def engine_named(server: str) -> str:
    """Return the engine behind a benchmark program's name for a server, or "" if it has none.

    >>> engine_named("dynamo-trtllm"), engine_named("openai-chat")
    ('tensorrt-llm', '')
    """
    words = re.split(r"[^a-z]+", server.lower())
    return next((_ENGINES[word] for word in words if word in _ENGINES), "")


def columns(layout: Mapping[str, int | None], **words: str) -> dict[str, Any]:
    """Return the columns of a `Point` for model and machine."""
    return {**words, **layout, "id": "", "url": "", "measured_by": ""}


class Unsaid(Exception):  # noqa: N818  (it becomes a sentence)
    """Raised if the user has to give settings before a record can be used."""


def checked(options: Mapping[str, str]) -> dict[str, str]:
    """Validate the user's settings. An invalid count or name raises InputError."""
    stripped = {name: options[name].strip() for name in OPTIONS if options.get(name, "").strip()}
    for name in WORDS:
        if len(stripped.get(name, "")) > _LONGEST:
            raise InputError(f"{option(name)} {shown(stripped[name])} is too long for a name")
    for name in LAYOUT:
        if name in stripped and _count(stripped[name]) is None:
            refusal = f"not a whole number {LIMITS['chips']}"
            raise InputError(f"{option(name)} {shown(stripped[name])} is {refusal}")
    return stripped


def _count(text: str) -> int | None:
    is_count = text.isascii() and text.isdigit() and len(text) < 10
    return int(text) if is_count and int(text) in LIMITS["chips"] else None


def layout(options: Mapping[str, str], ranks: int = 1) -> dict[str, int | None]:
    """Complete the given layout if only one is possible, or nothing if none is given.

    A number of chips that is not a multiple of the given ranks is rejected.

    options : The settings given by the user, by name.
    ranks : The ranks per chip: one, or one for each core.

    >>> layout({"tp": "4"}), layout({"chips": "8", "tp": "4"})["pp"]
    ({'tp': 4, 'pp': 1, 'dp': 1, 'chips': 4, 'ep': None}, None)
    >>> layout({"chips": "12", "tp": "24"}, ranks=2)
    {'tp': 24, 'pp': 1, 'dp': 1, 'chips': 12, 'ep': None}
    """
    counts = {name: _count(options.get(name, "")) for name in LAYOUT}
    chips, ep = counts.pop("chips"), counts.pop("ep")
    stated = [count for count in counts.values() if count]
    product = prod(stated)
    if chips is None and not stated:
        return {}
    chips = chips or ceil(product / ranks)
    sharing = chips if product == chips else chips * ranks
    words = " x ".join(f"{name} {count}" for name, count in counts.items() if count)
    if sharing % product or (len(stated) == len(counts) and sharing != product):
        raise Unsaid(
            f"{chips} chips are not {words}: give {option('chips')} and {option('tp')} that agree"
        )
    if sharing == product:
        counts = {name: count or 1 for name, count in counts.items()}
    return {**counts, "chips": chips, "ep": ep}


def ranks_in(catalogue: "Catalogue") -> Callable[[str], int | None]:
    """Return a function that gives a chip's ranks by name, or None if there is no such chip."""

    @cache
    def ranks_of(name: str) -> int | None:
        if name.lower() not in catalogue.known("hardware"):
            return None
        ranks = catalogue.hardware(name).ranks
        return int(ranks.si) if ranks else 1

    return ranks_of


def unclear_format(called: str, instead: str = "") -> str:
    """Return the message for a model whose name does not determine its number format.

    instead : How to give the format, by default with ``--weights``.
    """
    instead = instead or option("weights")
    return f"the number format of '{shown(called)}' is not clear from its name: give {instead}"


def no_model(called: str) -> str:
    """Return the message for a model that a file does not name, or that is unknown."""
    if called:
        return f"no model of the catalogue is '{shown(called)}': give {option('model')}"
    return f"the file does not name the model: give {option('model')}"


def asked(*problems: str | None) -> None:
    """Raise all problems in a single `Unsaid`, if there are any."""
    if problem_text := "; ".join(filter(None, problems)):
        raise Unsaid(problem_text)


def option_given(name: str, value: str) -> str:
    """Write a setting of a file as its flag, in which chips are given by ``--on``."""
    return option("on" if name == "hardware" else name, value)
