"""Plans for classes of requests: which pools of replicas there are, and what each class gets."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf
from typing import Any

from fastcalc.core.load import Percentiles, Spread
from fastcalc.core.request_class import RequestClass
from fastcalc.records.columns import Column
from fastcalc.report import record_tables
from fastcalc.report.commands import Typed
from fastcalc.report.console import Part, Screen, Title
from fastcalc.report.headings import TableColumn
from fastcalc.report.numbers_as_text import dollars, many, number
from fastcalc.report.percentiles import in_words, percentile_record
from fastcalc.report.plan import assumptions, notes, unrounded
from fastcalc.report.plan_columns import KEYS as PLAN_KEYS
from fastcalc.report.plan_table import columns
from fastcalc.report.records import Record, plain, plainly
from fastcalc.report.servers.script import script
from fastcalc.search.plan.random_load import random_load
from fastcalc.search.plan.sharing import Pools, ReplicaPool, Sharing

CLASSES = Column[Any]("classes", "text", "of requests that the replicas serve", lambda _: None)
KEYS = (*PLAN_KEYS, CLASSES.key)


@dataclass(frozen=True)
class ServedClass:
    """What a class gets.

    pool : position of its replicas [1]
    ttft, tpot : time to the first token, and between two tokens while others' prompts come, on
        replicas that are full [s]
    percentiles : where requests arrive at random, at the load that the replicas have
    """

    kind: RequestClass
    pool: int
    ttft: float
    tpot: float
    percentiles: Percentiles | None = None


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
        ServedClass(kind, place, ttft, pool.plan.values["tpot"])
        for place, pool in enumerate(pools, 1)
        for kind, ttft in zip(
            pool.classes, pool.plan.class_ttft or (pool.plan.values["ttft"],), strict=True
        )
    ]


@dataclass(frozen=True)
class Answer:
    """The cheapest pools in every form.

    model, file : as typed
    """

    sharing: Sharing
    model: object
    file: str
    typed: Typed

    @cached_property
    def unrounded(self) -> list[Record]:
        """Records of the pools' plans with all digits."""
        rows = []
        for place, pool in enumerate(self.sharing.pools, 1):
            (row,) = unrounded([pool.plan], pool.decision.service, self.typed)
            nearest = _nearest_limit(pool)
            if nearest is not None:
                row["service_ttft_ms"] = nearest * 1e3
            rows.append(row | {"rank": place, CLASSES.key: names_of(pool)})
        return rows

    def records(self) -> list[Record]:
        """Return a record for each pool."""
        return [plainly(record) for record in self.unrounded]

    def servers(self, program: str) -> str:
        """Return the scripts that start the servers of all pools."""
        return "\n".join(
            script(program, pool.plan, pool.decision.service, self._name(pool), record["command"])
            for pool, record in zip(self.sharing.pools, self.unrounded, strict=True)
        )

    def _name(self, pool: ReplicaPool) -> str:
        model = pool.plan.scenario.model.id
        return self.typed.names.get(model, model)

    def details(self) -> Record:
        """Return what stands alongside the records: what each class gets, and other sharings."""
        return {
            "classes": [_class_record(served) for served in self._served],
            "sharing": {
                name: _bill(pools) for name, pools in self._sharings() if pools is not None
            },
            "assumptions": self._assumptions(),
        }

    @cached_property
    def _served(self) -> list[ServedClass]:
        return with_percentiles(self.sharing.pools)

    def _assumptions(self) -> Record:
        """Return what the records rest on; lengths are those of the classes."""
        shared = assumptions(self.sharing.pools[0].decision)
        lengths = ("prompt_tokens", "output_tokens", "context_tokens", "prefix_hit")
        common = {key: value for key, value in shared.items() if key not in lengths}
        return common | {"requests_per_s": plain(self._rate), "traffic": self.file}

    @property
    def _rate(self) -> float:
        return sum(pool.decision.service.rate or 0.0 for pool in self.sharing.pools)

    def _sharings(self) -> Iterator[tuple[str, Pools | None]]:
        yield "cheapest", self.sharing.pools
        yield "together", self.sharing.shared_by_all
        yield "apart", self.sharing.one_each

    def parts(self, screen: Screen) -> list[Part]:
        """Return the answer in a sentence, a table of the pools, one of the classes, and notes."""
        pools = self.sharing.pools
        service = pools[0].decision.service
        chips = " + ".join(dict.fromkeys(pool.plan.scenario.hardware.id for pool in pools))
        rate = number(self._rate)
        sentence = f"{_phrase(pools)} for {self.model}, {rate} requests/s of {self.file}"
        pool_columns = [
            record_tables.words("|pool", lambda record: f"{record['rank']}"),
            *(column for column in columns(service) if column.key not in _LEFT_OUT),
        ]
        pool_rows = [record_tables.row(pool_columns, record) for record in self.unrounded]
        (pool_table,) = record_tables.tables(pool_columns, [pool_rows], screen.width)
        class_rows = [record_tables.row(_CLASS_COLUMNS, served) for served in self._served]
        (class_table,) = record_tables.tables(_CLASS_COLUMNS, [class_rows], screen.width)
        loads = [random_load(pool.plan, pool.decision.service) for pool in pools]
        busy = [
            in_words(load, f"pool {place}")
            for place, load in enumerate(loads, 1)
            if load and not load.is_known
        ]
        short = [*self._comparison(), *busy]
        every = [*short, *notes(service)]
        key = (
            "key: classes of one pool share its replicas, of which it says what they do when "
            "full, and the TTFT of the class nearest its limit; means and p99 of a class are at "
            "the load there is, for requests that arrive at random"
        )
        command = self.unrounded[0]["command"]
        title = Title(chips, sentence)
        return [
            title,
            "",
            pool_table,
            "",
            class_table,
            screen.under_table(key, short, every, command),
        ]

    def _comparison(self) -> Iterator[str]:
        """Say what the other sharings would take."""
        pools = self.sharing.pools
        if len(pools[0].classes) == len(pools) == 1:
            return
        if len(pools) > 1 and self.sharing.shared_by_all is not None:
            yield f"all classes on the same replicas: {_phrase(self.sharing.shared_by_all)}"
        elif len(pools) > 1:
            yield "all classes on the same replicas: none meets every limit"
        if (
            len(pools) < sum(len(pool.classes) for pool in pools)
            and self.sharing.one_each is not None
        ):
            yield f"each class on replicas of its own: {_phrase(self.sharing.one_each)}"


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
    bills = [pool.plan.usd_per_month for pool in pools]
    priced = [bill for bill in bills if bill is not None]
    return f"{chips}, ${dollars(sum(priced))} a month" if len(priced) == len(bills) else chips


