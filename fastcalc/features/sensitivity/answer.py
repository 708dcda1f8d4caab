"""The answer of `sensitivity`: effects of parameters, and values that reach a target."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import isfinite, isnan

from fastcalc.catalogue.schema.engine_parameters import PARAMETERS
from fastcalc.core.outcome import Outcome, each_warning
from fastcalc.features import request_of
from fastcalc.features.sensitivity.effects import Effect
from fastcalc.features.sensitivity.moved_numbers import BEST, COLUMNS, KEYS, NAME, MovedNumber, rank
from fastcalc.features.sensitivity.request import Sensitivity
from fastcalc.features.sensitivity.targets import Goal, Target
from fastcalc.grid.column import TableColumn, values
from fastcalc.grid.columns import pick
from fastcalc.kit.answer import outcome_lines, record_tables
from fastcalc.kit.answer.answer import Answer, Charts, Screen
from fastcalc.kit.answer.field_names import in_words
from fastcalc.kit.answer.next_commands import follow_up
from fastcalc.kit.answer.numbers_as_text import number, of_kind
from fastcalc.kit.answer.parts import Note, Part, Remark
from fastcalc.kit.answer.point_records import Record, assumptions, compare_records, plainly
from fastcalc.kit.answer.prices import price_line, prices
from fastcalc.kit.answer.record_tables import output_price
from fastcalc.kit.answer.row_words import TableRow, alone
from fastcalc.kit.request.fields import phrases
from fastcalc.mentions import flag, option
from fastcalc.written import listed, many

_RANKS = ("Strongest chip or engine parameter:", "Next:")
"""Words before the parameters with the largest effects."""

_WORTH = 0.05
"""Elasticity above which a sentence names a parameter."""


@dataclass(frozen=True, eq=False)
class MovedBatch:
    """The effects of all parameters at one batch.

    rows : The parameters, ordered by effect on speed.
    goal : The ways to reach the target at this batch, if there is a target.
    """

    outcome: Outcome
    rows: Sequence[MovedNumber]
    goal: Goal | None

    @property
    def shown(self) -> list[MovedNumber]:
        """The parameters that change a metric, by printed effect or by the change required."""
        moving = [row for row in self.rows if row.moves]
        return sorted(moving, key=_distance if self.goal else _printed_effect)

    def opening(self, most: int) -> str:
        """State the present speed and limiter, and name at most this many parameters to change."""
        return " ".join([self._today(), *self.buys()[:most]])

    def headline(self) -> str:
        """State the largest effects and where they saturate, or how to reach the target."""
        if self.goal is None:
            return self.opening(1)
        today, wanted = self._today(), _in_words(self.goal.target)
        if all(row.factor == 1.0 for row in self.rows):
            return f"{today} {wanted} is already reached."
        reaching = [
            f"{row.name} of {row.text(row.needed)}"
            for row in sorted(self.rows, key=_distance)
            if row.effect.lever.file != "model" and row.needed is not None
        ]
        if reaching:
            return (
                f"{today} The smallest chip or engine change that reaches {wanted}: {reaching[0]}."
            )
        return f"{today} No parameter of chip or engine reaches {wanted} alone."

    def _today(self) -> str:
        is_priced = self.goal is not None and self.goal.target.figure == "usd"
        return alone(self._now, is_priced=is_priced)

    @property
    def _now(self) -> TableRow:
        return TableRow(self.rows[0].point, self.outcome)

    def prices(self) -> list[Remark]:
        """Return the price per chip-hour, and the cost to which changes in cost refer."""
        if self.goal:
            is_of_cost = self.goal.target.figure == "usd"
            return price_line([self.outcome.scenario]) if is_of_cost else []
        cost = f"output costs {output_price(self._now.record)}/Mtok at batch {self._now.batch:,}"
        return price_line([self.outcome.scenario], cost)

    def buys(self) -> list[str]:
        """Describe the chip and engine parameters with the largest effects."""
        worth = (row for row in self._designed() if abs(row.elasticity) >= _WORTH)
        return [
            f"{start} {row.name}{_for_more(row.change_cell('speed'))}."
            for start, row in zip(_RANKS, worth, strict=False)
        ]

    def saturated(self) -> str:
        """Say above which values a chip's parameters hardly raise speed, and which shorten TTFT."""
        spare = [row for row in self._designed() if row.is_spare]
        spare = [row for row in spare if row.effect.lever.file == "hardware"]
        spare = sorted(spare, key=lambda row: row.enough / row.value)[:3]
        above = [f"{row.name} {row.text(row.enough)}" for row in spare]
        faster = [row.name for row in spare if row.change("ttft") < 0.0]
        shorter = f". More {listed(faster, 'or')} would still shorten TTFT" if faster else ""
        unused = f"beyond these values, decode speeds up by at most 1%: {listed(above)}"
        return f"{unused}{shorter}" if above else ""

    def _designed(self) -> Iterator[MovedNumber]:
        """Yield the parameters that designers of chips and engines can change."""
        for row in self.rows:
            if isfinite(row.elasticity) and row.effect.lever.file != "model":
                yield row

    def pair(self) -> str:
        """Describe the smallest two-parameter change that reaches the target, if any."""
        is_reached = all(row.factor == 1.0 for row in self.rows)
        if self.goal is None or self.goal.pair is None or is_reached:
            return ""
        pair = self.goal.pair
        changes = [
            f"{in_words(lever.number.path)} to {of_kind(value, lever.number.kind)} "
            f"({number(value / lever.number.value)}x)"
            for lever, value in zip(pair.levers, pair.values, strict=True)
        ]
        return (
            f"at batch {self.goal.scenario.batches[0]:,}, the smallest two-parameter change that "
            f"reaches {_in_words(self.goal.target)} sets {listed(changes)}"
        )


