"""What a check asks for and what counts: rules, sources, warnings, and faults known already."""

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
    """What a check asks for and what counts.

    require_sources, fail_on_warnings : ask every number for a source; let warnings count
    select, ignore : rules, or what their ids begin with, that count alone or not at all
    baseline : faults known already, and how many of each, by `signature` [1]; never of a file that
        does not load
    """

    require_sources: bool = False
    fail_on_warnings: bool = False
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    baseline: Counter[tuple[str, str, str]] = field(default_factory=Counter)

    @property
    def is_strict(self) -> bool:
        """Whether all is asked for that may be."""
        return self.require_sources and self.fail_on_warnings

    def is_reported(self, fault: Fault) -> bool:
        """Whether the rule of a fault counts: a file that does not load always does."""
        if _is_fatal(fault.rule):
            return True
        return fault.rule.startswith(self.select or ("",)) and not (
            self.ignore and fault.rule.startswith(self.ignore)
        )

    def split(self, faults: Iterable[Fault]) -> tuple[list[Fault], list[Fault]]:
        """Faults that are new, and those that the baseline knows."""
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
    """Return what a fault is known again by, wherever its line moved and whoever names its file."""
    return rule, os.path.realpath(file), message


def _is_fatal(rule: str) -> bool:
    return not RULES[rule].excusable and RULES[rule].severity == "error"


def rules_named(names: Sequence[str], flag: str) -> tuple[str, ...]:
    """Ids of rules, or their beginnings, in capitals.

    Raises InputError where no rule begins so, or where it is one of reading a file to leave out.
    """
    prefixes = tuple(name.strip().upper() for name in names)
    for prefix in prefixes:
        if not prefix or not any(rule.startswith(prefix) for rule in RULES):
            near = get_close_matches(prefix, RULES)
            hint = instead_of(near, "write one such as HW041 or PV")
            raise InputError(f"{flag} {shown(prefix)}: no rule's id begins so; {hint}")
        if flag == option("ignore") and all(
            _is_fatal(rule) for rule in RULES if rule.startswith(prefix)
        ):
            raise InputError(
                f"{flag} {shown(prefix)}: a file with such a fault does not load, or means "
                "something else than it says; correct it"
            )
    return prefixes


def baseline_of(path: Path, folder: Path) -> Counter[tuple[str, str, str]]:
    """Faults of a file that ``fastcalc check --format json`` wrote.

    folder : where that command ran, which paths in the file are relative to
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
        raise InputError(f"{path}: is no list of faults; {_renewed(path)}") from error


def _renewed(path: Path) -> str:
    written = option("out", shell_word(path.name))
    return f"write one with 'fastcalc check {option('format', 'json')} {written}'"
