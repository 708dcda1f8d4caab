"""What a rule is: what it finds, why that matters, where it was seen, how to mend it."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from typing import Literal

from fastcalc.catalogue.faults import Fault, Severity
from fastcalc.lint.document import Sheet

Kinds = frozenset[str]
HARDWARE, MODELS, ENGINES = frozenset({"hardware"}), frozenset({"models"}), frozenset({"engines"})
EVERY: Kinds = HARDWARE | MODELS | ENGINES

Finder = Callable[[Sheet, "Setting"], Iterator[Fault]]


@dataclass(frozen=True)
class Setting:
    """What a check knows beside the file.

    Attributes
    ----------
    today : date
        For what grows old.
    strict : bool
        Ask for the provenance of every number.
    """

    today: date
    strict: bool = False


@dataclass(frozen=True)
class Rule:
    """One rule, as data.

    Attributes
    ----------
    id : str
        Two letters of its family and three digits.
    severity : str
        An ``error`` is wrong in any file, a ``warning`` is doubtful, a ``note`` is only told.
    title : str
        What is wrong, in one line.
    why : str
        What goes wrong where nobody notices.
    seen : str
        An example from real life.
    mend : str
        What to write instead.
    kinds : frozenset of str
        The kinds of file that it looks at.
    scope : str
        ``always``, or ``strict`` where only ``--strict`` asks.
    finds : callable or None
        The function that finds it; None where reading the file does.
    """

    id: str
    severity: Severity
    title: str
    why: str
    seen: str
    mend: str
    kinds: Kinds = EVERY
    scope: Literal["always", "strict"] = "always"
    finds: Finder | None = None

    @property
    def excusable(self) -> bool:
        """Whether a file may say why it is right all the same: structure and units never are."""
        return self.id[:2] not in ("ST", "UN")


RULES: dict[str, Rule] = {}
"""Every rule by id; modules of `fastcalc.lint.rules` fill it when they are imported."""


def rule(
    id: str,  # noqa: A002
    severity: Severity,
    title: str,
    *,
    why: str,
    seen: str,
    mend: str,
    kinds: Kinds = EVERY,
    scope: Literal["always", "strict"] = "always",
) -> Callable[[Finder], Finder]:
    """Register the function below as the finder of a rule."""

    def register(finds: Finder) -> Finder:
        _add(Rule(id, severity, title, why, seen, mend, kinds, scope, finds))
        return finds

    return register


def told_by_reader(
    id: str,  # noqa: A002
    title: str,
    *,
    why: str,
    seen: str,
    mend: str,
    kinds: Kinds = EVERY,
) -> None:
    """Register a rule that reading a file or its schema finds."""
    _add(Rule(id, "error", title, why, seen, mend, kinds))


def _add(one: Rule) -> None:
    if one.id in RULES:
        raise ValueError(f"two rules are called {one.id}")
    if not re.fullmatch(r"[A-Z]{2}[0-9]{3}", one.id):
        raise ValueError(f"{one.id} is not the id of a rule")
    RULES[one.id] = one


def of_kind(kind: str, *, strict: bool) -> Iterable[Rule]:
    """Return the rules that look at a kind of file, in the order of their ids."""
    for id_ in sorted(RULES):
        one = RULES[id_]
        if one.finds and kind in one.kinds and (strict or one.scope == "always"):
            yield one
