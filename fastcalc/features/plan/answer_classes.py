"""Plans for classes of requests: which pools of replicas there are, and what each class gets."""

from bisect import bisect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from math import inf
from typing import Any

from fastcalc.core.load import SHARES, Percentiles, Spread
from fastcalc.core.scenario import Scenario
from fastcalc.core.traffic.request_class import RequestClass
from fastcalc.features.plan import notes as plan_notes
from fastcalc.features.plan.answer import CHANGED, STAR, PlanAnswer
from fastcalc.features.plan.answer_fleet import carry, in_all, owning, owning_all
from fastcalc.features.plan.api import api_notes, cheaper_api
from fastcalc.features.plan.class_fleet import ClassFleet, ClassShare
from fastcalc.features.plan.columns import KEYS as PLAN_KEYS
from fastcalc.features.plan.notes import weighted
from fastcalc.features.plan.percentiles import in_words, percentile_record
from fastcalc.features.plan.random_load import random_load
from fastcalc.features.plan.records import assumptions, service_notes, unrounded
from fastcalc.features.plan.refusal import limit_as_option, over_budget, refusal
from fastcalc.features.plan.servers.script import script
from fastcalc.features.plan.sharing import Pools, ReplicaPool, Sharing
from fastcalc.features.plan.table_columns import columns_but, with_formats
from fastcalc.formulas.sequences import sum_if_known
from fastcalc.grid.column import Column, TableColumn
from fastcalc.grid.columns import pick
from fastcalc.kit.answer import record_tables
from fastcalc.kit.answer.console import Note, Part, Screen, TextTable, Title
from fastcalc.kit.answer.numbers_as_text import dollars, number
from fastcalc.kit.answer.point_records import Record, plain
from fastcalc.written import listed, many

CLASSES = Column[Any]("classes", "text", "of requests that the replicas serve", lambda _: None)
KEYS = (*PLAN_KEYS, CLASSES.key)


@dataclass(frozen=True)
class ServedClass:
    """What a class gets.

    pool : position of its replicas [1]
    ttft, tpot : time to the first token, and between two tokens while others' prompts come, on
        replicas that are full [s]
    share : of its requests, that are to have their first token in time; None where they come
        evenly [1]
    percentiles : where requests arrive at random, at the load that the replicas have
    """

    kind: RequestClass
    pool: int
    ttft: float
    tpot: float
    share: float | None
    percentiles: Percentiles | None = None

    def mean(self, name: str) -> float | None:
        """Return the mean of a time; None where random arrivals are planned for, and not known."""
        if self.percentiles is None:
            return None if self.share else float(getattr(self, name))
        return float(getattr(self.percentiles, name).mean)

    def over(self, name: str) -> float | None:
        """Return a time where it is over its limit at the percentile that is to be in time. [s]"""
        if self.percentiles is None or self.share is None:
            return None
        place = bisect(SHARES, self.share) - 1
        seconds = float(getattr(self.percentiles, name).percentiles[place])
        return seconds if seconds > getattr(self.kind, name) else None


def with_percentiles(pools: Pools) -> list[ServedClass]:
    """Return what each class gets, with percentiles where a closed form has them."""
    loads = [random_load(pool.plan, pool.decision.service) for pool in pools]
    places = [place for pool in pools for place in range(len(pool.classes))]
    return [
        replace(served, percentiles=load.percentiles(place)) if load and load.is_known else served
        for served, place in zip(served_classes(pools), places, strict=True)
        for load in [loads[served.pool - 1]]
    ]


def served_classes(pools: Pools) -> list[ServedClass]:
    """Return what each class gets, by pool."""
    return [
        ServedClass(kind, place, ttft, pool.plan.values["tpot"], pool.decision.service.share)
        for place, pool in enumerate(pools, 1)
        for kind, ttft in zip(
            pool.classes, pool.plan.class_ttft or (pool.plan.values["ttft"],), strict=True
        )
    ]


