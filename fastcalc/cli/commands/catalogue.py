"""Flags of the commands about the files of the catalogue."""

from pathlib import Path
from typing import Annotated, Any

from fastcalc.cli import completion, flags
from fastcalc.cli.flags import argument, flag

_Entry = Annotated[
    str,
    argument(
        "NAME",
        "A chip, model or engine, a YAML file or a config.json.",
        autocompletion=completion.anything,
    ),
]


def _kind(metavar: str) -> Any:
    return argument(metavar, "What kind of file.", autocompletion=completion.kind)


class ListEntries(flags.Output, flags.OwnFolders):
    """List the catalogue: hardware, models or engines."""

    kind: Annotated[
        str, argument("hardware|models|engines", "What to list.", autocompletion=completion.kinds)
    ]


class ShowEntry(flags.FormatOfEach, flags.Output, flags.OwnFolders):
    """Show an entry with every number and its source."""

    name: _Entry
    format: Annotated[str | None, flags.format_named("table|json")] = None


class CheckFiles(flags.Output):
    """Find what is wrong or doubtful in hardware, model and engine files.

    Exits with 0 if they are clean, 1 if they have faults, 2 if the request is wrong.
    """

    paths: Annotated[
        list[Path] | None, argument("PATH", "YAML files and folders; the catalogue if none.")
    ] = None
    strict: Annotated[
        bool, flag(None, "Let warnings count; ask every number for a source.", "--strict")
    ] = False
    explain: Annotated[str | None, flag("RULE|all", "Say what a rule means.")] = None
    format: Annotated[str | None, flags.format_named("text|json|github|sarif")] = None


class NewEntry(flags.OutputFile):
    """Print a commented file to fill in: hardware, model or engine."""

    kind: Annotated[str, _kind("hardware|model|engine")]
    name: Annotated[str, argument("NAME", "Its id, such as my-chip.")]


class PrintSchema(flags.OutputFile):
    """Print the JSON Schema of a kind of file, for editors."""

    kind: Annotated[str, _kind("hardware|model|engine|claims")]


class DiffEntries(flags.Output, flags.OwnFolders):
    """Show two entries side by side, with ratios."""

    left: _Entry
    right: _Entry
    format: Annotated[str | None, flags.format_named("table|json|csv|xlsx|parquet")] = None


class ImportModel(flags.OutputFile):
    """Turn a Hugging Face config into a model YAML.

    Nothing is downloaded. What was assumed stands under notes and on standard error.
    """

    path: Annotated[str, argument("PATH", "A config.json, or a folder that holds one.")]
    id: Annotated[str | None, flag("NAME", "The model's id; from PATH if not given.")] = None
