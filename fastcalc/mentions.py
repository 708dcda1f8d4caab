"""Placeholders in messages for options and commands, which shells and Python write differently.

Code below the command line never names a flag in a message. It mentions the option by its field,
between control characters, and the code that prints or raises the message replaces the mention.
"""

import re
from collections.abc import Callable
from importlib import import_module
from typing import Any

from fastcalc.quoting import shell_words

_OPTION, _COMMAND, _GIVEN, _END = "\ue000\ue001\ue002\ue003"
_MENTION = re.compile(f"([{_OPTION}{_COMMAND}])([^{_GIVEN}{_END}]*){_GIVEN}?([^{_END}]*){_END}")

_FLAGS = {"out": "-o", "everything": "--all", "models": "MODEL", "with_": "--with"}
"""Flags whose name differs from the field; models have no flag."""

_OF_TABLES = {
    "wide": "table.records",
    "everything": "table.records",
    "format": "the file's ending",
    "notes": "table.notes",
    "out": "table.save",
}
"""The attributes of a Python table that correspond to command-line fields."""


def option(field: str, value: object = "") -> str:
    """Return a mention of an option by its field, optionally with a value."""
    return f"{_OPTION}{field}{_GIVEN}{value}{_END}"


def command(line: str) -> str:
    """Return a mention of a command, in command-line syntax."""
    return f"{_COMMAND}{line}{_END}"


def flag(field: str) -> str:
    """Return the flag for a field.

    >>> flag("prefix_hit")
    '--prefix-hit'
    """
    return _FLAGS.get(field, "--" + field.replace("_", "-"))


def as_flags(text: str) -> str:
    """Return a message with its mentions in command-line syntax.

    >>> as_flags(f"give one with {option('price', 'a10=USD')}")
    'give one with --price a10=USD'
    >>> as_flags(f"Quantized, it would: {option('weights', 'fp8')} {option('kv', 'fp8')}.")
    'Quantized, it would: --weights fp8 --kv fp8'
    """
    if text.endswith(f"{_END}."):  # a full stop would be copied along with the command
        text = text[:-1]
    return _written(text, lambda field, value: f"{flag(field)} {value}".rstrip(), str)


def as_arguments(text: str) -> str:
    """Return a message with its mentions in Python syntax.

    >>> as_arguments(f"give one with {option('price', 'a10=USD')}")
    "give one with price='a10=USD'"
    >>> as_arguments(command("fastcalc fit glm-4.7 --on a10,b200 --tp 2"))
    "fc.fit('glm-4.7', on='a10,b200', tp=2)"
    >>> as_arguments(f"it fits with {option('weights', 'fp8')} {option('kv', 'fp8')}")
    "it fits with weights='fp8', kv='fp8'"
    """
    return _written(text.replace(f"{_END} {_OPTION}", f"{_END}, {_OPTION}"), _argument, _call)


def as_prose(text: str) -> str:
    """Return a message for a reader without a command line, without advice on what to type.

    Values that would change the answer are kept as information. A message that only says where to
    look becomes empty.

    >>> as_prose(f"tried: up to 8 chips ({option('notes')}); {option('wide')} says why")
    'tried: up to 8 chips'
    >>> as_prose(f"To compare equal numbers, add {option('chips', 4)}.")
    ''
    >>> as_prose(f"a10 has no price: give one with {option('price', 'a10=USD')}")
    'a10 has no price'
    >>> as_prose(f"nothing meets this; it would with {option('max_chips', 72)}")
    'nothing meets this; it would with max chips 72'
    """
    if _END not in text:
        return text
    plain = re.sub(rf" \([^()]*{_END}[^()]*\)", "", text)
    first, *further = map(_without_advice, plain.split("; "))
    clauses = [clause for clause in (first, *further) if clause and first]
    ends = "." * (text.endswith(".") and not plain.endswith(clauses[-1] if clauses else "."))
    return "; ".join(clauses) + ends


def _without_advice(clause: str) -> str:
    """Return a clause up to its advice on what to type, or nothing if that is all it contains."""
    if _END not in clause:
        return clause
    head = clause[: next(_MENTION.finditer(clause)).start()]
    if head.endswith(("would with ", "would meet them with ")):
        return _written(clause, lambda field, value: f"{field.replace('_', ' ')} {value}", str)
    if head.lower().startswith("to ") or head.endswith(", with "):
        return ""
    return head[: max(head.rfind(": "), head.rfind(", "), 0)]


def written(value: Any, wording: Callable[[str], str]) -> Any:
    """Return a JSON value with the mentions in all its texts replaced."""
    if isinstance(value, str):
        return wording(value)
    if isinstance(value, dict):
        return {key: written(item, wording) for key, item in value.items()}
    return [written(item, wording) for item in value] if isinstance(value, list) else value


def _written(
    text: str, of_option: Callable[[str, str], str], of_command: Callable[[str], str]
) -> str:
    if _END not in text:
        return text
    return _MENTION.sub(
        lambda match: (
            of_option(match[2], match[3]) if match[1] == _OPTION else of_command(match[2])
        ),
        text,
    )


def _argument(field: str, value: str) -> str:
    if field == "out" and value:
        return f"table.save({value!r})"
    if field == "format" and value:
        return "table.records"
    if field in _OF_TABLES:
        return _OF_TABLES[field]
    return f"{field}={_literal(value)}" if value else field


def _literal(text: str) -> str:
    return text if re.fullmatch(r"[0-9]+(\.[0-9]+)?", text) else repr(text)


def _call(line: str) -> str:
    """Return a command as a function call, or unchanged if Python has no such function."""
    try:
        _, name, *words = shell_words(line)
    except ValueError:  # text that has been escaped for a web page
        return line
    first = next((index for index, word in enumerate(words) if word[:1] == "-"), len(words))
    names, settings, ending = words[:first], _settings(words[first:]), ""
    if name == "plot":
        chart = names.pop(0)
        name, ending = {"tornado": "sensitivity"}.get(chart, chart), ".plot()"
    functions: tuple[str, ...] = import_module("fastcalc")._FUNCTIONS
    name = "compare" if name == "report" else name
    if name not in functions:
        return line
    for field in [field for field in settings if field in _OF_TABLES]:
        ending += _argument(field, "".join(settings.pop(field))).removeprefix("table")
    arguments = [f"{field}={_value(values)}" for field, values in settings.items()]
    return f"fc.{name}({', '.join([*map(_literal, names), *arguments])}){ending}"


def _settings(words: list[str]) -> dict[str, list[str]]:
    """Return the values given for each field; empty for a flag without a value."""
    fields = {flag_: field for field, flag_ in _FLAGS.items()}
    settings: dict[str, list[str]] = {}
    for word in words:
        if word in fields or word.startswith("--"):
            field = fields.get(word, word.removeprefix("--").replace("-", "_"))
            settings.setdefault(field, [])
        else:
            settings[field].append(word)
    return settings


def _value(values: list[str]) -> str:
    literals = ", ".join(map(_literal, values))
    return f"[{literals}]" if len(values) > 1 else literals or "True"
