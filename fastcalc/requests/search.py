"""Requests of the commands that search: `sweep`, `plan`, `fastmode` and `frontier`."""

from typing import TYPE_CHECKING, Annotated

from fastcalc.mentions import option
from fastcalc.requests import groups
from fastcalc.requests.evaluation import Decoding
from fastcalc.requests.fields import Request, flag
from fastcalc.requests.readers import as_text

if TYPE_CHECKING:
    from fastcalc.requests.given import (
        ChangesGiven,
        ChipsGiven,
        CountsGiven,
        EnginesGiven,
        NumberGiven,
        NumbersGiven,
        OwnedGiven,
        PathGiven,
        WordsGiven,
    )


class ListedTraffic(groups.PrefixHits):
    """Traffic."""

    premise = "traffic"

    batch: Annotated["CountsGiven", flag("LIST", "Sequences decoded together.")] = "1..256x2"
    prompt: Annotated["CountsGiven", flag("LIST", "Prompt tokens of a request.")] = "1000"
    output: Annotated["CountsGiven", flag("LIST", "Output tokens of a request.")] = "1000"
    context: Annotated[
        "CountsGiven | None",
        flag("LIST", "Mean context in decode; prompt + output/2 unless given."),
    ] = None


class ListedRanks(Request):
    """Deployment."""

    premise = "deployment"

    engine: Annotated[
        "EnginesGiven | None",
        groups.engine_named("Engines to try; by kind of chip unless given.", "NAMES"),
    ] = None
    chips: Annotated[
        "CountsGiven | None",
        flag("LIST", "Chips; without ranks the layout that serves each batch most."),
    ] = None
    tp: Annotated[
        "CountsGiven | None", flag("LIST", "Tensor-parallel ranks; 1 if others are given.")
    ] = None
    pp: Annotated["CountsGiven | None", flag("LIST", "Pipeline stages.")] = None
    ep: Annotated["CountsGiven | None", flag("LIST", "Ranks that share the experts.")] = None
    dp: Annotated["CountsGiven | None", flag("LIST", "Attention replicas.")] = None


class OutputOfPoints(groups.OutputFile):
    """Output."""

    format: Annotated[
        str | None,
        flag("table|csv|json|parquet", f"By the ending of {option('out')}; table on a terminal."),
    ] = None
    anyway: Annotated[bool, flag(None, "Even beyond 10 minutes or what is free on the disk.")] = (
        False
    )


class Sweep(
    groups.ModelNames,
    ListedTraffic,
    groups.DraftsToTry,
    groups.FormatsToTry,
    groups.AnyChips,
    ListedRanks,
    groups.OwnRuns,
    groups.EngineLimits,
    groups.HostMemory,
    groups.Paid,
    OutputOfPoints,
    groups.OwnFolders,
):
    """Evaluate every combination of lists: chips, formats, layouts, traffic, batches.

    Numbers are lists and ranges: 1,8,32 or 1..1024x2 or 8..64+8, with 1k for a thousand; so are
    what-ifs of any number of a chip, model or engine. Records have the keys of compare. What cannot
    be is left out and counted on standard error; what does not fit its chips is kept, with fits
    false.
    """

    examples = (
        "fastcalc sweep llama-3.1-70b --on h100-sxm,b200 --tp 1..8x2 --batch 1..64x8",
        "fastcalc sweep llama-3.1-8b --on wse-3 --set memory.SRAM.bandwidth=1PB/s,4PB/s",
    )

    set: Annotated[
        "ChangesGiven | None",
        flag(
            "PATH=VALUES",
            "What if, a column each: memory.SRAM.capacity=40GB..100GB+20GB, cores=64,128; "
            "repeatable.",
            is_repeated=True,
        ),
    ] = None


