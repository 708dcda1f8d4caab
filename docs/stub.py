"""Write ``fastcalc/__init__.pyi``, from which editors complete the functions of the library.

Run ``python docs/stub.py`` after a change of flags; a test says when it is due.
"""

import re
from inspect import Parameter, signature
from pathlib import Path
from typing import ForwardRef

from fastcalc.features import request_of
from fastcalc.kit.request.fields import declared
from fastcalc.library.functions import FUNCTIONS

FILE = Path(__file__).resolve().parent.parent / "fastcalc" / "__init__.pyi"
HEAD = '''"""How fast, at what price and on how many chips a language model runs."""

from collections.abc import Iterable
from pathlib import Path

from matplotlib.figure import Figure

from fastcalc.catalogue.schema import Engine as Engine
from fastcalc.catalogue.schema import Hardware as Hardware
from fastcalc.catalogue.schema import Model as Model
from fastcalc.errors import InputError as InputError
from fastcalc.kit.request.given_types import (
{aliases}
)
from fastcalc.library.answer_table import Table as Table
from fastcalc.library.deployment import PlacedModel as PlacedModel
from fastcalc.library.deployment import deployment as deployment
from fastcalc.library.entries import engine as engine
from fastcalc.library.entries import hardware as hardware
from fastcalc.library.entries import model as model

__version__: str
_FUNCTIONS: tuple[str, ...]
'''
EACH = {"ModelsGiven": "ModelGiven"}
"""What each of several names is."""
TYPES = {"int": "int | str", "float": "float | str", "bool": "bool", "Path": "str | Path"}
TYPES |= {
    "list[Path]": "str | Path | Iterable[str | Path]",
    "PricesGiven": "str | PricesGiven",
    "ChangesGiven": "str | ChangesGiven",
}
"""What Python gives a field that holds another type once it is read."""


def stub() -> str:
    """The text of the file."""
    functions = "".join(_function(name) for name in FUNCTIONS)
    aliases = sorted({*re.findall(r"\b[A-Z][a-z]+Given\b", functions)})
    head = HEAD.replace("{aliases}", "\n".join(f"    {alias}," for alias in aliases))
    return f"{head}\n{functions}"


def _function(name: str) -> str:
    flags = declared(request_of(name))
    lines = []
    for parameter in signature(FUNCTIONS[name]).parameters.values():
        is_named = parameter.kind is Parameter.KEYWORD_ONLY
        if is_named and "    *,\n" not in lines and not _is_open(lines):
            lines.append("    *,\n")
        taken = _taken(flags[parameter.name].annotation.__origin__)
        if parameter.kind is Parameter.VAR_POSITIONAL:
            item = EACH.get(taken.removesuffix(" | None"), "str")
            lines.append(f"    *{parameter.name}: {item},\n")
            continue
        default = "" if parameter.default is Parameter.empty else f" = {_quoted(parameter.default)}"
        lines.append(f"    {parameter.name}: {taken}{default},\n")
    returned = signature(FUNCTIONS[name]).return_annotation
    type_name = returned if isinstance(returned, str) else returned.__name__
    return f"def {name}(\n{''.join(lines)}) -> {type_name}: ...\n"


def _taken(annotation: object) -> str:
    """What a function takes for a field of an annotation."""
    if isinstance(annotation, ForwardRef):
        text = annotation.__forward_arg__
    else:
        is_class = isinstance(annotation, type)
        text = getattr(annotation, "__name__", "") if is_class else str(annotation)
    text = text.replace("pathlib._local.", "").replace("pathlib.", "")
    type_name, _, optional = text.partition(" | ")
    return TYPES.get(type_name, type_name) + (" | None" if optional else "")


def _quoted(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)


def _is_open(lines: list[str]) -> bool:
    return any(line.startswith("    *") for line in lines)


if __name__ == "__main__":
    FILE.write_text(stub(), encoding="utf-8")
