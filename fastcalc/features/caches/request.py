"""The request of `caches`."""

from typing import TYPE_CHECKING, Annotated

from fastcalc.kit.request import groups
from fastcalc.kit.request.evaluation import Decoding, RecordedTraffic
from fastcalc.kit.request.fields import Request, flag

if TYPE_CHECKING:
    from fastcalc.kit.request.given_types import ChipsGiven, CountsGiven, WordsGiven


class CacheSizes(Request):
    """Memory."""

    premise = "memory"

    sizes: Annotated[
        "WordsGiven | None", flag("LIST", "Total sizes of the added tier, e.g. 512GB,2TB.")
    ] = None


class SizeCaches(
    groups.ModelName,
    RecordedTraffic,
    Decoding,
    groups.FormatOfEach,
    groups.ChipNames,
    groups.EngineName,
    groups.ChipCount,
    groups.ParallelRanks,
    groups.HostName,
    CacheSizes,
    groups.OwnRuns,
    groups.EngineLimits,
    groups.Paid,
    groups.Written,
):
    """Size prefix caches for a trace: hit rates, and when a memory tier pays off.

    The output shows hit rate, throughput and price if prefixes are stored in chip memory, in host
    DRAM or in larger tiers, and the break-even memory price of each tier. The exit code is 1 if the
    batch does not fit on any chip.
    """

    examples = (
        "fastcalc caches gpt-oss-120b --on h100-sxm --traffic my-trace.jsonl",
        "fastcalc caches llama-3.1-8b --on l40s --traffic my-trace.jsonl --host epyc",
    )

    on: "ChipsGiven" = "h100-sxm"
    batch: "CountsGiven" = "32"
