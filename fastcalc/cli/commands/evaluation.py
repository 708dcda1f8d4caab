"""Flags of the commands that evaluate what is named: `compare`, `fit` and `task`."""

from typing import Annotated

from fastcalc.cli import completion, flags
from fastcalc.cli.flags import flag
from fastcalc.cli.options import tokens_of


class Decoding(flags.Flags):
    """Traffic."""

    batch: Annotated[str, flag("LIST", "Batches: 1,8,32 or 1..256x2 or 8..64+8.")] = "1"
    speculate: Annotated[
        str | None,
        flag(
            "TOKENS|AxN",
            "Speculative decoding: tokens a pass (2.5), or acceptance x drafted tokens (0.8x3).",
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
    flags.HostMemory,
):
    """What `compare` and `fit` have in common."""


class Compare(
    Evaluated,
    flags.PrefixHits,
    flags.Prices,
    flags.PaidHours,
    flags.Output,
    flags.Reading,
    flags.OwnFolders,
):
    """Compare chips on models, batch by batch.

    Speed, latency and dollars, the bound and the range, and what limits them.
    """

    examples = (
        "fastcalc compare llama-3.1-70b --on h100-sxm,wse-3 --batch 1,8,64 --prompt 8k",
        "fastcalc compare glm-4.7 --on gb200 --weights fp8 -o glm.csv",
    )

    batch: str = "1,8,32,128"
    explain: Annotated[
        bool, flag(None, "Take each step apart: every component, rate and source.", "--explain")
    ] = False


class FitMemory(Evaluated, flags.Output, flags.OwnFolders):
    """Say where models fit, and the largest batch.

    Which memory, how many chips and why, and the largest batch there. Exits with 1 if no model
    fits on any of the chips.
    """

    examples = (
        "fastcalc fit deepseek-r1 --on h100-sxm,h200-sxm,wse-3",
        "fastcalc fit gpt-oss-120b --on rtx-4090 --host ddr5-2ch",
    )


class Steps(flags.Flags):
    """Task."""

    steps: Annotated[int, flag("N", "Steps of a run.")] = 1
    accuracy: Annotated[str, flag("LIST", "Chance that a step is right; several to compare.")] = "1"
    tokens: Annotated[int, flag("N", "Output tokens of a step.", parser=tokens_of("--tokens"))] = (
        1000
    )
    prompt: Annotated[
        int | None,
        flag("TOKENS", "Prompt of a step, to count prefill.", parser=tokens_of("--prompt")),
    ] = None
    tool_seconds: Annotated[float, flag("S", "Seconds of tools in a step.")] = 0.0
    retries: Annotated[int, flag("N", "How often a step found wrong is done again.")] = 0
    best_of: Annotated[int, flag("N", "Answers to a step, one of them taken.")] = 1
    judge: Annotated[str, flag("oracle|majority|SHARE", "Who takes one, and how surely.")] = (
        "oracle"
    )
    serial: Annotated[
        bool, flag(None, "Answers come one after another, not at once.", "--serial")
    ] = False
    round_trip_ms: Annotated[float, flag("MS", "Way there and back of a call.")] = 0.0
    window_ms: Annotated[float | None, flag("MS", "A gap in a conversation: what fits it.")] = None


class OwnSpeed(flags.Flags):
    """A speed of your own."""

    speed: Annotated[float | None, flag("TOK/S", "A speed of your own, no model on a chip.")] = None
    price: Annotated[float | None, flag("USD", "Its price of a million tokens out.")] = None
    input_price: Annotated[float | None, flag("USD", "And of a million in.")] = None
    ttft_ms: Annotated[float | None, flag("MS", "Time to its first token.")] = None
    subscription: Annotated[
        float | None, flag("USD", "A subscription, against the price of tokens.")
    ] = None
    against: Annotated[
        str | None, flag("KEY=VALUE,...", "A second option: speed=1000,accuracy=0.75.")
    ] = None


class ModelsOnChips(flags.Flags):
    """Deployment."""

    on: Annotated[
        str | None, flag("CHIPS", "As of compare.", autocompletion=completion.hardware)
    ] = None
    batch: Annotated[str | None, flag("LIST", "Batches; 1.")] = None


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

    examples = (
        "fastcalc task --steps 10 --accuracy 0.9 --tokens 800 --speed 65 --price 25",
        "fastcalc task llama-3.1-8b --on h100-sxm --window-ms 450 --tokens 35",
    )