@dataclass(frozen=True, eq=False, kw_only=True)
class ClassPlanAnswer(PlanAnswer):
    """What carries the classes of a file.

    servers : the scripts that start all pools, where these are asked for
    """

    fleet: ClassFleet
    servers: str | None = None

    @property
    def file(self) -> str:
        """The file of the classes, as typed."""
        return str(self.request.traffic)

    @property
    def scenarios(self) -> Sequence[Scenario]:
        """Those of all pools."""
        return [scenario for pool in self.pools for scenario in pool.plan.scenarios]

    @cached_property
    def pools(self) -> Pools:
        """The pools of all shares, owned ones first."""
        return tuple(pool for share in self.fleet.shares for pool in share.sharing.pools)

    @cached_property
    def unrounded(self) -> list[Record]:
        """Records of the pools' plans with all digits."""
        rows: list[Record] = []
        for share in self.fleet.shares:
            owned = share.owned.chips if share.owned else None
            for pool in share.sharing.pools:
                (row,) = unrounded([pool.plan], pool.decision.service, self.typed, owned)
                nearest = _nearest_limit(pool)
                if nearest is not None:
                    row["service_ttft_ms"] = nearest * 1e3
                rows.append(row | {"rank": len(rows) + 1, CLASSES.key: names_of(pool)})
        return rows

    def script(self, program: str) -> str:
        """Return the scripts that start the servers of all pools."""
        return "\n".join(
            script(
                program,
                pool.plan,
                pool.decision.service,
                self._name(pool),
                [record["command"]],
                self._first_tokens(record["rank"]),
            )
            for pool, record in zip(self.pools, self.unrounded, strict=True)
        )

    def _first_tokens(self, place: int) -> str | None:
        """Return the time to the first token of each class of a pool, as its table has it."""
        served = [served for served in self._served if served.pool == place]
        times = [(part.kind.name, part.percentiles) for part in served if part.percentiles]
        if len(times) < len(served):
            return None
        words = [f"{name} {number(spread.ttft.percentiles[-1] * 1e3)} ms" for name, spread in times]
        return f" of 99 % within: {', '.join(words)}"

    def _name(self, pool: ReplicaPool) -> str:
        model = pool.plan.scenario.model.id
        return self.typed.names.get(model, model)

    @cached_property
    def _models(self) -> list[str]:
        """The models that the pools serve, as typed."""
        return [*dict.fromkeys(map(self._name, self.pools))]

    def details(self) -> Record:
        """What each class gets, and other sharings."""
        return {
            "classes": [_class_record(served) for served in self._served],
            "sharing": _sharings(self.fleet.shares[-1].sharing),
            "requests_per_s": plain(self.fleet.requests),
            "rate": plain(self.fleet.service.rate),
            "shares": [
                {
                    "owned_chips": share.owned and share.owned.chips,
                    "requests_per_s": plain(share.requests),
                    "chips_left": plain(share.owned.chips - share.chips if share.owned else 0.0),
                    "sharing": _sharings(share.sharing),
                }
                for share in self.fleet.shares
            ],
        }

    @cached_property
    def _served(self) -> list[ServedClass]:
        return with_percentiles(self.pools)

    def premises(self) -> Record:
        """Prices, engines, and how the times are meant; lengths are those of the classes."""
        shared = assumptions(self.pools[0].decision)
        lengths = ("prompt_tokens", "output_tokens", "context_tokens", "prefix_hit")
        common = {key: value for key, value in shared.items() if key not in lengths}
        return common | {"requests_per_s": plain(self.fleet.requests), "traffic": self.file}

    def text(self, screen: Screen) -> str | None:  # noqa: ARG002
        """The scripts, where these are asked for."""
        return self.servers

    def page(self, screen: Screen) -> Sequence[Part]:
        """Pools and classes, where no scripts are asked for."""
        return super().page(screen) if self.servers is None else ()

    def key(self) -> str:
        """At which load the times of pools and of classes are."""
        key = (
            "key: pools: at the most that they carry; classes: at this load, where requests arrive "
            "at random"
        )
        key += f"; {_OVER}: over its limit" * any(self._over())
        return key + CHANGED * any(map(self._is_marked, self.pools))

    def notes(self) -> Iterator[Note]:
        """Limits that are not met, bills, other sharings, and pools without percentiles."""
        yield from weighted(1, self._over())
        yield from weighted(1, self._bills())
        yield from weighted(1, self._comparison())
        yield from weighted(1, _busy(self.pools))
        yield from weighted(0, service_notes(self.service))

    def tables(self, screen: Screen) -> list[TextTable]:
        """The pools, and what each class gets."""
        return [
            self._pool_table(screen),
            record_tables.table(_CLASS_COLUMNS, self._served, screen.width),
        ]

    def _is_marked(self, pool: ReplicaPool) -> bool:
        """Whether a pool has fewer bits than asked for."""
        return not pool.decision.may_lead(pool.plan)

    def _pool_table(self, screen: Screen) -> TextTable:
        """Return the table of the pools, without first tokens that the table of classes has."""
        marks = [STAR * self._is_marked(pool) for pool in self.pools]
        in_class_table = {served.pool for served in self._served if served.percentiles}
        hidden = {*_LEFT_OUT, *(_TTFT if len(in_class_table) == len(marks) else ())}
        shown = columns_but(self.service, hidden, wide=screen.wide)
        columns = [_POOL]
        if any(share.is_owned for share in self.fleet.shares):
            columns.append(_OWNED)
        if len(self._models) > 1:
            columns += pick("model")
        columns += with_formats(shown, self.unrounded, has_fewer_bits=any(marks))
        records = [
            {
                **record,
                **(dict.fromkeys(_TTFT) if record["rank"] in in_class_table else {}),
                _POOL.key: f"{record['rank']}{mark}",
                _OWNED.key: "rented" if record["owned_chips"] is None else "owned",
            }
            for record, mark in zip(self.unrounded, marks, strict=True)
        ]
        return record_tables.table(columns, records, screen.width)

    def title(self) -> Title:
        """What carries how much of the traffic."""
        fleet, mix = self.fleet, f"{number(self.fleet.requests)} requests/s of {self.file}"
        models = listed(self._models)
        models += plan_notes.in_fewer_bits((pool.decision, pool.plan) for pool in self.pools)
        models += cheaper_api(self.service, fleet.requests, fleet.usd_per_month)
        rate = fleet.service.rate
        if rate is not None and not fleet.carries_all:
            share = number(fleet.requests / rate * 100.0)
            mix = (
                f"{number(fleet.requests)} of {number(rate)} requests/s ({share} %) of {self.file}"
            )
        owned = [(share.owned, share.requests) for share in fleet.shares if share.owned]
        rented = [share.sharing.pools for share in fleet.shares if not share.owned]
        pools = next((pools for pools in rented if pools), ())
        chips = " + ".join(dict.fromkeys(pool.plan.scenario.hardware.id for pool in pools))
        if not owned and fleet.carries_all and rate is not None:
            return Title(chips, f"{_phrase(pools)} for {models}, {mix}", _phrase(pools))
        if not owned:
            answer = f"{_phrase(pools)}, carry {mix}"
            return Title(chips, f"{answer}, for {models}", answer)
        name = listed([f"{kind.chips:,} {kind.hardware.id}" for kind, _ in owned])
        if pools:
            alone = number(sum(requests for _, requests in owned))
            top = f"with {chips} on top, {_phrase(pools)}{in_all(fleet)}"
            mix = f"{alone} requests/s; {top}, {mix}"
        answer = f"{carry(fleet)} {mix}"
        return Title(name, f"{answer}, for {models}", answer)

    def _bills(self) -> Iterator[str]:
        """Say what an API charges for the same, and what chips cost that serve or are left."""
        capacity = sum(share.sharing.requests for share in self.fleet.shares)
        month = self.fleet.usd_per_month
        yield from api_notes(self.service, self.fleet.requests, capacity, month)
        for share in self.fleet.shares:
            plans = [pool.plan for pool in share.sharing.pools]
            if share.owned is None and plans:
                yield from (note for plan in plans for note in plan_notes.idle(plan))
            elif share.owned is not None and plans:
                owned, left = share.owned, share.owned.chips - share.chips
                if left:
                    yield f"left: {left:,.0f} of {owned.chips:,} {owned.hardware.id}"
                tokens = share.requests * (self.service.prompt + self.service.output)
                yield owning(plans[0], owned.chips, tokens)
        yield from owning_all(self.fleet)

    def _over(self) -> Iterator[str]:
        """Say which classes are over a limit at the percentile that is to meet it."""
        for served in self._served:
            for name in ("ttft", "tpot"):
                if seconds := served.over(name):
                    is_met = "; the mean on full replicas is within it" if name == "tpot" else ""
                    yield (
                        f"pool {served.pool}, {served.kind.name}: {name.upper()} is "
                        f"{number(seconds * 1e3)} ms at p{(served.share or 0.0) * 100:g}, over its "
                        f"limit of {number(getattr(served.kind, name) * 1e3)} ms{is_met}"
                    )

    def _comparison(self) -> Iterator[str]:
        """Say what the other sharings would take."""
        last = self.fleet.shares[-1]
        sharing, pools = last.sharing, last.sharing.pools
        label = "owned" if last.is_owned else "rented"
        part = "" if len(self.fleet.shares) == 1 else f"{label}: "
        if sharing.one_each is None or len(pools[0].classes) == len(pools) == 1:
            return
        if len(pools) > 1 and sharing.shared_by_all is not None:
            yield f"{part}all classes on the same replicas: {_phrase(sharing.shared_by_all)}"
        elif len(pools) > 1 and len(self._models) == 1:
            yield f"{part}all classes on the same replicas: none meets every limit"
        if len(pools) < sum(len(pool.classes) for pool in pools):
            yield f"{part}each class on replicas of its own: {_phrase(sharing.one_each)}"


