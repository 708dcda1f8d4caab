"""Python functions generated from the commands' flags, and the table returned by `sweep`."""

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from inspect import Parameter, Signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fastcalc import _FUNCTIONS as NAMES
from fastcalc.catalogue.once import once
from fastcalc.errors import InputError
from fastcalc.features import answer_to, request_of
from fastcalc.features.dictionary import type_of
from fastcalc.features.plot import run as plot
from fastcalc.features.sweep import run as sweep
from fastcalc.formulas.types import Array
from fastcalc.grid.column import TableColumn
from fastcalc.grid.columns import NEEDS_FIT, Columns, flat, pick
from fastcalc.kit.answer.answer import Answer
from fastcalc.kit.answer.point_records import Record, plainly
from fastcalc.kit.request.fields import Request, declared, renamed
from fastcalc.kit.request.given import from_python
from fastcalc.kit.request.groups import Output
from fastcalc.library.answer_table import MOST_ROWS, SlicedAnswer, Table
from fastcalc.mentions import as_arguments
from fastcalc.written import listed, many

if TYPE_CHECKING:
    from fastcalc.features.sweep.request import Sweep


_SHOWN = "model hardware chips batch tokens_per_s_per_user tokens_per_s_total limiter"


@dataclass(frozen=True, eq=False, kw_only=True)
class _Swept(Answer):
    """The points of a sweep as one array per key.

    rests_on : The assumptions behind the points, and what was skipped.
    """

    arrays: Mapping[str, Array]
    rests_on: Record

    @property
    def keys(self) -> Iterable[str]:
        """The keys of the points."""
        return self.arrays

    def records(self) -> list[Record]:
        """Build one record per point."""
        points = zip(*(array.tolist() for array in self.arrays.values()), strict=True)
        return [plainly(dict(zip(self.arrays, point, strict=True))) for point in points]

    def table(self) -> tuple[Sequence[TableColumn], Sequence[object]]:
        """Return the columns and the first points."""
        first = {key: array[: MOST_ROWS + 1] for key, array in self.arrays.items()}
        return pick(_SHOWN), replace(self, arrays=first).records()

    def premises(self) -> Record:
        """Return the inputs behind the points."""
        return dict(self.rests_on.get("assumptions", {}))

    def details(self) -> Record:
        """Return the skipped combinations."""
        return {key: value for key, value in self.rests_on.items() if key != "assumptions"}

    def warnings(self) -> list[str]:
        """Return the number of skipped combinations for each reason."""
        left_out = self.rests_on["left_out"].items()
        return [f"skipped {many(count, 'combination')}: {why}" for why, count in left_out]


class SweptTable(Table):
    """The table of a sweep, stored as arrays because millions of records would take gigabytes."""

    def __init__(
        self, flags: Any, columns: Mapping[str, Array], premises: Record, notes: Sequence[str] = ()
    ) -> None:
        swept = _Swept(request=flags, reading=notes, arrays=columns, rests_on=premises)
        super().__init__(flags, swept)
        self._premises = premises
        self._columns = columns

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of the records, in order."""
        return tuple(self._columns)

    def column(self, key: str) -> Array:
        """Return the values of a key, with the dtypes of `Table.column`.

        Raises KeyError if the key is unknown.
        """
        self._demand(key)
        values = self._columns[key]
        is_count = type_of(key, ()) is int and values.dtype.kind == "f"
        return values.astype(int) if is_count and not np.isnan(values).any() else values

    def _rows(self, index: slice) -> Table:
        columns = {key: column[index] for key, column in self._columns.items()}
        points = SweptTable(self._flags, columns, self._premises, self._answer.reading)
        rows = SlicedAnswer(
            request=self._flags,
            reading=points.notes,
            whole=points._answer,
            all_keys=points.keys,
            taken=points.records,
            columns=pick(_SHOWN),
            chosen=points.records,
        )
        return Table(Output(), rows)

    def __len__(self) -> int:
        return len(next(iter(self._columns.values())))

    def __str__(self) -> str:
        return "\n".join([f"{len(self):,} points of {len(self.keys)} keys", *self.notes])

    __repr__ = __str__

    def save(self, file: str | Path) -> None:
        """Write a csv, json or parquet file, depending on its ending. All points are recomputed."""
        sweep.save(self._flags, Path(file), as_arguments)


class ArraySink:
    """A sink that collects the blocks of a sweep into one array per key."""

    def __init__(self) -> None:
        self._blocks: dict[str, list[Array]] = {}
        self.premises: Record = {}

    def write(self, columns: Columns, shape: tuple[int, ...]) -> None:
        """Add the points of a block."""
        void = ~np.broadcast_to(columns["fits"], shape).ravel()
        for key, column in columns.items():
            values = flat(column, shape)
            if key in NEEDS_FIT and void.any():
                nothing: Any = None if values.dtype == object else np.nan
                values = np.where(void, nothing, values)
            self._blocks.setdefault(key, []).append(values)

    def close(self, extra: Record) -> None:
        """Store the assumptions and details of the points."""
        self.premises = extra

    @property
    def columns(self) -> dict[str, Array]:
        """All values of each key, as one array."""
        return {key: np.concatenate(blocks) for key, blocks in self._blocks.items()}


OF_THE_TERMINAL = ("out", "format", "notes", "wide", "anyway", "everything")
"""Flags for output, which the methods of a table replace. A chart keeps its file argument."""

MOST_POINTS = 5_000_000
"""Maximum number of sweep points in memory, at about 400 bytes each."""


def _function(command: str) -> Callable[..., Any]:
    flags = request_of(command)
    positional, keyword_only = parameters(flags)

    def ask(*names: Any, **arguments: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)  # an invalid number is an error
            arguments, notes = renamed(flags, arguments)
            filled_flags = request(command, *names, **arguments)
            if command == "sweep":
                return _swept(filled_flags)
            if command == "plot":
                return plot.drawn(filled_flags)
            return Table(filled_flags, answer_to(command, filled_flags, notes))

    function: Any = ask
    function.__name__ = function.__qualname__ = command
    function.__signature__ = Signature(
        [*positional.values(), *keyword_only.values()],
        return_annotation="Figure" if command == "plot" else Table,
    )
    function.__doc__ = document(flags)
    named_function: Callable[..., Any] = function
    return named_function


def request(command: str, *names: Any, **arguments: Any) -> Any:
    """Build a request from a function's arguments. Raises an error if they are invalid."""
    flags = request_of(command)
    return flags(**_bound(command, *parameters(flags), names, arguments))


