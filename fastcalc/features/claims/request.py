"""The request of `claims`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from fastcalc.kit.request import groups
from fastcalc.kit.request.fields import argument, flag

if TYPE_CHECKING:
    from fastcalc.kit.request.given_types import NumberGiven, WordsGiven


class JudgeClaims(groups.Written):
    """Check what articles claim about fast LLM inference.

    The output shows a verdict on each claim, with its number, formula and source.
    """

    examples = ("fastcalc claims --only claude,refuted,conditional", "fastcalc claims --explain 30")
    premise = "claims"

    path: Annotated[
        Path | None, argument("FILE", "Your own file of claims; default: the shipped one.")
    ] = None
    only: Annotated[
        "WordsGiven | None",
        flag("WORDS", "Filter by verdict, article, topic or word, such as refuted,claude."),
    ] = None
    explain: Annotated[
        "NumberGiven | None", flag("ID", "Explain one claim in full, such as 30.")
    ] = None
