"""Engine flags and whole server commands, translated to fastcalc's own flags."""

import re
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

from fastcalc.catalogue.formats import number_format
from fastcalc.errors import InputError
from fastcalc.written import listed, shown

if TYPE_CHECKING:
    from fastcalc.catalogue.schema import Model
    from fastcalc.kit.request.fields import DeclaredField

_RENAMED = {
    **dict.fromkeys(("--tensor-parallel-size", "--tp-size", "-tp"), "--tp"),
    **dict.fromkeys(("--pipeline-parallel-size", "--pp-size", "-pp"), "--pp"),
    **dict.fromkeys(("--data-parallel-size", "--dp-size", "-dp"), "--dp"),
    **dict.fromkeys(("--ep-size", "--expert-parallel-size"), "--ep"),
    "--kv-cache-dtype": "--kv",
    **dict.fromkeys(("--quantization", "-q"), "--weights"),
    **dict.fromkeys(("--context-length", "--ctx-size", "-c", "--max-seq-len"), "--max-model-len"),
    **dict.fromkeys(
        ("--max-running-requests", "--parallel", "-np", "--max-batch-size", "--decode-concurrency"),
        "--max-num-seqs",
    ),
    **dict.fromkeys(("--chunked-prefill-size", "--max-num-tokens"), "--max-num-batched-tokens"),
    **dict.fromkeys(("-ngl", "--gpu-layers"), "--n-gpu-layers"),
    **dict.fromkeys(("-ncmoe",), "--n-cpu-moe"),
    "--mem-fraction-static": "--gpu-memory-utilization",
}
"""What engines call a flag, and what it is called here."""

_SPLIT_MODES = {"-sm", "--split-mode"}
_CARDS = {"-ts", "--tensor-split", "-dev", "--device"}
"""Flags of llama.cpp with a value for each card."""
_TENSOR_SPLITS = {"row", "tensor", "graph"}
"""Split modes that divide each matrix among cards; ``graph`` is that of ik_llama.cpp."""
_UNIFIED = {"-kvu", "--kv-unified"}
"""Flags by which slots of llama.cpp share its context where their number is given, too."""
_KEY_TYPES, _VALUE_TYPES = {"-ctk", "--cache-type-k"}, {"-ctv", "--cache-type-v"}
_SLOTS = {"-np", "--parallel"}
_DEFAULT_SLOTS = "4"
"""Slots of llama-server for ``-np -1``, its default, which share its context.

Source: tools/server/server.cpp of ggml-org/llama.cpp, November 2026.
"""
_OF_ENGINE = {
    "--mem-fraction-static": "sglang",
    "--max-running-requests": "sglang",
    "--context-length": "sglang",
    "--chunked-prefill-size": "sglang",
    **dict.fromkeys(("-ngl", "--n-gpu-layers", "--gpu-layers", "-c", "--ctx-size"), "llama-cpp"),
    **dict.fromkeys(("-np", *_KEY_TYPES, *_VALUE_TYPES, *_UNIFIED), "llama-cpp"),
    **dict.fromkeys((*_SPLIT_MODES, *_CARDS, "-ot", "--override-tensor"), "llama-cpp"),
    **dict.fromkeys(("--n-cpu-moe", "-ncmoe", "--cpu-moe", "-cmoe"), "llama-cpp"),
    "--enable-dp-attention": "sglang",
    **dict.fromkeys(("--tensor-parallel-size", "--enable-expert-parallel"), "vllm"),
    **dict.fromkeys(("--pipeline-parallel-size", "--data-parallel-size"), "vllm"),
}
"""Flags that only one engine has."""

