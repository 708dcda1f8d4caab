"""Byte-exact corrections of faults whose right text is known."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import diff_bytes, unified_diff
from pathlib import Path

from fastcalc.catalogue.faults import Fault

_MARK = b"\xef\xbb\xbf"  # byte order mark; lines and columns of faults do not count it
_BREAK = re.compile("\r\n|[\r\n\x85\u2028\u2029]")  # line breaks of YAML 1.1, as counted in faults


@dataclass(frozen=True)
class CorrectedFile:
    """A file before and after the corrections of some faults; nothing else is changed."""

    path: Path
    before: bytes
    after: bytes
    faults: int


def corrected(faults: Iterable[Fault]) -> list[CorrectedFile]:
    """Files that known replacements would change, ordered by path."""
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
    spans = sorted(set(filter(None, (_span(text, starts, fault) for fault in faults))))
    separate_spans = [  # without overlaps
        span
        for span in spans
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


_Span = tuple[int, int, str]  # start and end of the replaced text, and its replacement


def _span(text: str, starts: Sequence[int], fault: Fault) -> _Span | None:
    """Text span that a fault replaces, or None if it is written differently, e.g. with escapes."""
    assert fault.replacement is not None
    written, right = fault.replacement
    if fault.line > len(starts):
        return None
    start = starts[fault.line - 1] + fault.column - 1
    start += text[start : start + 1] in ("'", '"')
    return (start, start + len(written), right) if text.startswith(written, start) else None


def diff(files: Iterable[CorrectedFile]) -> bytes:
    """Changes of files as a unified diff for ``patch`` and ``git apply``."""
    return b"".join(line for file in files for line in _diff(file))


def _diff(file: CorrectedFile) -> Iterator[bytes]:
    before, after = (re.findall(rb"[^\n]*\n|[^\n]+", text) for text in (file.before, file.after))
    names = _named("a", file.path), _named("b", file.path)
    for line in diff_bytes(unified_diff, before, after, *names):
        yield line if line.endswith(b"\n") else line + b"\n\\ No newline at end of file\n"


def _named(side: str, path: Path) -> bytes:
    """Name of a file for a diff header, quoted as in C if it contains special characters."""
    path = path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
    name = f"{side}/{path.as_posix().lstrip('/')}".encode(errors="surrogateescape")
    if re.search(rb'[\x00-\x1f"\\\x7f]', name):
        escaped = re.sub(rb"[^ !#-\[\]-~]", lambda letter: b"\\%03o" % letter[0][0], name)
        return b'"' + escaped + b'"'
    return name + b"\t" * (b" " in name)
