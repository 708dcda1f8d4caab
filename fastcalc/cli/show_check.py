"""``fastcalc check``: faults of files, and what the rules mean."""

from fastcalc.cli import output
from fastcalc.cli.commands.catalogue import CheckFiles
from fastcalc.errors import InputError
from fastcalc.lint.rule import RULES
from fastcalc.lint.run import check
from fastcalc.report import console, faults
from fastcalc.written import shown


def run(asked: CheckFiles) -> int:
    """Check paths, write what was found, and return the exit code."""
    if asked.explain is not None:
        output.write(_explained(asked.explain, asked.written_as), asked.out)
        return 0
    report = check(asked.paths or [], strict=asked.strict, skip_others=asked.skip_others)
    if asked.written_as == "json":
        text = faults.as_json(report)
    elif asked.written_as == "github":
        text = faults.as_github(report, RULES)
    elif asked.written_as == "sarif":
        text = faults.as_sarif(report, RULES)
    else:
        text = faults.as_text(report, colour=asked.out is None and console.wants_colour())
    output.write(text, asked.out)
    return 0 if report.is_clean else 1


def _explained(name: str, format: str) -> str:  # noqa: A002
    if format in ("github", "sarif"):
        raise InputError("--explain is of no line of a file: --format is text or json")
    if name != "all" and name.upper() not in RULES:
        hint = "'fastcalc check --explain all' lists them"
        raise InputError(f"no rule is called '{shown(name)}'; {hint}")
    rules = [RULES[id_] for id_ in (sorted(RULES) if name == "all" else [name.upper()])]
    width = console.output_width()
    if format == "json":
        return faults.rules_json(rules)
    if name == "all":
        return faults.listed(rules, width)
    return faults.explain(rules[0], min(width, 100))
