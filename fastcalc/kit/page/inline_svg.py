"""Draw charts as inline SVG, coloured by the page's style sheet, with tooltips on points."""

from collections.abc import Iterator, Sequence
from html import escape

import numpy as np

from fastcalc.formulas.types import Floats
from fastcalc.kit.charts.drawing import COLOURS, Bar, Chart, Panel, Series, Swing, written
from fastcalc.kit.charts.labels import MARK, Label, fitted
from fastcalc.kit.charts.tornado import LESS, MORE, ends_of, reach_of

_WIDE, _HIGH, _LEFT, _TOP, _BOTTOM = 440.0, 290.0, 60.0, 14.0, 44.0
_LETTER, _LINE = 7.7, 14.0
"""Width of a wide letter, and height of a line, at 12 px. [px]"""

_BAR = 4.0
"""Half the width of a range drawn around a single point. [px]"""

_ROW = 20.0
"""Height of a row in a tornado chart. [px]"""

_SHAPES = (
    '<circle r="3.4"/>',
    '<path d="M-3-3h6v6h-6z"/>',
    '<path d="M0-4.2 4.2 0 0 4.2-4.2 0z"/>',
    '<path d="M0-4 3.8 3h-7.6z"/>',
    '<path d="M0 4 3.8-3h-7.6z"/>',
    '<path d="M-1.3-4h2.6v2.7h2.7v2.6h-2.7v2.7h-2.6v-2.7h-2.7v-2.6h2.7z"/>',
    '<path d="M-4 0 0-2 4 0 0 2z"/>',
    '<path d="M0-4 2 0 0 4-2 0z"/>',
)
MARKS = "".join(f'<g id="m{place}">{shape}</g>' for place, shape in enumerate(_SHAPES))
"""The marker shapes, which plots reference by palette index."""


def figures(chart: Chart) -> Iterator[str]:
    """Yield an HTML figure for each plot of a chart, or one for its bars or tornado.

    The chart's finding is above the first figure, and its notes are below the last.
    """
    about = chart.title.partition(":")[0]  # the page already names the model
    drawn = [(about, _bars(chart.bars))] if chart.bars else []
    drawn += [(about, _swings(chart.swings))] if chart.swings else []
    for panel in chart.panels:
        title = ", ".join(filter(None, (about, *panel.title.splitlines())))
        drawn.append((title, _plot(panel, title)))
    notes = "".join(f"<li>{escape(note)}</li>" for note in chart.sentences)
    for place, (title, picture) in enumerate(drawn):
        shows = f'<p class="quiet">{escape(chart.finding)}</p>' if chart.finding else ""
        note_list = f'<ul class="notes">{notes}</ul>' if notes else ""
        yield (
            f"<figure><figcaption>{escape(title)}</figcaption>{shows * (place == 0)}{picture}"
            f"{note_list * (place == len(drawn) - 1)}</figure>"
        )


def _plot(panel: Panel, title: str) -> str:
    high = _HIGH - _BOTTOM - _TOP
    labels, wide = fitted(panel, _WIDE - _LEFT - 4.0, high, _extent, _LINE)
    right = _LEFT + wide
    body = "".join(_grid(panel, right))
    body += "".join(element for series in panel.series for element in _series(panel, series, right))
    body += "".join(_labels(labels))
    return (
        f'<svg viewBox="0 0 {_WIDE:.0f} {_HIGH:.0f}" role="group" tabindex="0" '
        f'aria-label="{escape(title)}; arrow keys go from point to point">{body}</svg>'
    )


def _across(panel: Panel, values: Floats | float, right: float) -> Floats:
    return _LEFT + panel.across.share(values) * (right - _LEFT)


def _up(panel: Panel, values: Floats | float) -> Floats:
    return _HIGH - _BOTTOM - panel.upward.share(values) * (_HIGH - _BOTTOM - _TOP)


def _grid(panel: Panel, right: float) -> Iterator[str]:
    floor = _HIGH - _BOTTOM
    for tick in panel.across.ticks_for(right - _LEFT, lambda text: _extent(text) + 8.0):
        x = float(_across(panel, tick, right))
        yield f'<path class="grid" d="M{x:.1f} {_TOP}V{floor}"/>'
        yield f'<text x="{x:.1f}" y="{floor + 15}" text-anchor="middle">{written(tick)}</text>'
    for tick in panel.upward.ticks:
        y = float(_up(panel, tick))
        yield f'<path class="grid" d="M{_LEFT} {y:.1f}H{right:.1f}"/>'
        yield f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{written(tick)}</text>'
    yield f'<path class="axis" d="M{_LEFT} {_TOP}V{floor}H{right:.1f}"/>'
    middle = (_LEFT + right) / 2.0
    across, upward = (escape(axis.label) for axis in (panel.across, panel.upward))
    yield f'<text x="{middle:.1f}" y="{_HIGH - 8}" text-anchor="middle">{across}</text>'
    yield (
        f'<text transform="translate(12 {(_TOP + floor) / 2:.0f})rotate(-90)" '
        f'text-anchor="middle">{upward}</text>'
    )


