"""Compare a logged server start with its expected values: differences and their causes."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from fastcalc.catalogue.schema import Engine, Parameters
from fastcalc.catalogue.schema.engine_parameters import STARTED_WITH
from fastcalc.core.chip.reserve import start_rows
from fastcalc.core.outcome import locate, solve
from fastcalc.core.placement.cache_size import cache_size
from fastcalc.core.placement.placement import Placement
from fastcalc.core.placement.start_room import BLOCK
from fastcalc.core.scenario import Scenario
from fastcalc.evidence.start_log import RANKS, SETTINGS, SGLANG, VLLM, StartLog
from fastcalc.features.measure.diagnosis.terms import (
    BANDWIDTH,
    HOST,
    LAUNCHES,
    NEWER_RELEASE,
    RUNNING,
    SlowdownTerm,
)

DIFFERS = 1.05  # factor from which on a logged value differs from the expected one
MOST_CAUSES = 2
_MANY = 64  # batch at which prompts interleave with decode
_SAME_FORMAT = 1.1  # largest ratio of bytes per token, or of weights, within the same format
_OTHER_PROCESS = 2.0 * 2.0**30  # memory in use before a start that exceeds a driver and its context
_ACCEPTANCE = 0.8  # assumed acceptance rate if only the number of draft tokens is known
_FORMATS = {"bfloat16": "bf16", "float16": "fp16", "half": "fp16"}
GIB = 2.0**30


@dataclass(frozen=True)
class Cause:
    """A reason in the start-up log why a deployment is slower.

    sentence : The description of the cause and how much it matters.
    setting : The recommended change.
    times : The factor by which capacity is smaller or time is longer.
    """

    term: SlowdownTerm
    sentence: str
    setting: str
    times: float


@dataclass(frozen=True)
class Start:
    """A logged start, and its deployment with formats, ranks and maximum length."""

    log: StartLog
    scenario: Scenario

    @cached_property
    def placement(self) -> Placement:
        """The placement as started."""
        return self._without(())

    @cached_property
    def room(self) -> tuple[float, float, float]:
        """The expected cache memory per chip: lower end, expected, upper end, in bytes."""
        placed, reserve = self.placement, self.placement.machine.reserve
        low, middle, high = (
            max(float(placed.available_beside(times)), 0.0)
            for times in (reserve.above, 1.0, 1.0 / reserve.below)
        )
        return low, middle, high

    @cached_property
    def tokens(self) -> tuple[float, float, float] | None:
        """The expected cache capacity in tokens: lower end, expected, upper end.

        None if the bytes per token depend on the context length, since engines count such tokens
        differently.
        """
        a_token = self._bytes_of_token
        if a_token is None:
            return None
        low, middle, high = (memory / a_token for memory in self.room)
        return low, middle, high

    @cached_property
    def _bytes_of_token(self) -> float | None:
        size = cache_size(self.placement)
        if size is None or not size.tokens or not _is_even(self.placement, size.length):
            return None
        return float(self.placement.available) / size.tokens

    @cached_property
    def held(self) -> float | None:
        """The actual cache memory per chip, from the logged tokens or the logged size, in bytes."""
        if self.log.tokens and self._bytes_of_token:
            return self.log.tokens * self._bytes_of_token
        return self.log.available

    @property
    def has_room(self) -> bool:
        """Whether the KV cache has at least as much memory as expected."""
        return self.held is not None and self.held >= self.room[0]

    @cached_property
    def causes(self) -> list[Cause]:
        """The reasons why the server is slower than with default settings, the largest first."""
        causes = [*self._of_settings(), *self._of_memory()]
        return sorted(
            (c for c in causes if c.times > DIFFERS or c.setting is NEWER_RELEASE),
            key=lambda cause: -cause.times,
        )

    def _of_settings(self) -> Iterator[Cause]:
        """Yield the cost of each setting, relative to the same start without it."""
        log, names = self.log, SETTINGS[self.log.program]
        now = _tokens(self.placement)
        for setting in STARTED_WITH:
            if setting in log.settings and now:
                name, default = names[setting], self._without((setting,))
                times = _tokens(default) / now
                value = f"{_default(default, setting, log.program):,.4g}"
                sentence = (
                    f"{name} is {log.settings[setting]} (at {value} the KV cache would hold "
                    f"{times:.1f} times as many tokens)"
                )
                yield Cause(RUNNING, sentence, f"set {name} to {value}", times)
        if log.is_on("eager"):
            times = self._ratio("eager", "tpot", 1)
            name = names["eager"]
            sentence = f"{name} makes TPOT {times:.1f} times as long at batch 1"
            off = f"turn {name} off, so that the server uses CUDA graphs"
            yield Cause(HOST, sentence, off, times)
        if log.is_early:
            times = self._ratio("early", "tpot_in_traffic", _MANY)
            longer = f", which makes TPOT {times:.1f} times as long at batch {_MANY}"
            sentence = (
                f"{log.program} {log.version} does not schedule steps ahead of the chip"
                f"{longer * (times > DIFFERS)}"
            )
            yield Cause(HOST, sentence, NEWER_RELEASE, times)
        if (limit := log.number("max_num_seqs")) is not None:
            yield self._of_sequence_limit(limit, names["max_num_seqs"])
        wider = replace(self.scenario, kv=None)
        if wider.work.kv_format != self.scenario.work.kv_format and now:
            times = _tokens(replace(self, scenario=wider).placement) / now
            was, by_default = self.scenario.work.kv_format, wider.work.kv_format
            sentence = (
                f"the KV cache is in {was} (in {by_default} it would hold {times:.1f} times as "
                "many tokens)"
            )
            yield Cause(RUNNING, sentence, f"set {names['kv']} to {by_default}", times)

    def _of_sequence_limit(self, limit: float, name: str) -> Cause:
        """Describe a limit on running sequences that leaves part of the KV cache unused."""
        a_request = float(self.placement.cache_on_chip(self.scenario.traffic.reserved))
        room = (self.held or self.room[1]) / a_request if a_request else 0.0
        default = _default(self._without(("max_num_seqs",)), "max_num_seqs", self.log.program)
        times = min(default, room) / min(limit, room) if room else 1.0
        sentence = (
            f"{name} limits the server to {limit:,.0f} concurrent requests, and its memory has "
            f"room for {room:,.0f}"
        )
        return Cause(RUNNING, sentence, f"raise {name} to {min(default, room):,.0f}", times)

    def _of_memory(self) -> Iterator[Cause]:
        """Yield causes other than settings that reduce the cache memory."""
        log, explained = self.log, 0.0
        expected = float(self.placement.weights_per_chip)
        if log.weights is not None:
            excess = log.weights / expected
            explained += max(log.weights - expected, 0.0)
            sentence = (
                f"weights take {log.weights / GIB:.1f} GiB per chip, {excess:.1f} times as much as "
                f"in {self.scenario.work.short_format}"
            )
            if excess > _SAME_FORMAT:
                meant = "load the weights in the format that was meant"
                yield Cause(BANDWIDTH, sentence, meant, excess)
        cache_bytes = self.held
        if not cache_bytes:
            return
        if log.equivalent is not None:
            fraction = log.number("gpu_memory_utilization")
            if fraction is None:
                fraction = _default(self.placement, "gpu_memory_utilization", log.program)
            for_graphs = (fraction - log.equivalent) * self.placement.machine.tier.capacity
            explained += for_graphs
            times = 1.0 + for_graphs / cache_bytes
            sentence = f"{for_graphs / GIB:.1f} GiB per chip are reserved for CUDA graphs"
            yield Cause(RUNNING, sentence, f"set {_NO_GRAPHS}", times)
        yield from self._unexplained(cache_bytes, explained)

    def _unexplained(self, cache_bytes: float, explained: float) -> Iterator[Cause]:
        """Yield missing cache memory that nothing in the log explains.

        cache_bytes : The actual cache memory per chip, in bytes.
        explained : The missing memory already explained by weights and CUDA graphs, in bytes.
        """
        low, missing, high = (room - cache_bytes - explained for room in self.room)
        if cache_bytes * DIFFERS >= self.room[0] or missing <= 0.0:
            return
        sentence = (
            f"{missing / GIB:.1f} GiB per chip ({max(low, 0.0) / GIB:.1f} to {high / GIB:.1f}) are "
            "not accounted for"
        )
        before = (self.log.total or 0.0) - (self.log.free or self.log.total or 0.0)
        look_for = "look for another process on the chip (nvidia-smi)"
        if before > _OTHER_PROCESS:
            sentence += f"; {before / GIB:.1f} GiB were in use before the server started"
        elif self.log.program != SGLANG:
            look_for += (
                f", memory reserved for CUDA graphs ({_NO_GRAPHS}) or a larger activation peak "
                "(max_num_batched_tokens, max_num_seqs)"
            )
        yield Cause(RUNNING, sentence, look_for, 1.0 + missing / cache_bytes)

    def _without(self, settings: Collection[str]) -> Placement:
        """Place the deployment as if it had been started without some of its settings."""
        return locate(self._limited(settings)).placement

    @property
    def scenario_as_started(self) -> Scenario:
        """The deployment with its engine and the logged limits."""
        return self._limited(())

    @property
    def scenario_as_logged(self) -> Scenario:
        """The same deployment with the cache memory that vLLM logged, not the expected one."""
        scenario = self.scenario_as_started
        if self.log.available is None or self.log.program != VLLM:
            return scenario
        placed = locate(scenario).placement
        runtime = float(placed.kept.runtime) + float(placed.available) - self.log.available
        if runtime < 0.0:
            return scenario
        limits = Parameters.model_validate({"runtime_memory": f"{runtime / GIB} GiB"})
        ranges = dict(scenario.engine.ranges or {})
        ranges.pop("reserve", None)
        engine = scenario.engine.limited(limits).model_copy(update={"ranges": ranges})
        return replace(scenario, engine=engine)

    def _limited(self, settings: Collection[str]) -> Scenario:
        limits = limits_of(self.log, self.scenario.engine, settings)
        if limits is None:
            return self.scenario
        return replace(self.scenario, engine=self.scenario.engine.limited(limits))

    def _ratio(self, setting: str, quantity: str, batch: int) -> float:
        """Return a batch's time with a setting relative to the time without it."""
        now, before = (
            getattr(solve(replace(self._limited(without), batches=(batch,))).estimate, quantity)[0]
            for without in ((), (setting,))
        )
        return float(now / before)


