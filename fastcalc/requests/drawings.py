"""Requests of the commands that draw: `plot` and `report`."""

from typing import TYPE_CHECKING, Annotated

from fastcalc.mentions import option
from fastcalc.requests import groups, offered
from fastcalc.requests.evaluation import Compare, Evaluated
from fastcalc.requests.fields import Request, argument, flag

if TYPE_CHECKING:
    from fastcalc.requests.given import ChangesGiven, CountsGiven, WordsGiven


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


class Drawing(groups.OutputFile):
    """Output."""

    style: Annotated[
        str, flag("light|dark|print", "Ground; print is in greys, as wide as a column of a paper.")
    ] = "light"
    dark: Annotated[
        bool, flag(None, f"Light lines on a dark ground: {option('style', 'dark')}.")
    ] = False
    highlight: Annotated[
        "WordsGiven | None",
        flag("NAMES", "Lines in colour, the others grey; of more than 5 the first, unless given."),
    ] = None
    title: Annotated[str | None, flag("TEXT", "Title, in place of what the picture shows.")] = None
    width: Annotated[float | None, flag("INCHES", "Width of the picture; 8 unless given.")] = None
    height: Annotated[float | None, flag("INCHES", "Height; what it holds unless given.")] = None
    dpi: Annotated[float, flag("N", "Dots an inch of a PNG.")] = 150.0


class Plot(
    KindOfChart,
    Evaluated,
    groups.OwnRuns,
    groups.StartUpLog,
    groups.Paid,
    Drawing,
    groups.OwnFolders,
):
    """Draw a chart, in a file by its ending (svg, pdf, png, ...) or in the terminal.

    Of models on chips: speed against batch, the roofline, the frontier of speed and price, the time
    of a decode step by component, what lives in which memory, context against users, or what 10 %
    of each number does. Of measurements, such as a file in place of the models: predicted against
    measured, before and after `diagnose` and `calibrate`. Files need matplotlib.
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
            "Speed or price over a number of a file: memory.SRAM.bandwidth=1PB/s..16PB/sx2; a "
            "second makes a map.",
            is_repeated=True,
        ),
    ] = None
    max_chips: Annotated[int, flag("N", "Most chips of a deployment on the frontier.")] = 72


class WriteReport(Evaluated, groups.OwnRuns, groups.Paid, groups.OutputFile, groups.OwnFolders):
    """Write a comparison as one HTML file to send: the same as compare -o FILE.html.

    What it says, its table (to sort, filter and choose columns of), charts, each step taken apart,
    premises and sources; it asks nothing of anywhere, and prints well.
    """

    examples = (
        "fastcalc report glm-4.7 --on h200-sxm,wse-3 -o report.html",
        "fastcalc report llama-3.1-8b --on h100-sxm --batch 1..64x4 -o report.html",
    )

    batch: "CountsGiven" = Compare.batch
