"""Python functions generated from the flags of the commands, so that both always agree."""

import warnings
from collections.abc import Callable, Mapping
from inspect import Parameter, Signature
from typing import TYPE_CHECKING, Any

from fastcalc import _FUNCTIONS as NAMES
from fastcalc.catalogue.once import once
from fastcalc.errors import InputError
from fastcalc.features import answer_to, request_of
from fastcalc.features.plot import run as plot
from fastcalc.features.sweep import run as sweep
from fastcalc.kit.request.fields import Request, declared, renamed
from fastcalc.kit.request.given import from_python
from fastcalc.library.answer_table import Table
from fastcalc.library.swept_table import ArraySink, SweptTable
from fastcalc.mentions import as_arguments
from fastcalc.written import listed

if TYPE_CHECKING:
    from fastcalc.features.sweep.request import Sweep

OF_THE_TERMINAL = ("out", "format", "notes", "wide", "anyway", "everything")
"""Flags for output, which a table replaces by methods; a chart keeps its file argument."""

MOST_POINTS = 5_000_000
"""Maximum number of sweep points in memory, about 400 bytes each. [1]"""


def _function(command: str) -> Callable[..., Any]:
    flags = request_of(command)
    positional, keyword_only = parameters(flags)

    def ask(*names: Any, **arguments: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)  # an invalid number is an error
            arguments, notes = renamed(flags, arguments)
            filled_flags = request(command, *names, **arguments)
            if command == "sweep":
                return _swept(filled_flags)
            if command == "plot":
                return plot.drawn(filled_flags)
            return Table(filled_flags, answer_to(command, filled_flags, notes))

    function: Any = ask
    function.__name__ = function.__qualname__ = command
    function.__signature__ = Signature(
        [*positional.values(), *keyword_only.values()],
        return_annotation="Figure" if command == "plot" else Table,
    )
    function.__doc__ = document(flags)
    named_function: Callable[..., Any] = function
    return named_function


def request(command: str, *names: Any, **arguments: Any) -> Any:
    """Request from the arguments of a function; raises an error for invalid arguments."""
    flags = request_of(command)
    return flags(**_bound(command, *parameters(flags), names, arguments))


@once
def parameters(flags: type[Request]) -> tuple[dict[str, Parameter], dict[str, Parameter]]:
    """Positional and keyword parameters of a function."""
    positional, keyword_only = {}, {}
    for name, field in declared(flags).items():
        default = field.default
        if field.setting.is_argument:
            several = field.setting.is_repeated
            parameter_kind = (
                Parameter.VAR_POSITIONAL if several else Parameter.POSITIONAL_OR_KEYWORD
            )
            shown = Parameter.empty if several else default
            positional[name] = Parameter(name, parameter_kind, default=shown)
        elif name not in OF_THE_TERMINAL or (name == "out" and "format" not in declared(flags)):
            keyword_only[name] = Parameter(name, Parameter.KEYWORD_ONLY, default=default)
    return positional, keyword_only


def _bound(
    command: str,
    positional: Mapping[str, Parameter],
    keyword_only: Mapping[str, Parameter],
    names: tuple[Any, ...],
    arguments: Mapping[str, Any],
) -> dict[str, Any]:
    several = [
        name for name, parameter in positional.items() if parameter.kind is Parameter.VAR_POSITIONAL
    ]
    single = [name for name in positional if name not in several]
    if not several and len(names) > len(positional):
        raise TypeError(f"{command}() takes {len(positional)} names, not {len(names)}")
    by_name: dict[str, Any] = dict(zip(single, names, strict=False))
    for name in several:
        by_name[name] = [item for item in names[len(single) :] if item is not None] or None
    for name in arguments:
        if name not in keyword_only and name not in positional:
            raise TypeError(
                f"{command}() has no argument '{name}'; help(fastcalc.{command}) lists all"
            )
    # None means that an argument is not given.
    stated = {
        name: argument
        for name, argument in (by_name | dict(arguments)).items()
        if argument is not None
    }
    missing = [
        name
        for name, parameter in positional.items()
        if parameter.default is Parameter.empty and name not in {*stated, *several}
    ]
    if missing:
        raise TypeError(f"{command}() needs {listed(missing)}")
    parameter_kind = request_of(command)
    return {name: from_python(parameter_kind, name, argument) for name, argument in stated.items()}


def _swept(flags: "Sweep") -> SweptTable:
    notes: list[str] = []
    swept = sweep.combinations(flags, notes)
    points = swept.points
    if points > MOST_POINTS:
        raise InputError(
            f"{points:,} points exceed the limit of {MOST_POINTS:,} in memory; write them to "
            "a file with 'fastcalc sweep', or ask for fewer"
        )
    sink = ArraySink()
    sweep.fill(sink, swept, as_arguments)
    return SweptTable(flags, sink.columns, sink.premises, notes)


def document(flags: type[Request]) -> str:
    """Docstring of a function: the command's docstring, and a line for each argument."""
    positional, keyword_only = parameters(flags)
    summary, *paragraphs = (
        " ".join(paragraph.split()) for paragraph in (flags.__doc__ or "").split("\n\n")
    )
    lines = [
        summary,
        "",
        *(f"{paragraph}\n" for paragraph in paragraphs),
        "Parameters",
        "----------",
    ]
    for name in (*positional, *keyword_only):
        field = declared(flags)[name]
        shown, default = field.setting, field.default
        ends = "" if default in (None, Parameter.empty) else f", default {default!r}"
        summary = as_arguments(shown.help)
        lines += [f"{name} : {(shown.metavar or 'bool')}{ends}", f"    {summary}"]
    return "\n".join(
        [*lines, "", "Raises", "------", "InputError", "    If the request or a file is wrong."]
    )


FUNCTIONS = {name: _function(name) for name in NAMES}
