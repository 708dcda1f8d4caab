"""Requests of the commands that evaluate what is named: `compare` and `fit`."""

from typing import TYPE_CHECKING, Annotated

from fastcalc.mentions import option
from fastcalc.requests import groups
from fastcalc.requests.fields import Request, flag

if TYPE_CHECKING:
    from fastcalc.requests.given import CountsGiven, NumberGiven


def _drafts_said(typed: "NumberGiven") -> str:
    from fastcalc.report.numbers_as_text import number  # help needs neither
    from fastcalc.requests.speculate import speculation

    drafts = speculation(typed)
    return f"{drafts.drafted:g} drafted, {number(float(drafts.tokens_per_pass))} kept a pass"


class Decoding(Request):
    """Traffic."""

    premise = "traffic"

    batch: Annotated["CountsGiven", flag("LIST", "Batches: 1,8,32 or 1..256x2 or 8..64+8.")] = "1"
    speculate: Annotated[
        "NumberGiven | None",
        flag(
            "TOKENS|AxN",
            "Speculative decoding: tokens a pass (2.5), or acceptance x drafted tokens (0.8x3).",
            says=_drafts_said,
        ),
    ] = None


class Evaluated(
    groups.ModelNames,
    groups.RequestTokens,
    groups.MeanContext,
    Decoding,
    groups.Placed,
    groups.EngineLimits,
    groups.PrefixHits,
):
    """What `compare` and those that draw it have in common."""


class Compare(Evaluated, groups.OwnRuns, groups.Paid, groups.Written):
    """Compare chips on models, batch by batch.

    Speed, latency and dollars, the bound and the range, and what limits them.
    """

    examples = (
        "fastcalc compare llama-3.1-70b --on h100-sxm,wse-3 --batch 1,8,64 --prompt 8k",
        "fastcalc compare glm-4.7 --on gb200 --weights fp8 -o glm.csv",
    )

    batch: "CountsGiven" = "1,8,32,128"
    explain: Annotated[
        bool, flag(None, "Take each step apart: every component, rate and source.")
    ] = False


class Solving(Request):
    """Solve."""

    premise = "search"

    solve: Annotated[
        str | None, flag("context|users", "Find the longest context, or the most users, that fit.")
    ] = None
    users: Annotated[
        "CountsGiven | None",
        flag(
            "LIST", f"Concurrent sequences: another name of {option('batch')}.", premise="traffic"
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
    """Say where models fit, the largest batch, and the longest context.

    Which memory, how many chips and why, and the largest batch there; or, the other way, how long
    a context so many users may have, and how many users a context leaves room for. Exits with 1
    if no model fits on any of the chips.
    """

    examples = (
        "fastcalc fit deepseek-r1 --on h100-sxm,h200-sxm,wse-3",
        "fastcalc fit llama-3.1-70b --on h100-sxm --chips 4 --solve context --users 8",
    )
