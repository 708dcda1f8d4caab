"""Reader for the header of a GGUF file: model properties, and the format of each tensor.

Only the header is read: key-value pairs and the list of tensors (gguf.md of ggml, versions 2
and 3). Every length is checked before it is used.
"""

import re
import struct
from collections import defaultdict
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import BinaryIO

from fastcalc.catalogue.formats import NumberFormat, mixed_format, number_format
from fastcalc.catalogue.inputs import why_unreadable
from fastcalc.errors import InputError
from fastcalc.mentions import option
from fastcalc.written import Json, shown

_MOST_BYTES = 256_000_000  # maximum header size; most of a header is the vocabulary
_MOST_PAIRS, _MOST_TENSORS, _LONGEST, _KEPT = 10_000, 200_000, 4_000_000, 4096
_NUMBERS = dict(zip((*range(8), 10, 11, 12), "BbHhIif?Qqd", strict=True))
_TEXT, _ARRAY = 8, 9
_TYPES = {
    0: "fp32", 1: "fp16", 2: "q4_0", 3: "q4_1", 6: "q5_0", 7: "q5_1", 8: "q8_0", 10: "gguf-q2_k",
    11: "gguf-q3_k", 12: "gguf-q4_k", 13: "gguf-q5_k", 14: "q6_k", 16: "gguf-iq2_xxs",
    17: "gguf-iq2_xs", 18: "gguf-iq3_xxs", 19: "gguf-iq1_s", 20: "gguf-iq4_nl", 21: "gguf-iq3_s",
    22: "gguf-iq2_s", 23: "gguf-iq4_xs", 29: "gguf-iq1_m", 30: "bf16", 34: "tq1_0", 35: "tq2_0",
    39: "mxfp4", 40: "nvfp4",
}  # fmt: skip
"""Tensor formats by ggml type number. The other types describe entire files."""

_GROUPS = (
    ("shared_experts", r"ffn_(gate|up|down)_shexp|ffn_latent"),
    ("experts", r"ffn_(gate|up|down|gate_up)_(exps|chexps)"),
    ("ffn", r"ffn_(gate|up|down)\b|per_layer|laurel|altup"),
    ("attention", r"attn_(q|k|v|qkv|output|gate|q_a|q_b|kv_a_mqa|kv_b|k_b|v_b)\b|ssm_(in|out|ba|"
                  r"alpha|beta|x|dt)\b|shortconv_(in|out)|attn_sub|indexer"),
    ("head", r"^output\.weight"),
    ("embedding", r"^token_embd|^per_layer_token_embd"),
)  # fmt: skip
_PART = re.compile(r"-([0-9]{5})-of-([0-9]{5})\.gguf$")


@dataclass(frozen=True)
class GgufHeader:
    """The model properties in a GGUF file.

    pairs : The short values by key.
    stored : The format of each group of matrices, excluding small tensors.
    sizes : The parameters in each group.
    parameters : The parameters in all tensors.
    names : Names of all tensors.
    vocabulary : Rows of the embedding, or None if there is none.
    """

    pairs: dict[str, Json]
    stored: dict[str, NumberFormat]
    sizes: dict[str, float]
    parameters: float
    names: frozenset[str]
    vocabulary: int | None


