"""Parts of a page: headings, tables, notes and lists, as text without a layout."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

_PLAIN_WORD = re.compile(r"([a-z]+)('s)?,? ")
"""First word of a sentence that is not an id."""


@dataclass(frozen=True)
class Title:
    """A name, and a sentence about it that may take several lines.

    answer : the first words of the sentence, printed in bold like the name
    """

    name: str
    sentence: str
    answer: str = ""


class Remark(str):
    """A sentence under a heading, printed as plain text."""

    __slots__ = ()


class HeadlineCase(Remark):
    """The case that a headline applies to, on separate lines: model, requests and limits."""

    __slots__ = ()


@dataclass(frozen=True)
class TextTable:
    """A table of text.

    headings : column headings, each with the same number of lines
    left : left-aligned columns
    gap : spaces between columns
    key_figures : columns of the most important number, in bold
    """

    headings: Sequence[tuple[str, ...]]
    rows: Sequence[Sequence[str]]
    left: Sequence[int] = ()
    gap: int = 2
    key_figures: Sequence[int] = ()


def sentence(text: str, ids: Collection[str] = ()) -> str:
    """Capitalize a text, unless it begins with an id or a flag, and end it with a full stop.

    A first word with a digit, a hyphen, a dot or a colon may be an id.

    ids : ids that may consist of letters only

    >>> sentence("prices differ"), sentence("h100-sxm needs 4 chips"), sentence("acme: 4 chips?")
    ('Prices differ.', 'h100-sxm needs 4 chips.', 'acme: 4 chips?')
    >>> sentence("acme, p99: 4 ms", {"acme"})
    'acme, p99: 4 ms.'
    """
    first = _PLAIN_WORD.match(text)
    is_plain = first is not None and first[1] not in ids
    return (text[:1].upper() + text[1:] if is_plain else text) + "." * (text[-1:] not in ".?!")


@dataclass(frozen=True)
class Notes:
    """Lines under a table, and the suggested next command."""

    lines: Sequence[str] = field(default_factory=list)
    next_command: str | None = None


@dataclass(frozen=True)
class Note:
    """A sentence under a table.

    weight : priority on the first screen, largest first; 0: shown only with all notes
    is_hint : whether it states or summarizes what only the first screen omits
    is_of_rows : whether it counts rows that only a wide screen prints
    written : the text before it became a sentence
    """

    text: str
    weight: int = 1
    is_hint: bool = False
    is_of_rows: bool = False
    written: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Write the text as a sentence."""
        object.__setattr__(self, "written", self.text)
        object.__setattr__(self, "text", sentence(self.text))


@dataclass(frozen=True)
class Listing:
    """Indented lines. Continuation lines are indented further."""

    lines: Sequence[str]


Part = str | Title | TextTable | Notes | Listing
