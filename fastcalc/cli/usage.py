"""What typer says of a wrong request, in the words of the program."""

import re

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
"""What other programs call an option, and what it is called here."""
_OF_ONE_CARD = ("--n-gpu-layers", "--n-cpu-moe")
"""Options of llama.cpp's that commands which choose chips do not take."""


def sentence(error: Exception) -> str:
    """Return what is wrong with a request, by an error of typer or click, and what to write."""
    message = " ".join(str(getattr(error, "format_message", error.__str__)()).split()).rstrip(".")
    unknown = _UNKNOWN.match(message)
    if unknown and unknown[1] in _INSTEAD:
        return f"no option is called {unknown[1]}; write {_INSTEAD[unknown[1]]}"
    if unknown and unknown[1] in _OF_ONE_CARD:
        return (
            f"this command shares no layers between card and host, as {unknown[1]} does; "
            "'fastcalc compare' and 'fastcalc fit' do"
        )
    return f"{message} See --help." if message.endswith("?") else f"{message}; see --help"
