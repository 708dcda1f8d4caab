"""What vLLM and SGLang log when they start: settings, memory, and tokens that caches hold.

vLLM: ``vllm/v1/worker/gpu_worker.py``, ``vllm/v1/core/kv_cache_utils.py`` and ``vllm/config`` of
versions 0.6 to 0.29; SGLang: ``python/sglang/srt/server_args.py`` and ``model_executor``. Times,
names of processes and places in the source before a message are of no account.
"""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from fastcalc.catalogue.limits import LIMITS
from fastcalc.errors import InputError
from fastcalc.evidence.diagnosis.start_log import SETTINGS, SGLANG, VLLM, StartLog
from fastcalc.evidence.text_files import MAX_BYTES, opened
from fastcalc.written import shown

_BLOCK = 16  # tokens of a block of vLLM, unless it says


_LISTED = re.compile(
    r"non-default args: |LLM engine \(v|args: Namespace\(|server_args=ServerArgs\("
    r"|^max_total_num_tokens=|max_total_num_tokens=\d+, |Chunked prefill is enabled with max_num"
)
"""Lines that list settings."""

_HEADER = re.compile(r"vLLM API server version|LLM engine \(v|server_args=ServerArgs\(")
_SIGNS = {
    VLLM: re.compile(
        r"\bvLLM\b|non-default args: |LLM engine \(v|GPU KV cache size|# (?:GPU|cuda) blocks"
        r"|gpu_worker"
    ),
    SGLANG: re.compile(r"ServerArgs\(|max_total_num_tokens=|KV Cache is allocated\. "),
}
_LIMITS = {
    "gpu_memory_utilization": LIMITS["fraction"],
    **dict.fromkeys(("max_model_len", "max_num_batched_tokens"), LIMITS["tokens"]),
    **dict.fromkeys(("max_num_seqs", "block_size"), LIMITS["sequences"]),
    **dict.fromkeys(("tp", "pp", "dp"), LIMITS["chips"]),
}
_NUMBER = r"([\d,]+(?:\.\d+)?)"


def _gib(text: str) -> float:
    return float(text.replace(",", "")) * 2.0**30


def _count(text: str) -> int:
    return int(text.replace(",", "").partition(".")[0])


_LINES: tuple[tuple[str, str, Callable[[str], float | str]], ...] = (
    (r"vLLM API server version v?([\w.+-]+)", "version", str),
    (r"LLM engine \(v([\w.+-]+)\)", "version", str),
    (rf"(?:Model loading|Loading model weights) took {_NUMBER} Gi?B", "weights", _gib),
    (rf"model weights take {_NUMBER}\s?GiB", "weights", _gib),
    (rf"Load weight end\..*mem usage={_NUMBER} GB", "weights", _gib),
    (rf"Available KV cache memory: {_NUMBER} GiB", "available", _gib),
    (rf"reserved for KV Cache is {_NUMBER}\s?GiB", "available", _gib),
    (rf"total_gpu_memory \({_NUMBER}\s?GiB\)", "total", _gib),
    (rf"Free memory on device[^(]*\([\d.]+/{_NUMBER} GiB\)", "total", _gib),
    (rf"Free memory on device[^(]*\({_NUMBER}/[\d.]+ GiB\)", "free", _gib),
    (rf"Graph capturing finished in .*took {_NUMBER} GiB", "graphs", _gib),
    (rf"Capture cuda graph end\..*mem usage={_NUMBER} GB", "graphs", _gib),
    (rf"GPU KV cache size: {_NUMBER} tokens", "tokens", _count),
    (rf"KV Cache is allocated\..*#tokens: {_NUMBER}", "tokens", _count),
    (rf"max_total_num_tokens={_NUMBER}", "tokens", _count),
    (rf"Maximum concurrency for {_NUMBER} tokens", "length", _count),
    (rf"[Uu]sing max model len {_NUMBER}", "length", _count),
    (rf"context_len={_NUMBER}", "length", _count),
    (rf"Maximum concurrency for [\d,]+ tokens per request: {_NUMBER}x", "at_once", float),
    (r"equivalent to --gpu-memory-utilization=([\d.]+\d) without", "equivalent", float),
    (r"Using (\w[\w ]{2,30}?) (?:attention )?backend", "backend", str),
)
_PATTERNS = tuple((re.compile(pattern), name, convert) for pattern, name, convert in _LINES)
_BLOCKS = re.compile(rf"# (?:GPU|cuda|CUDA) blocks: {_NUMBER}")
_ON = {
    "eager": re.compile(r"[Cc]udagraph is disabled under eager mode|Enforce eager set"),
    "first_engine": re.compile(r"Initializing an? (?:V0 )?LLM engine \(v"),
}
"""Settings that a line of its own says are on."""
_VALUE = r"['\"]?\b{}['\"]?\s*[:=]\s*(?:'([^']*)'|\"([^\"]*)\"|([^\s,)}}\]]+))"


def read_start(path: Path) -> StartLog:
    """Return the last start that a log holds."""
    with opened(path) as stream:
        raw = stream.read(MAX_BYTES)
    name = shown(path, 200)
    if not raw.strip():
        raise InputError(f"{name} is empty: give what the server printed when it started")
    if b"\0" in raw[:4096]:
        raise InputError(f"{name}:1:1: this is no text; give the log as the server printed it")
    start = None
    for line in raw.decode("utf-8", "replace").splitlines():
        program = start.program if start else _program_of(line)
        if program is None:
            continue
        if start is None or (start.tokens is not None and _HEADER.search(line)):
            start = StartLog(_program_of(line) or program)
        _read_line(start, line)
    if start is None or not (start.settings or start.tokens or start.available):
        raise InputError(
            f"{name} holds no line that vLLM or SGLang logs at its start, such as 'GPU KV cache "
            "size: ... tokens' or 'server_args=ServerArgs(...)'"
        )
    for setting, written in SETTINGS[start.program].items():
        value, limit = start.number(setting), _LIMITS.get(setting)
        if value is not None and limit is not None and value not in limit:
            raise InputError(f"{name}: {written} {start.settings[setting]} is not {limit}")
    return start


def _program_of(line: str) -> str | None:
    return next((name for name, sign in _SIGNS.items() if sign.search(line)), None)


def _read_line(start: StartLog, line: str) -> None:
    if _LISTED.search(line):
        start.settings |= dict(_settings_in(line, start.program))
    start.settings |= {name: "True" for name, sign in _ON.items() if sign.search(line)}
    for pattern, name, convert in _PATTERNS:
        if match := pattern.search(line):
            setattr(start, name, convert(match[1]))
    if match := _BLOCKS.search(line):
        start.tokens = _count(match[1]) * int(start.number("block_size") or _BLOCK)


def _settings_in(line: str, program: str) -> Iterator[tuple[str, str]]:
    """Yield the settings that a line states; what is None or auto is left open."""
    for name, written in SETTINGS[program].items():
        if match := re.search(_VALUE.format(written), line):
            text = next(group for group in match.groups() if group is not None).rstrip(".")
            if text not in ("None", "auto"):
                yield name, text