_SERVERS = (
    (r"vllm\s+serve|vllm\.entrypoints|vllm-openai", "vllm"),
    (r"sglang\.launch_server|sglang\s+serve|lmsysorg/sglang", "sglang"),
    (r"llama-server|llama-cli|ggml-org/llama\.cpp", "llama-cpp"),
    (r"trtllm-serve", "tensorrt-llm"),
    (r"mlx_lm[. ]server", "mlx"),
)
_RELEASE = re.compile(r"vllm-openai[\w-]*:v(0\.\d+)")
"""The release in the name of an image of vLLM."""
_LAYERS = {"-ngl", "--gpu-layers", "--n-gpu-layers"}
_ALL_LAYERS = re.compile(r"all|auto|-\d+|99|\d{3,}")
"""Counts of layers on the card by which nobody means a share of them."""
_OF_ONE_RANK = {"vllm", "sglang", "tensorrt-llm"}
"""Engines that take one chip of several where a command says nothing."""
_RANKS = {"--tp", "--pp", "--dp", "--ep", "--chips"}
_LENGTHS = {"sglang": "--context-length", "tensorrt-llm": "--max_seq_len", "llama-cpp": "-c"}
"""Flags without which an engine serves as much of the model's context as fits."""
_AS_FITS = {"auto", "-1"}
"""Lengths of vLLM that mean the longest which fits."""
_ALL_EXPERTS = {"--cpu-moe", "-cmoe"}
_MOST_LAYERS = 999
_OVERRIDES = {"-ot", "--override-tensor"}
"""Flags of llama.cpp that say where tensors lie whose names regular expressions match."""
_EXPERT_TENSORS = tuple(f"blk.{{}}.ffn_{name}_exps.weight" for name in ("gate", "up", "down"))
_OTHER_TENSORS = (
    "output.weight",
    *(f"blk.0.attn_{name}.weight" for name in ("q", "k", "v", "output")),
    *(f"blk.0.ffn_{name}.weight" for name in ("gate", "up", "down")),
    *(f"blk.0.ffn_{name}_shexp.weight" for name in ("gate", "up", "down")),
)
"""Names of tensors in GGUF files. Source: gguf-py/gguf/constants.py, November 2026."""
_PAST = {"auto", "None"}
_METHODS = {
    *("modelopt", "compressed-tensors", "quark", "ascend", "gguf", "moe_wna16", "inc", "fp_quant"),
}
"""Methods of quantization that engines name of which a checkpoint says the format."""
_DRAFTS = {
    *("--speculative-num-steps", "--speculative-config.num-speculative-tokens"),
    "--num-draft-tokens",
}
"""Flags whose value is the number of tokens that are drafted per step."""
_NOT_MODELLED = {
    "--enforce-eager": "memory and speed are those with CUDA graphs; --engine eager has the speed",
    "--kv-cache-memory-bytes": "the cache takes what --gpu-memory-utilization leaves",
    "--cpu-offload-gb": "all weights are on the cards; --engine llama-cpp --host splits them",
}
"""Flags that change memory and are not computed, and what is computed instead."""
_LENGTH = "--max-model-len"
_JOINED = {
    *(*_RENAMED, *_OF_ENGINE, *_DRAFTS, *_NOT_MODELLED),
    *("--speculative-config", "--tp", "--dp", "--engine", "--server", _LENGTH),
}
"""Flags of which a value after ``=`` is read here."""


