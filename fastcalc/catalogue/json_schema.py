"""JSON Schema of users' YAML files for editors, generated from the schema classes."""

import re
from functools import cache
from pathlib import Path
from typing import Any, get_args

from fastcalc.catalogue.formats import FORMATS
from fastcalc.catalogue.reader import read
from fastcalc.catalogue.schema import Engine, Entry, Hardware, Model
from fastcalc.catalogue.schema.claims import Claims
from fastcalc.catalogue.schema.engine_parameters import PARAMETERS
from fastcalc.catalogue.schema.quantities import Confidence
from fastcalc.catalogue.units import EXAMPLES, UNITS
from fastcalc.written import Json, to_json

SCHEMAS: dict[str, type[Entry]] = {
    "hardware": Hardware,
    "model": Model,
    "engine": Engine,
    "claims": Claims,
}


def json_schema(entry_type: str) -> dict[str, Json]:
    """Build the JSON Schema (draft 7) for a type of file, which is a key of `SCHEMAS`."""
    schema = SCHEMAS[entry_type].model_json_schema(
        ref_template="#/definitions/{model}", mode="validation"
    )
    definitions = schema.pop("$defs", {}).items()
    schema["definitions"] = {
        name: definition for name, definition in definitions if name != "Quantity"
    }
    quantities: dict[str, Json] = {}
    document = _people_write(schema, quantities)
    document["definitions"] = dict(sorted({**document["definitions"], **quantities}.items()))
    if "extends" in document["properties"]:  # all keys but the id may be in the extended file
        for key, spec in document["properties"].items():
            if "$ref" in spec.get("items", {}):  # items by name, or by index in the extended list
                by_name = {"type": "object", "additionalProperties": {"type": "object"}}
                meaning = {"description": spec.pop("description")} if "description" in spec else {}
                document["properties"][key] = {**meaning, "anyOf": [spec, by_name]}
        keys = (["extends"], document["required"])
        document |= {"required": ["id"], "anyOf": [{"required": required} for required in keys]}
    draft, title = "http://json-schema.org/draft-07/schema#", f"A fastcalc {entry_type} file"
    return {"$schema": draft, "title": title, **document}


def as_text(entry_type: str) -> str:
    """Return the JSON Schema for a type of file as text."""
    return to_json(json_schema(entry_type), indent=2) + "\n"


def _people_write(node: Any, quantities: dict[str, Json]) -> Any:
    """Convert pydantic's schema of records into one for files, with the meaning of each key."""
    if isinstance(node, list):
        return [_people_write(child, quantities) for child in node]
    if not isinstance(node, dict):
        return node
    if "quantity" in node:
        return _reference(node["quantity"], quantities)
    new = {
        word: _people_write(value, quantities)
        for word, value in node.items()
        if word not in ("title", "default", "description", "discriminator", "properties")
    }
    properties = {}
    for key, value in node.get("properties", {}).items():
        spec = _people_write(value, quantities)
        spec = {"enum": sorted(FORMATS)} if key.endswith("_format") else spec
        # Draft 7 ignores siblings of a reference, so the reference is moved inside.
        referable = {"allOf": [spec]} if "$ref" in spec else spec
        meaning = meanings().get(key)
        properties[key] = {"description": meaning, **referable} if meaning else spec
    if "properties" in node:
        new["properties"] = properties
    if new.get("anyOf") and {"type": "null"} in new["anyOf"]:
        # A key without a value is a mistake in a file, even if the record permits it.
        options = [option for option in new["anyOf"] if option != {"type": "null"}]
        new = options[0] if len(options) == 1 else {**new, "anyOf": options}
    return new


@cache
def meanings() -> dict[str, str]:
    """Collect the meanings of all keys in files by name, wherever they are used."""
    written = read(Path(__file__).with_name("meanings.yaml")).mapping("meanings")
    by_key = {key: str(meaning) for key, meaning in written.items()}
    return by_key | {name: parameter.meaning for name, parameter in PARAMETERS.items()}


def _reference(limits: list[Any], quantities: dict[str, Json]) -> dict[str, str]:
    dimension, minimum, maximum, is_whole = limits
    name = dimension.replace(" ", "_")
    if dimension == "number":
        name = f"{'whole' if is_whole else 'number'}_{minimum:g}_to_{maximum:g}"
    if name in quantities:
        return {"$ref": f"#/definitions/{name}"}
    bare: Json
    if dimension == "number":
        bare = {"type": "integer" if is_whole else "number", "minimum": minimum, "maximum": maximum}
    else:
        units = "|".join(re.escape(unit) for unit in UNITS[dimension])
        pattern = rf"^\s*[0-9]*\.?[0-9]+(?:[eE][-+]?[0-9]+)?\s*(?:{units})\s*$"
        bare = {"type": "string", "pattern": pattern, "examples": [EXAMPLES[dimension]]}
    texts = ("source", "printed", "reading", "note", "date")
    means = meanings()
    with_provenance: Json = {
        "type": "object",
        "additionalProperties": False,
        "required": ["value"],
        "properties": {
            "value": bare,
            **{key: {"type": "string", "description": means[key]} for key in texts},
            "confidence": {"description": means["confidence"], "enum": list(get_args(Confidence))},
            "band": {
                "description": means["band"],
                "type": "array",
                "items": {"type": "number"},
                "minItems": 2,
                "maxItems": 2,
            },
        },
    }
    quantities[name] = {"anyOf": [bare, with_provenance]}
    return {"$ref": f"#/definitions/{name}"}
