"""Measurements: the columns of the CSV, and properties mentioned in the notes."""

import re
from dataclasses import dataclass, fields
from functools import lru_cache

_FEW_NOTES = 4096  # cached notes, which measurements from the same source share
METRICS = (
    "tokens_per_s_per_user",
    "tokens_per_s_total",
    "tokens_per_s_per_chip",
    "ttft_s",
    "tpot_s",
    "prefill_tokens_per_s",
)

TIMES = ("ttft_s", "tpot_s")  # lower is faster
_KIND = re.compile(r"\A\s*kind=([\w-]+)")
_MEMORY = [re.compile(rf"(?:\A|;)\s*{name}=([^;]+)") for name in ("host", "use", "place")]
_NOTED = {
    "mean context": re.compile(r"\bmean context (\d+(?:,\d{3})*(?:\.\d+)?)(?![\w/])"),
    "mean requests in flight": re.compile(r"\bmean requests in flight (\d+(?:\.\d+)?)(?![\w/])"),
    "draft tokens": re.compile(r"\bdraft tokens (\d+)\b"),
    "requests": re.compile(r"\brequests (\d+)\b"),
}

INFERRED = "speculation inferred"
"""The remark in the notes of a measurement whose source does not give the tokens per step."""


@lru_cache(maxsize=_FEW_NOTES)
def _kind_and_memory(notes: str) -> tuple[str | None, ...]:
    matches = (pattern.search(notes) for pattern in (_KIND, *_MEMORY))
    return tuple(match and match[1].strip() for match in matches)


@lru_cache(maxsize=_FEW_NOTES)
def noted(notes: str) -> dict[str, float]:
    """Extract numbers from notes, by the words before them."""
    matches = {words: pattern.search(notes) for words, pattern in _NOTED.items()}
    return {words: float(match[1].replace(",", "")) for words, match in matches.items() if match}


@dataclass(slots=True)  # not frozen, which would cost a second for 100,000 measurements
class Point:
    """One published or own measurement, with the columns of the CSV and its line.

    hardware, model, engine : The catalogue ids; the engine is empty if not given.
    chips, tp, ep, pp, dp : ``chips = tp x pp x dp / ranks of a chip``; ``ep`` overlays them. None
        if not given.
    concurrency : The concurrent sequences or requests on all chips.
    prompt, output : The mean lengths, in tokens.
    value : The measured value, in the unit named by its metric, which is one of `METRICS`.
    tokens_per_pass : The tokens per step: 1 without speculation, None if unknown (then not tested).
    notes : The start with ``kind=`` and the type of measurement; the remaining words give
        properties.
    """

    id: str
    source: str
    url: str
    date: str
    hardware: str
    chips: int | None
    model: str
    engine: str
    weights: str
    kv: str
    tp: int | None
    ep: int | None
    pp: int | None
    dp: int | None
    concurrency: int | None
    prompt: float | None
    output: float | None
    metric: str
    value: float
    tokens_per_pass: float | None
    measured_by: str
    notes: str
    line: int

    @property
    def kind(self) -> str | None:
        """The type of measurement: the word after ``kind=`` at the start of the notes."""
        return _kind_and_memory(self.notes)[0]

    @property
    def memory(self) -> tuple[str | None, ...]:
        """The host, its use, and the memory placement, from ``host=``, ``use=`` and ``place=``."""
        return _kind_and_memory(self.notes)[1:]

    @property
    def is_offloaded(self) -> bool:
        """Whether part of the model was outside the chips' own memory."""
        return any(self.memory)

    @property
    def is_speculation_inferred(self) -> bool:
        """Whether the server used speculative decoding with an unknown acceptance rate."""
        return INFERRED in self.notes

    @property
    def source_key(self) -> str:
        """The source, whose measurements share errors: the id without its number."""
        key, _, number = self.id.rpartition("-")
        return key if key and number.isdecimal() else self.source

    @property
    def is_time(self) -> bool:
        """Whether lower values are faster."""
        return self.metric in TIMES

    @property
    def mean_context(self) -> float | None:
        """The mean context of a decode step, if the notes contain ``mean context N``, in tokens."""
        return noted(self.notes).get("mean context")

    @property
    def drafted(self) -> float:
        """The draft tokens per step, if the notes contain ``draft tokens N``, otherwise 0."""
        return noted(self.notes).get("draft tokens", 0.0)

    @property
    def requests(self) -> int | None:
        """The requests in the whole run, if the notes contain ``requests N``."""
        count = noted(self.notes).get("requests")
        return None if count is None else int(count)

    @property
    def in_flight(self) -> float | None:
        """The mean concurrency, if the notes contain ``mean requests in flight N``."""
        return noted(self.notes).get("mean requests in flight")

    @property
    def is_static(self) -> bool:
        """Whether one batch ran to completion without new requests joining."""
        return "static batch" in self.notes


COLUMNS = tuple(field.name for field in fields(Point) if field.name != "line")  # in the CSV
COUNTS = frozenset(("chips", "tp", "ep", "pp", "dp", "concurrency"))
NUMBERS = (*sorted(COUNTS), "prompt", "output", "value", "tokens_per_pass")  # whole or real