def _bill(pools: Pools) -> Record:
    bills = [pool.plan.usd_per_month for pool in pools]
    priced = [bill for bill in bills if bill is not None]
    return {
        "pools": [names_of(pool) for pool in pools],
        "chips": plain(sum(pool.chips for pool in pools)),
        "usd_per_month": plain(sum(priced)) if len(priced) == len(bills) else None,
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


def _limit(seconds: float) -> str:
    return number(seconds * 1e3) if seconds < inf else "-"


def _slowest(served: ServedClass, name: str, unit: float) -> str:
    if served.percentiles is None:
        return "-"
    spread: Spread = getattr(served.percentiles, name)
    return number(spread.percentiles[-1] * unit)


def _mean(served: ServedClass, name: str) -> float:
    """Return the mean time at the load that there is, where that is known. [s]"""
    if served.percentiles is None:
        return float(getattr(served, name))
    return float(getattr(served.percentiles, name).mean)


def _numbers(
    heading: str, cell: Callable[[ServedClass], str], drop_priority: int = 0
) -> TableColumn:
    return record_tables.numbers(heading, cell, drop_priority)


_CLASS_COLUMNS: Sequence[TableColumn] = (
    record_tables.words("|class", lambda served: served.kind.name),
    _numbers("share|%", lambda served: number(served.kind.share * 100.0)),
    _numbers("|prompt", lambda served: f"{served.kind.prompt:,.0f}", 1),
    _numbers("|output", lambda served: f"{served.kind.output:,.0f}", 1),
    _numbers("|pool", lambda served: f"{served.pool}"),
    _numbers("TTFT|mean", lambda served: number(_mean(served, "ttft") * 1e3)),
    _numbers("|p99", lambda served: _slowest(served, "ttft", 1e3)),
    _numbers("limit|ms", lambda served: _limit(served.kind.ttft)),
    _numbers("TPOT|mean", lambda served: number(_mean(served, "tpot") * 1e3)),
    _numbers("|p99 ", lambda served: _slowest(served, "tpot", 1e3)),
    _numbers("limit|ms ", lambda served: _limit(served.kind.tpot)),
    _numbers("request|p99 s", lambda served: _slowest(served, "request", 1.0), 2),
)