def _busy(pools: Pools) -> Iterator[str]:
    """Say of which pools percentiles are not known, and why."""
    for place, pool in enumerate(pools, 1):
        load = random_load(pool.plan, pool.decision.service)
        if load and not load.is_known:
            yield in_words(load, f"pool {place}")


def refusals(fleet: ClassFleet) -> list[str]:
    """Say what a fleet that is not enough carries, and why no more."""
    if fleet.is_enough:
        return []
    sentences = over_budget(fleet)
    if fleet.carries_all:
        return sentences
    for share in fleet.shares:
        if share.owned is None or not share.requests:
            chips = f"{share.owned.chips:,} {share.owned.hardware.id}: " if share.owned else ""
            sentences += [f"{chips}{reason}" for reason in _reasons(fleet, share)]
    if fleet.requests and fleet.service.rate:
        sentences.insert(0, f"{number(fleet.requests)} of {number(fleet.service.rate)} requests/s")
    return sentences


def _reasons(fleet: ClassFleet, share: ClassShare) -> list[str]:
    """Return why some chips do not carry all classes, and which limit to relax to what."""
    sharing = share.sharing
    if sharing.unserved:
        return [f"'{pool.classes[0].name}': {refusal(pool.decision)}" for pool in sharing.unserved]
    owned = share.owned.hardware.id if share.owned else None
    options = [
        limit_as_option(name, _in_all(fleet, share, name) + amount, fleet.service, owned)
        for name, amount in sharing.needed.items()
    ]
    return [f"all classes together would with {' and '.join(options)}"] if options else []


