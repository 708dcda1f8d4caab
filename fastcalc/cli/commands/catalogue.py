"""Commands about the files of the catalogue."""

from pathlib import Path
from typing import Annotated

import typer

from fastcalc.cli import completion, options

Entry = typer.Argument(
    metavar="NAME",
    help="A chip, model or engine, a YAML file or a config.json.",
    autocompletion=completion.anything,
)
Kind = Annotated[
    str,
    typer.Argument(
        metavar="hardware|model|engine", help="What kind of file.", autocompletion=completion.kind
    ),
]


def list_(
    kind: Annotated[
        str,
        typer.Argument(
            metavar="hardware|models|engines",
            help="What to list.",
            autocompletion=completion.kinds,
        ),
    ],
    format: options.Format = "table",  # noqa: A002
    out: options.OutFile = None,
    hardware_dir: options.HardwareDir = None,
    models_dir: options.ModelsDir = None,
    engines_dir: options.EnginesDir = None,
) -> None:
    """List the catalogue: hardware, models or engines."""
    from fastcalc.cli import requests, show_entries

    catalogue = requests.catalogue(hardware_dir, models_dir, engines_dir)
    raise typer.Exit(show_entries.run_list(catalogue, kind, format, out))


def show(
    name: Annotated[str, Entry],
    weights: options.Weights = None,
    kv: options.KV = None,
    format: Annotated[  # noqa: A002
        str, typer.Option("--format", metavar="table|json", help="Output format.")
    ] = "table",
    out: options.OutFile = None,
    hardware_dir: options.HardwareDir = None,
    models_dir: options.ModelsDir = None,
    engines_dir: options.EnginesDir = None,
) -> None:
    """Show an entry with every number and its source."""
    from fastcalc.cli import requests, show_entries

    catalogue = requests.catalogue(hardware_dir, models_dir, engines_dir)
    show_entries.run_show(catalogue, name, weights, kv, format, out)


def check(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(metavar="PATH", help="YAML files and folders; the catalogue if none."),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Let warnings count; ask every number for a source.")
    ] = False,
    explain: Annotated[
        str | None, typer.Option(metavar="RULE|all", help="Say what a rule means.")
    ] = None,
    format: Annotated[  # noqa: A002
        str, typer.Option("--format", metavar="text|json|github", help="Output format.")
    ] = "text",
    out: options.OutFile = None,
) -> None:
    """Find what is wrong or doubtful in hardware, model and engine files.

    Exits with 0 if they are clean, 1 if they have faults, 2 if the request is wrong.
    """
    from fastcalc.cli import show_check

    if explain is not None:
        show_check.run_explain(explain, format, out)
        return
    raise typer.Exit(show_check.run(paths or [], strict=strict, format=format, file=out))


def new(
    kind: Kind,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Its id, such as my-chip.")],
    out: options.OutFile = None,
) -> None:
    """Print a commented file to fill in: hardware, model or engine."""
    from fastcalc.cli import show_new

    show_new.run_new(kind, name, out)


def schema(
    kind: Annotated[
        str,
        typer.Argument(
            metavar="hardware|model|engine|claims",
            help="What kind of file.",
            autocompletion=completion.kind,
        ),
    ],
    out: options.OutFile = None,
) -> None:
    """Print the JSON Schema of a kind of file, for editors."""
    from fastcalc.cli import show_new

    show_new.run_schema(kind, out)


def diff(
    left: Annotated[str, Entry],
    right: Annotated[str, Entry],
    format: Annotated[  # noqa: A002
        str, typer.Option("--format", metavar="table|json|csv", help="Output format.")
    ] = "table",
    out: options.OutFile = None,
    hardware_dir: options.HardwareDir = None,
    models_dir: options.ModelsDir = None,
    engines_dir: options.EnginesDir = None,
) -> None:
    """Show two entries side by side, with ratios."""
    from fastcalc.cli import requests, show_diff

    catalogue = requests.catalogue(hardware_dir, models_dir, engines_dir)
    show_diff.run(catalogue, left, right, format, out)


def import_(
    path: Annotated[
        str, typer.Argument(metavar="PATH", help="A config.json, or a folder that holds one.")
    ],
    id: Annotated[  # noqa: A002
        str | None,
        typer.Option("--id", metavar="NAME", help="The model's id; from PATH if not given."),
    ] = None,
    out: options.OutFile = None,
) -> None:
    """Turn a Hugging Face config into a model YAML.

    Nothing is downloaded. What was assumed stands under notes and on standard error.
    """
    from fastcalc.cli import show_import

    show_import.run(path, id, out)
