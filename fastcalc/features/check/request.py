"""The request of `check`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from fastcalc.kit.request import groups
from fastcalc.kit.request.fields import argument, flag

if TYPE_CHECKING:
    from fastcalc.kit.request.given_types import WordsGiven


class CheckFiles(groups.EarlierRun, groups.Output, groups.Plugins):
    """Find what is wrong or doubtful in hardware, model and engine files.

    Exits with 0 if they are clean, 1 if they have faults, 2 if the request is wrong.
    """

    examples = ("fastcalc check my-chip.yaml", "fastcalc check --explain HW041")

    paths: Annotated[
        list[Path] | None,
        argument("PATH", "YAML files and folders; the catalogue if none.", is_repeated=True),
    ] = None
    strict: Annotated[bool, flag(None, "Let warnings count; ask every number for a source.")] = (
        False
    )
    skip_others: Annotated[bool, flag(None, "Leave out YAML of other programs, as in folders.")] = (
        False
    )
    require_sources: Annotated[bool, flag(None, "Ask every number for a source.")] = False
    fail_on_warnings: Annotated[bool, flag(None, "Let warnings count.")] = False
    select: Annotated[
        "WordsGiven | None", flag("RULES", "Rules that count, or their beginnings: HW041,PV.")
    ] = None
    ignore: Annotated["WordsGiven | None", flag("RULES", "Rules that do not count.")] = None
    fix: Annotated[bool, flag(None, "Print what would be corrected, as a diff.")] = False
    yes: Annotated[bool, flag(None, "Correct the files.")] = False
    explain: Annotated[str | None, flag("RULE|all", "Say what a rule means.")] = None
    format: Annotated[str | None, groups.format_named("text|json|github|sarif|junit")] = None
