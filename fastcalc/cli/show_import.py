"""``fastcalc import``: a Hugging Face configuration to a model YAML."""

from pathlib import Path

from fastcalc.cli import output
from fastcalc.errors import InputError
from fastcalc.importers.huggingface import import_model, slug, yaml_text


def run(path: str, id: str | None, file: Path | None) -> None:  # noqa: A002
    """Read a configuration and write the model file it means."""
    if id is not None and id != slug(id):
        hint = f", such as '{slug(id)}'" if slug(id) else ""
        raise InputError(
            f"--id '{id}' must be lower case letters, digits, '.', '-' and '_' only{hint}"
        )
    if id is None and file is not None:
        id = slug(file.stem) or None  # noqa: A001  (an entry is named after its file)
    imported = import_model(path, id=id)
    output.write(yaml_text(imported.entry), file)
    output.warn(imported.remarks)
