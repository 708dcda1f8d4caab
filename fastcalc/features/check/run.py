"""``fastcalc check``: check files, explain rules, and fix problems."""

import os
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from difflib import diff_bytes, unified_diff
from functools import partial
from pathlib import Path

from fastcalc.catalogue.faults import Fault
from fastcalc.errors import InputError
from fastcalc.features import request_of
from fastcalc.features.check import answer as faults
from fastcalc.features.check.lint import Report, check
from fastcalc.features.check.policy import Policy, baseline_of, rules_named
from fastcalc.features.check.request import CheckFiles
from fastcalc.features.check.rule import RULES
from fastcalc.kit.answer import console, output
from fastcalc.kit.request import readers
from fastcalc.kit.request.loading import folders_of
from fastcalc.kit.request.repository import settings_of
from fastcalc.mentions import as_flags, flag, option
from fastcalc.written import many, shown

_MARK = b"\xef\xbb\xbf"  # byte order mark, which lines and columns of problems do not count
_BREAK = re.compile("\r\n|[\r\n\x85\u2028\u2029]")  # line breaks in YAML 1.1, counted in problems


@dataclass(frozen=True)
class CorrectedFile:
    """A file before and after fixing problems. Nothing else in it changes."""

    path: Path
    before: bytes
    after: bytes
    faults: int


def corrected(faults: Iterable[Fault]) -> list[CorrectedFile]:
    """Apply known replacements to files, and return the changed files by path."""
    by_file: dict[Path, list[Fault]] = defaultdict(list)
    for fault in faults:
        if fault.replacement is not None and fault.line:
            by_file[Path(fault.file)].append(fault)
    files = (_corrected(path, by_file[path]) for path in sorted(by_file))
    return [file for file in files if file.faults]


def _corrected(path: Path, faults: Sequence[Fault]) -> CorrectedFile:
    before = path.read_bytes()
    mark = _MARK if before.startswith(_MARK) else b""
    text = before.removeprefix(mark).decode(errors="surrogateescape")
    starts = [0, *(line_break.end() for line_break in _BREAK.finditer(text))]
    spans = set[tuple[int, int, str]]()  # start and end of the replaced text, and its replacement
    for fault in faults:
        assert fault.replacement is not None
        written, right = fault.replacement
        if fault.line <= len(starts):
            start = starts[fault.line - 1] + fault.column - 1
            start += text[start : start + 1] in ("'", '"')
            if text.startswith(written, start):  # it may be written differently, with escapes
                spans.add((start, start + len(written), right))
    separate_spans = [  # without overlaps
        span
        for span in sorted(spans)
        if all(
            neighbour is span or span[1] <= neighbour[0] or neighbour[1] <= span[0]
            for neighbour in spans
        )
    ]
    pieces, end = [], 0
    for start, stop, right in separate_spans:
        pieces += [text[end:start], right]
        end = stop
    after = "".join([*pieces, text[end:]])
    return CorrectedFile(
        path, before, mark + after.encode(errors="surrogateescape"), len(separate_spans)
    )


def diff(files: Iterable[CorrectedFile]) -> bytes:
    """Format the changes as a unified diff for ``patch`` and ``git apply``."""
    lines: list[bytes] = []
    for file in files:
        before, after = (
            re.findall(rb"[^\n]*\n|[^\n]+", text) for text in (file.before, file.after)
        )
        names = _named("a", file.path), _named("b", file.path)
        lines += diff_bytes(unified_diff, before, after, *names)
    unended = b"\n\\ No newline at end of file\n"
    return b"".join(line if line.endswith(b"\n") else line + unended for line in lines)


def _named(side: str, path: Path) -> bytes:
    """Format a file name for a diff header, quoted as in C if it contains special characters."""
    path = path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
    name = f"{side}/{path.as_posix().lstrip('/')}".encode(errors="surrogateescape")
    if re.search(rb'[\x00-\x1f"\\\x7f]', name):
        escaped = re.sub(rb"[^ !#-\[\]-~]", lambda letter: b"\\%03o" % letter[0][0], name)
        return b'"' + escaped + b'"'
    return name + b"\t" * (b" " in name)


