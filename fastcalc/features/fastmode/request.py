"""The request of `fastmode`."""

from typing import TYPE_CHECKING, Annotated

from fastcalc.kit.request import groups
from fastcalc.kit.request.fields import Request, flag

if TYPE_CHECKING:
    from fastcalc.kit.request.given_types import ChipsGiven, CountsGiven, WordsGiven


class FromAndTo(Request):
    """Current speed and target speed."""

    premise = "target"

    batch: Annotated["CountsGiven | None", flag("N", "Current batch.", premise="traffic")] = None
    from_speed: Annotated[
        float | None, flag("TOKENS", "Current tokens/s per user; solves for the batch.")
    ] = None
    speedup: Annotated[float | None, flag("X", "Speed-up to reach; default: 2.5.")] = None
    to_speed: Annotated[float | None, flag("TOKENS", "Target tokens/s per user.")] = None


class Fastmode(
    groups.ModelName,
    FromAndTo,
    groups.RequestTokens,
    groups.MeanContext,
    groups.PrefixHits,
    groups.Placed,
    groups.OwnRuns,
    groups.EngineLimits,
    groups.Paid,
    groups.Written,
):
    """Find the cheapest ways to make decoding faster.

    fastmode evaluates smaller batches, more or different chips, quantization, speculative decoding,
    smaller models, SRAM accelerators, and combinations of up to four of these. For the cheapest
    option, it shows the factor of each change. The exit code is 1 if nothing reaches the speed.
    """

    examples = (
        "fastcalc fastmode gpt-oss-120b --on h100-sxm --batch 32 --speedup 2",
        "fastcalc fastmode llama-3.1-70b --from-speed 20 --to-speed 40",
    )

    on: "ChipsGiven" = "h100-sxm"
    place_for: str = "decode"
    smaller: Annotated[
        "WordsGiven",
        flag("family|all|none|MODELS", "Smaller models to try instead.", premise="search"),
    ] = "family"
    everything: Annotated[bool, flag(None, "Show every chip, format and model tried.")] = False
    curve: Annotated[
        bool,
        flag(None, "Show what a smaller batch costs, from every starting batch.", premise="search"),
    ] = False
    cost: Annotated[float, flag("X", "Cost multiple to find on the curve.")] = 6.0
