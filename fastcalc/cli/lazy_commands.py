"""Build commands from their requests: ``--help`` in sections, and defaults without validation."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from inspect import Parameter, Signature
from itertools import zip_longest
from pathlib import Path
from typing import Annotated, Any, ForwardRef, get_args

from typer import Argument, Option
from typer.core import TyperCommand, TyperGroup, TyperOption

from fastcalc.catalogue.inputs import remember
from fastcalc.errors import InputError
from fastcalc.features import GROUPS, answer_to, request_of
from fastcalc.kit.request.fields import FieldSetting, Request, declared, old_names, renamed
from fastcalc.kit.request.readers import number_of
from fastcalc.mentions import as_flags, flag


def as_function(name: str, request_type: type[Request], *, has_flags: bool) -> Callable[..., Any]:
    """Build the function of a typer command, which builds the request and answers it.

    Without flags, the command can be listed but not run.
    """

    def command(**arguments: Any) -> Any:
        if arguments.get("plugins", ()) is None:
            from fastcalc.kit.request.repository import settings_of  # help reads no settings

            own = settings_of(Path.cwd(), partial(request_of, "check"))
            arguments["plugins"] = own.values.get("plugins")
        arguments, notes = renamed(request_type, arguments)
        request: Any = request_type(**arguments)
        for value in (arguments[field] for field in arguments if field != "out"):
            for typed_value in value if isinstance(value, list) else [value]:
                remember(typed_value)
        answer = answer_to(name, request, notes)
        if answer is None or isinstance(answer, int):
            return answer
        from fastcalc.kit.answer.respond import respond

        return respond(request, answer)

    described: Any = command
    parameters = [*_parameters(request_type)] if has_flags else []
    described.__doc__, described.__signature__ = request_type.__doc__, Signature(parameters)
    return command


def _parameters(request_type: type[Request]) -> Iterator[Parameter]:
    """Yield the parameters of a command's function: each field, and hidden former names."""
    for name, field in declared(request_type).items():
        shown = _annotation(name, get_args(field.annotation)[0], field.setting, field.heading)
        yield Parameter(name, Parameter.KEYWORD_ONLY, default=field.default, annotation=shown)
    for old, name in old_names(request_type).items():
        field = declared(request_type)[name]
        hidden = replace(field.setting, is_hidden=True)
        shown = _annotation(old, get_args(field.annotation)[0], hidden, "Options")
        yield Parameter(old, Parameter.KEYWORD_ONLY, default=None, annotation=shown)


def _annotation(field: str, type_: Any, setting: FieldSetting, heading: str) -> Any:
    if isinstance(type_, ForwardRef):  # the type applies in Python only; here the value is text
        of_text: Any = list[str] if setting.is_repeated else str
        type_ = of_text | None if "None" in type_.__forward_arg__ else of_text
    number = next(
        (
            request_type
            for request_type in (int, float)
            if request_type in (type_, *get_args(type_))
        ),
        None,
    )
    parser = setting.parser or (number and number_of(flag(field), number))
    shown: dict[str, Any] = {
        "metavar": setting.metavar,
        "help": as_flags(setting.help),
        "hidden": setting.is_hidden,
        "envvar": setting.variable,
        "parser": parser,
        "autocompletion": setting.completion,
        "rich_help_panel": heading,
    }
    # Otherwise typer adds a negated flag.
    names = setting.names or ((flag(field),) if type_ is bool else ())
    request_type = Argument if setting.is_argument else partial(Option, *names)
    return Annotated[type_, request_type(**shown)]


class SectionedCommand(TyperCommand):
    """Command whose help has sections for groups of flags and for examples."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments, rejecting options without a value, and a second output file.

        Typer would take the next option as the value.
        """
        words = args[: args.index("--")] if "--" in args else args
        flags = [word.partition("=")[0] for word in words]
        options = [option for option in self.get_params(ctx) if isinstance(option, TyperOption)]
        by_name = {name: option for option in options for name in option.opts}
        for word, after in zip_longest(words, flags[1:]):
            option = by_name.get(word)
            if not option or option.is_flag or ctx.resilient_parsing:  # while completing a word
                continue
            if after is None or after in by_name:
                raise InputError(f"{word} needs a value, {option.metavar}: {option.help}")
        for option in options:
            count = sum(map(flags.count, option.opts))
            if option.metavar == "FILE" and not option.multiple and count > 1:
                name = option.opts[0]
                raise InputError(f"{name} takes one file, but is given {count}: {option.help}")
        return super().parse_args(ctx, args)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the options under the headings of their groups, the command's own last."""
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
        """Write each example on one line, for copying."""
        with formatter.section("Examples"):
            for example in (self.epilog or "").splitlines():
                formatter.write(f"  {example}\n")


class Commands(TyperGroup):
    """Group of all commands. Their default values are not validated.

    typer makes pydantic build a validator for every option of a command, given or not, at a
    millisecond each.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the options in front of the command."""
        _trust_defaults(self, ctx)
        return super().parse_args(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
        """Write the commands under the headings of their groups, with full summaries."""
        for heading, names in GROUPS.items():
            described = {name: self.commands[name].help or "" for name in names}
            with formatter.section(heading):
                formatter.write_dl(
                    [(name, text.partition("\n\n")[0]) for name, text in described.items()]
                )

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command by name."""
        command = super().get_command(ctx, cmd_name)
        if command is not None:
            _trust_defaults(command, ctx)
        return command


def _trust_defaults(command: Any, context: Any) -> None:
    for parameter in command.get_params(context):
        check = parameter.process_value
        # Older versions convert quickly without pydantic, and must convert defaults.
        if hasattr(parameter, "get_runtime_param") and not isinstance(check, partial):
            parameter.process_value = partial(_unless_default, parameter, check)


def _unless_default(parameter: Any, check: Any, context: Any, value: Any) -> Any:
    """Keep a default value as it is. Validate and convert any other value."""
    if value is not parameter.default or parameter.required:
        return check(context, value)
    return parameter.callback(context, parameter, value) if parameter.callback else value
