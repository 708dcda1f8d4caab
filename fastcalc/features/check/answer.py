"""Output formats for problems: text, JSON, GitHub annotations, SARIF and JUnit XML."""

import textwrap
from collections.abc import Sequence
from pathlib import Path

from fastcalc import __version__
from fastcalc.catalogue.faults import Fault
from fastcalc.features.check.lint import Report
from fastcalc.features.check.rule import RULES, Rule
from fastcalc.kit.answer.console import word_list
from fastcalc.kit.answer.envelope import envelope
from fastcalc.mentions import flag
from fastcalc.written import Clean, first_few, json_text, line, listed, many, visible

SCHEMA = "fastcalc-check/1"
_STYLES = {"error": "1", "warning": "0", "note": "2", "excused": "2"}
"""Bold, plain and dim text by severity, because no colour is readable on every background."""
_COMMANDS = {"error": "error", "warning": "warning", "note": "notice"}
_NAMED = 5
"""Maximum number of skipped files named in the summary."""


def as_text(report: Report, *, colour: bool) -> str:
    """Format one line per problem, and a summary line."""
    lines = [_line(fault, fault.severity, colour=colour) for fault in report.faults]
    if report.strict:
        lines += [_line(fault, "excused", colour=colour) for fault in report.excused]
    return Clean("\n".join([*lines, summary(report)]) + "\n")


def _line(fault: Fault, word: str, *, colour: bool) -> str:
    shown = f"\x1b[{_STYLES[word]}m{word}\x1b[0m" if colour else word
    excuse = f" (excused: {fault.excuse})" if fault.excuse else ""
    location, message = line(fault.place), line(fault.message + excuse)
    return f"{location}: {shown} {fault.rule}: {message}"


def summary(report: Report) -> str:
    """Summarize how many files were checked and how many problems were found."""
    counts = [
        many(count, word) for word in ("error", "warning", "note") if (count := report.count(word))
    ]
    if report.strict and report.excused:
        counts.append(f"{len(report.excused):,} excused")
    if report.baselined:
        counts.append(f"{len(report.baselined):,} known before")
    first = next((fault for fault in report.faults if fault.severity != "note"), None)
    hint = f"; 'fastcalc check {flag('explain')} {first.rule}' explains the first" if first else ""
    counts_text = ", ".join(counts) or "clean"
    skipped = ""
    if files := [line(file) for file in report.skipped]:
        names = listed(first_few(files, _NAMED, f"more, all named by {flag('format')} json"))
        noun = "not a fastcalc file" if len(files) == 1 else "not fastcalc files"
        skipped = f", skipped {len(files):,} ({noun}: {names})"
    return f"{many(report.files, 'file')} checked{skipped}: {counts_text}{hint}"


def as_json(report: Report) -> str:
    """Format a JSON document with one record per problem."""
    document: dict[str, object] = {
        **envelope(SCHEMA),
        "files": report.files,
        "clean": report.is_clean,
        "strict": report.strict,
        "errors": report.count("error"),
        "warnings": report.count("warning"),
        "faults": [_record(fault) for fault in report.faults],
        "excused": [_record(fault) for fault in report.excused],
        "skipped": list(report.skipped),
    }
    return json_text(document)


def _record(fault: Fault) -> dict[str, object]:
    keys = ("rule", "severity", "file", "line", "column", "message", "excuse")
    return {key: None if (value := getattr(fault, key)) == 0 else value for key in keys}


def as_github(report: Report) -> str:
    """Format workflow commands, which GitHub shows as annotations in a pull request."""
    lines = []
    for fault in report.faults:
        location = f"file={_property(fault.file)},line={fault.line or 1},col={fault.column or 1}"
        name = _property(f"{fault.rule} {RULES[fault.rule].title}")
        command = f"{_COMMANDS[fault.severity]} {location},title={name}"
        lines.append(f"::{command}::{_data(fault.message)}")
    return "\n".join([*lines, summary(report)]) + "\n"


