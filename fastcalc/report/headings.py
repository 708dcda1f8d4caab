"""Columns as tables show them: headings, which makes room first, and how a cell is written."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from fastcalc.records.columns import COLUMNS, Column


def _nothing(_: object) -> None:
    """Stand for the value of a column that tables have and records have not."""


@dataclass(frozen=True)
class TableColumn(Column[Any]):
    """A column of a table, whether records have it or not.

    heading : in two lines
    drop_priority : how readily it makes room in a narrow table; the largest leaves first, 0 never
    format : how a table writes it, where its unit does not say: the name of a format, or what
        makes a cell of a record
    is_key_figure : whether it is the number to read first, which a terminal shows in bold
    """

    unit: str = "text"
    meaning: str = ""
    value: Callable[[Any], Any] | str = field(default=_nothing)
    heading: tuple[str, str] = ("", "")
    drop_priority: int = 0
    format: str | Callable[[Any], str] = ""
    is_key_figure: bool = False


class Heading(NamedTuple):
    """What a table adds to a column of records, as `TableColumn` says."""

    heading: tuple[str, str] = ("", "")
    drop_priority: int = 0
    format: str = ""
    is_key_figure: bool = False


HEADINGS = {
    "hardware": Heading(("", "hardware")),
    "model": Heading(("", "model")),
    "chips": Heading(("", "chips")),
    "weight_format": Heading(("weight", "format"), 3),
    "kv_format": Heading(("KV", "cache"), 5),
    "batch": Heading(("", "batch")),
    "speculation_tokens_per_pass": Heading(("tokens", "a pass"), 4),
    "placement": Heading(("", "where")),
    "max_batch": Heading(("largest", "batch")),
    "weights_gb": Heading(("weights", "GB")),
    "kv_gb": Heading(("KV cache", "GB")),
    "memory_used_fraction": Heading(("memory", "used"), 1, "percent"),
    "tokens_per_s_per_user": Heading(("tok/s", "per user"), is_key_figure=True),
    "tokens_per_s_per_user_low": Heading(("80 %", "range"), 1, "range"),
    "tokens_per_s_per_user_bound": Heading(("", "bound"), 3),
    "tokens_per_s_total": Heading(("tok/s", "total"), 4),
    "tpot_ms": Heading(("TPOT", "ms"), 6),
    "ttft_ms": Heading(("TTFT", "ms"), 5),
    "request_s": Heading(("request", "s")),
    "limiter": Heading(("limited", "by"), 1, "limiter"),
    "usd_per_mtok_input": Heading(("$/Mtok", "input"), 6),
    "usd_per_mtok_output": Heading(("$/Mtok", "output"), 3),
    "usd_per_mtok_total": Heading(("$/Mtok", "total"), 2),
    "joules_per_token": Heading(("J per", "token"), 9),
    "served_tokens_per_s_total": Heading(("tok/s", "served"), 8),
    "served_request_s": Heading(("request served", "s")),
    "tpot_in_traffic_ms": Heading(("TPOT in", "traffic"), 7),
    "dense_near_fraction": Heading(("dense weights", "near"), 0, "percent"),
    "experts_near_fraction": Heading(("experts", "near"), 0, "percent"),
    "kv_near_fraction": Heading(("KV cache", "near"), 0, "percent"),
}
"""Of columns of points, by key."""


def of_a_table(column: Column[Any]) -> TableColumn:
    """Return a column with its heading."""
    if isinstance(column, TableColumn):
        return column
    added = HEADINGS.get(column.key, Heading())
    return TableColumn(**vars(column), **added._asdict())


def key_figure(column: TableColumn) -> TableColumn:
    """Return a column as the number to read first, in bold on a terminal."""
    return replace(column, is_key_figure=True)


def pick(keys: str, columns: Sequence[Column[Any]] = (), *, keep: str = "") -> list[TableColumn]:
    """Return columns by their keys.

    keys : with blanks between
    columns : others than those of points, or in place of them
    keep : keys of those that a narrow table keeps, whatever their priority
    """
    by_key = {column.key: column for column in (*COLUMNS, *columns)}
    picked = [of_a_table(by_key[key]) for key in keys.split()]
    return [
        replace(column, drop_priority=0) if column.key in keep.split() else column
        for column in picked
    ]
