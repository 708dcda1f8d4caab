"""Flags that set configuration values: rope scaling, CUDA graphs, drafts, multimodal inputs.

Sources: vllm/config/model.py, compilation.py and multimodal.py of version 0.33;
sglang/srt/arg_groups/fields of version 0.5.23, November 2026.
"""

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from fastcalc.cli.engine_flags.table import (
    BALANCE,
    BALANCED_EXPERTS,
    DRAFT_CONFIGURATION,
    DRAFT_COUNTS,
    DRAFT_METHODS,
    DRAFT_MODELS,
    GRAPH_SIZES,
    GRAPHS,
    INPUT_LIMITS,
    MODEL_OVERRIDES,
    NO_GRAPHS,
    OPTIMIZATION,
    REDUNDANT_EXPERTS,
    ROPE,
    VERIFIED_TOKENS,
)
from fastcalc.cli.engine_flags.words import Words, whole
from fastcalc.errors import InputError
from fastcalc.written import shown

_BARE = re.compile(
    r"(?<=[{,:\[])\s*(?!true\b|false\b|null\b)([A-Za-z_][^{}\[\]:,\"]*?)\s*(?=[}\]:,])"
)
"""Matches an unquoted word in JSON."""
_LENGTH_KEYS = {"max_position_embeddings", "text_config", "rope_scaling", "rope_parameters"}
_UNSCALED = {"su", "longrope", "llama3"}
_YARN = {"yarn", "deepseek_yarn", "deepseek_llama_scaling"}
"""Rope types whose factor vLLM does not apply to the position limit in a configuration."""
_NO_MODEL = {"mtp", "ngram", "suffix", "nextn"}
"""Methods that draft without a separate model."""
_COUNT = re.compile(r"[1-9]\d{0,8}")
"""Matches a number of draft tokens."""
_ACCEPTED = "0.8"
"""Assumed acceptance rate of draft tokens."""


def read(line: Words) -> None:
    """Replace flags that set configuration values with fastcalc's flags."""
    read_lengths(line)
    # Without CUDA graphs, vLLM is the engine eager of its release. A user's engine file may
    # have its own times, which those of eager do not replace.
    configurations = [text for _, text in line.taken_pairs(*GRAPHS)]
    is_off = any(re.search(r"cudagraph_mode\W+NONE", text) for text in configurations)
    is_off = "0" in line.taken(*OPTIMIZATION) or is_off
    is_off = bool(line.taken(*NO_GRAPHS, has_value=False)) or is_off
    _read_graph_sizes(line, configurations, is_off=is_off)
    engine = line.value("--engine")
    if is_off and "eager" not in line.engine_ids:
        if engine in ("", "vllm"):
            line.put("--engine", "eager")
        elif line.program != "vllm":
            line.notes.append(f"{NO_GRAPHS[0]} is not modelled for {engine}")
        elif line.is_own_engine:
            line.notes.append(
                f"{NO_GRAPHS[0]} is not modelled for your own engine {engine}: let it extend eager"
            )
        else:
            line.put("--engine", f"{engine}+eager")
    _read_redundant_experts(line)
    _read_drafts(line)
    limits = [_json(text, name) for name, text in line.taken_pairs(*INPUT_LIMITS)]
    if limits and not any(limit for one in limits for limit in one.values()):
        line.words.append("--language-model-only")


def _json(text: str, flag: str) -> Mapping[str, Any]:
    """Parse the JSON value of a flag, even if a shell has stripped its quotes."""
    for written in (text, _BARE.sub(r'"\1"', text)):
        with suppress(ValueError, RecursionError):
            value = json.loads(written)
            if isinstance(value, dict):
                return value
    raise InputError(f"{flag} {shown(text)}: give JSON in quotes, such as '{{\"key\": 1}}'")


def read_lengths(line: Words) -> None:
    """Find the longest sequence that rope scaling or a configuration override allows."""
    for name, text in line.taken_pairs(*ROPE, *MODEL_OVERRIDES):
        if name in ROPE and not text.startswith("{"):
            continue  # llama.cpp names a type, and only warns about lengths beyond the model's
        configuration = _json(text, name)
        texts = (configuration, configuration.get("text_config"))  # of the model, or its text part
        parts = [part for part in texts if isinstance(part, dict)]
        keys = ("rope_scaling", "rope_parameters")
        scalings = (part[key] for part in parts for key in keys if isinstance(part.get(key), dict))
        rope = configuration if name in ROPE else next(scalings, {})
        # vLLM multiplies the model's position limit by the factor of linear and dynamic scaling.
        # For YaRN the configuration scales it already, or the factor applies to the original one.
        stated = max(_positive(part.get("max_position_embeddings")) for part in parts)
        positions = stated or _positive(line.longest)
        kind, factor = str(rope.get("rope_type", rope.get("type"))), rope.get("factor")
        factor = _positive(factor) or 1.0
        if kind in _UNSCALED:
            factor = 1.0
        elif kind in _YARN:
            original = _positive(rope.get("original_max_position_embeddings")) or positions
            positions, factor = stated or max(original * factor, positions), 1.0
        tokens = int(positions * factor) if positions * factor < 1e9 else 0
        if tokens and str(tokens) != line.longest:
            line.set_longest(tokens)
            line.notes.append(f"{name}: sequences of up to {tokens:,} tokens")
        unread = [key for key in configuration if name not in ROPE and key not in _LENGTH_KEYS]
        if unread:
            line.notes.append(f"{name}: ignored {shown(', '.join(unread))}")


