"""Requests of the commands for catalogue entries."""

from typing import TYPE_CHECKING, Annotated, Any

from fastcalc.kit.request import groups, offered
from fastcalc.kit.request.fields import argument, flag

if TYPE_CHECKING:
    from fastcalc.kit.request.given_types import EntryGiven


_Entry = Annotated[
    "EntryGiven",
    argument(
        "NAME",
        "A chip, model or engine, a YAML file or a config.json.",
        completion=offered.anything,
    ),
]


def _kind(metavar: str) -> Any:
    return argument(metavar, "Category: hardware, model, engine or claims.")


class ListEntries(groups.Output, groups.OwnFolders):
    """List the chips, models or engines of the catalogue."""

    examples = (
        "fastcalc list hardware --kind gpu --vendor amd --with price",
        "fastcalc list models --format csv",
    )
    premise = "entries"

    entries: Annotated[str, argument("hardware|models|engines", "Category to list.")]
    kind: Annotated[str | None, flag("KIND", "Only chips of a type: gpu, wafer, tpu.")] = None
    vendor: Annotated[str | None, flag("NAME", "Only chips of a vendor.")] = None
    with_: Annotated[
        str | None, flag("FIELD", "Only entries that have this field: price, power.", "--with")
    ] = None


class ShowEntry(groups.FormatOfEach, groups.Output, groups.OwnFolders):
    """Show a chip, model or engine: every number with its source."""

    examples = ("fastcalc show wse-3", "fastcalc show llama-3.1-70b --format json")

    name: _Entry
    format: Annotated[str | None, groups.format_named("table|json")] = None


class NewEntry(groups.OutputFile):
    """Print a commented template of a hardware, model or engine file."""

    examples = ("fastcalc new hardware my-new-chip", "fastcalc new model my-model -o my-model.yaml")

    kind: Annotated[str, _kind("hardware|model|engine")]
    name: Annotated[str, argument("NAME", "Id of the new entry, such as my-chip.")]


class PrintSchema(groups.OutputFile):
    """Print the JSON Schema for a type of file, for use in editors."""

    examples = ("fastcalc schema hardware", "fastcalc schema model -o model.schema.json")

    kind: Annotated[str, _kind("hardware|model|engine|claims")]


class DiffEntries(groups.Output, groups.OwnFolders):
    """Compare two entries number by number, with ratios."""

    examples = ("fastcalc diff h100-sxm h200-sxm", "fastcalc diff h100-sxm my-chip.yaml")
    premise = "entries"

    left: _Entry
    right: _Entry


class ImportModel(groups.OutputFile):
    """Turn a Hugging Face config.json into a model YAML.

    Downloads nothing. Assumptions are listed under notes and on standard error.
    """

    examples = (
        "fastcalc import config.json",
        "fastcalc import config.json --id my-model -o my-model.yaml",
    )

    path: Annotated[str, argument("PATH", "A config.json, or a folder that contains one.")]
    id: Annotated[str | None, flag("NAME", "Id of the model; default: from PATH.")] = None