class Sensitivity(
    groups.ModelName,
    groups.RequestTokens,
    groups.MeanContext,
    Decoding,
    groups.Placed,
    groups.EngineLimits,
    groups.PrefixHits,
    groups.Paid,
    groups.Written,
):
    """Say what each number of a chip, its engine and a model buys.

    What 10 % more of it does to speed, throughput, the first token, price and the largest batch, on
    the layout that the chips have; beyond which value it buys nothing. Or what each alone, and
    which two with the least change, would have to be. Exits with 1 if nothing reaches a target.
    """

    examples = (
        "fastcalc sensitivity llama-3.1-8b --on wse-3",
        "fastcalc sensitivity llama-3.1-70b --on b200 --target 200",
    )

    on: Annotated["ChipsGiven", groups.chips_named("Hardware: a name or a YAML file.", "CHIP")] = (
        "h100-sxm"
    )
    target: Annotated[
        "NumberGiven | None",
        flag(
            "TARGET",
            "What to reach: 1000 tokens/s of a user, 0.5$/Mtok of output, 200ms to the first.",
            premise="target",
        ),
    ] = None


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
        flag("N/s", "Requests to carry; one replica if left.", says=_rate_said),
    ] = None
    people: Annotated[
        int | None,
        flag("N", "People who make the requests, instead of a rate.", says="{:,} people"),
    ] = None
    think: Annotated[
        str | None,
        flag("TIME", "Time from an answer to the next request: 30s.", says="think time of {}"),
    ] = None
    requests_per_active_user_per_min: Annotated[
        float | None,
        flag(
            "N",
            "How often each asks, instead of thinking.",
            says="{:g} requests per active user and minute",
        ),
    ] = None
    active_fraction: Annotated[
        float | None,
        groups.a_share(
            "active_fraction",
            "Share of the people who are at it.",
            says="{} of them active",
        ),
    ] = None
    peak_multiplier: Annotated[
        float | None,
        flag("X", "Busiest time over the mean one, to plan for.", says="peak {:g} times the mean"),
    ] = None


class RecordedTraffic(Request):
    """Traffic."""

    premise = "traffic"

    traffic: Annotated[
        "PathGiven | None",
        flag("FILE", "Classes of requests as a workload's YAML, or a trace's JSON lines or CSV."),
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
            "Dollars of a month; no limit unless given.",
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
        flag("IN/CACHED/OUT", "An API's $ a million tokens, to compare: 0.6/0.15/2.4."),
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
        ),
    ] = None
    utilization: Annotated[
        float | None, groups.a_share("utilization", f"Now {option('load')}.", is_hidden=True)
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
        groups.chips_named("Other chips that may take in the prompts, for those that decode."),
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

    Over chips, formats, layouts, batches, prompts inside or apart; and why the others lose. With
    chips that you own, what they carry, and what to rent on top; without a rate, the most that
    chips, a budget or a power carry. Chips that only marketplaces of single owners rent are left
    out unless they are named. Exits with 1 if there is none, and says which limit to relax to what.
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


class FromAndTo(Request):
    """Speed today and wanted."""

    premise = "target"

    batch: Annotated[
        "CountsGiven | None", flag("N", "Sequences decoded together today.", premise="traffic")
    ] = None
    from_speed: Annotated[
        float | None, flag("TOKENS", "Tokens/s of each user today: solve for the batch.")
    ] = None
    speedup: Annotated[float | None, flag("X", "How many times faster; 2.5 unless given.")] = None
    to_speed: Annotated[float | None, flag("TOKENS", "Tokens/s that each user is to get.")] = None


class Fastmode(
    groups.ModelName,
    FromAndTo,
    groups.RequestTokens,
    groups.MeanContext,
    groups.PrefixHits,
    groups.Placed,
    groups.OwnRuns,
    groups.EngineLimits,
    groups.Paid,
    groups.Written,
):
    """Say what each trick for speed buys and costs, from today's batch.

    Smaller batch, other and more chips, fewer bits, speculation, a smaller model, SRAM machines;
    the cheapest two, three and four together; and what each gives of the cheapest way. Exits with
    1 if nothing reaches the speed.
    """

    examples = (
        "fastcalc fastmode gpt-oss-120b --on h100-sxm --batch 32 --speedup 2",
        "fastcalc fastmode llama-3.1-70b --from-speed 20 --to-speed 40",
    )

    on: "ChipsGiven" = "h100-sxm"
    place_for: str = "decode"
    smaller: Annotated[
        "WordsGiven",
        flag("family|all|none|MODELS", "Smaller models that may take its place.", premise="search"),
    ] = "family"
    everything: Annotated[bool, flag(None, "Show every chip, format and model that was tried.")] = (
        False
    )
    curve: Annotated[
        bool,
        flag(None, "Show what a smaller batch costs from every starting batch.", premise="search"),
    ] = False
    cost: Annotated[float, flag("X", "Cost multiple to find on the curve.")] = 6.0


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
    """Show user speed against $/Mtok: the points that no other beats.

    Over the layouts that people run of up to a number of chips, at batches in powers of two and the
    largest.
    Exits with 1 if no chip has both a place and a price.
    """

    examples = (
        "fastcalc frontier gpt-oss-120b --on h100-sxm,gb200,wse-3 --max-chips 8",
        "fastcalc frontier llama-3.1-8b --on h100-sxm --max-chips 4 -o frontier.csv",
    )

    weights: Annotated[
        "WordsGiven | None",
        groups.formats_named("Weight formats to try; the model's own unless given.", "LIST"),
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
            "Most chips of a deployment.",
            says="deployments of up to {:,} chips",
            premise="search",
        ),
    ] = 72
