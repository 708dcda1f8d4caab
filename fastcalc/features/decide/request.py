"""The request of `decide`."""

from typing import TYPE_CHECKING, Annotated

from fastcalc.kit.request import groups
from fastcalc.kit.request.fields import Request, argument, flag
from fastcalc.kit.request.readers import as_text, tokens_of
from fastcalc.mentions import option

if TYPE_CHECKING:
    from fastcalc.kit.request.given_types import ChipsGiven, CountsGiven, NumberGiven, PlacesGiven


def _judge_said(judge: "NumberGiven") -> str:
    judged = "majority" if judge == "majority" else f"a judge of reliability {as_text(judge)}"
    return f"picked by {judged}"


class Steps(Request):
    """Task."""

    premise = "task"

    steps: Annotated[int, flag("N", "Steps per run.")] = 1
    accuracy: Annotated[
        float,
        flag(
            "P", "Accuracy per step: chance that an answer is right.", says="accuracy {:g} per step"
        ),
    ] = 1.0
    tokens: Annotated[int, flag("N", "Output tokens per step.", parser_of=tokens_of)] = 1000
    prompt: Annotated[
        int | None,
        flag(
            "TOKENS",
            "Prompt tokens per step; adds prefill time and input cost.",
            parser_of=tokens_of,
            says="prompts of {:,} tokens",
        ),
    ] = None
    cached: Annotated[
        float,
        groups.a_share(
            "Fraction of the prompt in the prefix cache, billed at the option's cached-price.",
            says="{} of prompts cached",
        ),
    ] = 0.0
    tool_seconds: Annotated[
        float, flag("S", "Seconds of tool calls per step.", says="{:g} s of tool calls per step")
    ] = 0.0
    retries: Annotated[
        int,
        flag(
            "N",
            "Retries of a step whose failure is noticed at once; 0: failures are noticed at the "
            "end and the whole run is repeated.",
            says="retries per step: {:,}",
        ),
    ] = 0
    best_of: Annotated[
        int,
        flag("N", "Answers sampled per step, of which one is used.", says="best of {:,} answers"),
    ] = 1
    judge: Annotated[
        "NumberGiven",
        flag(
            "oracle|majority|SHARE",
            "Who picks the answer: oracle (a right one if there is any), majority, or a judge "
            "that is right in this fraction of cases.",
            says=_judge_said,
        ),
    ] = "oracle"
    serial: Annotated[
        bool,
        flag(
            None,
            "Sample answers one after another instead of in parallel.",
            says="answers one after another",
        ),
    ] = False
    round_trip_ms: Annotated[
        float, flag("MS", "Network round trip per call.", says="{:g} ms round trip")
    ] = 0.0
    window_ms: Annotated[
        float | None,
        flag("MS", "Latency budget of a voice agent's answer; counts the tokens that fit."),
    ] = None


class UsersTime(Request):
    """User."""

    premise = "user"

    check_seconds: Annotated[
        float, flag("S", "User's time to check each run.", says="{:g} s to check each run")
    ] = 0.0
    repair_seconds: Annotated[
        float | None,
        flag(
            "S",
            "User's time to repair a failed run; default: run again.",
            says="{:g} s to repair a failed run",
        ),
    ] = None
    sessions: Annotated[
        int, flag("N", "Concurrent sessions per user.", says="{:,} sessions side by side")
    ] = 1
    look_away: Annotated[
        float | None,
        flag(
            "S",
            "Waiting time after which the user does something else; default: never.",
            says="the user turns to other work after {:g} s of waiting",
        ),
    ] = None
    come_back: Annotated[
        float,
        flag(
            "S",
            "Time to resume after doing something else.",
            says="resuming after other work takes {:g} s",
        ),
    ] = 0.0
    hour: Annotated[
        float | None, flag("USD", "Value of a user's hour.", says="a user's hour is worth ${:g}")
    ] = None
    hours: Annotated[float, flag("H", "Working hours per month.")] = 160.0
    budget: Annotated[
        float | None,
        flag("USD", "Budget per month; default: no limit.", says="at most ${:,.10g} per month"),
    ] = None
    objective: Annotated[
        str | None,
        flag(
            "total|time|cost",
            "Quantity to minimize, total: cost plus the value of the user's time; default: total "
            f"with {option('hour')}, else time.",
        ),
    ] = None


class ModelsOnChips(Request):
    """Deployment."""

    premise = "deployment"

    on: Annotated["ChipsGiven | None", groups.chips_named("Chips for options that are models.")] = (
        None
    )
    batch: Annotated[
        "CountsGiven | None",
        flag("LIST", "Batch for options that are models; default: 1.", premise="traffic"),
    ] = None


class Decide(
    Steps,
    UsersTime,
    groups.FormatOfEach,
    ModelsOnChips,
    groups.EngineName,
    groups.EngineLimits,
    groups.ChipCount,
    groups.PriceBasisOnly,
    groups.PaidHours,
    groups.Output,
    groups.OwnFolders,
):
    """Compare options by speed, price and accuracy: which wins, and what would change that.

    An option is a known service (opus, opus-fast, spark), a model, or NAME=KEY=VALUE,... For
    example, opus=speed=65,price=25 has 65 tokens/s per user and costs $25 per million output
    tokens. sub=speed=65,plan=200,quota=2e9,price=25 is a subscription for $200 per month with 2
    billion tokens, and $25 per million after that. glm=model=glm-4.7,on=wse-3 is a model on chips.
    both=to=spark,else=opus,share=0.7 is a router that sends 70% of the steps to spark and the
    others to opus. Values that an option omits, such as the accuracy, are taken from the Task
    flags.
    """

    examples = (
        "fastcalc decide opus opus-fast --steps 10 --accuracy 0.9 --tool-seconds 4",
        "fastcalc decide glm=model=glm-4.7,on=wse-3,batch=4 slow=speed=65,price=25",
    )

    options: Annotated[
        "list[str] | None",
        argument(
            "CANDIDATE",
            "Options to compare; default: opus, opus-fast and spark.",
            is_repeated=True,
            premise="task",
        ),
    ] = None
    map: Annotated[
        "PlacesGiven | None",
        flag(
            "X=A..B,Y=C..D",
            "Map the best option over two parameters, e.g. tools=0..30,spark.accuracy=0.6..1.",
        ),
    ] = None
    notes: Annotated[bool, flag(None, "Print all notes and break-even values.")] = False
