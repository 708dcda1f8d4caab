"""``fastcalc check``: faults of files, and what the rules mean."""

from pathlib import Path

from fastcalc.cli import options, output
from fastcalc.errors import InputError
from fastcalc.lint.rule import RULES, Rule
from fastcalc.lint.run import check
from fastcalc.report import console, faults
from fastcalc.written import shown

FORMATS = ("text", "json", "github")


def run(paths: list[Path], *, strict: bool, format: str, file: Path | None) -> int:  # noqa: A002
    """Check paths, write what was found, and return the exit code."""
    format = options.choice(format, "--format", FORMATS)  # noqa: A001
    report = check(paths, strict=strict)
    if format == "json":
        text = faults.as_json(report)
    elif format == "github":
        text = faults.as_github(report, RULES)
    else:
        text = faults.as_text(report, colour=file is None and console.wants_colour())
    output.write(text, file)
    return 0 if report.is_clean else 1


def run_explain(name: str, format: str, file: Path | None) -> None:  # noqa: A002
    """Write what a rule means, or a line for each where 'all' is asked."""
    format = options.choice(format, "--format", FORMATS)  # noqa: A001
    if format == "github":
        raise InputError("--explain is of no line of a file: --format is text or json")
    rules = [RULES[id_] for id_ in sorted(RULES)] if name == "all" else [_rule(name)]
    width = console.output_width()
    if format == "json":
        text = faults.rules_json(rules)
    elif name == "all":
        text = faults.listed(rules, width)
    else:
        text = faults.explain(rules[0], min(width, 100))
    output.write(text, file)


def _rule(name: str) -> Rule:
    found = RULES.get(name.upper())
    if found is None:
        hint = "'fastcalc check --explain all' lists them"
        raise InputError(f"no rule is called '{shown(name)}'; {hint}")
    return found
