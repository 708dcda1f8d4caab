"""The policy of a check: selected rules, required sources, counted warnings, and the baseline."""

import json
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path

from fastcalc.catalogue.faults import Fault
from fastcalc.catalogue.inputs import read_bytes
from fastcalc.errors import InputError
from fastcalc.features.check.rule import RULES
from fastcalc.mentions import option
from fastcalc.quoting import shell_word
from fastcalc.written import instead_of, shown


@dataclass(frozen=True)
class Policy:
    """Configuration of which problems a check reports and counts.

    require_sources, fail_on_warnings : Require a source for every number; treat warnings as
        errors.
    select, ignore : Ids or id prefixes of the only rules to apply, and of rules not to apply.
    baseline : The number of known problems by `signature` [1]; it never contains problems that
        prevent loading.
    """

    require_sources: bool = False
    fail_on_warnings: bool = False
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    baseline: Counter[tuple[str, str, str]] = field(default_factory=Counter)

    @property
    def is_strict(self) -> bool:
        """Whether all checks are enabled."""
        return self.require_sources and self.fail_on_warnings

    def is_reported(self, fault: Fault) -> bool:
        """Check whether to report a problem. It always is reported if it prevents loading."""
        if _is_fatal(fault.rule):
            return True
        return fault.rule.startswith(self.select or ("",)) and not (
            self.ignore and fault.rule.startswith(self.ignore)
        )

    def split(self, faults: Iterable[Fault]) -> tuple[list[Fault], list[Fault]]:
        """Split problems into new ones and those in the baseline."""
        baseline = self.baseline.copy()
        by_baseline: tuple[list[Fault], list[Fault]] = [], []
        for fault in faults:
            known = signature(fault.rule, Path.cwd() / fault.file, fault.message)
            is_known = baseline[known] > 0 and not RULES[fault.rule].prevents_loading
            baseline[known] -= is_known
            by_baseline[is_known].append(fault)
        return by_baseline


_MOST_BYTES = 20_000_000


def signature(rule: str, file: Path, message: str) -> tuple[str, str, str]:
    """Identify a problem regardless of its line number and of how its path was typed."""
    return rule, os.path.realpath(file), message


def _is_fatal(rule: str) -> bool:
    return not RULES[rule].excusable and RULES[rule].severity == "error"


def rules_named(names: Sequence[str], flag: str) -> tuple[str, ...]:
    """Convert names of rules to ids or id prefixes in capitals.

    Raises InputError if no rule has the prefix, or if it would ignore a rule on reading files.
    """
    prefixes = tuple(name.strip().upper() for name in names)
    for prefix in prefixes:
        if not prefix or not any(rule.startswith(prefix) for rule in RULES):
            near = get_close_matches(prefix, RULES)
            hint = instead_of(near, "write one such as HW041 or PV")
            raise InputError(f"{flag} {shown(prefix)}: no rule id begins with it; {hint}")
        if flag == option("ignore") and all(
            _is_fatal(rule) for rule in RULES if rule.startswith(prefix)
        ):
            raise InputError(
                f"{flag} {shown(prefix)}: a file with such a fault does not load, or is read "
                "differently than written; correct it"
            )
    return prefixes


def baseline_of(path: Path, folder: Path) -> Counter[tuple[str, str, str]]:
    """Read the problems in a file written by ``fastcalc check --format json``.

    folder : The folder in which that command ran, to which paths in the file are relative.
    """
    try:
        written = read_bytes(path, _MOST_BYTES + 1)
        if len(written) > _MOST_BYTES:
            raise InputError(f"{path}: larger than {_MOST_BYTES // 1_000_000} MB; {_renewed(path)}")
        faults = json.loads(written)["faults"]
        return Counter(
            signature(str(fault["rule"]), folder / str(fault["file"]), str(fault["message"]))
            for fault in faults
        )
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {(error.strerror or '').lower()}") from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise InputError(f"{path}: is not a list of faults; {_renewed(path)}") from error


def _renewed(path: Path) -> str:
    written = option("out", shell_word(path.name))
    return f"write one with 'fastcalc check {option('format', 'json')} {written}'"
