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
    """Latency targets."""

    premise = "service_level"

    ttft: Annotated[
        str | None,
        flag("TIME", "Maximum time to first token (TTFT), e.g. 1s.", says="TTFT up to {}"),
    ] = None
    percentile: Annotated[
        float | None,
        flag(
            "P",
            "Percentage of requests that must meet the TTFT and TPOT limits, with Poisson "
            f"arrivals; default: 99, or none if {option('load')} exceeds 0.8.",
        ),
    ] = None
    tpot: Annotated[
        str | None,
        flag("TIME", "Maximum time per output token (TPOT), e.g. 25ms.", says="TPOT up to {}"),
    ] = None
    min_speed: Annotated[
        float | None,
        flag(
            "TOK/S",
            f"Minimum tokens/s per user, another way to set {option('tpot')}.",
            says="at least {:g} tokens/s per user",
        ),
    ] = None


def _rate_said(given: "NumberGiven") -> str:
    rate, _, unit = as_text(given).partition("/")
    noun = "request" if float(rate) == 1 else "requests"
    return f"{rate.strip()} {noun}/{unit.strip() or 's'}"


def _users_said(users: int) -> str:
    return "one user" if users == 1 else f"{users:,} users"


class Askers(Request):
    """Load."""

    premise = "traffic"

    rate: Annotated[
        "NumberGiven | None",
        flag(
            "N/s",
            "Request rate to sustain, e.g. 20/s; default: the highest that owned chips, budget or "
            "power allow; without them, that of one replica.",
            says=_rate_said,
        ),
    ] = None
    users: Annotated[
        int | None,
        flag(
            "N",
            "Closed-loop users, instead of a rate: each waits for the answer, thinks, and asks "
            "again.",
            says=_users_said,
            record_key="people",
            old_name="people",
        ),
    ] = None
    think: Annotated[
        str | None,
        flag(
            "TIME",
            "Time from an answer to the user's next request, e.g. 30s.",
            says="think time {}",
        ),
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
        groups.a_share("Fraction of the users who are active.", says="{} of them active"),
    ] = None
    peak_multiplier: Annotated[
        float | None,
        flag("X", "Peak load / mean load, to plan for the peak.", says="peak {:g} times the mean"),
    ] = None


def _budget_said(budget: str | float) -> str:
    from fastcalc.features.plan.service_asked import usd_a_month  # help does not need it

    return f"at most ${usd_a_month(budget):,.0f} per month"


class Means(Request):
    """Resources."""

    premise = "resources"

    own: Annotated[
        "OwnedGiven | None",
        flag(
            "CHIP=N|NxCHIP",
            "Chips that you own, e.g. h100-sxm=16 or 16xh100; repeatable.",
            is_repeated=True,
        ),
    ] = None
    budget: Annotated[
        "NumberGiven | None",
        flag("USD/month", "Budget per month; default: no limit.", says=_budget_said),
    ] = None
    power: Annotated[
        str | None,
        flag("POWER", "Maximum power, host and cooling included, e.g. 100kW.", says="at most {}"),
    ] = None


class Tariffs(Request):
    """Prices."""

    premise = "prices"

    api: Annotated[
        "NumbersGiven | None",
        flag(
            "IN/CACHED/OUT",
            "API to compare with: $ per million input, cached and output tokens, e.g. "
            "0.6/0.15/2.4.",
        ),
    ] = None
    grid: Annotated[
        float | None,
        flag("G/KWH", "Grid's carbon intensity in g CO2 per kWh, e.g. 400; adds emissions."),
    ] = None


class WantedPlans(Request):
    """Search."""

    premise = "search"

    max_chips: Annotated[
        int | None,
        flag(
            "N",
            f"Maximum number of chips over all replicas; with {option('own')}, of rented chips.",
            says="at most {:,} chips",
        ),
    ] = None
    by: Annotated[
        str, flag("node|chip", "Count whole nodes of chips sold by the node, or single chips.")
    ] = "node"
    objective: Annotated[str, flag("usd|watts|chips", "Quantity to minimize.")] = "usd"
    confidence: Annotated[
        float | None,
        flag(
            "P",
            "Required chance in percent of meeting the limits, given the ranges of predicted "
            "speeds, e.g. 90; default: expected speeds must meet them.",
            says="with a {:g}% chance of meeting the limits",
        ),
    ] = None
    sensitivity: Annotated[
        bool,
        flag(
            None, "Print the price, speed, rate and length at which another chip wins.", premise=""
        ),
    ] = False
    load: Annotated[
        float | None,
        groups.a_share(
            "Maximum utilization of a replica, e.g. 0.7; default: 0.8, or 1 if queueing is "
            f"ignored. Above 0.8 without {option('percentile')}, arrivals are assumed to be even.",
            old_name="utilization",
        ),
    ] = None
    top: Annotated[int, flag("N", "Number of plans to print.", premise="")] = 5


class ServersToStart(Request):
    """Servers."""

    premise = "deployment"

    emit: Annotated[
        str | None,
        flag(
            "vllm|sglang|trtllm|llama-cpp",
            f"Print the commands that start the cheapest plan's servers; {option('out')} "
            "start.sh writes a script.",
        ),
    ] = None


class PromptChips(Request):
    """Deployment."""

    premise = "deployment"

    prompts_on: Annotated[
        "ChipsGiven | None",
        groups.chips_named("Other chips for prefill alone (disaggregated prefill)."),
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
    groups.ParallelRanks,
    groups.OwnRuns,
    groups.EngineLimits,
    groups.HostMemory,
    groups.Prices,
    ServersToStart,
    groups.Written,
):
    """Find the cheapest deployment that meets latency targets.

    plan searches chips, formats, layouts and batches, with colocated and disaggregated prefill, and
    explains why other deployments lose. For chips that you own, it finds the load that they
    sustain, and which chips to rent in addition. Without a request rate, it finds the highest load
    that your chips, budget or power allow. Chips that are only rented on marketplaces are skipped
    unless you name them. If no plan meets the limits, the exit code is 1, and the output shows how
    far each limit would have to be relaxed.
    """

    examples = (
        "fastcalc plan llama-3.1-70b --ttft 1s --tpot 25ms --rate 20/s",
        "fastcalc plan llama-3.1-8b --on h100-sxm --min-speed 100 --objective chips",
    )

    on: "ChipsGiven" = "all"

    @property
    def is_script(self) -> bool:
        """Whether the commands that start servers go to a file for the shell to run."""
        endings = ("", ".sh")
        return self.emit is not None and self.out is not None and self.out.suffix in endings

    @property
    def written_as(self) -> str:
        """The output format. A script is the answer as text, in a file that ends in .sh."""
        return "table" if self.is_script and self.format is None else super().written_as
