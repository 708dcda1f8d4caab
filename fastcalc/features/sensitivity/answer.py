"""The answer of `sensitivity`: effects of parameters, and values that reach a target."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from fastcalc.catalogue.schema.engine_parameters import PARAMETERS
from fastcalc.core.outcome import Outcome, each_warning
from fastcalc.features import request_of
from fastcalc.features.sensitivity.moved_batch import MovedBatch
from fastcalc.features.sensitivity.moved_numbers import BEST, COLUMNS, KEYS, NAME, MovedNumber
from fastcalc.features.sensitivity.request import Sensitivity
from fastcalc.features.sensitivity.targets import Goal
from fastcalc.grid.column import TableColumn, values
from fastcalc.grid.columns import pick
from fastcalc.kit.answer import outcome_lines, record_tables
from fastcalc.kit.answer.answer import Answer, Charts
from fastcalc.kit.answer.field_names import in_words
from fastcalc.kit.answer.next_commands import follow_up
from fastcalc.kit.answer.parts import Note, Part
from fastcalc.kit.answer.point_records import Record, assumptions, plainly
from fastcalc.kit.answer.prices import prices
from fastcalc.kit.answer.screen import Screen
from fastcalc.kit.request.fields import phrases
from fastcalc.mentions import flag, option
from fastcalc.written import many

_FEW = 12
"""Maximum number of rows on the first screen."""

TABLE = pick(
    "name value tokens_per_s_per_user_change ttft_ms_change usd_per_mtok_output_change "
    "max_batch_change tokens_per_s_per_user_best enough_value",
    [NAME, *COLUMNS],
)
_TARGETS = pick("name value target_value target_factor best", [NAME, *COLUMNS, BEST])
_WIDE = pick("served_tokens_per_s_total_change path", COLUMNS)

_PATHS = f"{option('wide')} adds the parameter names for {flag('set')}"
_KEY = (
    "key: change: effect of raising the parameter by 10% (whole numbers by at least 1); "
    "largest gain: highest tok/s that this parameter alone can reach / tok/s now; reached at: "
    f"value that gives 99% of that speed; {_PATHS}"
)
_TARGET_KEY = (
    f"key: value needed if only this parameter changes; -: no value reaches the target; "
    f"best reached: by any value of this parameter alone; {_PATHS}"
)

_MARKS = {"*": "not in the file: a median is assumed"}

_IMPROVE = {"speed": "raise the speed", "ttft": "shorten TTFT", "usd": "lower the price"}
"""Verbs for approaching a target, by metric."""


@dataclass(frozen=True, eq=False, kw_only=True)
class SensitivityAnswer(Answer):
    """The result of ``fastcalc sensitivity``: how much each parameter affects the result."""

    request: Sensitivity
    outcomes: Sequence[Outcome]
    batches: Sequence[MovedBatch]
    marks = _MARKS

    @property
    def goals(self) -> list[Goal]:
        """The ways to reach the target at each batch, or nothing if there is no target."""
        return [batch.goal for batch in self.batches if batch.goal]

    @property
    def rows(self) -> list[MovedNumber]:
        """All parameters at all batches."""
        return [row for batch in self.batches for row in batch.rows]

    @property
    def code(self) -> int:
        """The exit code, which is 1 if nothing reaches the target at any batch."""
        return int(bool(self.goals) and not any(goal.is_reached for goal in self.goals))

    def body(self, screen: Screen) -> Iterator[Part]:
        """Yield sentences on the main effects and a table, for each batch."""
        columns, _ = self.table()
        for index, batch in enumerate(self.batches):
            yield batch.headline()
            yield from batch.prices()
            yield ""
            if not index:
                yield outcome_lines.heading([batch.outcome], phrases(self.settings))
            shown = batch.shown if screen.wide else batch.shown[:_FEW]
            yield record_tables.table([*columns, *_WIDE * screen.wide], shown, screen.width)

    def key(self) -> str:
        """Return the key to the columns."""
        return _TARGET_KEY if self.goals else _KEY

    def notes(self) -> Iterator[Note]:
        """Yield notes on parameters without effect or use, on prices, and warnings."""
        moving = {row.path for row in self.rows if row.moves}
        idle = list(dict.fromkeys(row.path for row in self.rows if row.path not in moving))
        cannot = f"cannot {_IMPROVE[self.goals[0].target.figure]}" if self.goals else ""
        yield from (Note(pair, weight=3) for pair in (one.pair() for one in self.batches) if pair)
        if idle:
            reason = f"Not shown, because they {cannot}" if cannot else "Without effect here"
            yield Note(f"{reason}: {', '.join(idle)}", weight=0)
        if not self.goals and (saturated := self.batches[0].saturated()):
            yield Note(saturated)
        for path in dict.fromkeys(row.path for row in self.rows if row.moves):
            owner, _, name = path.rpartition(".")
            if owner == "parameters" and name in PARAMETERS:
                meaning = PARAMETERS[name].meaning.removesuffix(".")
                yield Note(f"{in_words(path)} ({path}): {meaning}", weight=0)
        yield Note(prices(self.outcomes), weight=0)
        yield from map(Note, each_warning(self.outcomes))
        if idle and cannot:
            yield Note(f"{many(len(idle), 'parameter')} that {cannot} are not shown", is_hint=True)

    def next_command(self) -> str:
        """Suggest the chart of the effects."""
        request = self.request
        return follow_up(
            request, request_of("plot"), "tornado", request.model, flag("on"), request.on
        )

    def records(self) -> Iterator[Record]:
        """Build one record per parameter and batch."""
        yield from (plainly(values(COLUMNS, row)) for row in self.rows)

    def table(self) -> tuple[Sequence[TableColumn], Sequence[MovedNumber]]:
        """Return a table of the parameters that change a metric."""
        return _TARGETS if self.goals else TABLE, [row for row in self.rows if row.moves]

    def premises(self) -> Record:
        """Return the traffic, prices and engines that were assumed."""
        return assumptions(self.outcomes)

    def details(self) -> Record:
        """Return the two parameters that reach the target with the smallest change, per batch."""
        return {"targets": [goal_record(goal) for goal in self.goals]} if self.goals else {}

    def warnings(self) -> Iterator[str]:
        """Yield the warnings of the outcomes."""
        return each_warning(self.outcomes)

    @property
    def charts(self) -> Charts:
        """A chart of how 10% less and more of each parameter changes the speed."""
        from fastcalc.features.sensitivity.chart import tornado

        return {"tornado": partial(tornado, self.batches)}


def goal_record(goal: Goal) -> Record:
    """Describe the two parameters that reach a target with the smallest change."""
    target, pair = goal.target, goal.pair
    levers = zip(pair.levers, pair.values, strict=True) if pair else ()
    return {
        "batch": goal.scenario.batches[0],
        "figure": KEYS[target.figure],
        "target": target.value * (1e3 if target.figure == "ttft" else 1.0),
        "pair": {lever.number.path: value for lever, value in levers} if pair else None,
        "factor": pair.factor if pair else None,
    }
