"""Error messages for typer's usage errors."""

import re
from collections.abc import Sequence

from fastcalc.features import COMMANDS, request_of
from fastcalc.kit.request.fields import Request, declared
from fastcalc.mentions import flag
from fastcalc.written import first_few, listed

_UNKNOWN = re.compile(r"No such option:? '?(--[a-z-]+)")
_INSTEAD = {
    "--json": "--format json",
    "--csv": "--format csv",
    "--output-file": "-o FILE",
    "--hardware": "--on CHIPS",
    "--gpu": "--on CHIPS",
    **dict.fromkeys(("--isl", "--input-len", "--random-input-len"), "--prompt TOKENS"),
    **dict.fromkeys(("--osl", "--output-len", "--random-output-len"), "--output TOKENS"),
    **dict.fromkeys(("--concurrency", "--max-concurrency"), "--batch SEQUENCES"),
}
"""Options of other programs and their fastcalc equivalents."""
_OF_ONE_CARD = ("--n-gpu-layers", "--n-cpu-moe")
"""Options of llama.cpp that commands which choose the chips do not accept."""

_MISSING = re.compile("Missing argument '(.*)'")
_EXTRA = re.compile(r"Got unexpected extra argument\S* \((.*)\)")
_EXPLAIN = "No such command 'explain'"


def sentence(error: Exception, words: Sequence[str] = ()) -> str:
    """Return the message for an error of typer or click: what is wrong, and how to fix it.

    words : The command line without the program: the command, if there is one, and its arguments.
    """
    message = " ".join(str(getattr(error, "format_message", error.__str__)()).split()).rstrip(".")
    unknown = _UNKNOWN.match(message)
    if unknown and unknown[1] in _INSTEAD:
        return f"there is no option {unknown[1]}; write {_INSTEAD[unknown[1]]}"
    if unknown and unknown[1] in _OF_ONE_CARD:
        return (
            f"this command does not split layers between card and host, as {unknown[1]} does; "
            "'fastcalc compare' and 'fastcalc fit' do"
        )
    if message.startswith(_EXPLAIN):
        return "there is no command explain; write 'fastcalc compare MODEL --on CHIPS --explain'"
    if words and words[0] in COMMANDS and (instead := _instead(message, request_of(words[0]))):
        return instead
    return f"{message} See --help." if message.endswith("?") else f"{message}; see --help"


def _commands_with(option: str) -> list[str]:
    return [
        name
        for name in COMMANDS
        for field, declaration in declared(request_of(name)).items()
        if flag(field) == option and not declaration.setting.is_argument
    ]


def _instead(message: str, request: type[Request]) -> str:
    """Suggest a replacement for a missing or extra word. Returns nothing for other errors."""
    example = f"write for example '{request.examples[0]}'"
    unknown = _UNKNOWN.match(message)
    arguments = {
        spelling: field.setting.metavar or name.upper()
        for name, field in declared(request).items()
        for spelling in (flag(name), f"--{field.setting.metavar}".lower())
        if field.setting.is_argument
    }
    if unknown and (argument := arguments.get(unknown[1])):
        return f"{argument} is given without {unknown[1]}; {example}"
    if unknown and (others := _commands_with(unknown[1])):
        names = listed(first_few(others, 3, "more commands"))
        has = "have" if len(others) > 1 else "has"
        return f"{request.command()} has no option {unknown[1]}, which {names} {has}; {example}"
    if missing := _MISSING.match(message):
        return f"{missing[1]} is missing; {example}"
    if extra := _EXTRA.match(message):
        return f"{request.command()} does not take '{extra[1]}'; {example}"
    return ""
