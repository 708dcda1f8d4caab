"""A server of a plan, in terms common to all engines, and a program that starts it."""

import os
from abc import ABC, abstractmethod
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import ClassVar, Literal

from fastcalc.catalogue.formats import number_format
from fastcalc.catalogue.schema import Hardware, Model
from fastcalc.catalogue.schema.models import REPOSITORY
from fastcalc.core.placement.layout import HOST_CHIPS, Layout
from fastcalc.features.plan.decision import Plan
from fastcalc.quoting import ShellText, comment


def checkpoint_of(
    loaded_as: Container[str], model: Model, weights: str | None, name: str
) -> tuple[str, str | None]:
    """Find the checkpoint that a server loads, and the format it is quantized to, if any.

    It is a folder if the user named no repository, and none is known for the model or for these
    weights.

    loaded_as : Formats to which the engine quantizes 16-bit weights.
    weights : The weight format, or None for the model's own.
    name : The name of the model or its file, as the user typed it.
    """
    repository = model.repositories.get(name.lower())
    model_format = model.format_name
    path = PurePath(name)
    folder = f"./{(path.stem if path.suffix in ('.yaml', '.yml') else path.name)}"
    if weights in (None, model_format):
        return repository or (name if _is_repository(name) else folder), None
    published = model.also_published.get(weights)
    if published is not None and name.lower() == model.id and REPOSITORY.fullmatch(published.text):
        return published.text, None
    is_wide = number_format(model.weight_format).bits == 16 and model_format == model.weight_format
    if repository and is_wide and weights in loaded_as:
        return repository, weights
    return f"{folder}-{weights}", None


def _is_repository(name: str) -> bool:
    """Check whether a name is a repository, perhaps with a llama.cpp format, and not a file.

    >>> [_is_repository(name) for name in ("org/m-GGUF:Q4_K_M", "org/m.gguf", "m")]
    [True, False, False]
    """
    is_file = name.endswith((".gguf", ".json", ".yaml", ".yml")) or os.path.exists(name)
    return bool(REPOSITORY.fullmatch(name.partition(":")[0])) and not is_file


RANK, HEAD = "NODE_RANK", "HEAD"
"""Shell variables with the index of this host and the address of the first host."""


def variable(name: str, ending: str = "") -> ShellText:
    """Build a script argument from the quoted value of a variable and the text after it."""
    return ShellText(f'"${name}"{ending}')


EVERY_ADDRESS = "0.0.0.0"  # noqa: S104  (servers of one host answer a router on another)
"""The address at which other hosts reach a server."""

Role = Literal["all", "prefill", "decode"]
"""The role of a server: whole requests, prefill only, or decode only."""


@dataclass(frozen=True)
class Server:
    """A server: its checkpoint, its layout, and the limits that the prediction assumes.

    checkpoint : The repository or folder with the weights.
    quantized_to : The format to which the engine quantizes the weights on loading, if any.
    cache : The format of the KV cache.
    sequences : The maximum sequences per step on each attention replica, or None if unlimited.
    tokens : The maximum tokens per sequence.
    chunk : The maximum prompt tokens per step, or None for the engine's default.
    memory_share, cache_share : The fraction of a chip's memory that the engine may use, and
        fraction of what the weights leave that its KV cache uses.
    drafts : The draft tokens from the model's own prediction layers, or from a draft model.
    draft : The repository or folder of the draft model, empty if the model drafts itself.
    draft_is_head : Whether the draft model is an EAGLE-3 head.
    split_mode : The flag that selects the layout, for an engine with few layouts.
    captures_graphs : Whether it runs decode with CUDA graphs.
    ending : The suffix of its options file, which distinguishes pools.
    """

    checkpoint: str
    quantized_to: str | None
    cache: str
    layout: Layout
    sequences: int | None
    tokens: int
    chunk: int | None
    memory_share: float
    cache_share: float
    drafts: int = 0
    draft: str = ""
    draft_is_head: bool = False
    role: Role = "all"
    split_mode: str | None = None
    captures_graphs: bool = True
    ending: str = ""

    @property
    def hosts(self) -> int:
        """The number of hosts of eight chips that the server spans."""
        return -(-self.layout.chips // HOST_CHIPS)


class Program(ABC):
    """A program that starts servers: the chips it supports, its flags, its names of formats.

    engine : The catalogue engine whose servers it starts.
    caches : Its names for the KV-cache formats.
    loaded_as : Its names for the formats to which it quantizes 16-bit weights on loading.
    chip_kinds : The chip types on which it runs.
    port : The port of the first server on a host.
    routers : The routers between prefill and decode servers, by name.
    drafts_itself : Whether it drafts with the model's own prediction layers.
    """

    engine: ClassVar[str]
    caches: ClassVar[Mapping[str, str]]
    loaded_as: ClassVar[Mapping[str, str]] = {}
    chip_kinds: ClassVar[tuple[str, ...]] = ("gpu", "soc", "tpu", "npu")
    port: ClassVar[int] = 8000
    routers: ClassVar[str] = ""
    drafts_itself: ClassVar[bool] = True

    def runs_on(self, chip: Hardware) -> bool:
        """Check whether the program supports a chip."""
        return chip.kind in self.chip_kinds

    def refuse(self, plan: Plan) -> None:  # noqa: B027  (most programs serve every plan)
        """Raise InputError if the program cannot serve a plan."""

    @abstractmethod
    def start(self, server: Server) -> list[str]:
        """Build the command-line arguments that start a server."""

    def options_file(self, _: Server) -> Iterator[str]:
        """Yield the lines that write an options file."""
        yield from ()

    def on_hosts(self, server: Server) -> str:
        """Describe where to run the command of a server that spans several hosts."""
        return f"on each of its {server.hosts} hosts: {RANK} from 0, {HEAD} the address of host 0"

    def weights(self, server: Server, stored: str) -> Iterator[str]:
        """Yield what the weights file or folder must contain, if the user provides it."""
        if server.checkpoint.startswith("./"):
            yield f"{server.checkpoint}: a folder or repository with weights in {stored}"

    def cautions(self, _: Server) -> Iterator[str]:
        """Yield what else the user has to know or do."""
        yield from ()

    def router(self, _: Plan, ending: str = "") -> Iterator[str]:  # noqa: ARG002
        """Yield the lines of the router between prefill and decode servers.

        ending : The suffix of its configuration file, which distinguishes pools.
        """
        yield comment(
            f"a router sends prompts to the first, the rest to the others: {self.routers}"
        )
