"""Reader for server startup logs: settings, memory, cache capacity in tokens, and errors.

vLLM: ``vllm/v1/worker/gpu_worker.py``, ``vllm/v1/core/kv_cache_utils.py``, ``vllm/worker`` and
``vllm/config`` of versions 0.6 to 0.33; SGLang: ``python/sglang/srt/server_args.py``,
``model_executor`` and ``mem_cache/kv_cache_configurator.py`` up to 0.5.23; llama.cpp:
``src/llama-kv-cache.cpp`` and ``src/llama-model.cpp``; TensorRT-LLM: its cache manager. Times,
process names and source locations before a message are ignored.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from io import BufferedReader
from pathlib import Path

from fastcalc.catalogue.limits import LIMITS
from fastcalc.catalogue.numerals import parse_number
from fastcalc.errors import InputError
from fastcalc.evidence.start_log import LLAMA_CPP, SETTINGS, SGLANG, TENSORRT_LLM, VLLM, StartLog
from fastcalc.evidence.text_files import MAX_BYTES, opened
from fastcalc.written import shown

_BLOCK = 16  # vLLM's default number of tokens per block
_MOST_LINE = 1_000_000  # maximum number of bytes searched as one line

_LISTS = (
    "non-default args: ",
    "LLM engine (v",
    "args: Namespace(",
    "server_args=ServerArgs(",
    "max_total_num_tokens=",
    "Chunked prefill is enabled with max_num",
    "llama_context: n_",
    "llama_init_from_model: n_",
    "llama_kv_cache",
    "max_num_requests=",
)
"""Texts found in lines that list settings."""

_HEADERS = ("vLLM API server version", "LLM engine (v", "server_args=ServerArgs(")
_RESTARTS = (*_HEADERS, "non-default args: ", "llama_model_loader: loaded meta data")
"""Texts found in the first lines of a start; after a failed start, they mark the next one."""
_STOPS = {
    VLLM: (
        "To serve at least one request with the model",
        "is larger than the maximum number of tokens",
        "No available memory for the cache blocks",
        "exceeds available Mamba cache blocks",
        "is less than desired GPU memory utilization",
        "Cannot auto-fit max_model_len",
        "out of memory occurred when warming up",
    ),
    SGLANG: (
        "leave no GPU memory for the KV cache",
        "Not enough memory. Please try to increase --mem-fraction-static",
    ),
    LLAMA_CPP: (
        "failed to allocate buffer for kv cache",
        "cudaMalloc failed: out of memory",
        "unable to allocate CUDA",
    ),
    TENSORRT_LLM: ("Failed to allocate KV cache",),
}
"""Texts of errors that end a start for lack of memory, by program."""
_OUT_OF_MEMORY = (
    "CUDA out of memory. Tried to allocate",
    "HIP out of memory. Tried to allocate",
    "cudaErrorMemoryAllocation",
)
"""Texts of such errors in libraries used by the programs."""
_LIMITED_BY = (
    ("max_num_seqs", "cache blocks ("),
    ("max_model_len", "estimated maximum model length is "),
    ("max_model_len", "stored in KV cache ("),
    ("gpu_memory_utilization", "Raise --mem-fraction-static above "),
)
"""Settings whose largest possible value is given in an error, with the preceding words."""
_SIGNS = {
    VLLM: (
        *("vLLM", "non-default args: ", "LLM engine (v", " KV cache size: "),
        *("# GPU blocks", "# cuda blocks", "gpu_worker"),
    ),
    SGLANG: ("ServerArgs(", "max_total_num_tokens=", "KV Cache is allocated. "),
    LLAMA_CPP: ("llama_model_loader: ", "llama_context: ", "llama_kv_cache", "load_tensors: "),
    TENSORRT_LLM: ("[TensorRT-LLM]", "[TRT-LLM]"),
}
_SIGNS = {program: (*signs, *_STOPS[program]) for program, signs in _SIGNS.items()}
_LIMITS = {
    "gpu_memory_utilization": LIMITS["fraction"],
    **dict.fromkeys(("max_model_len", "max_num_batched_tokens"), LIMITS["tokens"]),
    **dict.fromkeys(("max_num_seqs", "block_size"), LIMITS["sequences"]),
    **dict.fromkeys(("tp", "pp", "dp"), LIMITS["chips"]),
}
_NUMBER = r"([\d,][\w.,+-]*)"  # everything that may be part of a number
_DRAFTS = r"['\"]?\s*[:=]\s*['\"]?(?:SpeculativeConfig\(|\{)[^})]{0,300}?\b"


def _value(text: str) -> float | None:
    return parse_number(text.rstrip(".,"), ",")


def _gib(text: str) -> float | None:
    value = (_value(text) or 0.0) * 2.0**30
    return value if _value(text) is not None and value in LIMITS["reserve"] else None


def _count(text: str) -> int | None:
    value = _value(text)
    return int(value) if value is not None and 0.0 <= value <= LIMITS["tokens"].maximum else None


def _plain(text: str) -> float | None:
    value = _value(text)
    return value if value is not None and value in LIMITS["number"] else None


_LINES: tuple[tuple[str, str, str, Callable[[str], float | str | None]], ...] = (
    ("vLLM API server version ", r"v?([\w.+-]+)", "version", str),
    ("LLM engine (v", r"([\w.+-]+)\)", "version", str),
    ("Model loading took ", rf"{_NUMBER} Gi?B", "weights", _gib),
    ("Loading model weights took ", rf"{_NUMBER} Gi?B", "weights", _gib),
    ("model weights take ", rf"{_NUMBER}\s?GiB", "weights", _gib),
    ("Load weight end.", rf".{{0,400}}?mem usage={_NUMBER} GB", "weights", _gib),
    ("Available KV cache memory: ", rf"{_NUMBER} GiB", "available", _gib),
    ("reserved for KV Cache is ", rf"{_NUMBER}\s?GiB", "available", _gib),
    ("total_gpu_memory (", rf"{_NUMBER}\s?GiB\)", "total", _gib),
    ("Free memory on device", rf"[^(]{{0,100}}\([\d.]+/{_NUMBER} GiB\)", "total", _gib),
    ("Free memory on device", rf"[^(]{{0,100}}\({_NUMBER}/[\d.]+ GiB\)", "free", _gib),
    ("Graph capturing finished in ", rf".{{0,100}}?took {_NUMBER} GiB", "graphs", _gib),
    ("Capture cuda graph end.", rf".{{0,400}}?mem usage={_NUMBER} GB", "graphs", _gib),
    ("Estimated CUDA graph memory: ", rf"{_NUMBER} GiB", "graphs", _gib),
    ("CUDA graph pool memory: ", rf"{_NUMBER} GiB \(actual\)", "graphs", _gib),
    ("To serve at least", rf".{{0,200}}?\({_NUMBER} GiB KV", "needed", _gib),
    ("available KV cache memory (", rf"{_NUMBER} GiB\)", "available", _gib),
    ("in paged KV cache (", rf"{_NUMBER}\)", "tokens", _count),
    ("[MemUsageChange] Allocated ", rf"{_NUMBER} GiB for max tokens", "available", _gib),
    ("llama_kv_cache", rf".{{0,40}}?: size = .{{0,20}}?MiB \( *{_NUMBER} cells", "tokens", _count),
    (" KV cache size: ", rf"{_NUMBER} tokens", "tokens", _count),
    ("KV Cache is allocated.", rf".{{0,400}}?#tokens: {_NUMBER}", "tokens", _count),
    ("max_total_num_tokens=", _NUMBER, "tokens", _count),
    ("Maximum concurrency for ", rf"{_NUMBER} tokens", "length", _count),
    ("sing max model len ", _NUMBER, "length", _count),
    ("max_seq_len=", _NUMBER, "length", _count),
    ("max seq len (", _NUMBER, "length", _count),
    ("context_len=", _NUMBER, "length", _count),
    ("Maximum concurrency for ", rf"[\d,]+ tokens per request: {_NUMBER}x", "at_once", _plain),
    ("equivalent to --gpu-memory-utilization=", rf"{_NUMBER} without", "equivalent", _plain),
    (
        "speculative_config",
        rf"{_DRAFTS}model['\"]?\s*[:=]\s*['\"]([^'\"]{{1,200}})",
        "draft_model",
        str,
    ),
    ("speculative_draft_model_path=", r"'([^']{1,200})", "draft_model", str),
    ("Using ", r"(\w[\w ]{2,30}?) (?:attention )?backend", "backend", str),
    *((f"# {name} blocks: ", _NUMBER, "blocks", _count) for name in ("GPU", "cuda", "CUDA")),
)
"""The text before a number, the number's pattern, its name, and its parser."""