_WRITERS = {
    "json": faults.as_json,
    "github": faults.as_github,
    "sarif": faults.as_sarif,
    "junit": faults.as_junit,
}


def run(request: CheckFiles) -> int:
    """Check paths, print the problems, and return the exit code."""
    if request.explain is not None:
        output.write(_explained(request.explain, request.written_as), request.out)
        return 0
    if request.yes and not request.fix:
        raise InputError(f"{option('yes')} needs {option('fix')}; add it")
    if request.fix and not request.yes and request.written_as != "text":
        raise InputError(
            f"{option('fix')} prints a diff, not {request.written_as}: omit the format, or "
            f"add {option('yes')} to correct the files and report the remaining faults"
        )
    pipes = [path for path in request.paths or () if request.fix and path.is_fifo()]
    if pipes:
        raise InputError(f"{pipes[0]} is a pipe; {option('fix')} corrects files")
    settings = settings_of(Path.cwd(), partial(request_of, "check"))
    folder = Path.cwd() if request.baseline else settings.folder
    unset = {name: value for name, value in settings.values.items() if not request.values[name]}
    request = replace(request, **unset)
    policy = policy_of(request, folder)
    report = _checked(request, policy)
    if request.fix:
        files = corrected(report.faults)
        count = sum(file.faults for file in files)
        if not request.yes:
            output.write_data(diff(files), request.out)
            can_be = f"{many(count, 'fault')} can be corrected; {option('yes')} does it"
            output.warn([can_be if count else "no fault can be corrected"])
            return 0 if report.is_clean else 1
        locked = [file.path for file in files if not os.access(file.path, os.W_OK)]
        if locked:
            printed = f"'fastcalc check {flag('fix')}' prints what to change"
            raise InputError(f"{locked[0]} may not be written; {printed}")
        for file in files:
            output.write_data(file.after, file.path, rewrite=True)
        output.warn([f"{many(len(files), 'file')} corrected"])
        report = _checked(request, policy)
    writer = _WRITERS.get(request.written_as)
    is_coloured = request.out is None and console.wants_colour()
    text = writer(report) if writer else faults.as_text(report, colour=is_coloured)
    output.write(as_flags(text), request.out)
    return 0 if report.is_clean else 1


def _checked(request: CheckFiles, policy: Policy) -> Report:
    return check(
        request.paths or [],
        policy=policy,
        skip_others=request.skip_others,
        folders=folders_of(request),
    )


def policy_of(request: CheckFiles, folder: Path) -> Policy:
    """Read the policy from a request.

    folder : The folder to which paths in the baseline are relative.
    """
    select = readers.names_if_any(request.select, option("select"))
    ignore = readers.names_if_any(request.ignore, option("ignore"))
    policy = Policy(
        require_sources=request.strict or request.require_sources,
        fail_on_warnings=request.strict or request.fail_on_warnings,
        select=rules_named(select or (), option("select")),
        ignore=rules_named(ignore or (), option("ignore")),
    )
    if request.baseline is None:
        return policy
    return replace(policy, baseline=baseline_of(request.baseline, folder))


def _explained(name: str, format: str) -> str:  # noqa: A002
    if format not in ("text", "json"):
        raise InputError(
            f"{option('explain')} describes a rule, not a line: {option('format')} is text or json"
        )
    if name != "all" and name.upper() not in RULES:
        hint = f"'fastcalc check {flag('explain')} all' lists them"
        raise InputError(f"no rule is called '{shown(name)}'; {hint}")
    rules = [RULES[id_] for id_ in (sorted(RULES) if name == "all" else [name.upper()])]
    width = console.output_width()
    if format == "json":
        return faults.rules_json(rules)
    if name == "all":
        return faults.describe_rules(rules, width)
    return faults.explain(rules[0], min(width, 100))