_NO_GRAPHS = "VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS=0 to reserve none"


def _default(placement: Placement, setting: str, program: str) -> float:
    software, tier = placement.machine.software, placement.machine.tier
    if setting == "gpu_memory_utilization":
        reserved_fraction = float(placement.reserved) / tier.capacity if program == SGLANG else 0.0
        return float(software.memory_fraction) - reserved_fraction
    rows = start_rows(software, tier)
    return rows.sequences if setting == "max_num_seqs" else rows.tokens


def _is_even(placement: Placement, length: float) -> bool:
    """Check whether every token of a sequence adds the same cache bytes: no window, no state."""
    first, mean = (float(placement.cache_on_chip(tokens)) / tokens for tokens in (BLOCK, length))
    return first < _SAME_FORMAT * mean


def _tokens(placement: Placement) -> float:
    size = cache_size(placement)
    return float(size.tokens) if size else 0.0


def limits_of(log: StartLog, engine: Engine, without: Collection[str] = ()) -> Parameters | None:
    """Build the engine parameters that a logged start sets. Returns None for the engine's own.

    without : The settings to leave at their defaults.
    """
    limits: dict[str, float | str] = {}
    for setting, names in STARTED_WITH.items():
        if setting not in without and (value := log.number(setting)):
            limits |= dict.fromkeys(names, value)
    if log.is_on("prefix_caching") and log.program == VLLM:
        limits["state_blocks"] = 2.0
    if log.is_early and "early" not in without:
        limits["launches_ahead"] = 0.0
    if log.is_on("eager") and "eager" not in without:
        stated = engine.parameters.given
        limits |= {
            name: f"{max(cost, stated[name].si if name in stated else 0.0) * 1e6:g} us"
            for name, cost in LAUNCHES.towards
        }
    return Parameters.model_validate(limits) if limits else None


