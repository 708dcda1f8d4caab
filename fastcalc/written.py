"""Output text in which no name can affect a terminal, a spreadsheet or a table.

Names come from files and flags. JSON and YAML readers convert the escapes written here back to the
original characters, so one form serves every type of output.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

_UNUSUAL = re.compile(r"[^\n\t -~]")
_BREAKS = re.compile(r"\s*[\n\t]\s*")
_FORMULA = re.compile(r"\s*[=+\-@＝＋－＠]|[\n\t]")  # noqa: RUF001  (sheets read the wide ones, too)
_NUMBERS = re.compile(r"[+-]?[0-9][0-9.,]*([eE][+-]?[0-9]+)?")
_TO_QUOTE = frozenset(',"\r\n')
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+")
_HIDDEN = ("Cc", "Cf", "Cs", "Zl", "Zp")
"""Unicode categories of control, format, surrogate and line-separator characters."""
_NO_LETTER = 0xFFFE
"""Code points that end in FFFE or FFFF are not characters and are invalid in XML and YAML."""

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
"""A value in a YAML or JSON file, parsed but not yet validated."""


class Clean(str):
    """Text whose names are already escaped. Any remaining escape sequences are our own styles."""

    __slots__ = ()


def visible(text: str) -> str:
    r"""Return text with every non-printing character written as an escape.

    Line ends and tabs are kept.

    >>> visible("a\x1b[2Jb\u202ec é")
    'a\\u001b[2Jb\\u202ec é'
    """
    return text if isinstance(text, Clean) else _UNUSUAL.sub(_escaped, text)


def _escaped(match: re.Match[str]) -> str:
    import json  # imported late, since few names need escapes
    from unicodedata import category

    letter = match[0]
    is_hidden = category(letter) in _HIDDEN or ord(letter) & 0xFFFE == _NO_LETTER
    return json.dumps(letter)[1:-1] if is_hidden else letter


def line(text: str) -> str:
    r"""Return text as one visible line, with a space for each line end or tab.

    >>> line("a\n  b\r")
    'a b\\r'
    """
    return visible(_BREAKS.sub(" ", text.strip("\n\t")))


def shown(value: object, limit: int = 60) -> str:
    r"""Return a value as quotable text in which every character is visible, including line ends.

    >>> shown("a\nb"), shown("a" * 50, 8)
    ('a\\nb', 'aaaaa...')
    """
    fit = visible(str(value)[: limit + 1]).replace("\n", "\\n").replace("\t", "\\t")
    return fit if len(fit) <= limit else fit[: limit - 3] + "..."


A_NAME = "a name is on one line, without tabs and other controls"
"""The message about an invalid name."""


def control_in(text: str) -> str | None:
    r"""Return the first character that names must not contain: a line end, tab or other control.

    >>> control_in("a\tb"), control_in("a b")
    ('U+0009', None)
    """
    match = _CONTROLS.search(text)
    return f"U+{ord(match[0][0]):04X}" if match else None


def without_controls(text: str) -> str:
    r"""Replace each run of line ends, tabs and other controls by a space, as for names.

    >>> without_controls("a\r\nb")
    'a b'
    """
    return _CONTROLS.sub(" ", text).strip()


def many(count: float, noun: str) -> str:
    """Return a count in digits followed by a noun, singular if the count is 1.

    >>> many(1, "chip"), many(2000, "chip")
    ('1 chip', '2,000 chips')
    """
    return f"{count:,.0f} {noun}{'s' * (count != 1)}"


_ONE_OF_MANY = re.compile(r"(?<![\d.,])1 (?!times\b)([a-z]{2,})s\b")


def with_singulars(text: str) -> str:
    """Write nouns after a count of 1 in the singular.

    >>> with_singulars("at most 1 tokens per step, 21 chips, 1 times, 1 s")
    'at most 1 token per step, 21 chips, 1 times, 1 s'
    """
    return _ONE_OF_MANY.sub(r"1 \1", text)


class ReadingNote(str):
    """A note on how a file was read, shown on the first screen of every command."""

    __slots__ = ()


def listed(names: Sequence[str], last: str = "and") -> str:
    """Return names as a list in a sentence.

    >>> listed(["a"]), listed(["a", "b", "c"]), listed(["a", "b"], "or")
    ('a', 'a, b and c', 'a or b')
    """
    return f" {last} ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def first_few(texts: Sequence[str], maximum: int, rest: str = "more") -> list[str]:
    """Return the first few texts, followed by the number of the others.

    >>> first_few(["a", "b", "c"], 2), first_few(["a", "b", "c"], 1, "other chips")
    (['a', 'b', '1 more'], ['a', '2 other chips'])
    """
    hidden = len(texts) - maximum
    return [*texts[:maximum], *[f"{hidden:,} {rest}"] * (hidden > 0)]


def instead_of(near: Sequence[str], otherwise: str) -> str:
    """Return a hint for an unknown name: similar names, or other advice.

    >>> instead_of(["h100-sxm", "h100-pcie"], ""), instead_of([], "'fastcalc list' names all")
    ('did you mean h100-sxm or h100-pcie?', "'fastcalc list' names all")
    """
    return f"did you mean {listed(near, 'or')}?" if near else otherwise


def did_you_mean(
    word: str, known: Iterable[str] | Mapping[str, str], otherwise: str, cutoff: float = 0.5
) -> str:
    """Return a hint for an unknown word: the most similar known word, or other advice.

    known : The words, or a mapping from each word to what should be written.
    """
    from difflib import get_close_matches  # imported late, since only errors need it

    near = get_close_matches(word, list(known), n=1, cutoff=cutoff)
    meant = known[near[0]] if near and isinstance(known, Mapping) else "".join(near)
    return f"did you mean '{meant}'?" if near else otherwise


def csv_cell(value: Any) -> str:
    """Return a value as a CSV cell; text that a spreadsheet would evaluate gets an apostrophe.

    >>> csv_cell("=1+1"), csv_cell(-1.5), csv_cell("-1.5"), csv_cell(["a", "b, c"]), csv_cell(None)
    ("'=1+1", '-1.5', '-1.5', '"a; b, c"', '')
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        if value - value != 0.0:  # NaN or infinity; `math` rejects integers of 400 digits
            raise ArithmeticError(f"{value} in the place of a number")
        return str(value)
    items = value if isinstance(value, list) else [value]
    text = visible("; ".join(map(str, items)))
    if _FORMULA.match(text) and not all(_NUMBERS.fullmatch(str(item)) for item in items):
        text = f"'{text}"
    return text if _TO_QUOTE.isdisjoint(text) else '"' + text.replace('"', '""') + '"'


