"""A column of records and of the tables that show them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any, Generic, TypeVar

Source = TypeVar("Source")
"""Object that a record describes."""


def _nothing(_: object) -> None:
    """Stand for the value of a column that tables have and records have not."""


@dataclass(frozen=True)
class Column(Generic[Source]):
    """A column of records and of the tables that show them, or of tables alone.

    key, unit, meaning : name in a record; unit, or ``count``, ``text``, ``list`` or ``yes or no``;
        what it is
    value : function of the described object, or the name of its attribute
    heading : in a table, in two lines
    drop_priority : how readily it makes room in a narrow table; the largest leaves first, 0 never
    format : how a table writes it, where its unit does not say: the name of a format, or what
        makes a cell of a record
    is_key_figure : whether it is the number to read first, which a terminal shows in bold
    needs_fit : whether it has no value where the batch does not fit
    rests_on : the ``engine``, ``prefill`` or ``price``; where that is undetermined or uncertain, so
        is the number, and tables mark it
    """

    key: str
    unit: str = "text"
    meaning: str = ""
    value: Callable[[Source], Any] | str = _nothing
    heading: tuple[str, str] = ("", "")
    drop_priority: int = 0
    format: str | Callable[[Any], str] = ""
    is_key_figure: bool = False
    needs_fit: bool = field(default=False, kw_only=True)
    rests_on: tuple[str, ...] = field(default=(), kw_only=True)

    def of(self, source: Source) -> Any:
        """Return what a record of something holds under the key."""
        return (attrgetter(self.value) if isinstance(self.value, str) else self.value)(source)


TableColumn = Column[Any]
"""A column of a table, whose rows may be anything."""


def key_figure(column: TableColumn) -> TableColumn:
    """A column as the number to read first, in bold on a terminal."""
    return replace(column, is_key_figure=True)


def values(columns: Sequence[Column[Source]], source: Source) -> dict[str, Any]:
    """Value of each column by its key."""
    return {column.key: column.of(source) for column in columns}
