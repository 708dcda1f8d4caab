"""The request of `check`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from fastcalc.kit.request import groups
from fastcalc.kit.request.fields import argument, flag

if TYPE_CHECKING:
    from fastcalc.kit.request.given_types import WordsGiven


class CheckFiles(groups.EarlierRun, groups.Output, groups.Plugins):
    """Check hardware, model and engine files for errors.

    Exits with 0 if there are none, 1 if there are any, 2 if the request is invalid.
    """

    examples = ("fastcalc check my-chip.yaml", "fastcalc check --explain HW041")

    paths: Annotated[
        list[Path] | None,
        argument("PATH", "YAML files and folders; default: the catalogue.", is_repeated=True),
    ] = None
    strict: Annotated[
        bool, flag(None, "Treat warnings as errors; require a source for every number.")
    ] = False
    skip_others: Annotated[
        bool, flag(None, "Skip YAML files of other programs, as in folders.")
    ] = False
    require_sources: Annotated[bool, flag(None, "Require a source for every number.")] = False
    fail_on_warnings: Annotated[bool, flag(None, "Treat warnings as errors.")] = False
    select: Annotated[
        "WordsGiven | None",
        flag("RULES", "Apply only these rules, by id or prefix, e.g. HW041,PV."),
    ] = None
    ignore: Annotated["WordsGiven | None", flag("RULES", "Do not apply these rules.")] = None
    fix: Annotated[bool, flag(None, "Print corrections as a diff.")] = False
    yes: Annotated[bool, flag(None, "Write the corrections into the files.")] = False
    explain: Annotated[str | None, flag("RULE|all", "Explain a rule, or all rules.")] = None
    format: Annotated[str | None, groups.format_named("text|json|github|sarif|junit")] = None
