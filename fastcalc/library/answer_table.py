"""Tables returned by the library: records, columns, files and pages."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from fastcalc.catalogue.names import nearest
from fastcalc.errors import InputError
from fastcalc.features.dictionary import meanings, type_of
from fastcalc.formulas.types import Array
from fastcalc.grid.column import TableColumn
from fastcalc.kit.answer import console, record_tables
from fastcalc.kit.answer.answer import Answer, Screen
from fastcalc.kit.answer.output import whole
from fastcalc.kit.answer.parts import HeadlineCase, Notes, Part, Title, sentence
from fastcalc.kit.answer.point_records import Record
from fastcalc.kit.answer.respond import screen, write
from fastcalc.kit.request.fields import phrases
from fastcalc.kit.request.groups import Output
from fastcalc.kit.request.readers import choice
from fastcalc.mentions import as_arguments, as_prose, written
from fastcalc.written import instead_of, shown

MOST_ROWS = 200
"""Maximum number of table rows shown in a notebook, since a sweep may have millions."""

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame


class Table(Sequence[Record]):
    """The result of a command: a sequence of records, whose columns are numpy arrays.

    ``table[0]`` is a record: a dict with the keys of the data dictionary. ``table["tpot_ms"]`` is a
    column: floats with nan for missing values, integers, bool, or objects for text. ``table[:5]``
    is a table of the first five rows. Printing a table shows the page of the command line; a
    notebook shows an HTML table.
    """

    def __init__(self, flags: Any, answer: Answer) -> None:
        self._flags, self._answer = flags, answer

    @property
    def found(self) -> bool:
        """Whether there is a result. The command line would exit with 1 if it is False."""
        return self._answer.code == 0

    @cached_property
    def records(self) -> list[Record]:
        """All rows as dictionaries, with the keys of the data dictionary."""
        return [written(record, as_arguments) for record in self._answer.records()]

    @cached_property
    def assumptions(self) -> Record:
        """The inputs that led to this result: settings, traffic, dated prices and engines."""
        assumptions: Record = written(self._answer.assumptions(), as_arguments)
        return assumptions

    @property
    def premises(self) -> Record:
        """An alias of `assumptions`."""
        return self.assumptions

    @cached_property
    def details(self) -> Record:
        """Results that do not belong to a single row, such as the near misses of `plan`."""
        details: Record = written(self._answer.details(), as_arguments)
        return details

    @cached_property
    def notes(self) -> list[str]:
        """The notes below the table, as sentences. If there is no result, they say why."""
        answer = self._answer
        page = replace(screen(self._flags), notes=True)
        texts = (*answer.reasons, *answer.reading, *answer.warnings())
        sentences = [sentence(text, page.ids) for text in texts]
        blocks = answer.page(page)
        sentences += [line for block in blocks if isinstance(block, Notes) for line in block.lines]
        wordings = dict.fromkeys(map(as_arguments, sentences))
        return [note for note in wordings if not note.startswith("key: ")]

    @property
    def headline(self) -> str:
        """The first sentence of the result, for example to print it in a script."""
        return self._headline_and_key()[0]

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """The names of the columns, in order."""
        return tuple(self._answer.keys) or tuple(self.records[0] if self.records else ())

    @property
    def units(self) -> dict[str, str]:
        """The unit of each column, such as ``ms`` for ``tpot_ms``."""
        dictionary = meanings()
        return {key: dictionary[key].unit for key in self.keys if key in dictionary}

    def column(self, key: str) -> Array:
        """Return a single column as a numpy array.

        For comparisons it is cheaper than `records`, since it computes a single column. The dtype
        is bool, integer for counts (float if one is missing), float for other numbers, or object
        for text. Raises KeyError, with the closest keys, if there is no such key.
        """
        self._demand(key)
        values = None if "records" in vars(self) else self._answer.column(key)
        if values is None:
            values = [record[key] for record in self.records]
        else:
            values = written(values, as_arguments)
        type_ = type_of(key, values)
        if type_ in (int, bool) and all(isinstance(value, type_) for value in values):
            return np.array(values, dtype=type_)
        if type_ in (int, float):
            return np.array([np.nan if value is None else value for value in values], dtype=float)
        objects = np.empty(len(values), dtype=object)  # keeps a list as one element per row
        objects[:] = values
        return objects

    def _demand(self, key: str) -> None:
        if key not in self.keys:
            near = nearest(key, self.keys)
            hint = instead_of(near, "table.keys lists all")
            raise KeyError(f"there is no column '{shown(key)}'; {hint}")

    @overload
    def __getitem__(self, index: int) -> Record: ...
    @overload
    def __getitem__(self, index: str) -> Array: ...
    @overload
    def __getitem__(self, index: slice) -> "Table": ...
    def __getitem__(self, index: int | str | slice) -> "Record | Array | Table":
        if isinstance(index, str):
            return self.column(index)
        return self._rows(index) if isinstance(index, slice) else self.records[index]

    def _rows(self, index: slice) -> "Table":
        """Return the selected rows as a table, with the columns that a notebook shows."""
        records = self.records[index]
        columns, rows = self._answer.table()
        chosen: Sequence[Any] = list(rows)
        is_aligned = len(chosen) == len(self)  # a command may show fewer rows than it has records
        chosen = chosen[index] if is_aligned else records
        columns = columns if is_aligned else record_tables.of_keys(self.keys)
        taken = SlicedAnswer(
            request=self._answer.request,
            reading=self.notes,
            whole=self._answer,
            all_keys=self.keys,
            taken=records,
            columns=columns,
            chosen=chosen,
        )
        return Table(Output(), taken)

    def __len__(self) -> int:
        return len(self.records)

    def __iter__(self) -> Iterator[Record]:
        return iter(self.records)

    def to_pandas(self) -> "DataFrame":
        """Convert the table to a pandas DataFrame, with the units in ``attrs["units"]``.

        Raises InputError if pandas is not installed.
        """
        try:
            from pandas import DataFrame
        except ImportError as error:
            raise InputError(
                "data frames need pandas: python -m pip install pandas; records and columns do not"
            ) from error
        frame = DataFrame({key: self.column(key) for key in self.keys})
        frame.attrs["units"] = self.units
        return frame

    def save(self, file: str | Path) -> None:
        """Write the table to a file.

        The extension selects the format: csv, json, md, html, xlsx, parquet or txt. Raises
        InputError if the extension is unknown or the file cannot be written.
        """
        write(replace(self._flags, out=Path(file), format=None), self._answer, as_arguments)

    def plot(
        self, kind: str | None = None, file: str | Path | None = None, **look: Any
    ) -> "Figure":
        """Draw a chart of the result, and return it as a matplotlib figure.

        kind : ``speed``, ``price``, ``roofline``, ``step`` or ``memory`` for a comparison; default:
            the command's first chart.
        file : The path such as ``speed.svg``; its extension selects the format.
        look : `style` (light, dark, print), `width` and `height` in inches, `dpi`, `title`,
            `highlight` (names of lines).

        Raises InputError if matplotlib is not installed or the chart does not exist.
        """
        from fastcalc.features.plot.run import look_of
        from fastcalc.kit.charts import figure
        from fastcalc.kit.charts.highlight import highlighted
        from fastcalc.kit.request.drawing import Drawing

        charts, where = self._answer.charts, file and Path(file)
        if not charts:
            raise InputError(
                "this answer has no chart; compare, decide, fastmode, fit, frontier, plan, "
                "sensitivity and validate have"
            )
        ending = figure.ending_of(where) if where else None
        kind = choice(kind or next(iter(charts)), "kind", tuple(charts))
        drawn = look_of(Drawing(**look))
        chart = charts[kind]().stating(phrases(self._answer.settings))
        chart = highlighted(chart.worded(as_prose), drawn.highlight)
        picture = figure.figure(chart, drawn)
        if where:
            with whole(where) as draft:
                figure.save(picture, draft, ending or "svg")
        return picture

    def __str__(self) -> str:
        page = screen(self._flags)
        if text := self._answer.text(page):
            return as_arguments(text)
        blocks = self._answer.page(page)
        return console.render(blocks, page.width, as_arguments) if blocks else "\n".join(self.notes)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        columns, rows = self._answer.table()
        head = "".join(f"<th>{escape(record_tables.heading(column))}</th>" for column in columns)
        shown_rows = list(islice(rows, MOST_ROWS + 1))
        shown_cells = [record_tables.row(columns, record) for record in shown_rows[:MOST_ROWS]]
        cells = (map(escape, map(as_arguments, row.values())) for row in shown_cells)
        lines = ("".join(f"<td>{cell}</td>" for cell in row) for row in cells)
        table = "".join(f"<tr>{line}</tr>" for line in lines)
        headline, key = self._headline_and_key()
        hidden = [f"the first {MOST_ROWS} rows; table.records has all"] * (
            len(shown_rows) > MOST_ROWS
        )
        caption = f"<caption>{escape(headline)}</caption>" if headline else ""
        below = "".join(f"<p>{escape(line)}</p>" for line in [*key, *hidden])
        return (
            f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{table}</tbody></table>{below}"
        )

    def _headline_and_key(self) -> tuple[str, list[str]]:
        """Return the headline above the page's table, and the key."""
        blocks = self._answer.page(screen(self._flags))
        if not blocks:
            return (self.notes or [""])[0], []
        titles = [
            f"{block.name}: {block.sentence}" if isinstance(block, Title) else block
            for block in blocks
            if isinstance(block, (Title, str))
        ]
        lines = [line for block in blocks if isinstance(block, Notes) for line in block.lines]
        key = [as_arguments(line) for line in lines if line.startswith("key: ")]
        cases = [block for block in blocks if isinstance(block, HeadlineCase)]
        return as_arguments("; ".join([next(filter(None, titles), ""), *cases])), key


