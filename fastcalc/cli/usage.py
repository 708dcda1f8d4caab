"""What typer says of a wrong request, in the words of the program."""

import re

from fastcalc.written import shown

_FLAG = re.compile(r"Invalid value for '(--[a-z-]+)'(?: \(env var: 'None'\))?: ")  # click 8.2
_VALUE = re.compile(r"'(.*)' is not a valid")
_UNKNOWN = re.compile(r"No such option:? '?(--[a-z-]+)")
_INSTEAD = {
    "--json": "--format json",
    "--csv": "--format csv",
    "--output-file": "-o FILE",
    "--hardware": "--on CHIPS",
    "--gpu": "--on CHIPS",
}
"""What other programs call an option, and what it is called here."""
_KINDS = {
    "valid int": "a whole number; write for example 8",
    "number": "a number; write for example 0.5",
    "float": "a number; write for example 0.5",
}


def sentence(error: Exception) -> str:
    """Return what is wrong with a request, by an error of typer or click, and what to write."""
    message = " ".join(str(getattr(error, "format_message", error.__str__)()).split()).rstrip(".")
    flag = _FLAG.match(message)
    kind = next((phrase for word, phrase in _KINDS.items() if word in message), None)
    unknown = _UNKNOWN.match(message)
    if unknown and unknown[1] in _INSTEAD:
        return f"no option is called {unknown[1]}; write {_INSTEAD[unknown[1]]}"
    if flag is None or kind is None:
        return f"{message}; --help shows what there is"
    # What was typed is known by pydantic's own error or in words.
    faults, value = getattr(error.__cause__, "errors", None), _VALUE.match(message[flag.end() :])
    rejected = faults()[0]["input"] if faults is not None else value[1] if value else None
    typed = "" if rejected is None else f" '{shown(rejected, 40)}'"
    return f"{flag[1]}{typed} is not {kind}"
