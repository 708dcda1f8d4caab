"""The request of `plot`."""

from typing import TYPE_CHECKING, Annotated

from fastcalc.kit.request import groups, offered
from fastcalc.kit.request.drawing import Drawing
from fastcalc.kit.request.evaluation import Evaluated
from fastcalc.kit.request.fields import Request, argument, flag

if TYPE_CHECKING:
    from fastcalc.kit.request.given_types import ChangesGiven, CountsGiven


class KindOfChart(Request):
    """Arguments."""

    kind: Annotated[
        str,
        argument(
            "KIND",
            "speed, price, roofline, frontier, step, validate, diagnose, calibrate, memory, "
            "context or tornado.",
            completion=offered.charts,
        ),
    ]


class Plot(
    KindOfChart,
    Evaluated,
    groups.OwnRuns,
    groups.StartUpLog,
    groups.Paid,
    Drawing,
    groups.OutputFile,
    groups.OwnFolders,
):
    """Draw a chart in the terminal or into a file (svg, pdf, png, ...).

    For models on chips, you can plot speed or price against batch, the roofline, the frontier of
    speed and price, or the decode step time by component. Other plots show the contents of each
    memory, the longest context against users, or the effect of changing each parameter by 10%. For
    a file of measurements, you can plot predicted against measured values, before and after
    `diagnose` and `calibrate`. Image files require matplotlib.
    """

    examples = (
        "fastcalc plot roofline llama-3.1-70b --on h100-sxm,gb200,wse-3",
        "fastcalc plot speed --on wse-3 --over memory.SRAM.bandwidth=1PB/s..9PB/sx2",
    )

    batch: "CountsGiven" = "1..512x2"
    over: Annotated[
        "ChangesGiven | None",
        flag(
            "PATH=VALUES",
            "Parameter to vary on the x axis: memory.SRAM.bandwidth=1PB/s..16PB/sx2; a second "
            "makes a map.",
            is_repeated=True,
        ),
    ] = None
    max_chips: Annotated[
        int, flag("N", "Largest number of chips in a deployment on the frontier.")
    ] = 72
