"""How a picture is to look, wherever one is drawn."""

from typing import TYPE_CHECKING, Annotated

from fastcalc.kit.request import groups
from fastcalc.kit.request.fields import flag
from fastcalc.mentions import option

if TYPE_CHECKING:
    from fastcalc.kit.request.given_types import WordsGiven


class Drawing(groups.OutputFile):
    """Output."""

    style: Annotated[
        str, flag("light|dark|print", "Ground; print is in greys, as wide as a column of a paper.")
    ] = "light"
    dark: Annotated[
        bool, flag(None, f"Light lines on a dark ground: {option('style', 'dark')}.")
    ] = False
    highlight: Annotated[
        "WordsGiven | None",
        flag("NAMES", "Lines in colour, the others grey; of more than 5 the first, unless given."),
    ] = None
    title: Annotated[str | None, flag("TEXT", "Title, in place of what the picture shows.")] = None
    width: Annotated[float | None, flag("INCHES", "Width of the picture; 8 unless given.")] = None
    height: Annotated[float | None, flag("INCHES", "Height; what it holds unless given.")] = None
    dpi: Annotated[float, flag("N", "Dots an inch of a PNG.")] = 150.0