def _series(panel: Panel, series: Series, right: float) -> Iterator[str]:
    colour = f"c{series.colour % len(COLOURS)}"
    x, y = _across(panel, series.x, right), _up(panel, series.y)
    if series.low is not None and series.high is not None:
        low, high = _up(panel, series.low), _up(panel, series.high)
        wide = x if x.size > 1 else x + np.array([-_BAR, _BAR])
        low, high = (np.broadcast_to(edge, wide.shape) for edge in (low, high))
        if low.max() > _HIGH - _BOTTOM or high.min() < _TOP:  # the range is cut off at the axes
            positions = np.linspace(wide[0], wide[-1], 64)
            beyond = (np.interp(positions, wide, edge) for edge in (low, high))
            low, high = (np.clip(edge, _TOP, _HIGH - _BOTTOM) for edge in beyond)
            wide = positions
        edge = [*_pairs(wide, high), *reversed(_pairs(wide, low))]
        css_class = "area" if series.style == "area" else "band"
        yield f'<polygon class="{css_class} {colour}" points="{" ".join(edge)}"/>'
    if series.style in ("line", "bound"):
        yield f'<polyline class="{series.style} {colour}" points="{" ".join(_pairs(x, y))}"/>'
    shape = f"#m{series.colour % len(COLOURS)}"
    for left, top, tip in zip(x, y, series.tips, strict=False):
        yield (
            f'<use class="point {"spot" if series.style == "area" else colour}" '
            f'href="{shape}" x="{left:.1f}" y="{top:.1f}"><title>{escape(tip)}</title></use>'
        )
    if series.style == "points" and not series.tips:
        for left, top in zip(x, y, strict=True):
            yield f'<use class="area {colour}" href="{shape}" x="{left:.1f}" y="{top:.1f}"/>'


def _pairs(x: Floats, y: Floats) -> list[str]:
    return [f"{left:.1f},{top:.1f}" for left, top in zip(x, y, strict=True)]


def _labels(labels: Sequence[Label]) -> Iterator[str]:
    for label in labels:
        x, y = _LEFT + label.x, _HIGH - _BOTTOM - label.y
        if label.end is not None:
            left, top = _LEFT + label.end[0], _HIGH - _BOTTOM - label.end[1]
            to = x - 2.0 - MARK * label.is_marked
            yield f'<path class="leader" d="M{left:.1f} {top:.1f}L{to:.1f} {y:.1f}"/>'
        if label.is_marked:
            place = label.colour % len(COLOURS)
            spot = f'href="#m{place}" x="{x - MARK / 2.0:.1f}" y="{y:.1f}"'
            yield f'<use class="area c{place}" {spot}/>'
        yield f'<text class="name" x="{x:.1f}" y="{y + 4:.1f}">{escape(label.name)}</text>'


def _extent(text: str) -> float:
    return _LETTER * len(text)


def _bars(bars: Sequence[Bar]) -> str:
    colour_of = {name: colour for bar in bars for name, colour, _ in bar.parts}
    rows = []
    for bar in bars:
        elements = "".join(
            f'<i class="c{colour % len(COLOURS)} w{1e4 * fraction:.0f}" tabindex="0" '
            f'title="{escape(f"{bar.name}: {name} {100 * fraction:.1f}%")}"></i>'
            for name, colour, fraction in bar.parts
        )
        rows.append(
            f'<div class="bar"><b>{escape(bar.name)}</b><span class="whole">{elements}</span>'
            f"<span>{escape(bar.says)}</span></div>"
        )
    key = "".join(
        f'<li><i class="c{colour % len(COLOURS)}"></i>{escape(name)}</li>'
        for name, colour in colour_of.items()
    )
    return f'{"".join(rows)}<ul class="key">{key}</ul>'


def _swings(swings: Sequence[Swing]) -> str:
    """Draw a tornado chart: names on the left, bars around a line, and values on the right."""
    left = 12.0 + _LETTER * max(len(swing.name) for swing in swings)
    right = _WIDE - 12.0 - _LETTER * max(len(swing.says) for swing in swings)
    middle, floor = (left + right) / 2.0, _ROW * len(swings)
    scale = (right - left) / 2.0 / reach_of(swings)
    rows = []
    for place, swing in enumerate(swings):
        top = _ROW * place + 3.0
        bars = "".join(
            f'<path class="area c{colour}" d="M{middle:.1f} {top}h{scale * change:.1f}v{_ROW - 6}'
            f'H{middle:.1f}z"/>'
            for colour, change in ((1, swing.lowered), (0, swing.raised))
        )
        rows.append(
            f'<text x="{left - 8:.1f}" y="{top + 12}" text-anchor="end">{escape(swing.name)}</text>'
            f'{bars}<text x="{right + 8:.1f}" y="{top + 12}">{escape(swing.says)}</text>'
        )
    ends = zip(ends_of(swings), ((left, "start"), (right, "end")), strict=True)
    scale_ends = "".join(
        f'<text x="{at:.1f}" y="{floor + 14:.0f}" text-anchor="{anchor}">{end}</text>'
        for end, (at, anchor) in ends
    )
    key = f'<li><i class="c1"></i>{LESS}</li><li><i class="c0"></i>{MORE}</li>'
    return (
        f'<svg viewBox="0 0 {_WIDE:.0f} {floor + _ROW:.0f}" role="img" aria-label="Tornado">'
        f'{"".join(rows)}{scale_ends}<path class="axis" d="M{middle:.1f} 0V{floor}"/></svg>'
        f'<ul class="key">{key}</ul>'
    )
