"""Options that nobody typed are not checked: their defaults are ours, and of the right type."""

from functools import partial
from typing import Any

from typer.core import TyperGroup


class Commands(TyperGroup):
    """The commands of the program; they take their defaults as they are.

    typer has pydantic make a validator for every option of a command, a millisecond each, whether
    it was typed or not.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the options before the command."""
        _trust_defaults(self, ctx)
        return super().parse_args(ctx, args)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command by its name."""
        command = super().get_command(ctx, cmd_name)
        if command is not None:
            _trust_defaults(command, ctx)
        return command


def _trust_defaults(command: Any, context: Any) -> None:
    for parameter in command.get_params(context):
        check = parameter.process_value
        # Older versions convert without pydantic, quickly, and rely on it for defaults.
        if hasattr(parameter, "get_runtime_param") and not isinstance(check, partial):
            parameter.process_value = partial(_unless_default, parameter, check)


def _unless_default(parameter: Any, check: Any, context: Any, value: Any) -> Any:
    """Return a default as it is, and any other value as it is checked and converted."""
    if value is not parameter.default or parameter.required:
        return check(context, value)
    return parameter.callback(context, parameter, value) if parameter.callback else value