def translated(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """A command line with flags of engines in fastcalc's words, and sentences on what was read.

    Raises InputError for a flag that is answered with what to write instead.
    """
    words = [part for word in words for part in _parted(word)]
    notes: list[str] = []
    is_server = "--server" in words
    if is_server:
        words, notes = _served(words)
    notes += [
        f"{_LENGTH} {value}: vllm takes the longest sequences that fit, as fit --solve context says"
        for word, value in pairwise(words)
        if word == _LENGTH and value in _AS_FITS
    ]
    words, sentences = _without_unmodelled(words)
    notes += sentences
    words, sentences = _with_shared_context(words, is_server=is_server)
    notes += sentences
    engines = [_OF_ENGINE[word] for word in words if word in _OF_ENGINE]
    words = _with_cache_types(words)
    words, sentences = _with_overrides(words)
    notes += sentences
    words, sentences = _with_split_mode(words)
    notes += sentences
    result = list(_renamed(words))
    if "--enable-dp-attention" in result:
        result = _copied_attention(result)
        notes.append("--enable-dp-attention: tp counts the ranks of each copy of attention here")
    if engines and "--engine" not in result:
        result += ["--engine", engines[0]]
    return result, notes


def _renamed(words: Sequence[str]) -> Iterator[str]:
    """Words with each flag of an engine in fastcalc's words, without those that say nothing."""
    at = 0
    while at < len(words):
        word, value = words[at], words[at + 1] if at + 1 < len(words) else ""
        at += 1
        if word == "--enable-expert-parallel":
            yield from ("--ep", str(_ranks(words)))
        elif word in _ALL_EXPERTS:
            yield from ("--n-cpu-moe", str(_MOST_LAYERS))
        elif (word in _LAYERS and _ALL_LAYERS.fullmatch(value)) or (
            word == _LENGTH and value in _AS_FITS
        ):
            at += 1
        elif word in _RENAMED:
            at += 1
            is_zero = _RENAMED[word] == _LENGTH and value == "0"  # llama.cpp: the model's length
            value = str(_longest(words) or "auto") if is_zero else value
            is_method = _RENAMED[word] == "--weights" and value in _METHODS
            if value not in _PAST and not is_method:
                yield from (_RENAMED[word], value)
        elif drafts := _drafted(word, value):
            at += 1
            yield from drafts
        else:
            yield word


def _without_unmodelled(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Words without flags that are not computed, and a sentence on each of them."""
    result, notes, is_value = list[str](), list[str](), False
    for word in words:
        if word in _NOT_MODELLED:
            notes.append(f"{word} is not modelled: {_NOT_MODELLED[word]}")
        elif not (is_value and not word.startswith("-")):
            result.append(word)
        is_value = word in _NOT_MODELLED and word not in _WITHOUT_VALUE
    return result, notes


def _drafted(name: str, value: str) -> list[str]:
    """Speculative decoding in fastcalc's words, of a flag that states its draft tokens."""
    if name in ("--speculative-config", "-sc"):
        drafts = re.search(r"num_speculative_tokens\D+(\d+)", value)
        return ["--speculate", f"0.8x{drafts[1]}"] if drafts else []
    return ["--speculate", f"0.8x{value}"] if name in _DRAFTS and value.isdigit() else []


def _with_shared_context(words: list[str], *, is_server: bool) -> tuple[list[str], list[str]]:
    """Words with a limit on sequences in place of slots of llama.cpp that share its context.

    is_server : True for words of a server command, which has slots where it does not say how many
    """
    pairs = list(pairwise([*words, ""]))
    slots = [(word, value) for word, value in pairs if _is_slots(word)]
    is_auto = is_server and not slots and ("--engine", "llama-cpp") in pairs
    is_auto = is_auto or any(word in _SLOTS and value == "-1" for word, value in slots)
    is_unified = bool(_UNIFIED & set(words))
    if not (is_auto or is_unified):
        return words, []
    result = [
        word
        for last, word in pairwise(["", *words])
        if not (_is_slots(last) or _is_slots(word) or word in _UNIFIED)
    ]
    result += [] if "--engine" in result else ["--engine", "llama-cpp"]
    sentences = ["--kv-unified: all sequences share the context of -c"] if is_unified else []
    if is_auto and "max_num_seqs" not in _fields_of(words[0]):
        return result, sentences
    count = _DEFAULT_SLOTS if is_auto else slots[0][1] if slots else ""
    if is_auto:
        cause = "-np -1" if slots else "-np is not given"
        sentences.append(f"{cause}; the server runs {count} slots, which share its context")
    elif count:
        sentences = [f"{sentences[0]}; {count} run at once"]
    return result + (["--set", f"parameters.max_sequences={count}"] if count else []), sentences


def _is_slots(word: str) -> bool:
    return _RENAMED.get(word, word) == "--max-num-seqs"


def _with_cache_types(words: list[str]) -> list[str]:
    """Words with one cache format in place of the types of keys and of values, each f16 by default.

    Source: tools/server/README.md of ggml-org/llama.cpp, November 2026.
    """
    flags = _KEY_TYPES | _VALUE_TYPES
    if not flags & set(words):
        return words
    if "--kv" in words:
        raise InputError("-ctk or -ctv is given, and --kv; remove one")
    pairs = list(pairwise([*words, ""]))
    of_keys, of_values = (
        number_format(next((value for word, value in pairs if word in names), "f16"), cache=True).id
        for names in (_KEY_TYPES, _VALUE_TYPES)
    )
    result = [word for last, word in pairwise(["", *words]) if not flags & {last, word}]
    fraction = _key_fraction(result)
    if of_keys == of_values or fraction == 1.0:
        return [*result, "--kv", of_keys]
    shares = (f"{100 * fraction:.4g}%{of_keys}", f"{100 * (1 - fraction):.4g}%{of_values}")
    return [*result, "--kv", "/".join(shares)]


def _key_fraction(words: Sequence[str]) -> float:
    """Share of keys in the cache of the model that a command names; a half if it is unknown. [1]

    Latent attention caches one vector for both, which has the type of keys.
    """
    from fastcalc.catalogue.schema import Attention, CompressedAttention, LatentAttention

    keys = values = 0
    model = _named(words)
    for block in model.blocks if model else ():
        attention = block.attention
        if isinstance(attention, Attention):
            heads = block.count * attention.cached_heads
            keys += heads * attention.head_dim
            values += heads * (attention.value_dim or attention.head_dim)
        elif isinstance(attention, (LatentAttention, CompressedAttention)):
            keys += block.count
    return keys / (keys + values) if keys else 0.5


def _with_overrides(words: list[str]) -> tuple[list[str], list[str]]:
    """Words with the layers whose routed experts tensor overrides of llama.cpp leave to the host.

    A layer counts by the share of its three matrices of experts that are there.
    """
    pairs = list(pairwise(["", *words, ""]))
    texts = [text for last, word in pairs if last in _OVERRIDES for text in word.split(",")]
    if not texts:
        return words, []
    overrides = [_override(text) for text in texts]
    on_host = partial(_is_on_host, overrides)

    def experts(layers: int) -> float:
        names = (name.format(layer) for layer in range(layers) for name in _EXPERT_TENSORS)
        return sum(map(on_host, names)) / len(_EXPERT_TENSORS)

    count = _MOST_LAYERS
    if experts(count) < count:
        model = _named(words)
        count = round(experts(sum(block.count for block in model.blocks) if model else 0))
    text = f"-ot {shown(','.join(texts), 60)}"
    notes = [f"{text}: computed as --n-cpu-moe {count}"] if 0 < count < _MOST_LAYERS else []
    if not count:
        notes.append(f"{text} is not modelled: it moves no routed experts of the model to the CPU")
    elif any(map(on_host, _OTHER_TENSORS)):
        notes.append(f"{text}: only routed experts are computed on the CPU")
    if any(buffer != "CPU" for _, buffer in overrides):
        notes.append(f"{text}: which card holds a tensor is not modelled")
    result = [word for last, word in pairs[:-1] if not _OVERRIDES & {last, word}]
    return result + (["--n-cpu-moe", str(count)] if count else []), notes


def _override(text: str) -> tuple[re.Pattern[str], str]:
    """The pattern and the buffer of a tensor override."""
    pattern, is_joined, buffer = text.partition("=")
    try:
        if pattern and is_joined and buffer:
            return re.compile(pattern), buffer
    except re.error:
        pass
    raise InputError(f"-ot {shown(text, 60)}: write a regular expression and a buffer, as exps=CPU")


def _is_on_host(overrides: Sequence[tuple[re.Pattern[str], str]], name: str) -> bool:
    """Whether a tensor is in host memory, by the first override that matches it."""
    buffers = (buffer for pattern, buffer in overrides if pattern.search(name))
    return next(buffers, None) == "CPU"


def _with_split_mode(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Words with the layout that a split mode of llama.cpp means, in place of the mode.

    Source: docs/multi-gpu.md of ggml-org/llama.cpp, November 2026.
    """
    result, mode, cards = list[str](), "", 0
    at = 0
    while at < len(words):
        word, value = words[at], words[at + 1] if at + 1 < len(words) else ""
        if word in _SPLIT_MODES:
            mode = value
        elif word in _CARDS:
            cards = len([share for share in re.split("[,/;]", value) if share.strip("0. ")])
        else:
            result.append(word)
            at -= 1
        at += 2
    if mode not in {"", "none", "layer", *_TENSOR_SPLITS}:
        raise InputError(
            f"-sm {shown(mode, 20)}: llama.cpp splits by none, layer (its default), row or tensor"
        )
    stated = result[result.index("--chips") + 1] if "--chips" in result[:-1] else ""
    cards = int(stated) if stated.isdigit() else cards
    if mode == "none":
        return [*_without(result, "--chips"), "--tp", "1"], []
    if mode in _TENSOR_SPLITS and "--tp" not in result:
        if not cards:
            raise InputError(f"-sm {mode}: say over how many cards, as with --chips 2 or -ts 1,1")
        result = [*_without(result, "--chips"), "--tp", str(cards)]
    elif cards and not stated and "--tp" not in result:
        result += ["--pp", str(cards)]
    if mode == "row":
        return result, ["-sm row: computed as -sm tensor, which llama.cpp recommends and is faster"]
    return result, []


def _without(words: Sequence[str], flag: str) -> list[str]:
    """Words without a flag and its value."""
    at = words.index(flag) if flag in words else len(words)
    return [*words[:at], *words[at + 2 :]]


def _parted(word: str) -> list[str]:
    """A flag and its value, where ``=`` joins them; an engine may write it with underscores."""
    name, is_joined, value = word.partition("=")
    plain = name.replace("_", "-")
    if plain not in _JOINED:
        return [word]
    return [plain, value] if is_joined else [plain]


def _copied_attention(words: list[str]) -> list[str]:
    """SGLang's ranks where each data-parallel one copies attention: tp of all of them there."""
    result = [word for word in words if word != "--enable-dp-attention"]
    value_index = {name: result.index(name) + 1 for name in ("--tp", "--dp") if name in result[:-1]}
    if len(value_index) == 2 and all(result[at].isdigit() for at in value_index.values()):
        tp, dp = (int(result[value_index[name]]) for name in ("--tp", "--dp"))
        result[value_index["--tp"]] = str(max(tp // max(dp, 1), 1))
    return result


def _ranks(words: Sequence[str]) -> int:
    """Ranks over which vLLM spreads experts: those of all tensor- and data-parallel groups."""
    ranks = 1
    for names in (
        ("--tensor-parallel-size", "-tp", "--tp"),
        ("--data-parallel-size", "-dp", "--dp"),
    ):
        for word, value in pairwise(words):
            if word in names and value.isdigit():
                ranks *= int(value)
    return ranks


def _served(words: list[str]) -> tuple[list[str], list[str]]:
    """The words of a server command after ``--server`` in place of it.

    A model that is named before it is meant in place of the command's.
    """
    at = words.index("--server")
    if at + 1 >= len(words):
        raise InputError("--server needs a command: --server 'vllm serve MODEL ...'")
    if words.count("--server") > 1:
        raise InputError("--server is given twice; name one command")
    command = words[at + 1]
    engine = next((name for sign, name in _SERVERS if re.search(sign, command)), None)
    if engine is None:
        raise InputError(
            f"--server {shown(command, 60)}: give a command of vLLM, SGLang, llama.cpp, "
            "TensorRT-LLM or MLX, such as 'vllm serve MODEL --tensor-parallel-size 2'"
        )
    try:
        given = shlex.split(command.replace("\\\n", " "))
    except ValueError as error:
        raise InputError(f"--server: {error} in the command") from None
    flags, unknown, model = _of_command(given, _fields_of(words[0]))
    other_words = words[:at] + words[at + 2 :]
    is_named = _model_of(other_words) is not None
    if not model and not is_named:
        raise InputError(
            f"--server {shown(command, 60)}: names no model; write it after the command"
        )
    served = [model] if model and not is_named else []
    if other_words[-1:] == ["--engine"]:
        raise InputError("--engine needs a name, such as --engine vllm")
    _refuse_twice(other_words, flags)
    served_words = [*other_words[:1], *served, *other_words[1:], *flags]
    if "--engine" not in served_words:
        release = _RELEASE.search(command)
        served_words += ["--engine", f"vllm-{release[1]}" if release else engine]
    notes = [f"--server: ignored {listed(unknown)}"] if unknown else []
    if model and is_named:
        notes.append(f"--server: {_model_of(other_words)} is computed in place of {model}")
    by_default = _by_default(served_words)
    notes += [
        f"--server: {name} is not given; the server takes {value}"
        for name, value in by_default.items()
    ]
    notes += _left_to_server(served_words)
    return [*served_words, *(word for pair in by_default.items() for word in pair)], notes


def _refuse_twice(words: Sequence[str], of_server: Sequence[str]) -> None:
    """Refuse a flag that is given beside a server's command and in it, with another value."""
    stated, served = (
        {_RENAMED.get(word, word): (word, value) for word, value in pairwise([*some, ""])}
        for some in (words, of_server)
    )
    for name, (word, value) in served.items():
        has_value = name.startswith("-") and name not in _WITHOUT_VALUE
        if has_value and name in stated and stated[name][1] != value:
            raise InputError(
                f"{stated[name][0]} {stated[name][1]} is given, and {word} {value} in the command "
                "after --server; remove one"
            )


def _model_of(words: Sequence[str]) -> str | None:
    """The first word after the command's name that is neither a flag nor the value of one."""
    switches = _switches(words[0]) if words else ()
    named = (
        word
        for last, word in pairwise(words)
        if not word.startswith("-") and (last in switches or not last.startswith("-"))
    )
    return next(named, None)


def _switches(command: str) -> Collection[str]:
    """Flags of one of fastcalc's commands that take no value."""
    return {
        "--" + name.replace("_", "-")
        for name, field in _fields_of(command).items()
        if field.setting.metavar is None
    }


def _by_default(words: Sequence[str]) -> dict[str, str]:
    """Flags that a server command leaves out, of those that a command takes.

    One rank, and of vLLM the longest sequences of the model, and experts that all ranks share.
    """
    fields = _fields_of(words[0])
    stated = {_RENAMED.get(word, word) for word in words}
    engine = words[words.index("--engine") + 1].partition("-0.")[0]
    by_default = {}
    if "tp" in fields and engine in _OF_ONE_RANK and not stated & _RANKS:
        by_default["--tp"] = "1"
    model = _named(words) if engine == "vllm" else None
    if model is None:
        return by_default
    if "max_model_len" in fields and _LENGTH not in stated and model.max_context:
        by_default[_LENGTH] = str(model.max_context)
    is_spread = stated & {"--ep", "--dp", "--enable-expert-parallel"}
    if "ep" in fields and "--tp" in stated and not is_spread and _has_experts(model):
        by_default["--ep"] = "1"
    return by_default


def _left_to_server(words: Sequence[str]) -> Iterator[str]:
    """Say which context length a server other than vLLM's uses by default.

    Such a server starts even if the model's longest sequence does not fit
    (sgl-project/sglang#4048); llama.cpp's shortens its default context to fit, except ``-c 0``.
    """
    engine = words[words.index("--engine") + 1]
    stated, fields = {_RENAMED.get(word, word) for word in words}, _fields_of(words[0])
    if engine not in _LENGTHS or "max_model_len" not in fields:
        return
    if _LENGTH not in stated and (longest := _longest(words)):
        yield (
            f"--server: {_LENGTHS[engine]} is not given; the server takes {longest}, or less where "
            "memory holds less"
        )


def _fields_of(command: str) -> "Mapping[str, DeclaredField]":
    """Fields of the request of one of fastcalc's commands."""
    from fastcalc.features import COMMANDS, request_of  # few command lines hold a server's
    from fastcalc.kit.request.fields import declared

    return declared(request_of(command)) if command in COMMANDS else {}


def _named(words: Sequence[str]) -> "Model | None":
    """The model that a command names; None if it is unknown."""
    from fastcalc.catalogue.store import Catalogue
    from fastcalc.kit.request.loading import models_of

    model = _model_of(words)
    try:
        return models_of(Catalogue(), [model] if model else None, [])[0]
    except InputError:
        return None


def _longest(words: Sequence[str]) -> int | None:
    """Tokens of the longest sequence of the model that a command names; None if it is unknown."""
    model = _named(words)
    return model.max_context if model else None


def _has_experts(model: "Model") -> bool:
    from fastcalc.catalogue.schema import MixtureOfExperts

    return any(isinstance(block.ffn, MixtureOfExperts) for block in model.blocks)


_TAKEN = {
    *_RENAMED,
    *("--gpu-memory-utilization", "--max-model-len", "--max-num-seqs", "--max-num-batched-tokens"),
    *("--tp", "--pp", "--dp", "--ep", "--n-gpu-layers", "--n-cpu-moe"),
}
_WITHOUT_VALUE = {
    "--enable-expert-parallel": "ep",
    "--enable-dp-attention": "dp",
    "--language-model-only": "language_model_only",
    **dict.fromkeys(_ALL_EXPERTS, "n_cpu_moe"),
    **dict.fromkeys(_UNIFIED, "max_num_seqs"),
    "--enforce-eager": "tp",  # of every command on a server
}
"""Flags without a value, and the field that each sets."""
_READ_ALONE = {
    **dict.fromkeys((*_SPLIT_MODES, *_CARDS), "tp"),
    **dict.fromkeys(_OVERRIDES, "n_cpu_moe"),
    **dict.fromkeys((*_KEY_TYPES, *_VALUE_TYPES), "kv"),
}
"""Flags of llama.cpp whose values are read in functions of their own, and the field they set."""
_MODELS = {"--model", "--model-path", "-m", "-hf", "--hf-repo"}
_STARTS = re.compile(r"(trtllm-)?serve|.*(vllm-openai|lmsysorg/sglang).*")
"""Words of a command after which a model may stand."""
_SWITCH = re.compile(r"--(enable|disable|no|trust|enforce|use|skip|async|allow)-.*")
"""Flags that take no value, by how they begin."""


def _of_command(given: Sequence[str], fields: Collection[str]) -> tuple[list[str], list[str], str]:
    """Flags of a server command that are taken, those that are not, and the model.

    fields : of the request, which may choose the ranks itself
    """
    flags: list[str] = []
    unknown: list[str] = []
    model, is_started, at = "", False, 0
    while at < len(given):
        word, (name, is_joined, value) = given[at], given[at].partition("=")
        at += 1
        if not word.startswith("-"):
            is_server = bool(_STARTS.fullmatch(word))
            model = word if is_started and not is_server and not model else model
            is_started = is_started or is_server
            continue
        name = name.replace("_", "-")
        if name in _WITHOUT_VALUE:
            is_on = value.lower() not in ("false", "0")
            is_taken = _WITHOUT_VALUE[name] in fields
            flags += [name] if is_on and is_taken else []
            unknown += [name] if is_on and not is_taken else []
            continue
        is_switch = name not in _TAKEN and bool(_SWITCH.fullmatch(name))
        has_value = at < len(given) and (given[at] in _AS_FITS or not given[at].startswith("-"))
        if has_value and not (is_joined or is_switch):
            value, at = given[at], at + 1
        if name in _MODELS:
            model = value
        elif _READ_ALONE.get(name) in fields:
            flags += [name, value]
        elif name in _TAKEN and _field(name) in fields:
            flags += [name, _number(name, value) if _field(name) == "max_model_len" else value]
        elif name in _NOT_MODELLED:
            flags += [name, value]
        elif "speculate" in fields and (drafts := _drafted(name, value)):
            flags += drafts
        elif name not in ("--port", "--host"):
            unknown.append(name)
    return flags, unknown, model


def _field(name: str) -> str:
    return _RENAMED.get(name, name).lstrip("-").replace("-", "_")


def _number(name: str, text: str) -> str:
    """A length as an engine reads it: of vLLM 32k is 32,000 and 32K 32,768, others take digits."""
    factors = {"k": 1000, "K": 1024, "m": 10**6, "M": 2**20}
    if text[-1:] not in factors or not text[:-1].replace(".", "", 1).isdigit():
        return text
    tokens = str(int(float(text[:-1]) * factors[text[-1]]))
    if name != _LENGTH:
        thousands = str(int(float(text[:-1]) * factors[text[-1].upper()]))
        raise InputError(f"--server: {name} {text}: this engine takes digits alone, as {thousands}")
    return tokens
