"""Fields that set the appearance of charts."""

from typing import TYPE_CHECKING, Annotated

from fastcalc.kit.request import groups
from fastcalc.kit.request.fields import flag
from fastcalc.mentions import option

if TYPE_CHECKING:
    from fastcalc.kit.request.given_types import WordsGiven


class Drawing(groups.OutputFile):
    """Output."""

    style: Annotated[
        str, flag("light|dark|print", "Style; print: greys, at the width of a paper column.")
    ] = "light"
    dark: Annotated[
        bool, flag(None, f"Light lines on a dark background: {option('style', 'dark')}.")
    ] = False
    highlight: Annotated[
        "WordsGiven | None",
        flag("NAMES", "Lines to draw in colour, others in grey; default: the first 5."),
    ] = None
    title: Annotated[str | None, flag("TEXT", "Title instead of the generated one.")] = None
    width: Annotated[float | None, flag("INCHES", "Width in inches; default: 8.")] = None
    height: Annotated[float | None, flag("INCHES", "Height in inches; default: by content.")] = None
    dpi: Annotated[float, flag("N", "Dots per inch of a PNG.")] = 150.0
