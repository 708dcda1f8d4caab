"""A column of records and of the tables that show the records."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any, Generic, TypeVar

Source = TypeVar("Source")
"""Type of the object that a record describes."""


def _nothing(_: object) -> None:
    """Placeholder value of a column that exists in tables but not in records."""


@dataclass(frozen=True)
class Column(Generic[Source]):
    """A column of records, of the tables that show them, or of tables alone.

    key, unit, meaning : name in a record; unit, or ``count``, ``text``, ``list`` or ``yes or no``;
        description
    value : function of the described object, or the name of its attribute
    heading : heading in a table, in two lines
    drop_priority : order of omission in a narrow table; the largest is omitted first, 0 never
    format : cell format in a table, if the unit does not determine it: the name of a format, or a
        function that makes a cell from a record
    is_key_figure : whether it is the number to read first, which a terminal shows in bold
    needs_fit : whether it has no value if the batch does not fit
    rests_on : ``engine``, ``prefill`` or ``price`` inputs; if one is undetermined or uncertain,
        tables mark the number as well
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
        """Value of a record under the column's key."""
        return (attrgetter(self.value) if isinstance(self.value, str) else self.value)(source)


TableColumn = Column[Any]
"""A column of a table with rows of any type."""


def key_figure(column: TableColumn) -> TableColumn:
    """The column as the key figure, which a terminal shows in bold."""
    return replace(column, is_key_figure=True)


def values(columns: Sequence[Column[Source]], source: Source) -> dict[str, Any]:
    """Value of each column by its key."""
    return {column.key: column.of(source) for column in columns}
