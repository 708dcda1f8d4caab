"""Translate the server command after ``--server``, with the server's defaults for other flags."""

import re
import shlex
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

from fastcalc.cli.engine_flags.configurations import read_lengths
from fastcalc.cli.engine_flags.table import (
    AS_FITS,
    AUTO,
    FLAGS,
    GRAPH_SIZES,
    LENGTH,
    NO_PROJECTORS,
    NOT_MODELLED,
    PROJECTORS,
    SPREAD_EXPERTS,
    own_name,
)
from fastcalc.cli.engine_flags.words import Words, parted, whole
from fastcalc.errors import InputError
from fastcalc.written import listed, shown

if TYPE_CHECKING:
    from fastcalc.catalogue.schema import Model

_SERVERS = (
    (r"vllm\s+serve|vllm\.entrypoints|vllm-openai", "vllm"),
    (r"sglang\.launch_server|sglang\s+serve|lmsysorg/sglang", "sglang"),
    (r"llama-server|llama-cli|ggml-org/llama\.cpp", "llama-cpp"),
    (r"trtllm-serve", "tensorrt-llm"),
    (r"mlx_lm[. ]server", "mlx"),
)
_RELEASE = re.compile(r"vllm-openai[\w-]*:v(0\.\d+)")
"""Matches the release in the name of a vLLM image."""
_STARTS = re.compile(r"(trtllm-)?serve|.*(vllm-openai|lmsysorg/sglang).*")
"""Words of a command after which a model may follow."""
_MODELS = {"--model", "--model-path", "-m", "-hf", "--hf-repo"}
_REPOSITORIES = {"-hf", "--hf-repo"}
"""Flags with which llama.cpp downloads a model and its projector."""
_SWITCH = re.compile(r"--(enable|disable|no|trust|enforce|use|skip|async|allow)-.*")
"""Matches flags without a value, by their prefix."""
_OF_ONE_RANK = {"vllm", "sglang", "tensorrt-llm"}
"""Engines that use a single chip by default."""
_RANKS = {"--tp", "--pp", "--dp", "--ep", "--chips"}
_LENGTHS = {"sglang": "--context-length", "tensorrt-llm": "--max_seq_len", "llama-cpp": "-c"}
"""Context-length flags of engines that otherwise serve as much of the context as fits."""
_SHARE = "--gpu-memory-utilization"
_FACTORS = {"k": 1000, "K": 1024, "m": 10**6, "M": 2**20}


class Command:
    """The command of a server, with its engine, its model, and used and ignored flags.

    release : The engine for the release in the name of an image, else the engine.
    """

    def __init__(self, text: str, line: Words) -> None:
        """Parse a command that sets fields of a request.

        Raises InputError if the command is not of a known server.
        """
        self.fields = line.fields  # fields of the request, which may choose the ranks itself
        self.engine = next((name for sign, name in _SERVERS if re.search(sign, text)), "")
        if not self.engine:
            raise InputError(
                f"--server {shown(text)}: give a command of vLLM, SGLang, llama.cpp, "
                "TensorRT-LLM or MLX, such as 'vllm serve MODEL --tensor-parallel-size 2'"
            )
        release = _RELEASE.search(text)
        self.release = f"vllm-{release[1]}" if release else self.engine
        self.model = ""
        self.flags: list[str] = []
        self.ignored: list[str] = []
        try:
            words = shlex.split(text.replace("\\\n", " "))
        except ValueError as error:
            raise InputError(f"--server: {error} in the command") from None
        words = list(parted(words))
        self._read(words)
        if _REPOSITORIES & {*words} and not {*NO_PROJECTORS, *PROJECTORS} & {*words}:
            self.flags += ["--mmproj", AUTO]  # docs/multimodal.md of ggml-org/llama.cpp

    def _read(self, words: list[str]) -> None:
        is_started, at = False, 0
        while at < len(words):
            word, (name, is_joined, value) = words[at], words[at].partition("=")
            at += 1
            if not word.startswith("-"):
                is_server = bool(_STARTS.fullmatch(word))
                self.model = self.model or (word if is_started and not is_server else "")
                is_started = is_started or is_server
                continue
            name = self._full(name.replace("_", "-"))
            has_value = FLAGS[name].has_value if name in FLAGS else not _SWITCH.fullmatch(name)
            follows = at < len(words) and (words[at] in AS_FITS or not words[at].startswith("-"))
            if has_value and follows and not is_joined:
                value, at = words[at], at + 1
            while name in GRAPH_SIZES and at < len(words) and words[at].isdecimal():
                value, at = max(value, words[at], key=whole), at + 1
            flag = FLAGS.get(name)
            if flag and flag.engine == "llama-cpp" != self.engine:
                flag = None  # a flag of another server with the same name
            if name in _MODELS:
                self.model = value
            elif flag and not flag.has_value:
                is_taken = name in NOT_MODELLED or flag.field in self.fields
                (self.flags if is_taken else self.ignored).append(name)
            elif flag and (name in NOT_MODELLED or flag.field in self.fields):
                self.flags += [
                    name,
                    _number(name, value) if flag.field == "max_model_len" else value,
                ]
            elif name not in ("--port", "--host", *NO_PROJECTORS):
                self.ignored.append(name)

    def _full(self, name: str) -> str:
        """Expand a flag abbreviated as vLLM and SGLang allow. Other names are unchanged."""
        if self.engine not in ("sglang", "vllm") or name in FLAGS or not name.startswith("--"):
            return name
        begun = [
            full
            for full in FLAGS
            if full.startswith(name) and FLAGS[full].engine in ("", self.engine)
        ]
        fields = {FLAGS[full].field for full in begun}
        return begun[0] if len(fields) == 1 and name not in _MODELS else name


