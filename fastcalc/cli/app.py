"""The program: its commands, and where each is."""

from importlib import import_module
from typing import Annotated

import typer

from fastcalc.cli import output
from fastcalc.cli.lazy_commands import Commands

COMMANDS = {
    "compare": "evaluation.compare",
    "sweep": "search.sweep",
    "plan": "search.plan",
    "fit": "evaluation.fit",
    "fastmode": "search.fastmode",
    "frontier": "search.frontier",
    "list": "catalogue.list_",
    "show": "catalogue.show",
    "check": "catalogue.check",
    "validate": "evidence.validate",
    "calibrate": "evidence.calibrate",
    "claims": "evidence.claims",
    "task": "evaluation.task",
    "new": "catalogue.new",
    "schema": "catalogue.schema",
    "diff": "catalogue.diff",
    "import": "catalogue.import_",
}
"""Module and function of every command, in the order of ``--help``."""


def program(asked: str | None = None) -> typer.Typer:
    """Return the program, with one command alone if that is asked for: typer builds all it has.

    Parameters
    ----------
    asked : str, optional
        The first word after ``fastcalc``.
    """
    app = typer.Typer(
        name="fastcalc",
        cls=Commands,
        invoke_without_command=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_main)
    for name in [asked] if asked in COMMANDS else COMMANDS:
        module, _, function = COMMANDS[name].partition(".")
        app.command(name)(getattr(import_module(f"fastcalc.cli.commands.{module}"), function))
    return app


def _version(asked: bool) -> None:
    if asked:
        from fastcalc import __version__

        output.write(f"fastcalc {__version__}\n", None)
        raise typer.Exit


def _main(
    context: typer.Context,
    version: Annotated[  # noqa: ARG001  (its callback does the work)
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """How fast, at what price and on how many chips a language model runs, and why."""
    if context.invoked_subcommand is None:
        output.write(context.get_help() + "\n", None)
