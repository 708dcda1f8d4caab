"""Write the JSON Schemas beside this file, and their line at the head of every shipped YAML.

Run ``python docs/schema/refresh.py`` after a change to the schema or a new file; a test says
when it is due.
"""

from pathlib import Path

from fastcalc.catalogue.json_schema import as_text

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
FOLDERS = {"hardware": "hardware", "models": "model", "engines": "engine", "evidence": "claims"}


def line(kind: str) -> str:
    """Return the line by which an editor finds the schema of a file."""
    return f"# yaml-language-server: $schema=../docs/schema/{kind}.schema.json\n"


def main() -> None:
    """Write schemas and lines."""
    for folder, kind in FOLDERS.items():
        (HERE / f"{kind}.schema.json").write_text(as_text(kind), encoding="utf-8")
        for path in sorted((ROOT / folder).glob("*.yaml")):
            text = path.read_text(encoding="utf-8")
            if not text.startswith(line(kind)):
                path.write_text(line(kind) + text, encoding="utf-8")


if __name__ == "__main__":
    main()
