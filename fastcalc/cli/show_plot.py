"""``fastcalc plot``: a chart to a file, or to the terminal."""

from pathlib import Path

from fastcalc.cli import options, output, requests
from fastcalc.cli.answers import Found, page
from fastcalc.cli.commands.drawings import Plot
from fastcalc.cli.commands.evaluation import Compare, FitMemory
from fastcalc.cli.commands.measurements import Validate
from fastcalc.cli.commands.search import Frontier
from fastcalc.cli.completion import CHARTS
from fastcalc.errors import InputError
from fastcalc.report.chart import parts
from fastcalc.report.charts import figure

_WIDEST = 80


def run(asked: Plot) -> int:
    """Draw a chart of a kind, and return the exit code: 1 if there is nothing to draw."""
    kind = options.choice(asked.kind, "KIND", CHARTS)
    width, ending = asked.width, figure.ending_of(asked.out)
    if width is not None and not 3.0 <= width <= 40.0:
        raise InputError(f"--width {width:g} is not 3 to 40 inches; write for example 8")
    found = _answer(kind, asked)
    if kind not in found.charts:
        output.warn([*(found.reasons or ["nothing fits its chips: --chips makes room for more"])])
        return 1
    output.warn([*found.reasons])
    chart = found.charts[kind]()
    if ending is None:
        is_ascii = asked.out is None and not output.draws()
        page(asked, lambda screen: parts(chart, min(screen.width, _WIDEST), is_ascii=is_ascii))
        return found.code
    made = figure.figure(chart, width, is_dark=asked.dark)
    assert asked.out is not None
    with output.whole(asked.out) as draft:
        figure.save(made, draft, ending)
    return found.code


def _answer(kind: str, asked: Plot) -> Found:
    from fastcalc.cli import show_compare, show_fit, show_frontier, show_validate

    if kind == "validate":
        path = _only(asked, "file of measurements")
        return show_validate.run(Validate.like(asked, out=None, path=path and Path(path)))
    if kind == "frontier":
        model = _only(asked, "model") or requests.DEFAULT_MODELS[0]
        return show_frontier.run(Frontier.like(asked, out=None, model=model))
    if kind == "memory":
        batch = asked.batch if asked.batch != Plot.batch else "1"
        return show_fit.run(FitMemory.like(asked, out=None, batch=batch))
    return show_compare.run(Compare.like(asked, out=None))


def _only(asked: Plot, what: str) -> str | None:
    names = asked.models or []
    if len(names) > 1:
        raise InputError(f"plot {asked.kind} draws one {what}, not {len(names)}; name one")
    return names[0] if names else None
