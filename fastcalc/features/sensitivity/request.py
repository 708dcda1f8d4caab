"""The request of `sensitivity`."""

from typing import TYPE_CHECKING, Annotated

from fastcalc.kit.request import groups
from fastcalc.kit.request.evaluation import Decoding
from fastcalc.kit.request.fields import flag

if TYPE_CHECKING:
    from fastcalc.kit.request.given_types import ChipsGiven, NumberGiven


class Sensitivity(
    groups.ModelName,
    groups.RequestTokens,
    groups.MeanContext,
    Decoding,
    groups.Placed,
    groups.EngineLimits,
    groups.PrefixHits,
    groups.Paid,
    groups.Written,
):
    """Rank chip, engine and model parameters by their effect on speed and price.

    The output shows how speed, throughput, TTFT, price and the largest batch change if a parameter
    is 10% higher in the same layout, and where the gain saturates. With a target, it also shows the
    value with which each parameter alone would reach the target, and the smallest change of two
    parameters. The exit code is 1 if nothing reaches the target.
    """

    examples = (
        "fastcalc sensitivity llama-3.1-8b --on wse-3",
        "fastcalc sensitivity llama-3.1-70b --on b200 --target 200",
    )

    on: Annotated["ChipsGiven", groups.chips_named("Hardware: a name or a YAML file.", "CHIP")] = (
        "h100-sxm"
    )
    target: Annotated[
        "NumberGiven | None",
        flag(
            "TARGET",
            "Target: 1000 (tokens/s per user), 0.5$/Mtok of output, or 200ms of TTFT.",
            premise="target",
        ),
    ] = None