def csv_line(values: Iterable[Any]) -> str:
    """Return values as a line of CSV."""
    return ",".join(map(csv_cell, values)) + "\n"


def to_csv(records: Iterable[dict[str, Any]], keys: Iterable[str] = ()) -> Iterator[str]:
    """Yield a header, then a line for each record with the same keys. Missing values are empty.

    keys : The keys in the header if there are no records.
    """
    header: list[str] | None = None
    for record in records:
        if header is None:
            header = list(record)
            yield csv_line(header)
        yield csv_line(record[key] for key in header)
    if header is None:
        yield csv_line(keys)


def to_json(value: Any, *, indent: int | None = None) -> str:
    """Return a value as JSON.

    Raises ArithmeticError for NaN and infinity, which JSON cannot represent.
    """
    import json

    try:
        return json.dumps(value, indent=indent, ensure_ascii=False, allow_nan=False)
    except ValueError as error:
        raise ArithmeticError(str(error)) from error


def json_text(document: dict[str, Any]) -> str:
    """Return a JSON document as text, written by `to_json`."""
    return to_json(document, indent=2) + "\n"


def to_markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table with padded columns, which is readable as plain text."""
    # A bar within a cell must not end the cell, even after a backslash.
    table = [
        [re.sub(r"(\\*)\|", r"\1\1\\|", line(cell)) for cell in row] for row in (header, *rows)
    ]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"
        for row in table
    ]
    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    return "\n".join([lines[0], rule, *lines[1:]]) + "\n"
