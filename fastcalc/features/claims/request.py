"""The request of `claims`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from fastcalc.kit.request import groups
from fastcalc.kit.request.fields import argument, flag

if TYPE_CHECKING:
    from fastcalc.kit.request.given_types import NumberGiven, WordsGiven


class JudgeClaims(groups.Output, groups.OwnFolders):
    """Test what articles say about fast inference.

    The verdict on each claim, the number behind it, its formula and its source.
    """

    examples = ("fastcalc claims --only claude,refuted,conditional", "fastcalc claims --explain 30")
    premise = "claims"

    path: Annotated[Path | None, argument("FILE", "A file of claims; the shipped one if none.")] = (
        None
    )
    only: Annotated[
        "WordsGiven | None",
        flag("WORDS", "Claims by verdict, article, topic or any word: refuted, goedecke, claude."),
    ] = None
    explain: Annotated["NumberGiven | None", flag("ID", "One claim in full, such as 30.")] = None
