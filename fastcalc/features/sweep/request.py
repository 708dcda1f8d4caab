"""The request of `sweep`."""

from typing import TYPE_CHECKING, Annotated

from fastcalc.kit.request import groups
from fastcalc.kit.request.fields import Request, flag
from fastcalc.mentions import option

if TYPE_CHECKING:
    from fastcalc.kit.request.given_types import ChangesGiven, CountsGiven, EnginesGiven


class ListedTraffic(groups.PrefixHits):
    """Traffic."""

    premise = "traffic"

    batch: Annotated["CountsGiven", flag("LIST", "Batch sizes.")] = "1..256x2"
    prompt: Annotated["CountsGiven", flag("LIST", "Prompt tokens per request.")] = "1000"
    output: Annotated["CountsGiven", flag("LIST", "Output tokens per request.")] = "1000"
    context: Annotated[
        "CountsGiven | None", flag("LIST", "Mean context in decode; default: prompt + output/2.")
    ] = None


class ListedRanks(Request):
    """Deployment."""

    premise = "deployment"

    engine: Annotated[
        "EnginesGiven | None",
        groups.engine_named("Engines to try; default: by chip type.", "NAMES"),
    ] = None
    chips: Annotated[
        "CountsGiven | None",
        flag(
            "LIST",
            "Numbers of chips; without tp, pp, ep or dp, the layout with the highest throughput.",
        ),
    ] = None
    tp: Annotated[
        "CountsGiven | None",
        flag("LIST", "Tensor-parallel ranks; default: 1 if other ranks are given."),
    ] = None
    pp: Annotated["CountsGiven | None", flag("LIST", "Pipeline stages.")] = None
    ep: Annotated["CountsGiven | None", flag("LIST", "Ranks that share the experts.")] = None
    dp: Annotated["CountsGiven | None", flag("LIST", "Data-parallel attention replicas.")] = None


class OutputOfPoints(groups.OutputFile):
    """Output."""

    format: Annotated[
        str | None,
        flag("table|csv|json|parquet", f"By the ending of {option('out')}; table on a terminal."),
    ] = None
    anyway: Annotated[
        bool, flag(None, "Run even if it takes over 10 minutes or more than the free disk space.")
    ] = False


class Sweep(
    groups.ModelNames,
    ListedTraffic,
    groups.DraftsToTry,
    groups.FormatsToTry,
    groups.AnyChips,
    ListedRanks,
    groups.OwnRuns,
    groups.EngineLimits,
    groups.HostMemory,
    groups.Paid,
    OutputOfPoints,
    groups.OwnFolders,
):
    """Evaluate every combination of chips, formats, layouts, traffic and batches.

    Numbers can be lists or ranges: 1,8,32; 1..1024x2 (doubling); 8..64+8 (steps of 8). 1k is 1,000.
    What-ifs can vary any parameter of a chip, model or engine in the same way. Rows have the
    columns of compare. Impossible combinations are skipped and counted on standard error. Points
    that do not fit on their chips are kept, with fits set to false.
    """

    examples = (
        "fastcalc sweep llama-3.1-70b --on h100-sxm,b200 --tp 1..8x2 --batch 1..64x8",
        "fastcalc sweep llama-3.1-8b --on wse-3 --set memory.SRAM.bandwidth=1PB/s,4PB/s",
    )

    set: Annotated[
        "ChangesGiven | None",
        flag(
            "PATH=VALUES",
            "What-if values, one column each: memory.SRAM.capacity=40GB..100GB+20GB, "
            "cores=64,128; repeatable.",
            is_repeated=True,
        ),
    ] = None
