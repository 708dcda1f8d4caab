"""``fastcalc check``: faults of files, and what the rules mean."""

from fastcalc.commands import output
from fastcalc.errors import InputError
from fastcalc.lint.rule import RULES
from fastcalc.lint.run import check
from fastcalc.mentions import as_flags, flag, option
from fastcalc.report import console, faults
from fastcalc.requests.catalogue import CheckFiles
from fastcalc.written import shown


def run(request: CheckFiles) -> int:
    """Check paths, write what was found, and return the exit code."""
    if request.explain is not None:
        output.write(_explained(request.explain, request.written_as), request.out)
        return 0
    report = check(request.paths or [], strict=request.strict, skip_others=request.skip_others)
    if request.written_as == "json":
        text = faults.as_json(report)
    elif request.written_as == "github":
        text = faults.as_github(report, RULES)
    elif request.written_as == "sarif":
        text = faults.as_sarif(report, RULES)
    else:
        text = faults.as_text(report, colour=request.out is None and console.wants_colour())
    output.write(as_flags(text), request.out)
    return 0 if report.is_clean else 1


def _explained(name: str, format: str) -> str:  # noqa: A002
    if format in ("github", "sarif"):
        raise InputError(
            f"{option('explain')} is of no line of a file: {option('format')} is text or json"
        )
    if name != "all" and name.upper() not in RULES:
        hint = f"'fastcalc check {flag('explain')} all' lists them"
        raise InputError(f"no rule is called '{shown(name)}'; {hint}")
    rules = [RULES[id_] for id_ in (sorted(RULES) if name == "all" else [name.upper()])]
    width = console.output_width()
    if format == "json":
        return faults.rules_json(rules)
    if name == "all":
        return faults.listed(rules, width)
    return faults.explain(rules[0], min(width, 100))
