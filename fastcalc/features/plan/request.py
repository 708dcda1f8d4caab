"""The request of `plan`."""

from typing import TYPE_CHECKING, Annotated

from fastcalc.kit.request import groups
from fastcalc.kit.request.evaluation import RecordedTraffic
from fastcalc.kit.request.fields import Request, flag
from fastcalc.kit.request.readers import as_text
from fastcalc.mentions import option

if TYPE_CHECKING:
    from fastcalc.kit.request.given_types import ChipsGiven, NumberGiven, NumbersGiven, OwnedGiven


class ServiceLevel(Request):
    """Service level."""

    premise = "service_level"

    ttft: Annotated[
        str | None, flag("TIME", "Most time to the first token: 1s.", says="TTFT up to {}")
    ] = None
    percentile: Annotated[
        float | None,
        flag(
            "P",
            f"Percent of requests that meet {option('ttft')} where they arrive at random, which "
            f"they do unless {option('load')} is given: 99.",
        ),
    ] = None
    tpot: Annotated[
        str | None, flag("TIME", "Most time between two tokens: 25ms.", says="TPOT up to {}")
    ] = None
    min_speed: Annotated[
        float | None,
        flag("TOK/S", "The same as a speed.", says="at least {:g} tokens/s per user"),
    ] = None


def _rate_said(given: "NumberGiven") -> str:
    rate, _, unit = as_text(given).partition("/")
    noun = "request" if float(rate) == 1 else "requests"
    return f"{rate.strip()} {noun}/{unit.strip() or 's'}"


class Askers(Request):
    """Who asks."""

    premise = "traffic"

    rate: Annotated[
        "NumberGiven | None",
        flag("N/s", "Request rate to sustain; one replica by default.", says=_rate_said),
    ] = None
    users: Annotated[
        int | None,
        flag(
            "N",
            "Closed-loop users, instead of a rate: each thinks after an answer. Users of fit are "
            "sequences in flight.",
            says="{:,} users",
            record_key="people",
            old_name="people",
        ),
    ] = None
    think: Annotated[
        str | None,
        flag("TIME", "Time from an answer to the next request: 30s.", says="think time of {}"),
    ] = None
    requests_per_active_user_per_min: Annotated[
        float | None,
        flag(
            "N",
            "Requests per minute of each active user, instead of think time.",
            says="{:g} requests per active user and minute",
        ),
    ] = None
    active_fraction: Annotated[
        float | None,
        groups.a_share(
            "active_fraction",
            "Fraction of the users who are active.",
            says="{} of them active",
        ),
    ] = None
    peak_multiplier: Annotated[
        float | None,
        flag("X", "Busiest time over the mean one, to plan for.", says="peak {:g} times the mean"),
    ] = None


class Means(Request):
    """Means."""

    premise = "resources"

    own: Annotated[
        "OwnedGiven | None",
        flag("CHIP=N", "Chips that you own: h100-sxm=16; repeatable.", is_repeated=True),
    ] = None
    budget: Annotated[
        "NumberGiven | None",
        flag(
            "USD/month",
            "Budget per month; default: no limit.",
            says=lambda budget: f"at most ${as_text(budget)}",
        ),
    ] = None
    power: Annotated[
        str | None,
        flag("POWER", "Power at most, with host and cooling: 100kW.", says="at most {}"),
    ] = None


class Tariffs(Request):
    """Prices."""

    premise = "prices"

    api: Annotated[
        "NumbersGiven | None",
        flag("IN/CACHED/OUT", "An API's $ per million tokens, to compare: 0.6/0.15/2.4."),
    ] = None
    grid: Annotated[
        float | None, flag("G/KWH", "Grams of CO2 a kilowatt hour, to count them: 400.")
    ] = None


class WantedPlans(Request):
    """Search."""

    premise = "search"

    max_chips: Annotated[
        int | None,
        flag(
            "N",
            "Chips, all replicas together; of those owned on top.",
            says="at most {:,} chips",
        ),
    ] = None
    by: Annotated[
        str, flag("node|chip", "Whole nodes of chips that are sold so, or single chips.")
    ] = "node"
    objective: Annotated[str, flag("usd|watts|chips", "What is to be least.")] = "usd"
    confidence: Annotated[
        float | None,
        flag(
            "P",
            "Chance in percent that the limits hold, by the range of speeds: 90.",
            says="{:g} % sure",
        ),
    ] = None
    sensitivity: Annotated[
        bool,
        flag(None, "Say at what price, speed, rate and length another chip leads.", premise=""),
    ] = False
    load: Annotated[
        float | None,
        groups.a_share(
            "load",
            "Share of its capacity a replica is given, for requests that arrive evenly: 1.",
            old_name="utilization",
        ),
    ] = None
    top: Annotated[int, flag("N", "Plans to show.", premise="")] = 5


class ServersToStart(Request):
    """Servers."""

    premise = "deployment"

    emit: Annotated[
        str | None,
        flag(
            "vllm|sglang|trtllm",
            f"Print the commands that start the cheapest plan's servers; {option('out')} "
            "start.sh writes a script.",
        ),
    ] = None


class PromptChips(Request):
    """Deployment."""

    premise = "deployment"

    prompts_on: Annotated[
        "ChipsGiven | None",
        groups.chips_named("Other chips for heterogeneous (disaggregated) prefill."),
    ] = None


class FindPlans(
    groups.ModelName,
    groups.RequestTokens,
    groups.PrefixHits,
    groups.DraftsToTry,
    RecordedTraffic,
    ServiceLevel,
    Askers,
    Means,
    Tariffs,
    WantedPlans,
    groups.FormatsToTry,
    groups.AnyChips,
    PromptChips,
    groups.EngineName,
    groups.OwnRuns,
    groups.EngineLimits,
    groups.HostMemory,
    groups.Prices,
    ServersToStart,
    groups.Written,
):
    """Find the cheapest deployment that meets a service level.

    Searches chips, formats, layouts, batches, colocated and disaggregated prefill, and says why the
    others lose. With chips of your own: the load they sustain, and what to rent in addition.
    Without a rate: the highest load that the chips, budget or power allow. Skips chips that only
    marketplaces of single owners rent out unless they are named. Exits with 1 if no plan meets the
    limits, and says which limit to relax to what.
    """

    examples = (
        "fastcalc plan llama-3.1-70b --ttft 1s --tpot 25ms --rate 20/s",
        "fastcalc plan llama-3.1-8b --on h100-sxm --min-speed 100 --objective chips",
    )

    on: "ChipsGiven" = "all"

    @property
    def is_script(self) -> bool:
        """Whether commands that start servers go to a file that the shell runs."""
        endings = ("", ".sh")
        return self.emit is not None and self.out is not None and self.out.suffix in endings

    @property
    def written_as(self) -> str:
        """The format to write; a script is the answer as text, in a file that ends in .sh."""
        return "table" if self.is_script and self.format is None else super().written_as
