"""Problems in a file, each with a rule, a location and a message."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from fastcalc.errors import InputError

Severity = Literal["error", "warning", "note"]
MOST = 100  # listed per file; a file with more needs more fundamental work


@dataclass(frozen=True)
class Fault:
    """An error or doubtful value in a file, with its rule, position and message.

    Lines and columns count from 1; both are 0 for the file as a whole. ``excuse`` is the reason
    that the file gives for why the value is correct. ``replacement`` contains the present text and
    the corrected text, if known.
    """

    rule: str
    file: str
    line: int
    column: int
    message: str
    severity: Severity = "error"
    excuse: str | None = None
    replacement: tuple[str, str] | None = None

    @property
    def place(self) -> str:
        """The location as ``file:line:column``, or the file alone."""
        return f"{self.file}:{self.line}:{self.column}" if self.line else self.file

    def __str__(self) -> str:
        return f"{self.place}: {self.message}"


def refuse(faults: Sequence[Fault]) -> InputError:
    """Build an error from the first problem and the number of further problems."""
    remaining = f" (and {len(faults) - 1} more in this file)" if len(faults) > 1 else ""
    return InputError(f"{faults[0]}{remaining}")


def in_order(faults: Iterable[Fault]) -> list[Fault]:
    """Sort problems by file, line and column."""
    return sorted(faults, key=lambda fault: (fault.file, fault.line, fault.column, fault.rule))
