"""Requests of `compare` and `report`."""

from typing import TYPE_CHECKING, Annotated

from fastcalc.kit.request import groups
from fastcalc.kit.request.evaluation import Evaluated
from fastcalc.kit.request.fields import flag

if TYPE_CHECKING:
    from fastcalc.kit.request.given_types import CountsGiven


class Compare(Evaluated, groups.Written):
    """Compare the speed, latency and price of models on chips.

    For each batch size, the output shows the decode speed with its 80% range and hardware bound,
    the throughput, the TTFT, the price and the limiting resource.
    """

    examples = (
        "fastcalc compare llama-3.1-70b --on h100-sxm,wse-3 --batch 1,8,64 --prompt 8k",
        "fastcalc compare glm-4.7 --on gb200 --weights fp8 -o glm.csv",
    )

    batch: "CountsGiven" = "1,8,32,128"
    explain: Annotated[bool, flag(None, "Explain each step: every component, rate and source.")] = (
        False
    )


class WriteReport(Evaluated, groups.OutputFile, groups.OwnFolders):
    """Write a comparison into one HTML file, like compare -o FILE.html.

    The file contains the headline, a table to sort and filter, charts, each step explained,
    assumptions and sources. It loads no other files, so you can send and print it.
    """

    examples = (
        "fastcalc report glm-4.7 --on h200-sxm,wse-3 -o report.html",
        "fastcalc report llama-3.1-8b --on h100-sxm --batch 1..64x4 -o report.html",
    )

    batch: "CountsGiven" = Compare.batch
