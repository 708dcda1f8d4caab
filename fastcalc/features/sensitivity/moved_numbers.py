"""Numbers of files that are moved: what each buys, as a row and as a record."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite

from fastcalc.core.scenario import Outcome
from fastcalc.features.sensitivity.effects import NEARLY, Effect
from fastcalc.features.sensitivity.figures import FIGURES
from fastcalc.features.sensitivity.targets import Goal, NeededValue
from fastcalc.grid.columns import Column, values
from fastcalc.kit.answer.numbers_as_text import of_kind
from fastcalc.kit.answer.point_records import Record, compare_records, plainly

KEYS = {
    "speed": "tokens_per_s_per_user",
    "total": "served_tokens_per_s_total",
    "ttft": "ttft_ms",
    "usd": "usd_per_mtok_output",
    "largest_batch": "max_batch",
}
"""The keys of figures."""


@dataclass(frozen=True, eq=False)
class MovedNumber:
    """A number at one batch: a row.

    place : of the batch among those of the outcome
    point : the record of `compare` at that batch
    alone : what it would have to be, where a target is given
    """

    outcome: Outcome
    place: int
    point: Record
    effect: Effect
    alone: NeededValue | None

    @property
    def path(self) -> str:
        """How a what-if names it."""
        return self.effect.lever.number.path

    @property
    def elasticity(self) -> float:
        """Per cent of speed for a per cent of it. [1]"""
        return float(self.effect.elasticity.speed[self.place])

    @property
    def reach(self) -> float:
        """The most that it can make of the speed, over what it is. [1]"""
        return float(self.effect.reach[self.place])

    @property
    def enough(self) -> float:
        """From where on it buys nothing; nan where no value buys all. [SI]"""
        return float(self.effect.enough[self.place])

    @property
    def is_spare(self) -> bool:
        """Whether more of it buys neither speed nor a larger batch, and less of it would cost."""
        buys_batch = abs(self.slope("largest_batch")) > 0.0
        return self.reach < 1.0 / NEARLY and isfinite(self.enough) and not buys_batch

    @property
    def moves(self) -> bool:
        """Whether it moves the figure of the target at this batch; without a target, any figure."""
        if self.alone is None:
            return self.effect.moves
        return self.alone.moves or abs(self.slope(self.alone.figure)) > 0.0

    def change(self, figure: str) -> float:
        """Return the share by which ten per cent more of it changes a figure. [1]"""
        return float(getattr(self.effect.raised.change, figure)[self.place]) - 1.0

    def slope(self, figure: str) -> float:
        """Return per cent of a figure for a per cent of it. [1]"""
        return float(getattr(self.effect.elasticity, figure)[self.place])

    def text(self, value: float | None) -> str:
        """Return a value of it with its unit."""
        return "-" if value is None else of_kind(value, self.effect.lever.number.kind)


def _of_point(key: str, unit: str, meaning: str) -> Column[MovedNumber]:
    return Column(key, unit, meaning, lambda row: row.point[key])


def _figures(
    ending: str, meaning: str, share: Callable[[str], Callable[[MovedNumber], float]]
) -> Iterator[Column[MovedNumber]]:
    for figure, key in KEYS.items():
        yield Column(f"{key}_{ending}", "ratio", meaning, share(figure))


def _change(figure: str) -> Callable[[MovedNumber], float]:
    return lambda row: row.change(figure)


def _slope(figure: str) -> Callable[[MovedNumber], float]:
    return lambda row: row.slope(figure)


COLUMNS: tuple[Column[MovedNumber], ...] = (
    _of_point("hardware", "text", "id of the chip"),
    _of_point("model", "text", "id of the model"),
    _of_point("engine", "text", "id of the engine"),
    _of_point("chips", "count", "tp x pp x dp / ranks of a chip"),
    _of_point("tp", "count", "tensor-parallel ranks"),
    _of_point("pp", "count", "pipeline stages"),
    _of_point("ep", "count", "ranks that share the experts"),
    _of_point("dp", "count", "attention replicas"),
    _of_point("batch", "count", "sequences decoded together by the whole deployment"),
    _of_point("tokens_per_s_per_user", "tokens/s", "as the files are"),
    _of_point("served_tokens_per_s_total", "tokens/s", "as the files are"),
    _of_point("ttft_ms", "ms", "as the files are"),
    _of_point("usd_per_mtok_output", "USD/Mtok", "as the files are"),
    _of_point("max_batch", "count", "as the files are"),
    _of_point("limiter", "text", "what takes most of a decode step"),
    Column(
        "file", "text", "whose number it is: hardware, engine, model or host", "effect.lever.file"
    ),
    Column("entry", "text", "id of that file", "effect.lever.entry"),
    Column("path", "text", "the number, as set takes it", "path"),
    Column(
        "quantity",
        "text",
        "of what kind it is, such as bandwidth; values are in the SI unit of it",
        "effect.lever.number.kind",
    ),
    Column("value", "SI", "what it is", lambda row: float(row.effect.lever.number.value)),
    Column(
        "is_default",
        "yes or no",
        "whether the file leaves it out, and a median stands in",
        "effect.lever.number.is_default",
    ),
    Column(
        "more_value",
        "SI",
        "with 10 % more, or the next that a file may hold; null at its limit",
        "effect.raised.value",
    ),
    *_figures("change", "with that value over what it is, less 1", _change),
    *_figures(
        "elasticity",
        "per cent for a per cent more of it; of whole numbers of a model with that value",
        _slope,
    ),
    Column(
        "tokens_per_s_per_user_best",
        "tokens/s",
        "with the best value that a file may hold; null for models",
        lambda row: row.reach * float(row.outcome.estimate.speed[row.place]),
    ),
    Column("enough_value", "SI", "from which on less than 1 % of that is left to gain", "enough"),
    Column(
        "target_value",
        "SI",
        "what it alone would have to be to reach the target; null where no value does",
        lambda row: row.alone and row.alone.value,
    ),
    Column(
        "target_factor", "ratio", "that over what it is", lambda row: row.alone and row.alone.factor
    ),
)
RECORD_KEYS = tuple(column.key for column in COLUMNS)


def rows_of(
    outcome: Outcome, effects: Sequence[Effect], goals: Mapping[int, Goal]
) -> list[MovedNumber]:
    """Return a row for each batch that fits and each number, those that buy most speed first.

    goals : how each batch reaches the target, by its place, if one is given
    """
    rows = []
    for place, point in enumerate(compare_records([outcome])):
        if not point["fits"]:
            continue
        alone = {answer.lever: answer for answer in goals[place].alone} if goals else {}
        of_batch = [
            MovedNumber(outcome, place, point, effect, alone.get(effect.lever))
            for effect in effects
        ]
        rows += sorted(of_batch, key=rank)
    return rows


def rank(row: MovedNumber) -> tuple[float, ...]:
    """Return what rows are sorted by: the effect on speed, then whose it is, then other effects."""
    slopes = [abs(row.slope(figure)) for figure in FIGURES]
    speed, *further = (-slope if isfinite(slope) else 0.0 for slope in slopes)
    return round(speed, 3), _FILES.index(row.effect.lever.file), *further


_FILES = ("hardware", "host", "engine", "model")


def sensitivity_records(rows: Iterable[MovedNumber]) -> list[Record]:
    """Return a record for each row."""
    return [plainly(values(COLUMNS, row)) for row in rows]
