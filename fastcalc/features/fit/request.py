"""The request of `fit`."""

from typing import TYPE_CHECKING, Annotated

from fastcalc.kit.request import groups
from fastcalc.kit.request.evaluation import Decoding
from fastcalc.kit.request.fields import Request, flag
from fastcalc.mentions import option

if TYPE_CHECKING:
    from fastcalc.kit.request.given_types import CountsGiven


class Solving(Request):
    """Solve."""

    premise = "search"

    solve: Annotated[
        str | None, flag("context|users", "Find the longest context, or the most users, that fit.")
    ] = None
    users: Annotated[
        "CountsGiven | None",
        flag(
            "LIST", f"Concurrent sequences: another name for {option('batch')}.", premise="traffic"
        ),
    ] = None


class FitMemory(
    groups.ModelNames,
    groups.RequestTokens,
    groups.MeanContext,
    Decoding,
    groups.FormatsToTry,
    groups.Deployed,
    groups.EngineLimits,
    groups.PrefixHits,
    Solving,
    groups.Written,
):
    """Check whether a model fits, on how many chips, and up to which batch.

    The output also shows what each memory contains. You can also find the longest context for a
    number of users, or the most users for a context. If you pass a server command, as in --server
    'vllm serve MODEL -tp 2', its flags are used. The exit code is 1 if no model fits on any of the
    chips.
    """

    examples = (
        "fastcalc fit deepseek-r1 --on h100-sxm,h200-sxm,wse-3",
        "fastcalc fit llama-3.1-70b --on h100-sxm --chips 4 --solve context --users 8",
    )
