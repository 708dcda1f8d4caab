"""Parse ``--speculate``: tokens per step, acceptance x draft tokens, or accepted/drafted."""

import re
from typing import TYPE_CHECKING

from fastcalc.catalogue.limits import LIMITS
from fastcalc.catalogue.numerals import NUMERAL
from fastcalc.core.traffic.traffic import Speculation
from fastcalc.errors import InputError
from fastcalc.kit.request import readers
from fastcalc.mentions import option
from fastcalc.written import shown

if TYPE_CHECKING:
    from fastcalc.kit.request.given_types import DraftsGiven, NumberGiven

_FORM = re.compile(rf"({NUMERAL})(?:\s*([x/])\s*({NUMERAL}))?")
_HINT = (
    "write tokens per step (2.5), acceptance rate x draft tokens (0.8x3), or "
    "accepted/drafted (2.5/3)"
)


def speculation(given: "NumberGiven | None") -> Speculation:
    """Parse a speculative-decoding setting in one of these forms. None means no speculation.

    >>> speculation("2.5/3")
    Speculation(tokens_per_pass=2.5, drafted=3.0)
    """
    if given is None:
        return Speculation()
    if not isinstance(given, str):
        return Speculation.keeping(_kept(given))
    match = _FORM.fullmatch(given.strip())
    if match is None:
        raise InputError(f"{option('speculate')} '{shown(given)}' is not understood: {_HINT}")
    first, form = float(match[1]), match[2]
    if form is None:
        return Speculation.keeping(_kept(first))
    drafted = float(match[3])
    if drafted not in LIMITS["drafts"]:
        limit = LIMITS["drafts"]
        raise InputError(
            f"{option('speculate')}: {shown(match[3])} draft tokens is not a whole number {limit}"
        )
    if form == "x":
        if first not in LIMITS["share"]:
            hint = f"; for tokens per step write {match[1]}/{match[3]}" if first > 1.0 else ""
            raise InputError(
                f"{option('speculate')}: acceptance {first:g} is not above 0 and at most 1{hint}"
            )
        return Speculation.accepting(first, drafted)
    if _kept(first) > drafted + 1.0:
        raise InputError(
            f"{option('speculate')} {shown(given)}: a step yields at most the draft tokens plus "
            f"one, {drafted + 1:g} here"
        )
    return Speculation(first, drafted)


def speculations(
    given: "DraftsGiven | None", draft_model: str | None = None
) -> tuple[Speculation, ...]:
    """Parse a list of distinct items: ``none``, or a form that `speculation` accepts.

    Raises InputError if there is a draft model but no item drafts.
    """
    forms = ["none"] if given is None else readers.names(given, option("speculate"))
    if draft_model and {*forms} == {"none"}:
        raise InputError(
            f"{option('draft_model')} {shown(draft_model)} drafts nothing: give the draft "
            f"tokens, for example {option('speculate', '0.8x3')}"
        )
    return tuple(dict.fromkeys(speculation(None if form == "none" else form) for form in forms))


def _kept(value: float) -> float:
    limit = LIMITS["tokens per step"]
    if value not in limit:
        hint = f"; for acceptance {value:g} write for example {value:g}x3" if 0 < value < 1 else ""
        raise InputError(
            f"{option('speculate')}: {value:g} is not a number of tokens per step {limit}{hint}"
        )
    return value
