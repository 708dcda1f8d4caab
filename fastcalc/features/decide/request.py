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

    steps: Annotated[int, flag("N", "Steps of a run.")] = 1
    accuracy: Annotated[
        float, flag("P", "Chance that an answer to a step is right.", says="accuracy {:g} per step")
    ] = 1.0
    tokens: Annotated[
        int, flag("N", "Output tokens of a step.", parser=tokens_of(option("tokens")))
    ] = 1000
    prompt: Annotated[
        int | None,
        flag(
            "TOKENS",
            "Prompt of a step, to count prefill.",
            parser=tokens_of(option("prompt")),
            says="prompts of {:,} tokens",
        ),
    ] = None
    cached: Annotated[
        float,
        groups.a_share(
            "cached",
            "Share of it that a cache holds, at the option's cached-price.",
            says="{} of prompts cached",
        ),
    ] = 0.0
    tool_seconds: Annotated[
        float, flag("S", "Seconds of tools in a step.", says="{:g} s of tools per step")
    ] = 0.0
    retries: Annotated[
        int,
        flag(
            "N",
            "How often a step is redone that is found wrong at once; with 0 a failure is found at "
            "the end, and the whole run is redone.",
            says="up to {:,} retries per step",
        ),
    ] = 0
    best_of: Annotated[
        int, flag("N", "Answers to a step, one of them taken.", says="best of {:,} answers")
    ] = 1
    judge: Annotated[
        "NumberGiven",
        flag(
            "oracle|majority|SHARE",
            "Who picks the right one, and how reliably.",
            says=_judge_said,
        ),
    ] = "oracle"
    serial: Annotated[
        bool,
        flag(
            None, "Answers come one after another, not at once.", says="answers one after another"
        ),
    ] = False
    round_trip_ms: Annotated[
        float, flag("MS", "Way there and back of a call.", says="{:g} ms round trip")
    ] = 0.0
    window_ms: Annotated[float | None, flag("MS", "A gap in a conversation: what fits it.")] = None


class UsersTime(Request):
    """User."""

    premise = "user"

    check_seconds: Annotated[
        float, flag("S", "Time that a user gives to each run.", says="{:g} s to check each run")
    ] = 0.0
    repair_seconds: Annotated[
        float | None,
        flag(
            "S",
            "Time to repair a failed run; run again unless given.",
            says="{:g} s to repair a failed run",
        ),
    ] = None
    sessions: Annotated[
        int,
        flag("N", "Runs that a user has going side by side.", says="{:,} sessions side by side"),
    ] = 1
    look_away: Annotated[
        float | None,
        flag(
            "S",
            "Waiting for a run after which a user does something else; never unless given.",
            says="a user looks away after {:g} s",
        ),
    ] = None
    come_back: Annotated[
        float, flag("S", "Time that coming back then takes.", says="coming back takes {:g} s")
    ] = 0.0
    hour: Annotated[
        float | None,
        flag("USD", "What a user's hour is worth.", says="a user's hour is worth ${:g}"),
    ] = None
    hours: Annotated[float, flag("H", "Hours of a month.")] = 160.0
    budget: Annotated[
        float | None,
        flag(
            "USD", "Dollars of a month; no limit unless given.", says="at most ${:,.10g} per month"
        ),
    ] = None
    objective: Annotated[
        str | None,
        flag("total|time|cost", f"What is to be least; total with {option('hour')}, else time."),
    ] = None


class ModelsOnChips(Request):
    """Deployment."""

    premise = "deployment"

    on: Annotated["ChipsGiven | None", groups.chips_named("Of options that are models.")] = None
    batch: Annotated[
        "CountsGiven | None", flag("LIST", "Batches of those; 1.", premise="traffic")
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
    """Decide between options of speed, price and accuracy: who wins, and what flips it.

    An option is NAME=KEY=VALUE,...: opus=speed=65,price=25; a subscription, of which price is the
    extra usage, max=speed=65,plan=200,quota=2e9,price=25; a model on chips,
    glm=model=glm-4.7,on=wse-3; a mix, both=to=spark,else=opus,share=0.7; or the name of a service
    or model.
    """

    examples = (
        "fastcalc decide opus opus-fast --steps 10 --accuracy 0.9 --tool-seconds 4",
        "fastcalc decide glm=model=glm-4.7,on=wse-3,batch=4 slow=speed=65,price=25",
    )

    options: Annotated[
        "list[str] | None",
        argument(
            "OPTION",
            "Options; opus, opus-fast and spark if none.",
            is_repeated=True,
            premise="task",
        ),
    ] = None
    map: Annotated[
        "PlacesGiven | None",
        flag("X=A..B,Y=C..D", "Who wins where: tools=0..30,spark.accuracy=0.6..1."),
    ] = None
    notes: Annotated[bool, flag(None, "Print every note and break-even.")] = False
