"""``fastcalc plot KIND --over PATH=VALUES``: plot a metric against YAML parameters."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product

import numpy as np

from fastcalc.core.outcome import Outcome, solve_all
from fastcalc.errors import InputError
from fastcalc.features.plot.chart import FIGURES, Varied, over
from fastcalc.features.plot.request import Plot
from fastcalc.kit.answer import progress
from fastcalc.kit.answer.answer import Answer
from fastcalc.kit.charts.drawing import Chart
from fastcalc.kit.request.change_lists import ListedChange, change_lists
from fastcalc.kit.request.evaluation import Evaluated
from fastcalc.kit.request.scenarios import scenarios
from fastcalc.mentions import option
from fastcalc.written import shown

_MOST_CELLS = 2_500
"""Maximum number of combinations. Each reloads its files, which takes tens of milliseconds."""


@dataclass(frozen=True, eq=False, kw_only=True)
class OverAnswer(Answer):
    """Plots a metric against one or two YAML parameters.

    varied : The parameters and their values.
    points : The outcomes for each combination of values.
    """

    request: Plot
    varied: Sequence[Varied]
    points: Sequence[Sequence[Outcome]]

    @property
    def charts(self) -> Mapping[str, Callable[[], Chart]]:
        """The requested figure, or nothing if no combination fits."""
        chart_name = self.request.kind
        is_held = any(
            outcome.estimate.fits.any() for outcomes in self.points for outcome in outcomes
        )
        return {chart_name: partial(over, chart_name, self.varied, self.points)} if is_held else {}


def run(request: Plot) -> OverAnswer:
    """Evaluate the models on the chips for every combination of values."""
    if request.kind not in FIGURES:
        raise InputError(
            f"{option('over')} draws {' or '.join(FIGURES)}, not {request.kind}; write for example "
            "plot speed"
        )
    try:
        changes = change_lists(request.over)
        lists = [_ascending(listed) for listed in changes.listed]
        if changes.single or len(lists) > 2:
            wrong = (
                f"{shown(changes.single[0])} is one value" if changes.single else "more than two"
            )
            raise InputError(
                f"{option('over')}: {wrong}; give one or two numbers with several values each, "
                "such as memory.SRAM.bandwidth=1PB/s..16PB/sx2"
            )
        combined = list(product(*lists))
        if len(combined) > _MOST_CELLS:
            raise InputError(
                f"{option('over')} lists {len(combined):,} combinations, of which at most "
                f"{_MOST_CELLS:,} are drawn; use larger steps"
            )
        batch = request.batch if request.batch != Plot.batch else "1"
        comparison, notes = Evaluated.sharing(request, batch=batch), list[str]()
        points: list[list[Outcome]] = []
        for combination in combined:
            what_ifs = [*(request.set or ()), *(change.written for change in combination)]
            changed = replace(comparison, set=what_ifs)
            points.append(solve_all(scenarios(changed, [] if points else notes)))
            progress.say(f"{len(points):,} of {len(combined):,} combinations")
        varied = [_varied(listed) for listed in lists]
        return OverAnswer(request=request, reading=notes, varied=varied, points=points)
    except InputError as error:  # reworded, because other commands call these what-ifs
        raise InputError(error.sentence.replace(option("set"), option("over"))) from None


def _ascending(listed: Sequence[ListedChange]) -> list[ListedChange]:
    """Sort the values of a parameter. Raises InputError if they are words."""
    words = [change.written for change in listed if isinstance(change.value, str)]
    if words:
        raise InputError(
            f"{option('over')} {shown(words[0])}: an axis needs numbers of one unit, without "
            "exponents"
        )
    return sorted(listed, key=lambda change: change.value)


def _varied(listed: Sequence[ListedChange]) -> Varied:
    """Convert a parameter's values to the unit of the largest one, as the user wrote it."""
    path, _, text = listed[-1].written.partition("=")
    digits = re.match(r"[-+0-9.eE]*[0-9.]", text.strip())
    unit = text.strip()[digits.end() :].strip() if digits else ""
    values = np.array([float(change.value) for change in listed])
    factor = values[-1] / float(digits[0]) if digits and unit and float(digits[0]) else 1.0
    return Varied(path.strip(), unit, values / factor)
