"""The answer of `caches`: records, a summary sentence and tables."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from fastcalc.core.traffic.reuse import SharedPrefixes
from fastcalc.features import request_of
from fastcalc.features.caches.records import COLUMNS, DeploymentTiers
from fastcalc.features.caches.request import SizeCaches
from fastcalc.grid.column import TableColumn
from fastcalc.grid.columns import pick
from fastcalc.grid.prefix_caches import BEHIND, CachedDeployment, CachedTier
from fastcalc.kit.answer import record_tables
from fastcalc.kit.answer.answer import Answer, Charts, Screen
from fastcalc.kit.answer.next_commands import follow_up, typed_as
from fastcalc.kit.answer.numbers_as_text import number, percent, size
from fastcalc.kit.answer.parts import Note, Part
from fastcalc.kit.answer.point_records import Record
from fastcalc.kit.answer.prices import prices_of
from fastcalc.kit.request.evaluation import Evaluated
from fastcalc.mentions import flag, option

_FEW = 3
"""Maximum number of notes on the first screen."""

_ROWS = pick(
    "cache_tier cache_gb cache_tokens prefix_hit prefix_loaded computed_prompt_tokens "
    "requests_per_s requests_limited_by mean_ttft_ms usd_per_request break_even_usd_per_gb_month",
    COLUMNS,
)
SHOWN = [*pick("hardware chips"), *_ROWS]
_KEY = (
    "key: hit rate: of prompt tokens; another tier: holds all cached tokens, those in chip memory "
    "included; break-even: price of its memory at which it costs as much as the chips it saves"
)


@dataclass(frozen=True, eq=False, kw_only=True)
class CachesAnswer(Answer):
    """The result of ``fastcalc caches``: the prefix-cache hit rate for each cache size.

    deployments : The deployments whose memory fits the batch.
    refused : Why other chips have no answer.
    rate : The request rate of the trace, if known. [1/s]
    """

    request: SizeCaches
    deployments: Sequence[DeploymentTiers]
    refused: Sequence[str]
    rate: float | None

    def body(self, screen: Screen) -> Iterator[Part]:
        """Yield a summary sentence and a table for each deployment."""
        for index, place in enumerate(self.deployments):
            near, last = place.tiers[1], place.tiers[-1]
            model = place.deployment.scenario.model.asked_name
            now, then = ((percent(tier.hit), number(tier.requests)) for tier in (near, last))
            hits = (
                f"{model} on {place.chips} sustains up to {now[1]} requests/s with a prefix cache "
                f"in {near.name} (hit rate {now[0]})"
            )
            rate = f"still {now[1]}" if now[1] == then[1] else then[1]
            more = f"it would sustain {rate} (hit rate {then[0]})"
            added = f"With {size(last.size)} in {_named(last)}, {more}"
            if now == then:
                added = f"Adding {_named(last)} would change neither"
            yield from [""] * bool(index)
            yield from (f"{hits}. {added}.", "")
            yield record_tables.table(_ROWS, place.records(), screen.width)

    def key(self) -> str:
        """Explain when a cache tier pays off."""
        return _KEY

    def notes(self) -> Iterator[Note]:
        """Yield notes on the loading speed of tiers, required capacity, the trace, and prices."""
        notes = [note for tiers in self.deployments for note in _notes(tiers, self.rate)]
        for index, line in enumerate(dict.fromkeys([*self.refused, *notes])):
            yield Note(line, weight=int(index < _FEW))

    def next_command(self) -> str:
        """Suggest `compare` for the first chip, with the hit rate of the chip's own memory."""
        (first, *_), request = self.deployments, self.request
        scenario = first.deployment.scenario
        asked = Evaluated.sharing(
            request,
            prompt=int(scenario.traffic.prompt),
            output=int(scenario.traffic.output),
            batch=str(min(scenario.batches)),
            host=None,
        )
        chip = typed_as(request, request.on, scenario.hardware.id)
        ending = [flag("prefix_hit"), f"{first.tiers[1].hit:.3g}"]
        compare = request_of("compare")
        return follow_up(asked, compare, request.model, flag("on"), chip, ending=ending)

    def records(self) -> list[Record]:
        """Build one record per cache tier of each deployment."""
        return [record for deployment in self.deployments for record in deployment.records()]

    def table(self) -> tuple[Sequence[TableColumn], list[Record]]:
        """Return all tiers, with the chips of their deployment."""
        return SHOWN, self.records()

    def warnings(self) -> Sequence[str]:
        """Return why some chips have no answer."""
        return self.refused

    @property
    def charts(self) -> Charts:
        """A chart of the hit rate against cache size."""
        from fastcalc.features.caches.chart import hits

        return {"caches": partial(hits, self.deployments)}


def too_large(deployment: CachedDeployment) -> str:
    """Say that the batch does not fit on the chips, and which batch is the largest that does."""
    location = deployment.location
    chip, batch_held = location.scenario.hardware.id, int(location.placement.edge_batch)
    if location.refused:
        return location.refused
    batch, tokens = min(location.scenario.batches), location.placement.reserved_tokens
    return (
        f"{chip}: {batch} requests of {tokens:,.0f} tokens on average do not fit on "
        f"{location.placement.layout.chips}; at most {batch_held} fit: lower {option('batch')} or "
        f"raise {option('chips')}"
    )


def _named(tier: CachedTier) -> str:
    return "another memory tier" if tier.name == BEHIND else str(tier.name)


_REPLAYED = (
    "hash_ids are blocks of {} tokens. Requests are replayed in order of arrival, and the least "
    "recently used block is evicted first, from the end of a prompt"
)
_ASSUMED = (
    "hit rate of classes by Che's approximation: independent requests share prefix_length "
    "tokens, popularity by Zipf's law, no other reuse"
)


def _notes(location: DeploymentTiers, rate: float | None) -> Iterator[str]:
    deployment, near = location.deployment, location.tiers[1]
    scenario = deployment.scenario
    chip, batch = scenario.hardware.id, min(scenario.batches)
    if any(tier.name == BEHIND for tier in location.tiers):
        yield (
            f"{chip}: loading from another tier is assumed to take no time; set its size and speed "
            f"with {option('host', 'dram=1TB@300GB/s,link=64GB/s')}"
        )
    if rate is not None:
        yield (
            f"the request rate of the file, {number(rate)} requests/s, is "
            f"{number(100.0 * rate / near.requests)}% of the capacity of {location.chips}. With "
            "several replicas, these hit rates require prefix-aware routing or a shared tier"
        )
    yield (
        f"{chip}: the prefix cache, which also holds the prompts of running requests, has "
        f"{size(near.size)} of {near.name}; weights and the outputs of {batch} running requests "
        f"take the rest. KV cache per token at the mean prompt length: "
        f"{size(deployment.bytes_per_token)}"
    )
    reuse = deployment.reuse
    yield _ASSUMED if isinstance(reuse, SharedPrefixes) else _REPLAYED.format(reuse.block)
    yield prices_of(scenario.pricing, [scenario.hardware], in_short=True)
