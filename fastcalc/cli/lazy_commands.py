"""Commands made of their flags: in sections under ``--help``, unchecked where nobody typed them."""

from collections.abc import Callable
from functools import partial
from importlib import import_module
from inspect import Parameter, Signature
from typing import Any

from typer.core import TyperCommand, TyperGroup

from fastcalc.catalogue.inputs import remember
from fastcalc.cli.flags import Flags, declared


def as_function(flags: type[Flags], run: str, *, has_flags: bool = True) -> Callable[..., Any]:
    """Return what typer makes a command of: it builds the flags and runs what answers them.

    ``run`` is a module and a function, imported when the command runs. Without flags it can be
    listed, but not run.
    """

    def command(**typed: Any) -> Any:
        module, _, function = run.partition(".")
        request: Any = flags(**typed)
        for value in (typed[name] for name in typed if name != "out"):
            for typed_value in value if isinstance(value, list) else [value]:
                remember(typed_value)
        answer = getattr(import_module(f"fastcalc.cli.{module}"), function)(request)
        if answer is None or isinstance(answer, int):
            return answer
        from fastcalc.cli.answers import write

        return write(request, answer)

    parameters = []
    for name, (annotation, heading) in (declared(flags) if has_flags else {}).items():
        annotation.__metadata__[0].rich_help_panel = heading
        default = getattr(flags, name, Parameter.empty)
        parameters.append(
            Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
        )
    described: Any = command
    described.__doc__, described.__signature__ = flags.__doc__, Signature(parameters)
    return command


class SectionedCommand(TyperCommand):
    """A command whose help has a section for each group of flags, and one of examples."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the options under the headings of their groups, the command's own at the end."""
        sections: dict[str, list[tuple[str, str]]] = {"Arguments": []}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            heading = getattr(parameter, "rich_help_panel", None) or "Options"
            heading = "Arguments" if parameter.param_type_name == "argument" else heading
            sections.setdefault(heading, []).extend([record] if record else [])
        sections["Options"] = sections.pop("Options")
        for heading, records in sections.items():
            if records:
                with formatter.section(heading):
                    formatter.write_dl(records)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
        """Write the examples, each on a line to be copied."""
        with formatter.section("Examples"):
            for example in (self.epilog or "").splitlines():
                formatter.write(f"  {example}\n")


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
