"""``fastcalc plot KIND --over PATH=VALUES``: a figure over numbers of files."""

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import numpy as np

from fastcalc.core.scenario import Outcome, solve
from fastcalc.errors import InputError
from fastcalc.features.plot.chart import FIGURES, Varied
from fastcalc.features.plot.request import Plot
from fastcalc.kit.answer import progress
from fastcalc.kit.answer.answer import CommandAnswer, later
from fastcalc.kit.request import loading
from fastcalc.kit.request.change_lists import ListedChange, change_lists
from fastcalc.kit.request.evaluation import Evaluated
from fastcalc.mentions import option
from fastcalc.written import shown

_MOST_CELLS = 2_500
"""Combinations of values: each reads its files anew and takes some tens of milliseconds."""


def run(kind: str, request: Plot) -> CommandAnswer:
    """Return speed or price over one number of a file, or two."""
    if kind not in FIGURES:
        raise InputError(
            f"{option('over')} draws {' or '.join(FIGURES)}, not {kind}; write for example plot "
            "speed"
        )
    try:
        lists, points, notes = _solved(request)
    except InputError as error:  # which what-ifs are called elsewhere
        raise InputError(error.sentence.replace(option("set"), option("over"))) from None
    is_held = any(outcome.estimate.fits.any() for outcomes in points for outcome in outcomes)
    drawn = later("features.plot.chart.over", kind, [_varied(listed) for listed in lists], points)
    return CommandAnswer(None, list, reading=notes, drawn={kind: drawn} if is_held else {})


def _solved(request: Plot) -> tuple[list[list[ListedChange]], list[list[Outcome]], list[str]]:
    """Return the values of each number, the outcomes of every combination, and notes."""
    changes = change_lists(request.over)
    lists = [_ascending(listed) for listed in changes.listed]
    if changes.single or len(lists) > 2:
        wrong = f"{shown(changes.single[0])} is one value" if changes.single else "more than two"
        raise InputError(
            f"{option('over')}: {wrong}; give one or two numbers with several values each, such as "
            "memory.SRAM.bandwidth=1PB/s..16PB/sx2"
        )
    combined = list(product(*lists))
    if len(combined) > _MOST_CELLS:
        raise InputError(
            f"{option('over')} lists {len(combined):,} combinations, of which at most "
            f"{_MOST_CELLS:,} are drawn; take larger steps"
        )
    batch = request.batch if request.batch != Plot.batch else "1"
    comparison, notes = Evaluated.sharing(request, batch=batch), list[str]()
    points: list[list[Outcome]] = []
    for combination in combined:
        what_ifs = [*(request.set or ()), *(change.written for change in combination)]
        changed = replace(comparison, set=what_ifs)
        scenarios = loading.scenarios(changed, [] if points else notes)
        points.append([solve(scenario) for scenario in scenarios])
        progress.say(f"{len(points):,} of {len(combined):,} combinations")
    return lists, points, notes


def _ascending(listed: Sequence[ListedChange]) -> list[ListedChange]:
    """Return the values of a number in order, or refuse words."""
    words = [change.written for change in listed if isinstance(change.value, str)]
    if words:
        raise InputError(
            f"{option('over')} {shown(words[0])}: an axis takes numbers of one unit, without "
            "exponents"
        )
    return sorted(listed, key=lambda change: change.value)


def _varied(listed: Sequence[ListedChange]) -> Varied:
    """Return a number with its values in the unit of the largest, as the user writes it."""
    path, _, text = listed[-1].written.partition("=")
    digits = re.match(r"[-+0-9.eE]*[0-9.]", text.strip())
    unit = text.strip()[digits.end() :].strip() if digits else ""
    values = np.array([float(change.value) for change in listed])
    factor = values[-1] / float(digits[0]) if digits and unit and float(digits[0]) else 1.0
    return Varied(path.strip(), unit, values / factor)
