"""The program: its commands, and where each is."""

from collections.abc import Callable
from functools import lru_cache
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.main import get_command

from fastcalc.cli import output
from fastcalc.cli.lazy_commands import Commands, SectionedCommand, as_function

COMMANDS = {
    "compare": ("evaluation.Compare", "show_compare.run"),
    "sweep": ("search.Sweep", "show_sweep.run"),
    "plan": ("search.FindPlans", "show_plan.run"),
    "fit": ("evaluation.FitMemory", "show_fit.run"),
    "fastmode": ("search.Fastmode", "show_fastmode.run"),
    "decide": ("services.Decide", "show_decide.run"),
    "infer": ("services.Infer", "show_infer.run"),
    "frontier": ("search.Frontier", "show_frontier.run"),
    "report": ("drawings.WriteReport", "show_report.run"),
    "plot": ("drawings.Plot", "show_plot.run"),
    "list": ("catalogue.ListEntries", "show_entries.run_list"),
    "show": ("catalogue.ShowEntry", "show_entries.run_show"),
    "check": ("catalogue.CheckFiles", "show_check.run"),
    "validate": ("measurements.Validate", "show_validate.run"),
    "calibrate": ("measurements.Calibrate", "show_calibrate.run"),
    "claims": ("measurements.JudgeClaims", "show_claims.run"),
    "new": ("catalogue.NewEntry", "show_new.run_new"),
    "schema": ("catalogue.PrintSchema", "show_new.run_schema"),
    "diff": ("catalogue.DiffEntries", "show_entries.run_diff"),
    "import": ("catalogue.ImportModel", "show_import.run"),
}
"""The flags of every command and what answers them, in the order of ``--help``."""


@lru_cache(maxsize=64)
def command(name: str | None = None) -> Callable[..., Any]:
    """Return the program as it is run; the same one for a command asked for again."""
    return get_command(program(name))


def program(only: str | None = None) -> typer.Typer:
    """Return the program, with one command alone if that is asked for: typer builds all it has."""
    app = typer.Typer(
        name="fastcalc",
        cls=Commands,
        invoke_without_command=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_main)
    for name in [only] if only in COMMANDS else COMMANDS:
        flags, run = COMMANDS[name]
        module, _, group = flags.partition(".")
        flags_class = getattr(import_module(f"fastcalc.cli.commands.{module}"), group)
        app.command(name, cls=SectionedCommand, epilog="\n".join(flags_class.examples))(
            as_function(flags_class, run, has_flags=only not in ("-h", "--help", "--version"))
        )
    return app


def _version(is_typed: bool) -> None:
    if is_typed:
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
