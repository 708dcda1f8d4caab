"""A chart of the longest context against the number of users."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from fastcalc.core.outcome import locate
from fastcalc.core.scenario import Scenario
from fastcalc.features.fit.solve import Capacity
from fastcalc.kit.answer.numbers_as_text import counted
from fastcalc.kit.charts.drawing import MOST, Chart, Panel, Series, axes
from fastcalc.kit.charts.outcome_series import grounds
from fastcalc.mentions import option

OCTAVES = 10
"""Number of times the users are doubled in the chart of a single batch."""


def context(scenarios: Sequence[Scenario]) -> Chart:
    """Plot the longest context against users, with a line for each chip, model and format.

    scenarios : The scenarios to plot; each line has the number of chips for its smallest batch.
    """
    lines: dict[tuple[str, ...], list[Scenario]] = {}
    for scenario in scenarios:
        work = scenario.work
        key = (scenario.hardware.id, scenario.model.id, work.weight_format, work.kv_format)
        lines.setdefault(key, []).append(scenario)
    varied = [len(set(items)) > 1 for items in zip(*lines, strict=True)]
    series: list[Series] = []
    unfit: list[str] = []
    for (chip, *names), items in lines.items():
        described = " ".join(
            name for name, is_varied in zip(names, varied[1:], strict=True) if is_varied
        )
        line = _line(items, described, len(series))
        if line is None:
            unfit.append(f"{' '.join(filter(None, [chip, described]))} holds none of them")
        elif len(series) < MOST:
            series.append(line)
    models = dict.fromkeys(scenario.model.heading for scenario in scenarios)
    formats = ""
    if not any(varied[2:]):
        weights, cache = next(iter(lines))[2:]
        formats = f", weights {weights}, KV cache {cache}"
    title = f"Context against users: {', '.join(models)}{formats}"
    notes = [
        "tokens are prompt and output of each user, with the engine's largest memory reserve",
        *unfit,
        *[f"{MOST} lines are drawn; choose the chips to draw with {option('on')}"]
        * (len(series) + len(unfit) < len(lines)),
    ]
    if not series:
        return Chart(title, notes=notes)
    axis, upward = axes(series, "users (concurrent sequences)", "tokens of each user", (2, 10))
    panels = [Panel("", axis, upward, series)]
    return Chart(title, panels, notes=notes, finding=_finding(series), grounds=grounds(scenarios))


def _finding(series: Sequence[Series]) -> str:
    """Name the chips with the longest context for few users, and those with the most users."""
    longest = max(series, key=lambda line: (float(line.y[0]), float(line.y[-1])))
    widest = max(series, key=lambda line: (float(line.x[-1]), float(line.y[-1])))
    of_few = f"{longest.y[0]:,.0f} tokens for {_users(longest.x[0])}"
    of_many = f"{widest.y[-1]:,.0f} for each of {widest.x[-1]:,.0f}"
    holds = f"{longest.name} hold{'s' * longest.name.startswith('1 x')} most: {of_few}"
    if longest is not widest:
        return f"{holds}. {widest.name} hold{'s' * widest.name.startswith('1 x')} {of_many}."
    return f"{holds}, or {of_many}."


def _line(scenarios: Sequence[Scenario], described: str, index: int) -> Series | None:
    """Return the line of longest contexts for the given scenarios, or None if none fits."""
    batches = sorted({batch for scenario in scenarios for batch in scenario.batches})
    users = np.array(batches if len(batches) > 1 else 2.0 ** np.arange(OCTAVES + 1), dtype=float)
    location = locate(replace(scenarios[0], batches=(int(users[0]),)))
    capacity = Capacity.of(location)
    reserve = capacity.largest_reserve
    tokens = np.array([capacity.longest_context(count, reserve) for count in users.tolist()])
    is_held = tokens >= 1.0
    if not is_held.any():
        return None
    chip = location.scenario.hardware.id
    name = " ".join(filter(None, [f"{capacity.layouts[0].chips:,} x {chip}", described]))
    tips = [
        f"{_users(count)}, {length:,.0f} tokens each, {name}"
        for count, length in zip(users[is_held], tokens[is_held], strict=True)
    ]
    return Series(name, users[is_held], tokens[is_held], index, tips=tips)


def _users(count: float) -> str:
    return f"{counted(int(count), 'user')}{'s' * (int(count) != 1)}"