def as_sarif(report: Report) -> str:
    """Format a SARIF 2.1.0 document for code scanning (OASIS standard, sections 3.13 to 3.30)."""
    reported = [*report.faults, *(report.excused if report.strict else ())]
    rules = [
        {
            "id": rule.id,
            "shortDescription": {"text": rule.title},
            "fullDescription": {"text": rule.explanation["why"]},
            "help": {"text": "{why} Example: {seen} Fix: {fix}".format(**rule.explanation)},
            "defaultConfiguration": {"level": rule.severity},
        }
        for rule in map(RULES.__getitem__, sorted({fault.rule for fault in reported}))
    ]
    results = []
    for fault in reported:
        location = {
            "artifactLocation": {"uri": Path(fault.file).as_posix()},
            "region": {"startLine": fault.line or 1, "startColumn": fault.column or 1},
        }
        result: dict[str, object] = {
            "ruleId": fault.rule,
            "level": fault.severity,
            "message": {"text": visible(fault.message)},
            "locations": [{"physicalLocation": location}],
        }
        if fault.excuse:
            reason = visible(fault.excuse)
            result["suppressions"] = [{"kind": "inSource", "justification": reason}]
        results.append(result)
    document = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": {"name": "fastcalc", "version": __version__, "rules": rules}},
                "results": results,
            }
        ],
    }
    return json_text(document)


def as_junit(report: Report) -> str:
    """Format JUnit XML with a test case for each counted problem, or a single passing test case."""
    from xml.etree.ElementTree import Element, SubElement, indent, tostring

    failing = {"error", "warning"} if report.policy.fail_on_warnings else {"error"}
    counted = [fault for fault in report.faults if fault.severity in failing]
    counts = {"tests": f"{max(len(counted), 1)}", "failures": f"{len(counted)}"}
    suite = Element("testsuite", {"name": "fastcalc check", **counts})
    for fault in counted:
        case = SubElement(
            suite, "testcase", {"classname": fault.rule, "name": visible(fault.place)}
        )
        message = visible(fault.message)
        failure = SubElement(case, "failure", {"type": fault.rule, "message": message})
        failure.text = visible(str(fault))
    if not counted:
        SubElement(suite, "testcase", {"classname": "fastcalc", "name": summary(report)})
    indent(suite)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(suite, "unicode") + "\n"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def rules_json(rules: Sequence[Rule]) -> str:
    """Format a JSON document with one record per rule."""
    records = [
        {
            **{key: getattr(rule, key) for key in ("id", "severity", "title")},
            **rule.explanation,
            **{key: getattr(rule, key) for key in ("scope", "excusable")},
            "kinds": sorted(rule.kinds),
        }
        for rule in rules
    ]
    return json_text({**envelope(SCHEMA), "records": records})


def explain(rule: Rule, width: int) -> str:
    """Describe a rule: what it checks, why it matters, an example, and how to fix it."""
    reported = {
        "why": rule.explanation["why"],
        "example": rule.explanation["seen"],
        "fix": rule.explanation["fix"],
        "checks": ", ".join(sorted(rule.kinds))
        + (f" ({flag('strict')})" * (rule.scope == "strict")),
        "ignore": f"write 'excused: {{{rule.id}: the reason}}' in the file"
        if rule.excusable
        else "none: a file with such a fault does not load, or is read differently than written",
    }
    head = textwrap.wrap(f"{rule.id} ({rule.severity}): {rule.title}", width)
    return "\n".join([*head, "", *word_list(reported.items(), width, breaks_words=True)]) + "\n"


def describe_rules(rules: Sequence[Rule], width: int) -> str:
    """Format one line per rule. Long titles continue on indented lines."""
    titles = (f"{rule.id}  {rule.severity:8} {rule.title}" for rule in rules)
    lines = (textwrap.fill(title, width, subsequent_indent=" " * 17) for title in titles)
    return "\n".join(lines) + "\n"
