"""Highlight a few lines in colour, with ranges and bounds, and draw the rest in grey."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

from fastcalc.errors import InputError
from fastcalc.kit.charts.drawing import GREY, Chart, ChartAxis, Panel
from fastcalc.mentions import option
from fastcalc.written import shown

FEW = 5
"""Maximum number of coloured lines. The rest are grey."""

DASHED = "dashed lines are the hardware bound"


def highlighted(chart: Chart, patterns: Sequence[str] = ()) -> Chart:
    """Copy a chart with some of its lines highlighted.

    patterns : The patterns for a line's name or a word in it; by default, a few lines are
        highlighted:
    those that the finding names, then the first ones

    Raises InputError if a pattern matches no line.
    """
    lines = [line for panel in chart.panels for line in panel.series if line.style == "line"]
    words: dict[int, set[str]] = {}
    for line in lines:
        words.setdefault(line.colour, set()).update((line.name, *line.name.split()))
    finding = {word.strip(",.;:") for word in chart.finding.split()}
    leading = sorted(words, key=lambda at: not words[at] & finding)
    chosen: list[int] = [] if patterns or len(words) <= FEW else leading[:FEW]
    for pattern in patterns:
        positions = [at for at in words if any(fnmatchcase(word, pattern) for word in words[at])]
        if not positions:
            drawn = ", ".join(dict.fromkeys(line.name for line in lines)) or "there are no lines"
            raise InputError(
                f"{option('highlight')} '{shown(pattern)}' matches nothing drawn: {drawn}"
            )
        chosen += positions
    if not chosen:
        return chart
    colours = {position: colour % GREY for colour, position in enumerate(dict.fromkeys(chosen))}
    panels = [_coloured(panel, colours) for panel in chart.panels]
    has_bound = any(line.style == "bound" for panel in panels for line in panel.series)
    notes = chart.notes if has_bound else [note.replace(f"; {DASHED}", "") for note in chart.notes]
    return replace(chart, panels=panels, notes=notes)


def _coloured(panel: Panel, colours: Mapping[int, int]) -> Panel:
    quiet = [
        replace(line, colour=GREY, low=None, high=None)
        for line in panel.series
        if line.colour not in colours and line.style != "bound"
    ]
    loud = [
        replace(line, colour=colours[line.colour])
        for line in panel.series
        if line.colour in colours
    ]
    heights = [height for line in (*quiet, *loud) for height in line.heights]
    upward = ChartAxis.over(panel.upward.label, heights, panel.upward.base)
    return replace(panel, series=[*quiet, *loud], upward=upward)