def _in_all(fleet: ClassFleet, share: ClassShare, name: str) -> float:
    """Return how much of a limit all but a share of rented chips take; of chips none do."""
    return 0.0 if name == "chips" else fleet.used(name) - share.used(name)


def _sharings(sharing: Sharing) -> Record:
    """Return the bills of pools that classes share, and of how else they might."""
    every = {
        "cheapest": sharing.pools,
        "together": sharing.shared_by_all,
        "apart": sharing.one_each,
    }
    return {name: _bill(pools) for name, pools in every.items() if pools}


_OVER = "^"
_TTFT = ("service_ttft_ms",)
"""Of a pool, where the table of classes has none of theirs."""

_POOL, _OWNED = TableColumn("pool", heading=("", "pool")), TableColumn("owned")
_LEFT_OUT = ("speculation_tokens_per_pass", "service_tpot_ms_low", "bound")


def names_of(pool: ReplicaPool) -> str:
    """Return the classes of a pool."""
    return ", ".join(kind.name for kind in pool.classes)


def _nearest_limit(pool: ReplicaPool) -> float | None:
    """Return the time to the first token of the class nearest its limit, if any has one. [s]"""
    times = zip(pool.plan.class_ttft, pool.classes, strict=False)
    limited = [(ttft / kind.ttft, ttft) for ttft, kind in times if kind.ttft < inf]
    return max(limited)[1] if limited else None


