"""Corrections of faults whose messages know the right text."""

from collections import defaultdict
from collections.abc import Iterable
from difflib import unified_diff
from pathlib import Path

from fastcalc.catalogue.faults import Fault


def corrected(faults: Iterable[Fault]) -> dict[Path, tuple[str, str]]:
    """Return the texts of files before and after all replacements that are known."""
    by_file: dict[Path, list[Fault]] = defaultdict(list)
    for fault in faults:
        if fault.replacement is not None and fault.line:
            by_file[Path(fault.file)].append(fault)
    texts = {path: path.read_bytes().decode("utf-8") for path in by_file}
    pairs = {path: (text, _replaced(text, by_file[path])) for path, text in texts.items()}
    return {path: (before, after) for path, (before, after) in pairs.items() if before != after}


def _replaced(text: str, faults: list[Fault]) -> str:
    lines = text.splitlines(keepends=True)
    for fault in sorted(faults, key=lambda fault: (fault.line, fault.column), reverse=True):
        assert fault.replacement is not None
        written, right = fault.replacement
        line = lines[fault.line - 1]
        start = fault.column - 1
        start += line[start : start + 1] in ("'", '"')
        if line.startswith(written, start):  # else it is written in another way, as with an escape
            lines[fault.line - 1] = line[:start] + right + line[start + len(written) :]
    return "".join(lines)


def diff(texts: dict[Path, tuple[str, str]]) -> str:
    """Return the changes of files as a unified diff."""
    return "".join(
        line
        for path, (before, after) in sorted(texts.items())
        for line in unified_diff(
            before.splitlines(keepends=True),
            after.splitlines(keepends=True),
            f"a/{path.as_posix()}",
            f"b/{path.as_posix()}",
        )
    )
