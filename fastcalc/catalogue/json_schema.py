"""JSON Schema of what people write in a YAML file, for editors: generated from the classes."""

import json
import re
from functools import cache
from pathlib import Path
from typing import Any, get_args

from fastcalc.catalogue.formats import FORMATS
from fastcalc.catalogue.reader import read
from fastcalc.catalogue.schema import Confidence, Engine, Entry, Hardware, Model
from fastcalc.catalogue.schema.claims import Claims
from fastcalc.catalogue.units import EXAMPLES, UNITS

SCHEMAS: dict[str, type[Entry]] = {
    "hardware": Hardware,
    "model": Model,
    "engine": Engine,
    "claims": Claims,
}


def json_schema(kind: str) -> dict[str, Any]:
    """Return the JSON Schema (draft 7) of a kind of file, a key of `SCHEMAS`."""
    found = SCHEMAS[kind].model_json_schema(ref_template="#/definitions/{model}", mode="validation")
    found["definitions"] = {
        name: one for name, one in found.pop("$defs", {}).items() if name != "Quantity"
    }
    quantities: dict[str, Any] = {}
    document = _people_write(found, quantities)
    document["definitions"] = dict(sorted({**document["definitions"], **quantities}.items()))
    head = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": f"A fastcalc {kind} file",
    }
    return {**head, **document}


def as_text(kind: str) -> str:
    """Return the JSON Schema of a kind as text."""
    return json.dumps(json_schema(kind), indent=2, ensure_ascii=False, sort_keys=False) + "\n"


def _people_write(node: Any, quantities: dict[str, Any]) -> Any:
    """Turn pydantic's schema of records into one of files, and say what each key means."""
    if isinstance(node, list):
        return [_people_write(one, quantities) for one in node]
    if not isinstance(node, dict):
        return node
    if "quantity" in node:
        return _reference(node["quantity"], quantities)
    new = {
        word: _people_write(value, quantities)
        for word, value in node.items()
        if word not in ("title", "default", "description", "discriminator", "properties")
    }
    if "properties" in node:
        new["properties"] = {
            key: _described(key, _people_write(value, quantities))
            for key, value in node["properties"].items()
        }
    if new.get("anyOf") and {"type": "null"} in new["anyOf"]:
        # A key without a value is a slip in a file, even where the record may lack it.
        rest = [one for one in new["anyOf"] if one != {"type": "null"}]
        new = rest[0] if len(rest) == 1 else {**new, "anyOf": rest}
    return new


@cache
def meanings() -> dict[str, str]:
    """Return what each key of a file means, by its name, wherever it stands."""
    found: dict[str, str] = read(Path(__file__).with_name("meanings.yaml")).data["meanings"]
    return found


def _described(key: str, value: dict[str, Any]) -> dict[str, Any]:
    """Add what a key means, and the formats that it may name."""
    if key.endswith("_format"):
        value = {"enum": sorted(FORMATS)}
    meaning = meanings().get(key)
    if meaning is None:
        return value
    # Next to a reference draft 7 ignores everything, so the reference moves inside.
    return {"description": meaning, **({"allOf": [value]} if "$ref" in value else value)}


def _reference(limits: list[Any], quantities: dict[str, Any]) -> dict[str, str]:
    dimension, least, most, whole = limits
    name = dimension.replace(" ", "_")
    if dimension == "number":
        name = f"{'whole' if whole else 'number'}_{least:g}_to_{most:g}"
    if name not in quantities:
        bare = _bare(dimension, least, most, whole=whole)
        quantities[name] = {"anyOf": [bare, _with_provenance(bare)]}
    return {"$ref": f"#/definitions/{name}"}


def _bare(dimension: str, least: float, most: float, *, whole: bool) -> dict[str, Any]:
    """Return the schema of a value as people write it: a number, or text with a unit."""
    if dimension == "number":
        return {"type": "integer" if whole else "number", "minimum": least, "maximum": most}
    units = "|".join(re.escape(unit) for unit in UNITS[dimension])
    pattern = rf"^\s*[0-9]*\.?[0-9]+(?:[eE][-+]?[0-9]+)?\s*(?:{units})\s*$"
    return {"type": "string", "pattern": pattern, "examples": [EXAMPLES[dimension]]}


def _with_provenance(bare: dict[str, Any]) -> dict[str, Any]:
    texts = ("source", "printed", "reading", "note", "date")
    confidence = {"enum": list(get_args(Confidence))}
    return {
        "type": "object",
        "additionalProperties": False,
        "required": ["value"],
        "properties": {
            "value": bare,
            **{name: {"type": "string", "description": meanings()[name]} for name in texts},
            "confidence": {"description": meanings()["confidence"], **confidence},
            "band": {
                "description": meanings()["band"],
                "type": "array",
                "items": {"type": "number"},
                "minItems": 2,
                "maxItems": 2,
            },
        },
    }