def _for_more(change: str) -> str:
    """Put the change of speed into words. Empty if the parameter cannot be raised."""
    return f" (+10% changes speed by {change})" if change.endswith("%") else ""


def batches_of(
    outcome: Outcome, effects: Sequence[Effect], goals: Mapping[int, Goal]
) -> Iterator[MovedBatch]:
    """Yield every batch that fits, with the effects of all parameters.

    goals : The ways to reach the target by index of the batch, if there is a target.
    """
    for index, point in enumerate(compare_records([outcome])):
        if point["fits"]:
            goal = goals.get(index)
            alone = {answer.lever: answer for answer in goal.alone} if goal else {}
            rows = [
                MovedNumber(outcome, index, point, effect, alone.get(effect.lever))
                for effect in effects
            ]
            yield MovedBatch(outcome, sorted(rows, key=rank), goal)


def _distance(row: MovedNumber) -> tuple[bool, float]:
    """Return a sort key: distance to the value that reaches a target, or how close it gets."""
    factor = row.factor
    return factor is None, max(factor, 1.0 / factor) if factor else rank(row)[0]


def _printed_effect(row: MovedNumber) -> tuple[float, ...]:
    """Return a sort key: change of speed for 10% more, as printed in the table."""
    change = row.change("speed")
    change = 0.1 * row.elasticity if isnan(change) else change
    return (-abs(change) if isfinite(change) else 0.0, *rank(row))


def _in_words(target: Target) -> str:
    if target.figure == "speed":
        return f"{number(target.value)} tokens/s"
    if target.figure == "ttft":
        return f"TTFT of {of_kind(target.value, 'time')}"
    return f"${number(target.value)}/Mtok of output"


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
    "largest gain: highest speed-up from this parameter alone; reached at: "
    f"value that gives 99% of that speed; {_PATHS}"
)
_TARGET_KEY = (
    f"key: value needed if only this parameter changes; -: no value reaches the target; "
    f"best reached: closest result, with the best value of this parameter; {_PATHS}"
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
