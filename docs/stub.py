"""Write ``fastcalc/__init__.pyi``, from which editors complete the functions of the library.

Run ``python docs/stub.py`` after a change of flags; a test says when it is due.
"""

from inspect import Parameter, signature
from pathlib import Path

from fastcalc.commands import request_of
from fastcalc.library.functions import FUNCTIONS
from fastcalc.requests.fields import declared

FILE = Path(__file__).resolve().parent.parent / "fastcalc" / "__init__.pyi"
HEAD = '''"""How fast, at what price and on how many chips a language model runs."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from fastcalc.errors import InputError as InputError
from fastcalc.library.answer_table import Table as Table
from fastcalc.library.deployment import PlacedModel as PlacedModel
from fastcalc.library.deployment import deployment as deployment

_Word = str | float | Path
_Words = _Word | Iterable[_Word] | Mapping[str, object]

__version__: str
_FUNCTIONS: tuple[str, ...]
'''
TYPES = {"int": "int | str", "float": "float | str", "bool": "bool", "Path": "str | Path"}
"""By what a flag takes; others take words, numbers and lists of them."""


def stub() -> str:
    """Return the text of the file."""
    return HEAD + "\n" + "".join(_function(name) for name in FUNCTIONS)


def _function(name: str) -> str:
    flags = declared(request_of(name))
    lines = []
    for one in signature(FUNCTIONS[name]).parameters.values():
        if one.kind is Parameter.KEYWORD_ONLY and "    *,\n" not in lines and not _is_open(lines):
            lines.append("    *,\n")
        kind = flags[one.name][0].__origin__
        text = getattr(kind, "__name__", "") if kind in (int, float, bool) else str(kind)
        found = next(
            (TYPES[each] for each in TYPES if text.startswith(each) or f".{each}" in text), "_Words"
        )
        optional = " | None" if "None" in text else ""
        if one.kind is Parameter.VAR_POSITIONAL:
            lines.append(f"    *{one.name}: _Word,\n")
            continue
        default = "" if one.default is Parameter.empty else f" = {_quoted(one.default)}"
        lines.append(f"    {one.name}: {found}{optional}{default},\n")
    return f"def {name}(\n{''.join(lines)}) -> Table: ...\n"


def _quoted(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)


def _is_open(lines: list[str]) -> bool:
    return any(line.startswith("    *") for line in lines)


if __name__ == "__main__":
    FILE.write_text(stub(), encoding="utf-8")
