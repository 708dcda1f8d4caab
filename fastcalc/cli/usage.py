"""What typer says of a wrong request, in the words of the program."""

import re

from fastcalc.written import shown

_FLAG = re.compile(r"Invalid value for '(--[a-z-]+)': ")
_VALUE = re.compile(r"'(.*)' is not a valid")
_KINDS = {
    "integer": "a whole number; write for example 8",
    "number": "a number; write for example 0.5",
    "float": "a number; write for example 0.5",
}


def sentence(error: Exception) -> str:
    """Return one sentence on what is wrong with a request, and what to write instead.

    Parameters
    ----------
    error : Exception
        A usage error of typer: of its own, or of the click that older versions stand on.
    """
    message = " ".join(str(getattr(error, "format_message", error.__str__)()).split()).rstrip(".")
    flag = _FLAG.match(message)
    kind = next((each for word, each in _KINDS.items() if word in message), None)
    if flag is None or kind is None:
        return f"{message}; --help shows what there is"
    return f"{flag[1]}{_given(error, message[flag.end() :])} is not {kind}"


def _given(error: Exception, message: str) -> str:
    """Return what was typed, in quotes, where it is known: by pydantic's own error or in words."""
    faults = getattr(error.__cause__, "errors", None)
    if faults is not None:
        return f" '{shown(faults()[0]['input'], 40)}'"
    value = _VALUE.match(message)
    return f" '{shown(value[1], 40)}'" if value else ""