@dataclass(frozen=True, eq=False, kw_only=True)
class SlicedAnswer(Answer):
    """Selected rows of an answer, shown as a table without a headline.

    all_keys : The keys of the whole answer.
    taken : The records of the selected rows.
    columns, chosen : Columns and rows of the table.
    """

    whole: Answer
    all_keys: Iterable[str]
    taken: Sequence[Record]
    columns: Sequence[TableColumn]
    chosen: Sequence[object]

    @property
    def code(self) -> int:
        """The exit code of the whole answer."""
        return self.whole.code

    @property
    def keys(self) -> Iterable[str]:
        """The keys of the whole answer."""
        return self.all_keys

    def page(self, screen: Screen) -> list[Part]:
        """Return a page with only the table."""
        return [record_tables.table(self.columns, self.chosen, screen.width)]

    def records(self) -> Sequence[Record]:
        """Return the records of the selected rows."""
        return self.taken

    def table(self) -> tuple[Sequence[TableColumn], Sequence[object]]:
        """Return the columns and the selected rows."""
        return self.columns, self.chosen

    def assumptions(self) -> Record:
        """Return the assumptions of the whole answer."""
        return self.whole.assumptions()

    def details(self) -> Record:
        """Return the details of the whole answer."""
        return self.whole.details()
