"""``fastcalc import``: a Hugging Face configuration to a model YAML."""

from fastcalc.cli import output
from fastcalc.cli.commands.catalogue import ImportModel
from fastcalc.errors import InputError
from fastcalc.importers.huggingface import import_model, slug, yaml_text


def run(asked: ImportModel) -> None:
    """Read a configuration and write the model file it means."""
    name = asked.id
    if name is not None and name != slug(name):
        hint = f", such as '{slug(name)}'" if slug(name) else ""
        raise InputError(
            f"--id '{name}' must be lower case letters, digits, '.', '-' and '_' only{hint}"
        )
    if name is None and asked.out is not None:
        name = slug(asked.out.stem) or None  # an entry is named after its file
    imported = import_model(asked.path, id=name)
    output.write(yaml_text(imported.entry), asked.out)
    output.warn(imported.remarks)
