"""Flags that set parts of a configuration: rope scaling, CUDA graphs, drafts, multimodal inputs.

Sources: vllm/config/model.py, compilation.py and multimodal.py of version 0.33;
sglang/srt/arg_groups/fields of version 0.5.23, November 2026.
"""

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from fastcalc.cli.engine_flags.table import (
    DRAFT_CONFIGURATION,
    DRAFT_COUNTS,
    DRAFT_MODELS,
    GRAPHS,
    INPUT_LIMITS,
    MODEL_OVERRIDES,
    NO_GRAPHS,
    ROPE,
)
from fastcalc.cli.engine_flags.words import Words, model_of
from fastcalc.errors import InputError
from fastcalc.written import shown

_BARE = re.compile(
    r"(?<=[{,:\[])\s*(?!true\b|false\b|null\b)([A-Za-z_][^{}\[\]:,\"]*?)\s*(?=[}\]:,])"
)
"""Unquoted word in JSON."""
_ACCEPTED = "0.8"
"""Assumed acceptance rate of draft tokens."""


def read(line: Words) -> None:
    """Replace flags that set parts of a configuration by fastcalc's flags."""
    _read_lengths(line)
    _read_graphs(line)
    _read_drafts(line)
    limits = [_json(text, name) for name, text in line.taken_pairs(*INPUT_LIMITS)]
    if limits and limits[-1] and not any(limits[-1].values()):
        line.words.append("--language-model-only")


def _json(text: str, flag: str) -> Mapping[str, Any]:
    """JSON value of a flag, even if a shell has removed its quotes."""
    for written in (text, _BARE.sub(r'"\1"', text)):
        with suppress(ValueError, RecursionError):
            value = json.loads(written)
            if isinstance(value, dict):
                return value
    raise InputError(f"{flag} {shown(text, 60)}: give JSON in quotes, such as '{{\"key\": 1}}'")


def _read_lengths(line: Words) -> None:
    """Longest sequence allowed by rope scaling or by an override of the configuration."""
    for name, text in line.taken_pairs(*ROPE, *MODEL_OVERRIDES):
        if name in ROPE and not text.startswith("{"):
            continue  # llama.cpp names a type, and only warns of lengths beyond the model's
        configuration = _json(text, name)
        rope = configuration if name in ROPE else _rope(configuration)
        longest = configuration.get("max_position_embeddings", line.longest)
        factor = rope.get("factor", 1) if rope.get("rope_type", rope.get("type")) != "llama3" else 1
        start = rope.get("original_max_position_embeddings", longest) if rope else longest
        try:
            tokens = int(float(start) * float(factor))
        except (ValueError, TypeError, OverflowError):
            continue
        if str(tokens) != line.longest:
            line.words += ["--set", f"max_context={tokens}"]
            line.notes.append(f"{name}: sequences of up to {tokens:,} tokens")


def _rope(configuration: Mapping[str, Any]) -> Mapping[str, Any]:
    """Rope scaling in an override of a configuration, or of its text configuration."""
    texts = (configuration, configuration.get("text_config"))
    scalings = (
        part[key]
        for part in texts
        if isinstance(part, dict)
        for key in ("rope_scaling", "rope_parameters")
        if isinstance(part.get(key), dict)
    )
    return next(scalings, {})


def _read_graphs(line: Words) -> None:
    """Use the engine ``eager`` for a server without CUDA graphs."""
    configurations = [text for _, text in line.taken_pairs(*GRAPHS)]
    is_off = any(re.search(r"cudagraph_mode\W+NONE", text) for text in configurations)
    if not (line.taken(*NO_GRAPHS, has_value=False) or is_off):
        return
    engine = line.value("--engine")
    if engine and not re.fullmatch(r"vllm(-0\.\d+)?", engine):
        line.notes.append(f"{NO_GRAPHS[0]} is not modelled for {engine}")
        return
    line.put("--engine", "eager")


def _read_drafts(line: Words) -> None:
    """Speculative decoding, with a note if a separate draft model is not counted."""
    configurations = line.taken_pairs(*DRAFT_CONFIGURATION)
    counts = [text for _, text in line.taken_pairs(*DRAFT_COUNTS)]
    models = [text for _, text in line.taken_pairs(*DRAFT_MODELS)]
    for name, text in configurations:
        configuration = _json(text, name)
        counts += [str(configuration.get("num_speculative_tokens", ""))]
        models += [configuration["model"]] if isinstance(configuration.get("model"), str) else []
    counts = [count for count in counts if count.isdecimal()]
    if counts and "speculate" in line.fields:
        line.words += ["--speculate", f"{_ACCEPTED}x{counts[-1]}"]
        line.notes.append(
            f"speculative decoding: {counts[-1]} draft tokens per step, each accepted at "
            f"{_ACCEPTED} (assumed; --speculate 0.7x{counts[-1]} sets 0.7)"
        )
    elif configurations:
        line.notes.append("--speculative-config: ignored, as it has no num_speculative_tokens")
    line.notes += [_uncounted(name) for name in models[-1:]]


def _uncounted(name: str) -> str:
    """Note on the memory of a draft model, which is not counted."""
    from fastcalc.core.model.workload import workload  # few lines have a draft model

    draft = model_of(name)
    weights = f", {workload(draft).weight_bytes / 1e9:,.1f} GB," if draft else ""
    return (
        f"draft model {shown(name, 60)}: its weights{weights} and its cache are not counted; "
        "reduce --gpu-memory-utilization by their share of memory"
    )
