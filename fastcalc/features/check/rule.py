"""A rule of the check: its function, its reason, an example of the problem, and the fix."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Literal

from fastcalc.catalogue.faults import Severity
from fastcalc.catalogue.kinds import Kind
from fastcalc.catalogue.reader import Path_, read
from fastcalc.catalogue.schema.hardware import BRIDGED
from fastcalc.catalogue.schema.models import DENSE
from fastcalc.catalogue.store import Catalogue
from fastcalc.features.check.document import Sheet, WrittenNumber


def day(text: str) -> date | None:
    """Return the first day of a year, month or day given as text, or None for anything else.

    >>> day("2026-05"), day("2026-13")
    (datetime.date(2026, 5, 1), None)
    """
    match = re.fullmatch(r"(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?", text)
    if not match:
        return None
    try:
        return date(int(match[1]), int(match[2] or 1), int(match[3] or 1))
    except ValueError:
        return None


Findings = Iterator[tuple[WrittenNumber | Path_, str]]  # with a message
_KINDS = {"HW": "hardware", "MD": "models", "EN": "engines"}


@dataclass(frozen=True)
class RuleContext:
    """Context that a rule may consult in addition to the file.

    today : The current date.
    strict : Whether every number must have a source.
    folders : The folders by type of entry; a file may refer to entries in these, in its own folder,
        and in the shipped catalogue.
    """

    today: date
    strict: bool = False
    folders: Mapping[Kind, tuple[Path, ...]] = field(default_factory=dict)

    @cached_property
    def shipped_owners(self) -> Callable[[Kind], Callable[[str], str | None]]:
        """A function that returns, for a type of entry, a lookup of shipped ids by name."""
        return cache(Catalogue().owners)

    @cached_property
    def architectures(self) -> frozenset[bytes]:
        """The groups of chips and models for which engine files may have separate values."""
        texts = Catalogue(dict(self.folders)).texts("hardware").values()
        return frozenset(
            word for text in texts for word in re.findall(rb"(?:architecture|kind): (.*)\n", text)
        ) | {BRIDGED.encode(), DENSE.encode()}

    def catalogue(self, file: str, entry_type: Kind) -> Catalogue:
        """Load the catalogue of entries that a file may refer to."""
        neighbours = {entry_type: (Path(file).parent, *self.folders.get(entry_type, ()))}
        return Catalogue({**self.folders, **neighbours})


Finder = Callable[[Sheet, RuleContext], Findings]


@dataclass(frozen=True)
class Rule:
    """A rule with its id (two letters for the family, three digits), title and function.

    A ``note`` is reported but does not count. If ``finds`` is None, the file reader detects it.
    """

    id: str
    severity: Severity
    title: str
    scope: Literal["always", "strict"] = "always"
    finds: Finder | None = None
    at_key: bool = False

    @property
    def explanation(self) -> dict[str, str]:
        """Why the rule matters, an example of the problem ('seen'), and the fix."""
        return _explanations()[self.id]

    @property
    def kinds(self) -> frozenset[str]:
        """The types of files that the rule checks: those of its family, or all."""
        family = _KINDS.get(self.id[:2])
        return frozenset({family} if family else _KINDS.values())

    @property
    def excusable(self) -> bool:
        """Whether a file may excuse it. Problems of structure and units cannot be excused."""
        return self.id[:2] not in ("ST", "UN") and not self.prevents_loading

    @property
    def prevents_loading(self) -> bool:
        """Whether a file with this problem does not load, because the file reader detects it."""
        return self.finds is None


@cache
def _explanations() -> dict[str, dict[str, str]]:
    """Load the explanations of the rules by id, when a user first asks for one."""
    texts: Any = read(Path(__file__).with_name("rules.yaml")).mapping()
    return {**texts}


@cache
def finders(entry_type: Kind, *, is_strict: bool) -> list[tuple[Rule, Finder]]:
    """Return the rules for a type of file, ordered by id, with their functions."""
    scopes = {"always", "strict"} if is_strict else {"always"}
    return [
        (rule, rule.finds)
        for _, rule in sorted(RULES.items())
        if rule.finds and entry_type in rule.kinds and rule.scope in scopes
    ]


RULES: dict[str, Rule] = {}  # filled by the modules of `rules` when they are imported


def rule(
    id: str,  # noqa: A002
    severity: Severity = "warning",
    *,
    strict: bool = False,
    at_key: bool = False,
) -> Callable[[Finder], Finder]:
    """Register a function as a rule, with its docstring as the title.

    A ``strict`` rule applies only with ``--strict``. With ``at_key``, problems are located at keys
    instead of values.
    """

    def register(finds: Finder) -> Finder:
        title = (finds.__doc__ or id).removesuffix(".")  # python -OO drops docstrings
        title = title if title[1].isupper() else title[0].lower() + title[1:]
        scope: Literal["always", "strict"] = "strict" if strict else "always"
        add(Rule(id, severity, title, scope, finds, at_key))
        return finds

    return register


def add(new_rule: Rule) -> None:
    """Register a rule under its id."""
    assert re.fullmatch(r"[A-Z]{2}[0-9]{3}", new_rule.id), f"{new_rule.id} is not the id of a rule"
    assert new_rule.id not in RULES, f"two rules are called {new_rule.id}"
    RULES[new_rule.id] = new_rule