def _positive(value: Any) -> float:
    """Return a positive number or a string of digits as a number, or 0 for anything else."""
    if isinstance(value, str) and value.isdecimal():
        return float(value)
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if is_number and 0 < value < 1e12 else 0.0


def _read_graph_sizes(line: Words, configurations: Sequence[str], *, is_off: bool) -> None:
    """Read the number of rows in the largest CUDA graph, if the server command sets it.

    SGLang reserves 0.5 GiB and 2 MiB per row, and 3 to 4.5 MiB more per row for each replica of
    attention (python/sglang/srt/arg_groups/memory_hook.py of version 0.5.23). Graphs do not reduce
    a memory fraction that is set. vLLM rejects a largest graph of 0 unless graphs are off
    (vllm/config/vllm.py).
    """
    pairs = line.taken_pairs(*GRAPH_SIZES)
    texts = [text for _, text in pairs]
    for configuration in configurations:
        stated = re.findall(r"capture_sizes?\W+(\d[\d,\s]*)", configuration)
        texts += [size for sizes in stated for size in re.split(r"[,\s]+", sizes)]
    rows = max(map(whole, texts), default=0)
    if not rows:
        name = pairs[-1][0] if pairs else GRAPHS[0]
        if texts and not is_off:
            line.notes.append(f"{name} is not modelled with {shown(texts[-1]) or 'no size'}")
        return
    if line.program != "sglang":
        line.words += ["--set", f"parameters.largest_graph={rows}"]
    elif "--gpu-memory-utilization" not in line.stated:
        kept = {
            "runtime_memory": 512 + 2 * rows,
            "replica_memory": rows * (4.5 if rows > 300 else 3),
        }
        for name, size in kept.items():
            line.words += ["--set", f"parameters.{name}={size / 1024:g} GiB"]


def _read_redundant_experts(line: Words) -> None:
    """Add the expert copies that balance the load of expert-parallel ranks."""
    line.taken(*BALANCED_EXPERTS, has_value=False)
    texts = [text for _, text in line.taken_pairs(*REDUNDANT_EXPERTS)]
    balances = [_json(text, name) for name, text in line.taken_pairs(*BALANCE)]
    texts += [str(balance.get("num_redundant_experts", "")) for balance in balances]
    texts = [text for text in texts if text.isdecimal()]
    if not texts or (model := line.model) is None:
        return
    from fastcalc.catalogue.schema import MixtureOfExperts  # few commands have such copies

    for at, block in enumerate(model.blocks):
        if isinstance(block.ffn, MixtureOfExperts):
            count = whole(texts[-1])
            line.words += ["--set", f"blocks.{at}.ffn.redundant_experts={count}"]


def _read_drafts(line: Words) -> None:
    """Read speculative decoding, noting when a separate draft model is not counted."""
    configurations = line.taken_pairs(*DRAFT_CONFIGURATION)
    methods, verified = line.taken(*DRAFT_METHODS), line.taken(*VERIFIED_TOKENS)
    counts = [str(int(text) - 1) if _COUNT.fullmatch(text) else text for text in verified]
    counts += line.taken(*DRAFT_COUNTS)
    models = [text for _, text in line.taken_pairs(*DRAFT_MODELS)]
    for name, text in configurations:
        configuration = _json(text, name)
        counts += [str(configuration.get("num_speculative_tokens", ""))]
        method, model = configuration.get("method"), configuration.get("model")
        if isinstance(model, str) and str(method).rpartition("_")[2] not in _NO_MODEL:
            models.append(model if "eagle" in model.lower() or method != "eagle3" else "eagle3")
    unread = [count for count in counts if not _COUNT.fullmatch(count)]
    counts = [count for count in counts if _COUNT.fullmatch(count)]
    if counts and "speculate" in line.fields:
        _speculate(line, counts[-1])
    elif counts:
        line.notes.append(
            f"speculative decoding: the {counts[-1]} draft tokens per step are ignored, because "
            f"{line.words[0]} has no --speculate"
        )
    elif configurations or unread or methods:
        line.notes.append("speculative decoding is ignored, as no number of draft tokens is given")
    for name in models[-1:]:
        if line.has("--draft-model"):
            stated = shown(line.value("--draft-model"))
            line.notes.append(f"draft model {stated}, as given, replaces {shown(name)}")
        elif "draft_model" in line.fields and _is_counted(line, name):
            line.words += ["--draft-model", name]
        else:
            hint = ", or name a similar model with --draft-model"
            line.notes.append(
                f"draft model {shown(name)}: its weights and its cache are not counted; leave "
                f"that much memory free{hint if 'draft_model' in line.fields else ''}"
            )


def _speculate(line: Words, count: str) -> None:
    """Set the number of draft tokens, with the user's acceptance rate if there is one."""
    if stated := line.value("--speculate"):
        drafted = re.findall(r"[x/]\s*(\d+)", stated)
        if drafted and count not in drafted:
            raise InputError(
                f"--speculate {shown(stated)} is given, and {count} draft tokens per step in "
                "the server's flags; remove one"
            )
        return
    line.words += ["--speculate", f"{_ACCEPTED}x{count}"]
    line.notes.append(
        f"speculative decoding: {count} draft tokens per step, each accepted at "
        f"{_ACCEPTED} (assumed; --speculate 0.7x{count} sets 0.7)"
    )


def _is_counted(line: Words, name: str) -> bool:
    """Check whether the size of a draft model is known, given the model of the command."""
    from fastcalc.catalogue.store import Catalogue  # few commands have a draft model
    from fastcalc.kit.request.draft_models import counted_draft, has_own_shape

    if line.model is None:
        return not has_own_shape(name)
    return counted_draft(Catalogue(), name, line.model) is not None