@once
def parameters(flags: type[Request]) -> tuple[dict[str, Parameter], dict[str, Parameter]]:
    """Return the positional and keyword parameters of a function."""
    positional, keyword_only = {}, {}
    for name, field in declared(flags).items():
        default = field.default
        if field.setting.is_argument:
            several = field.setting.is_repeated
            parameter_kind = (
                Parameter.VAR_POSITIONAL if several else Parameter.POSITIONAL_OR_KEYWORD
            )
            shown = Parameter.empty if several else default
            positional[name] = Parameter(name, parameter_kind, default=shown)
        elif name not in OF_THE_TERMINAL or (name == "out" and "format" not in declared(flags)):
            keyword_only[name] = Parameter(name, Parameter.KEYWORD_ONLY, default=default)
    return positional, keyword_only


def _bound(
    command: str,
    positional: Mapping[str, Parameter],
    keyword_only: Mapping[str, Parameter],
    names: tuple[Any, ...],
    arguments: Mapping[str, Any],
) -> dict[str, Any]:
    several = [
        name for name, parameter in positional.items() if parameter.kind is Parameter.VAR_POSITIONAL
    ]
    single = [name for name in positional if name not in several]
    if not several and len(names) > len(positional):
        raise TypeError(f"{command}() takes {len(positional)} names, not {len(names)}")
    by_name: dict[str, Any] = dict(zip(single, names, strict=False))
    for name in several:
        given: Iterable[Any] = names[len(single) :]
        if len(names) == len(single) + 1 and isinstance(names[-1], (list, tuple)):
            given = names[-1]
        by_name[name] = [item for item in given if item is not None] or None
    for name in arguments:
        if name not in keyword_only and name not in positional:
            raise TypeError(
                f"{command}() has no argument '{name}'; help(fastcalc.{command}) lists all"
            )
    # None means that the argument is not given.
    stated = {
        name: argument
        for name, argument in (by_name | dict(arguments)).items()
        if argument is not None
    }
    missing = [
        name
        for name, parameter in positional.items()
        if parameter.default is Parameter.empty and name not in {*stated, *several}
    ]
    if missing:
        raise TypeError(f"{command}() needs {listed(missing)}")
    parameter_kind = request_of(command)
    return {name: from_python(parameter_kind, name, argument) for name, argument in stated.items()}


def _swept(flags: "Sweep") -> SweptTable:
    notes: list[str] = []
    swept = sweep.combinations(flags, notes)
    points = swept.points
    if points > MOST_POINTS:
        raise InputError(
            f"{points:,} points exceed the limit of {MOST_POINTS:,} in memory; write them to "
            "a file with 'fastcalc sweep', or ask for fewer"
        )
    sink = ArraySink()
    sweep.fill(sink, swept, as_arguments)
    return SweptTable(flags, sink.columns, sink.premises, notes)


def document(flags: type[Request]) -> str:
    """Build the docstring of a function: the command's docstring and a line for each argument."""
    positional, keyword_only = parameters(flags)
    summary, *paragraphs = (
        " ".join(paragraph.split()) for paragraph in (flags.__doc__ or "").split("\n\n")
    )
    lines = [
        summary,
        "",
        *(f"{paragraph}\n" for paragraph in paragraphs),
        "Parameters",
        "----------",
    ]
    for name in (*positional, *keyword_only):
        field = declared(flags)[name]
        shown, default = field.setting, field.default
        ends = "" if default in (None, Parameter.empty) else f", default {default!r}"
        summary = as_arguments(shown.help)
        lines += [f"{name} : {(shown.metavar or 'bool')}{ends}", f"    {summary}"]
    return "\n".join(
        [*lines, "", "Raises", "------", "InputError", "    If the request or a file is wrong."]
    )


FUNCTIONS = {name: _function(name) for name in NAMES}
