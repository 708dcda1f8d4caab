"""Flags of the commands that evaluate what is named: `compare`, `fit` and `task`."""

from typing import Annotated

from typer import Option

from fastcalc.cli import completion, flags
from fastcalc.cli.options import tokens_of


class Decoding(flags.Flags):
    """Traffic."""

    batch: Annotated[
        str, Option(metavar="LIST", help="Batches: 1,8,32 or 1..256x2 or 8..64+8.")
    ] = "1"
    speculate: Annotated[
        str | None,
        Option(
            metavar="TOKENS|AxN",
            help="Speculative decoding: tokens a pass (2.5), or acceptance x drafted tokens "
            "(0.8x3).",
        ),
    ] = None


class Evaluated(
    flags.ModelNames,
    flags.RequestTokens,
    flags.MeanContext,
    Decoding,
    flags.FormatOfEach,
    flags.ChipNames,
    flags.EngineName,
    flags.ChipCount,
    flags.ParallelRanks,
):
    """What `compare` and `fit` have in common."""


class Compare(
    Evaluated, flags.PrefixHits, flags.Prices, flags.PaidHours, flags.Output, flags.OwnFolders
):
    """Compare chips on models, batch by batch.

    Speed, latency and dollars, the bound and the range, and what limits them.
    """

    batch: str = "1,8,32,128"
    explain: Annotated[
        bool, Option("--explain", help="Take each step apart: every component, rate and source.")
    ] = False


class FitMemory(Evaluated, flags.Output, flags.OwnFolders):
    """Say where models fit, and the largest batch.

    Which memory, how many chips and why, and the largest batch there. Exits with 1 if no model
    fits on any of the chips.
    """


class Steps(flags.Flags):
    """Task."""

    steps: Annotated[int, Option(metavar="N", help="Steps of a run.")] = 1
    accuracy: Annotated[
        str, Option(metavar="LIST", help="Chance that a step is right; several to compare.")
    ] = "1"
    tokens: Annotated[
        int, Option(metavar="N", parser=tokens_of("--tokens"), help="Output tokens of a step.")
    ] = 1000
    prompt: Annotated[
        int | None,
        Option(
            metavar="TOKENS",
            parser=tokens_of("--prompt"),
            help="Prompt of a step, to count prefill.",
        ),
    ] = None
    tool_seconds: Annotated[float, Option(metavar="S", help="Seconds of tools in a step.")] = 0.0
    retries: Annotated[
        int, Option(metavar="N", help="How often a step found wrong is done again.")
    ] = 0
    best_of: Annotated[int, Option(metavar="N", help="Answers to a step, one of them taken.")] = 1
    judge: Annotated[
        str, Option(metavar="oracle|majority|SHARE", help="Who takes one, and how surely.")
    ] = "oracle"
    serial: Annotated[
        bool, Option("--serial", help="Answers come one after another, not at once.")
    ] = False
    round_trip_ms: Annotated[float, Option(metavar="MS", help="Way there and back of a call.")] = (
        0.0
    )
    window_ms: Annotated[
        float | None, Option(metavar="MS", help="A gap in a conversation: what fits it.")
    ] = None


class OwnSpeed(flags.Flags):
    """A speed of your own."""

    speed: Annotated[
        float | None, Option(metavar="TOK/S", help="A speed of your own, no model on a chip.")
    ] = None
    price: Annotated[
        float | None, Option(metavar="USD", help="Its price of a million tokens out.")
    ] = None
    input_price: Annotated[float | None, Option(metavar="USD", help="And of a million in.")] = None
    ttft_ms: Annotated[float | None, Option(metavar="MS", help="Time to its first token.")] = None
    subscription: Annotated[
        float | None, Option(metavar="USD", help="A subscription, against the price of tokens.")
    ] = None
    against: Annotated[
        str | None,
        Option(metavar="KEY=VALUE,...", help="A second option: speed=1000,accuracy=0.75."),
    ] = None


class ModelsOnChips(flags.Flags):
    """Deployment."""

    on: Annotated[
        str | None,
        Option(metavar="CHIPS", help="As of compare.", autocompletion=completion.hardware),
    ] = None
    batch: Annotated[str | None, Option(metavar="LIST", help="Batches; 1.")] = None


class AgentTask(
    flags.ModelNames,
    Steps,
    OwnSpeed,
    flags.FormatOfEach,
    ModelsOnChips,
    flags.EngineName,
    flags.ChipCount,
    flags.PriceBasisOnly,
    flags.PaidHours,
    flags.Output,
    flags.OwnFolders,
):
    """Compute an agent's task: time and cost to one success.

    Steps that may fail, tools, retries, best of several answers; or what fits a voice's gap.
    """
