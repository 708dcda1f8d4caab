"""Writer of a model file's mapping as YAML, in the layout of the shipped files."""

import re

from fastcalc import quoting
from fastcalc.written import Json, to_json

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9._-]*")
_NOT_TEXT = {"true", "false", "null", "yes", "no", "on", "off", "y", "n"}
_GROUPS = ("sources", "weight_format", "blocks", "mtp", "published", "notes")


def yaml_text(entry: dict[str, Json]) -> str:
    """Return an entry of texts, numbers, booleans, lists and mappings as YAML.

    >>> print(yaml_text({"id": "a", "blocks": [{"count": 2, "ffn": {"kind": "dense"}}]}), end="")
    id: a
    <BLANKLINE>
    blocks:
      - count: 2
        ffn: {kind: dense}
    """
    lines: list[str] = []
    for key, value in entry.items():
        if key in _GROUPS and lines:
            lines.append("")
        lines += _lines(key, value)
    return "\n".join(lines) + "\n"


def _lines(key: str, value: Json) -> list[str]:
    if isinstance(value, dict) and any(isinstance(inner, dict) for inner in value.values()):
        inner = [line for name, inner_value in value.items() for line in _lines(name, inner_value)]
        return [f"{key}:", *(f"  {line}" for line in inner)]
    if isinstance(value, dict) and key not in ("mtp",):
        return [f"{key}:", *(f"  {name}: {_flow(inner)}" for name, inner in value.items())]
    if isinstance(value, list):
        lines = [f"{key}:"]
        for member in value:
            keys = member.items() if isinstance(member, dict) else ()
            first, *further = [f"{name}: {_flow(inner)}" for name, inner in keys] or [_flow(member)]
            lines += [f"  - {first}", *(f"    {line}" for line in further)]
        return lines
    return [f"{key}: {_flow(value)}"]


def _flow(value: Json) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name}: {_flow(inner)}" for name, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_flow(member) for member in value) + "]"
    if isinstance(value, str):
        is_plain = _PLAIN.fullmatch(value) and value.lower() not in _NOT_TEXT
        return value if is_plain else quoting.yaml_text(value)
    return to_json(value)