def read(line: Words) -> None:
    """Replace ``--server`` and its command with the command's words.

    A model named outside the command overrides the command's model.
    """
    if line.words.count("--server") > 1:
        raise InputError("--server is given twice; name one command")
    text = line.value("--server")
    if not text:
        raise InputError("--server needs a command: --server 'vllm serve MODEL ...'")
    command = Command(text, line)
    line.taken("--server")
    if line.words[-1:] == ["--engine"]:
        raise InputError("--engine needs a name, such as --engine vllm")
    model_name = line.model_name
    if not command.model and model_name is None:
        raise InputError(f"--server {shown(text)}: names no model; write it after the command")
    _refuse_twice(line, command)
    line.words[1:1] = [command.model] if command.model and model_name is None else []
    line.words += command.flags
    if not line.has("--engine"):
        line.words += ["--engine", command.release]
    if command.ignored:
        line.notes.append(f"--server: ignored {listed(command.ignored)}")
    if command.model and model_name is not None:
        line.notes.append(
            f"--server: {model_name} names its models, so {command.model} is not used; the command "
            f"sets {' '.join(command.flags)}"
            if "path" in line.fields
            else f"--server: {model_name}, as given, replaces {command.model}"
        )
    read_lengths(line)
    by_default = _by_default(line)
    for name, value in by_default.items():
        line.notes.append(f"--server: {name} is not given; the server uses {value}")
    default = _LENGTHS.get(line.program)  # of a server that starts if longer sequences do not fit
    if default and "max_model_len" in line.fields and LENGTH not in line.stated and line.longest:
        line.notes.append(
            f"--server: {default} is not given; the server uses {line.longest}, or less if memory "
            "is insufficient"
        )
    line.notes += _divided_experts(line)
    line.words += (word for pair in by_default.items() for word in pair)


def _refuse_twice(line: Words, command: Command) -> None:
    """Raise InputError if a flag has different values inside and outside a server's command."""
    stated, served = (
        {own_name(word): (word, value) for word, value in pairwise([*words, ""])}
        for words in (line.words, command.flags)
    )
    for name, (word, value) in served.items():
        has_value = name.startswith("-") and (name not in FLAGS or FLAGS[name].has_value)
        if has_value and name in stated and stated[name][1] != value:
            raise InputError(
                f"{stated[name][0]} {stated[name][1]} is given, and {word} {value} in the command "
                "after --server; remove one"
            )


def _by_default(line: Words) -> dict[str, str]:
    """Return the values of flags that a server command leaves to their defaults.

    Servers use one rank by default. vLLM also allows the model's longest sequences, and distributes
    experts over all ranks.
    """
    fields, stated = line.fields, line.stated
    program = line.program
    by_default = {}
    if "tp" in fields and program in _OF_ONE_RANK and not stated & _RANKS:
        by_default["--tp"] = "1"
    if "gpu_memory_utilization" in fields and _SHARE not in stated and line.default_share:
        by_default[_SHARE] = line.default_share
    model = line.model if program == "vllm" else None
    if model is None:
        return by_default
    if "max_model_len" in fields and LENGTH not in stated and line.longest:
        by_default[LENGTH] = line.longest
    is_spread = stated & {"--ep", "--dp", *SPREAD_EXPERTS}
    if "ep" in fields and "--tp" in stated and not is_spread and _has_experts(model):
        by_default["--ep"] = "1"
    return by_default


def _has_experts(model: "Model") -> bool:
    from fastcalc.catalogue.schema import MixtureOfExperts

    return any(isinstance(block.ffn, MixtureOfExperts) for block in model.blocks)


def _divided_experts(line: Words) -> Iterator[str]:
    """Yield a note on the approximation if vLLM shards each expert over several replicas."""
    stated = line.stated
    is_spread = bool(stated & {"--ep", *SPREAD_EXPERTS})
    if line.program != "vllm" or "--dp" not in stated or is_spread:
        return
    if (model := line.model) and _has_experts(model) and "ep" in line.fields:
        ranks = expert_ranks(line)
        yield (
            f"--server: {SPREAD_EXPERTS[0]} is not given, so each expert is sharded over "
            f"{ranks} ranks: computed as --ep {ranks}"
        )


def expert_ranks(line: Words) -> int:
    """Return vLLM's expert-parallel size: tensor-parallel times data-parallel ranks."""
    ranks = 1
    for text in (line.value("--tp"), line.value("--dp")):
        ranks *= whole(text) or 1
    return ranks


def _number(name: str, text: str) -> str:
    """Parse a length as the engine does: in vLLM, 32k is 32,000 and 32K is 32,768.

    Other engines accept only digits.
    """
    if text[-1:] not in _FACTORS or not text[:-1].replace(".", "", 1).isdigit():
        return text
    tokens = str(int(float(text[:-1]) * _FACTORS[text[-1]]))
    if name != LENGTH:
        thousands = str(int(float(text[:-1]) * _FACTORS[text[-1].upper()]))
        raise InputError(f"--server: {name} {text}: this engine needs digits only, as {thousands}")
    return tokens
