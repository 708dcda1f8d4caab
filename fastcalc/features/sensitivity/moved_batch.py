"""Describe the effects of all parameters at one batch."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, isnan

from fastcalc.core.outcome import Outcome
from fastcalc.features.sensitivity.effects import Effect
from fastcalc.features.sensitivity.moved_numbers import MovedNumber, rank
from fastcalc.features.sensitivity.targets import Goal, Target
from fastcalc.kit.answer.field_names import in_words
from fastcalc.kit.answer.numbers_as_text import number, of_kind
from fastcalc.kit.answer.parts import Remark
from fastcalc.kit.answer.point_records import compare_records
from fastcalc.kit.answer.prices import price_line
from fastcalc.kit.answer.record_tables import output_price
from fastcalc.kit.answer.row_words import TableRow, alone
from fastcalc.written import listed

_RANKS = ("The chip or engine parameter with the largest effect on speed is", "Next is")
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
            f"{row.name} of {row.text(row.needed)} (now {row.text(row.value)})"
            for row in sorted(self.rows, key=_distance)
            if row.effect.lever.file != "model" and row.needed is not None
        ]
        if reaching:
            return f"{today} {wanted} is reached with {listed(reaching[:3], 'or')}."
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
            f"{start} {row.name} (now {row.text(row.value)}): "
            f"1% {'more' if row.elasticity > 0 else 'less'} raises speed by "
            f"{number(abs(row.elasticity), 2)}%."
            for start, row in zip(_RANKS, worth, strict=False)
        ]

    def saturated(self) -> str:
        """Say above which values a chip's parameters hardly raise speed, and which shorten TTFT."""
        spare = [row for row in self._designed() if row.is_spare]
        spare = [row for row in spare if row.effect.lever.file == "hardware"]
        spare = sorted(spare, key=lambda row: row.enough / row.value)[:3]
        above = [f"{row.name} above {row.text(row.enough)}" for row in spare]
        faster = [row.name for row in spare if row.change("ttft") < 0.0]
        shorter = f". Raising {listed(faster, 'or')} would still shorten TTFT" if faster else ""
        unused = f"decode hardly uses {listed(above, 'or')}: more raises speed by at most 1%"
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
            f"{in_words(lever.number.path)} to {of_kind(value, lever.number.kind)}"
            for lever, value in zip(pair.levers, pair.values, strict=True)
        ]
        return (
            f"at batch {self.goal.scenario.batches[0]:,}, the smallest two-parameter change that "
            f"reaches {_in_words(self.goal.target)} sets {listed(changes)}, each "
            f"{number(pair.factor)} times better"
        )


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
