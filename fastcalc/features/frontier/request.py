"""The request of `frontier`."""

from typing import TYPE_CHECKING, Annotated

from fastcalc.kit.request import groups
from fastcalc.kit.request.fields import flag

if TYPE_CHECKING:
    from fastcalc.kit.request.given_types import WordsGiven


class Frontier(
    groups.ModelName,
    groups.RequestTokens,
    groups.MeanContext,
    groups.PrefixHits,
    groups.FormatsToTry,
    groups.ChipNames,
    groups.EngineName,
    groups.OwnRuns,
    groups.EngineLimits,
    groups.HostMemory,
    groups.Paid,
    groups.Written,
):
    """Show the best price at each speed: $/Mtok against tokens/s per user.

    frontier evaluates practical layouts up to a maximum number of chips, with batch sizes in powers
    of two and the largest one. The exit code is 1 if no chip that fits the model has a price.
    """

    examples = (
        "fastcalc frontier gpt-oss-120b --on h100-sxm,gb200,wse-3 --max-chips 8",
        "fastcalc frontier llama-3.1-8b --on h100-sxm --max-chips 4 -o frontier.csv",
    )

    weights: Annotated[
        "WordsGiven | None",
        groups.formats_named("Weight formats to try; default: the model's own.", "LIST"),
    ] = None
    kv: Annotated[
        "WordsGiven | None",
        groups.formats_named("KV cache formats to try.", "LIST", groups.caches_said),
    ] = None
    place_for: str = "decode"
    max_chips: Annotated[
        int,
        flag(
            "N",
            "Largest number of chips in a deployment.",
            says="deployments of up to {:,} chips",
            premise="search",
        ),
    ] = 72