class _Stream:
    def __init__(self, stream: BinaryIO, path: Path) -> None:
        self._stream, self._path, self._read = stream, path, 0

    def fault(self, sentence: str) -> InputError:
        return InputError(f"{self._path}: {sentence} at byte {self._read:,} of the GGUF header")

    def take(self, size: int) -> bytes:
        self._read += size
        if self._read > _MOST_BYTES:
            raise self.fault("a header of more than 256 MB")
        data = self._stream.read(size)
        if len(data) < size:
            raise self.fault("unexpected end of file")
        return data

    def number(self, code: str) -> int:
        (value,) = struct.unpack(f"<{code}", self.take(struct.calcsize(f"<{code}")))
        return int(value)

    def length(self, max_length: int, noun: str) -> int:
        size = self.number("Q")
        if size > max_length:
            raise self.fault(f"{size:,} {noun}, more than {max_length:,},")
        return size

    def text(self) -> str:
        return self.take(self.length(_LONGEST, "bytes of text")).decode("utf-8", "replace")

    def value(self, type_id: int) -> Json:
        if type_id in _NUMBERS:
            code = _NUMBERS[type_id]
            number: Json
            (number,) = struct.unpack(f"<{code}", self.take(struct.calcsize(f"<{code}")))
            return number
        if type_id == _TEXT:
            return self.text()[:_KEPT]
        if type_id != _ARRAY:
            raise self.fault(f"a value of the unknown type {type_id}")
        inner, size = self.number("I"), self.length(_LONGEST, "values")
        if inner in _NUMBERS and size > _KEPT:
            self.take(size * struct.calcsize(f"<{_NUMBERS[inner]}"))
            return None
        if inner == _ARRAY:
            raise self.fault("an array of arrays")
        values: list[Json] = []
        for _ in range(size):
            value = self.value(inner)
            if len(values) < _KEPT:
                values.append(value)
        return values


def read_header(path: Path) -> GgufHeader:
    """Read the header of a GGUF file, or of all parts of a split file."""
    pieces = [path]
    if match := _PART.search(path.name):
        stem, count = path.name[: match.start()], int(match[2])
        names = (f"{stem}-{n:05}-of-{match[2]}.gguf" for n in range(1, count + 1))
        pieces = [path.with_name(name) for name in names]
        missing = next((item.name for item in pieces if not item.is_file()), None)
        if missing is not None:
            raise InputError(f"{path}: the file has {count} parts, and {missing} is missing")
    pairs: dict[str, Json] = {}
    tensors: list[tuple[str, list[int], int]] = []
    for item in pieces:
        file_pairs, listed = _read(item)
        pairs, tensors = file_pairs | pairs, [*tensors, *listed]
    amounts: dict[str, dict[NumberFormat, float]] = defaultdict(lambda: defaultdict(float))
    vocabulary, total = None, 0.0
    for name, shape, type_id in tensors:
        parameters = float(prod(shape))
        total += parameters
        if name == "token_embd.weight" and len(shape) == 2:
            vocabulary = shape[1]
        group = next((group for group, names in _GROUPS if re.search(names, name)), None)
        if group is None or len(shape) < 2:
            continue
        if type_id not in _TYPES:
            raise InputError(
                f"{path}: tensor '{shown(name)}' has the unsupported type {type_id}; give the "
                f"model's config.json with {option('weights')} FORMAT"
            )
        amounts[group][number_format(_TYPES[type_id])] += parameters
    return GgufHeader(
        pairs=pairs,
        stored={group: mixed_format(of.items()) for group, of in amounts.items()},
        sizes={group: sum(of.values()) for group, of in amounts.items()},
        parameters=total,
        names=frozenset(name for name, _, _ in tensors),
        vocabulary=vocabulary,
    )


def _read(path: Path) -> tuple[dict[str, Json], list[tuple[str, list[int], int]]]:
    try:
        with path.open("rb") as file:
            stream = _Stream(file, path)
            if stream.take(4) != b"GGUF":
                raise InputError(f"{path}: not a GGUF file: it does not begin with 'GGUF'")
            version = stream.number("I")
            if version not in (2, 3):
                raise stream.fault(f"version {version} is not supported, only 2 and 3,")
            tensors = stream.length(_MOST_TENSORS, "tensors")
            pairs = stream.length(_MOST_PAIRS, "keys")
            values_by_key = {stream.text(): stream.value(stream.number("I")) for _ in range(pairs)}
            return values_by_key, [_tensor(stream) for _ in range(tensors)]
    except OSError as error:
        raise InputError(f"{path} cannot be read: {why_unreadable(error)}") from error


def _tensor(stream: _Stream) -> tuple[str, list[int], int]:
    name, dimensions = stream.text(), stream.number("I")
    if dimensions > 8:
        raise stream.fault(f"a tensor of {dimensions} dimensions")
    shape = [stream.number("Q") for _ in range(dimensions)]
    type_id = stream.number("I")
    stream.number("Q")  # offset of the tensor's data
    return name, shape, type_id
