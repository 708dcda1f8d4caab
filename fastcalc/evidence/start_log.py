"""Parser for the log of a server start: settings, memory, and cache capacity in tokens."""

import re
from dataclasses import dataclass, field

from fastcalc.catalogue.numerals import parse_number
from fastcalc.catalogue.tables import table_of

VLLM, SGLANG, LLAMA_CPP, TENSORRT_LLM = "vllm", "sglang", "llama.cpp", "tensorrt-llm"
SETTINGS: dict[str, dict[str, str]] = {
    program: {row["setting"]: row[program] for row in table_of(__file__) if row[program]}
    for program in (VLLM, SGLANG, LLAMA_CPP, TENSORRT_LLM)
}
"""The name of each setting in server programs, by its name in fastcalc."""

RANKS = ("tp", "pp", "dp")
"""The settings that determine the layout of a model over chips."""

_ENGINES = (
    ([0, 8], "vllm-0.7"),
    ([0, 9], "vllm-0.8"),
    ([0, 17], "vllm-0.16"),
    ([0, 20], "vllm-0.19"),
    ([0, 26], "vllm-0.25"),
    ([0, 29], "vllm-0.28"),
    ([0, 33], "vllm-0.32"),
)
"""For each engine file of an earlier vLLM release, the first release to which it no longer
applies."""


@dataclass
class StartLog:
    """A server start, as far as this is possible from its log.

    program, version : ``vllm``, ``sglang``, ``llama.cpp`` or ``tensorrt-llm``, and the release.
    settings : The text of each setting, by fastcalc's name of the option or field.
    weights, available, total, free : The memory of a chip; the last two before startup, in bytes.
    tokens : The cache capacity of a replica in tokens.
    length, at_once : The longest sequence in tokens, and how many such sequences fit in the cache.
    graphs : The memory of CUDA graphs, in bytes.
    equivalent : The memory fraction that leaves as much for caches without a reserve for graphs.
    backend : The name of the attention backend.
    draft_model : The model in the configuration of drafts, if stated.
    stopped : The error that ended the start, or empty if it was successful.
    limits : The largest values with which the server would start, from that error, by setting.
    needed : The chip memory needed for one sequence, according to that error, in bytes.
    """

    program: str
    version: str = ""
    settings: dict[str, str] = field(default_factory=dict)
    weights: float | None = None
    available: float | None = None
    total: float | None = None
    free: float | None = None
    tokens: int | None = None
    length: int | None = None
    at_once: float | None = None
    graphs: float | None = None
    equivalent: float | None = None
    backend: str = ""
    draft_model: str = ""
    stopped: str = ""
    limits: dict[str, float] = field(default_factory=dict)
    needed: float | None = None

    def number(self, name: str) -> float | None:
        """Parse a numeric setting, or return None if it is missing."""
        text = self.settings.get(name, "")
        return parse_number(text) if text[:1].isdigit() else None

    @property
    def draft(self) -> str | None:
        """The separate draft model, if there is one."""
        is_none = self.draft_model in ("", "ngram", "suffix", self.settings.get("model"))
        return None if is_none else self.draft_model

    @property
    def engine(self) -> str:
        """The engine entry for this release."""
        release = self._release
        if self.program != VLLM or not release:
            return self.program
        return next((name for end, name in _ENGINES if release < end), self.program)

    @property
    def _release(self) -> list[int]:
        """The major and minor version, or an empty list if unknown."""
        # A checkout without tags always has the version 0.1.dev.
        if self.version.startswith("0.1.dev"):
            return []
        return [*map(int, re.findall(r"[0-9]{1,9}", self.version)[:2])]

    @property
    def is_early(self) -> bool:
        """Whether it is vLLM's V0 engine, which alternates between prefill and decode."""
        is_old = bool(self._release) and self._release < [0, 8]
        return self.program == VLLM and (is_old or self.is_on("first_engine"))

    def is_on(self, name: str) -> bool:
        """Check whether a setting is on."""
        return self.settings.get(name) == "True"
