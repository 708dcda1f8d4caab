"""Fields shared by requests that evaluate points: traffic and deployment."""

from typing import TYPE_CHECKING, Annotated

from fastcalc.kit.request import groups
from fastcalc.kit.request.fields import Request, flag

if TYPE_CHECKING:
    from fastcalc.kit.request.given_types import CountsGiven, NumberGiven, PathGiven


def _drafts_said(given: "NumberGiven") -> str:
    from fastcalc.kit.answer.numbers_as_text import number  # help needs neither
    from fastcalc.kit.request.speculate import speculation

    drafts = speculation(given)
    return (
        f"{drafts.drafted:g} draft tokens, {number(float(drafts.tokens_per_pass))} tokens per step"
    )


class Batches(Request):
    """Traffic."""

    batch: Annotated[
        "CountsGiven", flag("LIST", "Batches: 1,8,32; 1..256x2 (doubling); 8..64+8 (steps).")
    ] = "1"


class Drafting(Request):
    """Traffic."""

    speculate: Annotated[
        "NumberGiven | None",
        flag(
            "TOKENS|AxN",
            "Speculative decoding: tokens per step (2.5), or acceptance rate x draft tokens "
            "(0.8x3).",
            says=_drafts_said,
        ),
    ] = None
    draft_model: groups.DraftModelGiven = None


class Decoding(Batches, Drafting):
    """Traffic."""


class RecordedTraffic(Request):
    """Traffic."""

    traffic: Annotated[
        "PathGiven | None",
        flag("FILE", "Request classes in a YAML file, or a trace in JSON lines or CSV."),
    ] = None


class Evaluated(
    groups.ModelNames,
    groups.RequestTokens,
    groups.MeanContext,
    Decoding,
    groups.Placed,
    groups.EngineLimits,
    groups.PrefixHits,
    groups.OwnRuns,
    groups.Paid,
    groups.OwnFolders,
):
    """The fields from which the scenarios to evaluate are built."""