_PATTERNS = tuple(
    (words, re.compile(re.escape(words) + pattern_end), name, convert)
    for words, pattern_end, name, convert in _LINES
)
_ON = {
    "eager": ("udagraph is disabled under eager mode", "Enforce eager set"),
    "first_engine": tuple(
        f"Initializing {name} engine (v" for name in ("a LLM", "an LLM", "a V0 LLM", "an V0 LLM")
    ),
}
"""Settings that are logged as enabled on a separate line."""
_BUFFERS = {"model buffer size": "weights", "KV buffer size": "available"}
"""Buffers that llama.cpp lists per device, and what they contain."""
_BUFFER = re.compile(r"(\w+) (model buffer size|KV buffer size) *= *([\d.]+) MiB")
_VALUE = r"\b{}['\"]?\s*[:=]\s*(?:'([^']*)'|\"([^\"]*)\"|([^\s,)}}\]]+))"
_WORDS = tuple(
    dict.fromkeys(
        [*_LISTS, *_HEADERS, *(words for words, *_ in _LINES)]
        + [words for group in (*_SIGNS.values(), *_ON.values()) for words in group]
        + [*_RESTARTS, *_OUT_OF_MEMORY, *_BUFFERS]
    )
)
"""Texts found in relevant lines; most lines of a log contain none of them."""


