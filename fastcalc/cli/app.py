"""The typer program, with a command for each request."""

from collections.abc import Callable
from functools import lru_cache
from typing import Annotated, Any

import typer
from typer.main import get_command

from fastcalc.cli.lazy_commands import Commands, SectionedCommand, as_function
from fastcalc.features import COMMANDS, request_of
from fastcalc.kit.answer import output

START = """\
How fast, at what price and on how many chips a language model runs, and why:
  fastcalc compare llama-3.1-70b --on h100-sxm,mi355x  speed and price by batch
  fastcalc fit deepseek-r1 --on b200,wse-3             chips that hold it, users
  fastcalc plan llama-3.1-70b --tpot 25ms --rate 20/s  the cheapest servers
  fastcalc fastmode glm-4.7 --on h200-sxm --speedup 2  what a faster mode costs
All commands: fastcalc --help. What there is: fastcalc list models, or hardware.
"""
"""The text printed if no command is given."""


@lru_cache(maxsize=64)
def command(name: str | None = None) -> Callable[..., Any]:
    """Build the program, cached per command."""
    return get_command(program(name))


def program(only: str | None = None) -> typer.Typer:
    """Build the program with all commands or just one, since typer builds every command it has."""
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
        request = request_of(name)
        app.command(name, cls=SectionedCommand, epilog="\n".join(request.examples))(
            as_function(name, request, has_flags=only not in ("-h", "--help", "--version"))
        )
    return app


def _version(is_typed: bool) -> None:
    if is_typed:
        from fastcalc import __version__

        output.write(f"fastcalc {__version__}\n", None)
        raise typer.Exit


def _main(
    context: typer.Context,
    version: Annotated[  # noqa: ARG001  (handled by its callback)
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Compute how fast an LLM runs on a chip, what that costs, and how many chips it takes."""
    if context.invoked_subcommand is None:
        output.write(START, None)
