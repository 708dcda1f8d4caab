"""``fastcalc import``: convert a Hugging Face configuration to a model YAML file."""

from fastcalc.errors import InputError
from fastcalc.features.entries.request import ImportModel
from fastcalc.importers.huggingface import import_model, slug, yaml_text
from fastcalc.kit.answer import output
from fastcalc.mentions import as_flags, option


def run(request: ImportModel) -> None:
    """Read a configuration and write the model file."""
    name = request.id
    if name is not None and name != slug(name):
        hint = f", such as '{slug(name)}'" if slug(name) else ""
        raise InputError(
            f"{option('id')} '{name}' must be lower case letters, digits, '.', '-' and '_' "
            f"only{hint}"
        )
    if name is None and request.out is not None:
        name = slug(request.out.stem) or None  # an entry is named after its file
    imported = import_model(request.path, id=name)
    output.write(as_flags(yaml_text(imported.entry)), request.out)
    output.warn(imported.remarks)
