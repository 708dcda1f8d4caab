"""Messages for typer's usage errors."""

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
"""Options of other programs, and the corresponding options here."""
_OF_ONE_CARD = ("--n-gpu-layers", "--n-cpu-moe")
"""Options of llama.cpp that are not accepted by commands that choose chips."""


def sentence(error: Exception) -> str:
    """Message for an error of typer or click: what is wrong, and what to write."""
    message = " ".join(str(getattr(error, "format_message", error.__str__)()).split()).rstrip(".")
    unknown = _UNKNOWN.match(message)
    if unknown and unknown[1] in _INSTEAD:
        return f"there is no option {unknown[1]}; write {_INSTEAD[unknown[1]]}"
    if unknown and unknown[1] in _OF_ONE_CARD:
        return (
            f"this command does not split layers between card and host, as {unknown[1]} does; "
            "'fastcalc compare' and 'fastcalc fit' do"
        )
    return f"{message} See --help." if message.endswith("?") else f"{message}; see --help"
