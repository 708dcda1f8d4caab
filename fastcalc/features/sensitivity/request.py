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
    """Say what each number of a chip, its engine and a model buys.

    What 10 % more of it does to speed, throughput, the first token, price and the largest batch, on
    the layout that the chips have; beyond which value it buys nothing. Or what each alone, and
    which two with the least change, would have to be. Exits with 1 if nothing reaches a target.
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
