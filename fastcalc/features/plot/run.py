"""``fastcalc plot``: draw a chart to a file or to the terminal."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from fastcalc.errors import InputError
from fastcalc.features import answer_to, request_of
from fastcalc.features.plot.request import Plot
from fastcalc.kit.answer import output
from fastcalc.kit.answer.answer import Answer
from fastcalc.kit.answer.console import Wording
from fastcalc.kit.answer.respond import page
from fastcalc.kit.charts import figure
from fastcalc.kit.charts.drawing import Chart
from fastcalc.kit.charts.highlight import highlighted
from fastcalc.kit.charts.look import STYLES, Look
from fastcalc.kit.charts.terminal import parts
from fastcalc.kit.request import loading, readers
from fastcalc.kit.request.drawing import Drawing
from fastcalc.kit.request.fields import phrases, settings
from fastcalc.kit.request.offered import CHARTS
from fastcalc.mentions import as_flags, as_prose, option

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from fastcalc.features.measure.request import Calibrate

_WIDEST = 80


def run(request: Plot) -> int:
    """Draw the requested chart. The exit code is 1 if there is nothing to draw."""
    ending = figure.ending_of(request.out)
    answer = _answer(request)
    if request.kind not in answer.charts:
        output.warn([*answer.reading, *(answer.reasons or answer.undrawn)])
        return 1
    output.warn([*answer.reading, *answer.reasons])
    if ending is None:
        chart = _chart(answer, request, as_flags)
        is_ascii = request.out is None and not output.draws()
        page(request, lambda screen: parts(chart, min(screen.width, _WIDEST), is_ascii=is_ascii))
    else:
        _saved(_chart(answer, request, as_prose), request, ending)
    return answer.code


def drawn(request: Plot) -> "Figure":
    """Draw a chart as a matplotlib figure, and save it if the request names a file.

    Raises InputError if there is nothing to draw.
    """
    ending = figure.ending_of(request.out) or "svg"
    answer = _answer(request)
    if request.kind not in answer.charts:
        raise InputError("; ".join([*answer.reading, *(answer.reasons or answer.undrawn)]))
    return _saved(_chart(answer, request, as_prose), request, ending)


def _chart(answer: Answer, request: Plot, wording: Wording) -> Chart:
    """Adapt a chart's text to its readers. Charts in a file do not mention flags."""
    chart = answer.charts[request.kind]().stating(phrases(settings(request)))
    return highlighted(chart.worded(wording), look_of(request).highlight)


def _saved(chart: Chart, request: Plot, ending: str) -> "Figure":
    drawing = figure.figure(chart, look_of(request))
    if request.out is not None:
        with output.whole(request.out) as draft:
            figure.save(drawing, draft, ending)
    return drawing


def look_of(request: Drawing) -> Look:
    """Read the appearance of a chart: size, resolution and style."""
    for name, low, high, example in (
        ("width", 2, 40, 8),
        ("height", 1, 80, 5),
        ("dpi", 30, 1200, 300),
    ):
        value = request.values[name]
        if value is not None and not low <= value <= high:
            inches = "" if name == "dpi" else " inches"
            raise InputError(
                f"{option(name)} {value:g} is outside {low} to {high:,}{inches}; write for example "
                f"{example}"
            )
    style = readers.choice(request.style, option("style"), STYLES)
    if request.dark and style == "print":
        raise InputError(f"{option('dark')} and {option('style', 'print')} exclude each other")
    return Look(
        style="dark" if request.dark else style,
        width=request.width,
        height=request.height,
        dpi=request.dpi,
        title=request.title,
        highlight=readers.names_if_any(request.highlight, option("highlight")) or (),
    )


def _answer(request: Plot) -> Answer:
    """Compute the answer that contains the chart. An invalid appearance is rejected first."""
    chart_name = readers.choice(request.kind, "KIND", CHARTS)
    look_of(request)
    if request.over:
        from fastcalc.features.plot import over  # most charts plot batches

        return over.run(request)
    command, changes = _drawn_by(chart_name, request)
    request_of_kind = request_of(command).sharing(request, out=None, **changes)
    if command == "calibrate":
        from fastcalc.features.measure import calibrate  # its answer is usually a file

        return calibrate.drawn(cast("Calibrate", request_of_kind))
    answer: Answer = answer_to(command, request_of_kind)
    return answer


def _drawn_by(chart_name: str, request: Plot) -> tuple[str, dict[str, Any]]:
    """Return the command whose answer has a chart, and the settings specific to its request."""
    if chart_name in ("validate", "diagnose", "calibrate"):
        name = _only(request, "file of measurements")
        hardware = None if request.on == Plot.on else readers.as_text(request.on)
        return chart_name, {"path": name and Path(name), "hardware": hardware}
    if chart_name == "frontier":
        return chart_name, {"model": _only(request, "model") or loading.DEFAULT_MODELS[0]}
    is_given = request.batch != Plot.batch
    if chart_name in ("memory", "context"):
        return "fit", {"batch": request.batch if is_given or chart_name == "context" else "1"}
    if chart_name == "tornado":
        model = _only(request, "model") or loading.DEFAULT_MODELS[0]
        return "sensitivity", {"model": model, "batch": request.batch if is_given else "1"}
    return "compare", {}


def _only(request: Plot, noun: str) -> str | None:
    names = [readers.as_text(name) for name in request.models or ()]
    if len(names) > 1:
        raise InputError(f"plot {request.kind} draws one {noun}, not {len(names)}; name one")
    return names[0] if names else None
