"""Files and figures of charts, where matplotlib is installed."""

from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from fastcalc.errors import InputError
from fastcalc.report.charts.drawing import Chart
from fastcalc.written import shown

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def figure(chart: Chart, width: float | None = None, *, is_dark: bool = False) -> "Figure":
    """Return a chart as a figure of matplotlib, so many inches wide.

    Raises InputError if matplotlib is not installed.
    """
    _demand()
    from fastcalc.report.charts import figure as drawer

    return drawer.figure(chart, width, is_dark=is_dark)


def save(made: "Figure", file: BinaryIO, ending: str) -> None:
    """Write a figure, the same bytes each time."""
    from fastcalc.report.charts import figure as drawer

    drawer.save(made, file, ending)


def ending_of(file: Path | None) -> str | None:
    """Return what to write by the ending of a file, None for text; or raise an InputError."""
    ending = "" if file is None else file.suffix[1:].lower()
    if ending in ("", "txt"):
        return None
    _demand()
    from matplotlib.figure import Figure

    known = sorted(Figure().canvas.get_supported_filetypes())
    if ending not in known:
        raise InputError(f"-o {shown(file)} ends in none of {', '.join(known)} or txt")
    return ending


def _demand() -> None:
    try:
        import matplotlib  # noqa: F401  (whether it is there)
    except ImportError:
        raise InputError(
            "charts in files need matplotlib: python -m pip install matplotlib; without -o the "
            "chart is drawn here"
        ) from None
