"""Columns of records, and of the tables that display them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any, Generic, TypeVar

Source = TypeVar("Source")
"""The type of object that a record describes."""


def nothing(_: object) -> None:
    """Return None, for a column that appears in tables but not in records."""


@dataclass(frozen=True)
class Column(Generic[Source]):
    """A column of records, of tables, or of both.

    key, unit, meaning : The name in records; the unit, or ``count``, ``text``, ``list`` or ``yes or
        no``; and a description.
    value : A function of the described object, or the name of one of its attributes.
    heading : The table heading, in two lines.
    drop_priority : The narrow tables drop the columns with the largest values first, but never
        those at 0.
    format : The cell format if it does not follow from the unit: the name of a format, or a
        function that formats a record.
    is_key_figure : Whether this is the number to read first, which terminals show in bold.
    needs_fit : Whether there is no value if the batch does not fit.
    rests_on : The inputs on which the value depends: ``engine``, ``prefill`` or ``price``. If one
        of them is undetermined or uncertain, tables mark the value as well.
    """

    key: str
    unit: str = "text"
    meaning: str = ""
    value: Callable[[Source], Any] | str = nothing
    heading: tuple[str, str] = ("", "")
    drop_priority: int = 0
    format: str | Callable[[Any], str] = ""
    is_key_figure: bool = False
    needs_fit: bool = field(default=False, kw_only=True)
    rests_on: tuple[str, ...] = field(default=(), kw_only=True)

    def of(self, source: Source) -> Any:
        """Return the column's value for an object."""
        return (attrgetter(self.value) if isinstance(self.value, str) else self.value)(source)


TableColumn = Column[Any]
"""A column of a table whose rows may have any type."""


def key_figure(column: TableColumn) -> TableColumn:
    """Mark a column as the key figure, which terminals show in bold."""
    return replace(column, is_key_figure=True)


def values(columns: Sequence[Column[Source]], source: Source) -> dict[str, Any]:
    """Return the value of each column for an object, by key."""
    return {column.key: column.of(source) for column in columns}