def stated_settings(log: StartLog, scenario: Scenario) -> dict[str, str]:
    """Return the settings of a start by flag name: engine, formats, limits and ranks."""
    stated = {"engine": scenario.engine.id}
    stated |= {"weights": scenario.weights} if scenario.weights else {}
    stated |= {
        name: value
        for name, value in log.settings.items()
        if name in (*STARTED_WITH, "max_model_len", *RANKS)
    }
    if log.is_on("dp_attention"):
        stated["tp"] = str(scenario.sharding.tp)
    stated |= {"kv": scenario.kv} if scenario.kv else {}
    if log.is_on("language_model_only"):
        stated["language_model_only"] = "True"
    if drafted := log.number("drafted"):
        stated["speculate"] = f"{_ACCEPTANCE}x{drafted:.0f}"
    return stated


def cache_format(log: StartLog, scenario: Scenario) -> str | None:
    """Return the cache format given in a log, or infer it from the bytes per token.

    Returns None for the default format.
    """
    stated = log.settings.get("kv", "")
    if stated:
        return "fp8" if stated.startswith("fp8") else _FORMATS.get(stated, stated)
    if not log.available or not log.tokens:
        return None
    bytes_of_token = log.available / log.tokens
    default = replace(scenario, kv=None).work.kv_format
    for name in dict.fromkeys((default, "fp8", "bf16")):
        placed = locate(replace(scenario, kv=name)).placement
        size = cache_size(placed)
        if size is None or not size.tokens or not _is_even(placed, size.length):
            return None
        length = float(-(-size.length // BLOCK) * BLOCK)
        expected = float(placed.cache_on_chip(length)) / length
        if 1.0 / _SAME_FORMAT < bytes_of_token / expected < _SAME_FORMAT:
            return name
    return None
