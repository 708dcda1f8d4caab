"""Elements of a page: headings, tables, notes and lists, as text before layout."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

_PLAIN_WORD = re.compile(r"([a-z]+|on-demand)('s)?,? ")
"""Matches a first word that is not an id."""


@dataclass(frozen=True)
class Title:
    """A name followed by a sentence that may span several lines.

    answer : The first words of the sentence, printed in bold like the name.
    """

    name: str
    sentence: str
    answer: str = ""


class Remark(str):
    """A sentence below a heading, printed as plain text."""

    __slots__ = ()


class HeadlineCase(Remark):
    """The assumptions of a headline, on separate lines: model, requests and limits."""

    __slots__ = ()


@dataclass(frozen=True)
class TextTable:
    """A table of text.

    headings : The column headings, all with the same number of lines.
    left : The indices of left-aligned columns.
    gap : The spaces between columns.
    key_figures : The indices of the columns to print in bold.
    """

    headings: Sequence[tuple[str, ...]]
    rows: Sequence[Sequence[str]]
    left: Sequence[int] = ()
    gap: int = 2
    key_figures: Sequence[int] = ()


def sentence(text: str, ids: Collection[str] = ()) -> str:
    """Capitalize a text unless it begins with an id or a flag, and end it with a full stop.

    A first word with a digit, hyphen (except "on-demand"), dot or colon may be an id.

    ids : Ids that may consist of letters only.

    >>> sentence("prices differ"), sentence("h100-sxm needs 4 chips"), sentence("acme: 4 chips?")
    ('Prices differ.', 'h100-sxm needs 4 chips.', 'acme: 4 chips?')
    >>> sentence("acme, p99: 4 ms", {"acme"}), sentence("on-demand price: $2")
    ('acme, p99: 4 ms.', 'On-demand price: $2.')
    """
    first = _PLAIN_WORD.match(text)
    is_plain = first is not None and first[1] not in ids
    return (text[:1].upper() + text[1:] if is_plain else text) + "." * (text[-1:] not in ".?!")


@dataclass(frozen=True)
class Notes:
    """Lines below a table, and the suggested next command."""

    lines: Sequence[str] = field(default_factory=list)
    next_command: str | None = None


@dataclass(frozen=True)
class Note:
    """A sentence below a table.

    weight : The priority on the first screen, largest first; 0: shown only with all notes.
    is_hint : Whether it only says what the first screen omits.
    is_of_rows : Whether it counts rows that only a wide screen prints.
    written : The text before it was made a sentence.
    """

    text: str
    weight: int = 1
    is_hint: bool = False
    is_of_rows: bool = False
    written: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Turn the text into a sentence."""
        object.__setattr__(self, "written", self.text)
        object.__setattr__(self, "text", sentence(self.text))


@dataclass(frozen=True)
class Listing:
    """Indented lines. Continuation lines are indented further."""

    lines: Sequence[str]


Part = str | Title | TextTable | Notes | Listing