def read_start(path: Path) -> StartLog:
    """Read the last start in a log."""
    name = shown(path, 200)
    reader = _StartReader(name)
    with opened(path) as stream:
        head = stream.peek(1)
        if not head:
            raise InputError(f"{name} is empty: give what the server printed when it started")
        if b"\0" in head[:4096]:
            why = "this is not UTF-8 text; give the log as the server printed it"
            raise InputError(f"{name}:1:1: {why}")
        for number, line in enumerate(_lines(name, stream), 1):
            if _has(line, _WORDS):
                reader.read(number, line)
    start = reader.start
    if start is None or not (start.settings or start.tokens or start.available or start.stopped):
        raise InputError(
            f"{name} has no line that vLLM, SGLang, llama.cpp or TensorRT-LLM logs at start-up, "
            "such as 'GPU KV cache size: ... tokens' or 'server_args=ServerArgs(...)'"
        )
    for setting, limit in _LIMITS.items():
        text, value = start.settings.get(setting, ""), start.number(setting)
        if text[:1].isdigit() and (value is None or value not in limit):
            written = SETTINGS[start.program][setting]
            fault = f"{written} '{shown(text)}' is not a number {limit}"
            raise InputError(f"{reader.places[setting]}: {fault}")
    return start


def _lines(name: str, stream: BufferedReader) -> Iterator[str]:
    total = 0
    while line := stream.readline(_MOST_LINE):
        total += len(line)
        if total > MAX_BYTES:
            raise InputError(
                f"{name} is larger than {MAX_BYTES // 1_000_000} MB; give the lines of its last "
                "start"
            )
        yield line.decode("utf-8", "replace")


def _program_of(line: str) -> str | None:
    return next((name for name, signs in _SIGNS.items() if _has(line, signs)), None)


def _has(line: str, any_of: Iterable[str]) -> bool:
    return any(words in line for words in any_of)


class _StartReader:
    """A pass over the lines of a log, which keeps the last start."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.start: StartLog | None = None
        self.places: dict[str, str] = {}

    def read(self, number: int, line: str) -> None:
        """Read a relevant line."""
        program = self.start.program if self.start else _program_of(line)
        if program is None:
            return
        is_header = _has(line, _HEADERS)
        ended = self.start and (
            (self.start.tokens is not None and is_header)
            or (self.start is not None and bool(self.start.stopped) and _has(line, _RESTARTS))
        )
        if self.start is None or ended:
            self.start = StartLog(_program_of(line) or program)
        start = self.start
        self._read_stop(start, line)
        self._read_buffer(start, line)
        if _has(line, _LISTS):
            for name, written in SETTINGS[start.program].items():
                if stated := re.search(_VALUE.format(written), line):
                    text = next(group for group in stated.groups() if group is not None).rstrip(".")
                    if text not in ("None", "auto"):
                        start.settings[name] = text
                        self.places[name] = f"{self.file}:{number}:{stated.start() + 1}"
        for setting, signs in _ON.items():
            if _has(line, signs):
                start.settings[setting] = "True"
        for words, pattern, field, convert in _PATTERNS:
            if words in line and (match := pattern.search(line)):
                value = convert(match[1])
                if value is None:
                    location = f"{self.file}:{number}:{match.start(1) + 1}"
                    why = f"'{shown(match[1])}' is not a number that a server prints here"
                    raise InputError(f"{location}: {why}; give the log as the server printed it")
                if field == "blocks":
                    field, value = "tokens", float(value) * (start.number("block_size") or _BLOCK)
                setattr(start, field, int(value) if field == "tokens" else value)

    def _read_stop(self, start: StartLog, line: str) -> None:
        """Read the error that ends a start; the first error causes the others."""
        if start.stopped or not _has(line, (*_STOPS[start.program], *_OUT_OF_MEMORY)):
            return
        message = line.strip()
        for raised in ("ValueError: ", "RuntimeError: ", "OutOfMemoryError: ", "with error '"):
            message = message.rpartition(raised)[2]
        start.stopped = shown(message, 300)
        for setting, words in _LIMITED_BY:
            if words in line and (match := re.match(_NUMBER, line.split(words)[-1])):
                value = _value(match[1])
                if value is not None and value in _LIMITS[setting]:
                    start.limits[setting] = value
        free = re.search(r"\(([\d.]+)/([\d.]+) GiB\) on startup is less than desired", line)
        if free and float(free[2]):
            fraction = int(100.0 * float(free[1]) / float(free[2])) / 100.0
            start.limits["gpu_memory_utilization"] = fraction

    def _read_buffer(self, start: StartLog, line: str) -> None:
        """Add a buffer of llama.cpp. Host buffers are ignored."""
        match = _BUFFER.search(line) if start.program == LLAMA_CPP else None
        if match is None or match[1].startswith("CPU"):
            return
        name = _BUFFERS[match[2]]
        buffer_bytes = start.weights if name == "weights" else start.available
        setattr(start, name, (buffer_bytes or 0.0) + float(match[3]) * 2.0**20)
