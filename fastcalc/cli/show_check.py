"""``fastcalc check``: faults of files, and what the rules mean."""

from pathlib import Path

from fastcalc.check.rule import RULES, Rule
from fastcalc.check.run import check
from fastcalc.cli import options, output
from fastcalc.errors import InputError, shown
from fastcalc.report import console, faults


def run(paths: list[Path], *, strict: bool, format: str, file: Path | None) -> int:  # noqa: A002
    """Check paths, write what was found, and return the exit code."""
    format = options.choice(format, "--format", ("text", "json", "github"))  # noqa: A001
    report = check(paths, strict=strict)
    if format == "json":
        text = faults.as_json(report)
    elif format == "github":
        text = faults.as_github(report, RULES)
    else:
        text = faults.as_text(report, colour=file is None and console.wants_colour())
    output.write(text, file)
    return 0 if report.is_clean else 1


def run_explain(name: str, file: Path | None) -> None:
    """Write what a rule means, or a line for each where 'all' is asked."""
    if name == "all":
        rules = [RULES[id_] for id_ in sorted(RULES)]
        output.write(faults.listed(rules, console.output_width()), file)
        return
    output.write(faults.explain(_rule(name), min(console.output_width(), 100)), file)


def _rule(name: str) -> Rule:
    found = RULES.get(name.upper())
    if found is None:
        hint = "'fastcalc check --explain all' lists them"
        raise InputError(f"no rule is called '{shown(name)}'; {hint}")
    return found
