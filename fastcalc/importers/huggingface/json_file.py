"""Reader of a config.json as a plain mapping, with an error message on failure."""

import json
import re
from dataclasses import dataclass
from pathlib import Path

from fastcalc.catalogue.inputs import read_bytes, why_unreadable
from fastcalc.catalogue.reader import Path_
from fastcalc.errors import InputError
from fastcalc.importers.json_records import json_marks, short_whole
from fastcalc.written import Json, shown

CONFIG = "config.json"
MAX_BYTES = 16_000_000  # files that list every quantized matrix have 3 MB
_HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")


def config_path(name: str | Path) -> Path:
    """Return the configuration for a file or folder name. Raises InputError if there is none."""
    path = Path(name)
    try:
        if path.is_dir():
            path = path / CONFIG
            if not path.is_file():
                raise InputError(f"{path.parent} is a folder without a {CONFIG}; name the file")
        if path.exists():
            return path
    except (OSError, ValueError) as error:
        raise InputError(f"{shown(name, 120)} is not a readable path") from error
    raise InputError(missing_file(str(name)))


def missing_file(name: str) -> str:
    """Return the message for a missing file. For a hub name, it says how to download the file.

    >>> missing_file("nowhere.json")
    'nowhere.json: there is no such file'
    """
    sentence = f"{shown(name, 120)}: there is no such file"
    if name.lower().endswith(".gguf"):
        return (
            f"{sentence}; its header is read, so give the path to it, or its repository with the "
            "quantization: org/repo:Q4_K_M, after -hf in a server's command"
        )
    if not _HUB_NAME.fullmatch(name) or name.lower().endswith((".json", ".yaml", ".yml")):
        return sentence
    folder = name.split("/")[1]
    return (
        f"{sentence}, and nothing is downloaded; if it is a model on Hugging Face, fetch its "
        f"configuration with 'hf download {name} {CONFIG} --local-dir {folder}' "
        f"or 'curl -L --create-dirs -o {folder}/{CONFIG} "
        f"https://huggingface.co/{name}/resolve/main/{CONFIG}', then name the folder: ./{folder}"
    )


@dataclass
class JsonFile:
    """A parsed JSON file, and an optional second file with ``quantization_config``."""

    file: str
    data: dict[str, Json]
    text: str = "{}"
    sidecar: "JsonFile | None" = None

    def place(self, *paths: Path_) -> str:
        """Return the location of the first existing path in the file, as ``file:line:column``."""
        if self.sidecar and "quantization_config" in paths[0]:
            ends = [path[-1] for path in paths]
            return self.sidecar.place(*(("quantization", end) for end in ends), *zip(ends))
        marks = json_marks(self.text)
        line, column = next((marks[path] for path in paths if path in marks), marks[()])
        return f"{self.file}:{line}:{column}"


def read_json(path: Path) -> JsonFile:
    """Read a JSON file whose top level is a mapping. Anything else raises InputError."""
    try:
        raw = read_bytes(path, MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read: {why_unreadable(error)}") from error
    if len(raw) > MAX_BYTES:
        refusal = f"{path} is larger than {MAX_BYTES // 1_000_000} MB"
        raise InputError(f"{refusal}; a configuration has a few kilobytes; weights are not read")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise InputError(f"{path}:{line}:1: not UTF-8 text, so not a configuration") from error
    try:
        data = json.loads(text, parse_int=short_whole)  # readers reject floats
    except json.JSONDecodeError as error:
        location = f"{path}:{error.lineno}:{error.colno}"
        problem = error.msg[:1].lower() + error.msg[1:] if text.strip() else "the file is empty"
        raise InputError(f"{location}: not readable as JSON: {problem}") from error
    except RecursionError as error:
        raise InputError(f"{path} is nested too deeply for a configuration") from error
    if not isinstance(data, dict):
        shape = "a list" if isinstance(data, list) else "a single value"
        raise InputError(f"{path}:1:1: the file holds {shape}; a configuration is a mapping")
    return JsonFile(str(path), data, text)