def _phrase(pools: Pools) -> str:
    """Say what pools take."""
    chips = many(sum(pool.chips for pool in pools), "chip")
    usd = sum_if_known(pool.plan.usd_per_month for pool in pools)
    return chips if usd is None else f"{chips}, ${dollars(usd)} a month"


def _bill(pools: Pools) -> Record:
    return {
        "pools": [names_of(pool) for pool in pools],
        "chips": plain(sum(pool.chips for pool in pools)),
        "usd_per_month": plain(sum_if_known(pool.plan.usd_per_month for pool in pools)),
        "cost": plain(sum(pool.cost for pool in pools)),
    }


def _class_record(served: ServedClass) -> Record:
    kind = served.kind
    return {
        "class": kind.name,
        "share": plain(kind.share),
        "prompt_tokens": plain(kind.prompt),
        "output_tokens": plain(kind.output),
        "pool": served.pool,
        "ttft_ms": plain(served.ttft * 1e3),
        "ttft_limit_ms": plain(kind.ttft * 1e3) if kind.ttft < inf else None,
        "tpot_ms": plain(served.tpot * 1e3),
        "tpot_limit_ms": plain(kind.tpot * 1e3) if kind.tpot < inf else None,
        "tokens_per_s_per_user": plain(1.0 / served.tpot),
        "percentiles": served.percentiles and percentile_record(served.percentiles),
    }


def _slowest(name: str, served: ServedClass) -> str:
    """Return the time of the slowest of a hundred requests, with a mark where it is over."""
    if served.percentiles is None:
        return "-"
    spread: Spread = getattr(served.percentiles, name)
    return number(spread.percentiles[-1] * 1e3) + _OVER * bool(served.over(name))


def _time_columns(name: str) -> list[TableColumn]:
    """Return the columns of a time: its mean, the slowest of a hundred, its limit."""
    return [
        Column(
            f"{name}_mean_ms",
            "ms",
            value=lambda served: (mean := served.mean(name)) and mean * 1e3,
            heading=(name.upper(), "mean"),
        ),
        Column(f"{name}_p99_ms", "ms", heading=("", "p99"), format=partial(_slowest, name)),
        Column(
            f"{name}_limit_ms",
            "ms",
            value=lambda served: getattr(served.kind, name) * 1e3,
            heading=("limit", "ms"),
        ),
    ]


_CLASS_COLUMNS: Sequence[TableColumn] = (
    Column("class", value="kind.name", heading=("", "class")),
    Column("share", "%", value=lambda served: served.kind.share * 100.0, heading=("share", "%")),
    Column("prompt", "count", value="kind.prompt", heading=("", "prompt"), drop_priority=1),
    Column("output", "count", value="kind.output", heading=("", "output"), drop_priority=1),
    Column("pool", "count", value="pool", heading=("", "pool")),
    *_time_columns("ttft"),
    *_time_columns("tpot"),
    Column(
        "request_p99_s",
        "s",
        value=lambda served: served.percentiles and served.percentiles.request.percentiles[-1],
        heading=("request", "p99 s"),
        drop_priority=2,
    ),
)
