"""An estimate as columns: the keys of a record, each a number, an array or words by code."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from fastcalc.core.estimate import Estimate
from fastcalc.core.scenario import Scenario
from fastcalc.core.step import LIMITERS
from fastcalc.core.timeline import prompts_together, token_in_traffic
from fastcalc.formulas.types import ArrayLike, Ints

Columns = dict[str, Any]
"""By key: text, a number, an array that broadcasts with the others, or `Words`."""

HELD_ALONE = frozenset(
    {
        "tokens_per_s_per_user",
        "tokens_per_s_per_user_low",
        "tokens_per_s_per_user_high",
        "tokens_per_s_per_user_bound",
        "tokens_per_s_total",
        "tokens_per_s_per_chip",
        "tpot_ms",
        "ttft_ms",
        "request_s",
        "usd_per_mtok_input",
        "usd_per_mtok_output",
        "usd_per_mtok_total",
        "joules_per_token",
        "served_tokens_per_s_total",
        "served_request_s",
        "bound_limiter",
        "tokens_per_s_per_user_bound_memory",
        "tokens_per_s_per_user_bound_compute",
    }
)
"""Keys that have no value where the batch does not fit."""


@dataclass(frozen=True, eq=False)
class Words:
    """A column of few words.

    Attributes
    ----------
    codes : ndarray of int
        Position of each point's word.
    words : tuple
        Texts, or lists of them.
    """

    codes: Ints | np.integer[Any]
    words: tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class EvaluatedPoints:
    """What was evaluated, alongside the estimate itself.

    Attributes
    ----------
    scenario : Scenario
        What holds of every point; its batches, traffic and sharding are the estimate's affair.
    estimate : Estimate
        Of arrays that broadcast with each other.
    usd_per_hour : array_like or None
        Price of each deployment. [USD/h]
    min_chips : array_like
        Chips of the smallest deployment; nan where there is none. [1]
    placed, warnings : callable
        Give where it lives, and what a reader must know, as `Words`.
    """

    scenario: Scenario
    estimate: Estimate
    usd_per_hour: ArrayLike | None
    min_chips: ArrayLike
    placed: Callable[[], Words]
    warnings: Callable[[], Words]

    def columns(self) -> Columns:
        """Return the columns in the order of the contract."""
        estimate = self.estimate
        limiter = np.where(estimate.fits, estimate.step.limiter, len(LIMITERS))
        return {
            **self._deployment(),
            "batch": estimate.batch,
            **self._memory(words=True),
            **self._rates(),
            "limiter": Words(limiter, (*LIMITERS, "capacity")),
            **self._money(),
            "warnings": self.warnings(),
            "served_tokens_per_s_total": estimate.served,
            "served_request_s": estimate.batch * estimate.traffic.output / estimate.served,
            "bound_limiter": Words(estimate.bound_pass.limiter, LIMITERS),
            "tokens_per_s_per_user_bound_memory": estimate.bound_memory,
            "tokens_per_s_per_user_bound_compute": estimate.bound_compute,
            "usd_per_hour": self.usd_per_hour,
        }

    def numbers(self) -> Columns:
        """Return the columns of numbers, which take no time to put into words."""
        estimate = self.estimate
        return {
            **self._deployment(),
            "batch": estimate.batch,
            **self._memory(words=False),
            **self._rates(),
            **self._money(),
            "served_tokens_per_s_total": estimate.served,
            "served_request_s": estimate.batch * estimate.traffic.output / estimate.served,
            "tokens_per_s_per_user_bound_memory": estimate.bound_memory,
            "tokens_per_s_per_user_bound_compute": estimate.bound_compute,
            "usd_per_hour": self.usd_per_hour,
            "service_tpot_ms": token_in_traffic(estimate.passes).seconds * 1e3,
            "prompts_together_ms": prompts_together(estimate.passes).seconds * 1e3,
        }

    def _deployment(self) -> Columns:
        """Return what runs on what: the keys before ``batch``."""
        scenario, place = self.scenario, self.estimate.placement
        layout = place.layout
        return {
            "hardware": scenario.hardware.id,
            "model": scenario.model.id,
            "engine": scenario.engine.id,
            "chips": layout.chips,
            "tp": layout.tp,
            "pp": layout.pp,
            "ep": layout.ep,
            "dp": layout.dp,
            "weight_format": place.work.weight_format,
            "kv_format": place.work.kv_format,
        }

    def _memory(self, *, words: bool) -> Columns:
        """Return the traffic, and whether and where it fits."""
        estimate = self.estimate
        place, traffic = estimate.placement, estimate.traffic
        return {
            "prompt_tokens": traffic.prompt,
            "output_tokens": traffic.output,
            "context_tokens": traffic.context,
            "speculation_tokens_per_pass": traffic.speculation.tokens_per_pass,
            "fits": estimate.fits,
            "placement": self.placed() if words else None,
            "min_chips": self.min_chips,
            "max_batch": place.max_batch,
            "weights_gb": place.work.weight_bytes / 1e9,
            "kv_gb": estimate.batch * (place.work.cache_bytes(place.reserved_tokens) / 1e9),
            "memory_used_fraction": place.used_fraction(estimate.batch),
        }

    def _rates(self) -> Columns:
        """Return speeds and times."""
        estimate = self.estimate
        return {
            "tokens_per_s_per_user": estimate.speed,
            "tokens_per_s_per_user_low": estimate.low,
            "tokens_per_s_per_user_high": estimate.high,
            "tokens_per_s_per_user_bound": estimate.bound,
            "tokens_per_s_total": estimate.total,
            "tokens_per_s_per_chip": estimate.total / estimate.placement.layout.chips,
            "tpot_ms": estimate.tpot * 1e3,
            "ttft_ms": estimate.ttft * 1e3,
            "request_s": estimate.request,
        }

    def _money(self) -> Columns:
        """Return dollars and joules of served traffic."""
        price = self.usd_per_hour
        usd = (None, None, None) if price is None else self.estimate.usd(price)
        names = ("usd_per_mtok_input", "usd_per_mtok_output", "usd_per_mtok_total")
        return {**dict(zip(names, usd, strict=True)), "joules_per_token": self.estimate.joules}


def records(columns: Columns, shape: tuple[int, ...]) -> Iterator[dict[str, Any]]:
    """Yield a record for each point of some columns, None where a key has no value.

    Parameters
    ----------
    columns : Columns
        That broadcast to the shape.
    shape : tuple of int
        Of the points. [1]
    """
    held = np.broadcast_to(columns["fits"], shape).ravel().tolist()
    cells = [_cells(column, shape) for column in columns.values()]
    for fits, *values in zip(held, *cells, strict=True):
        yield {
            key: value if fits or key not in HELD_ALONE else None
            for key, value in zip(columns, values, strict=True)
        }


def chosen(best: Ints, columns: list[Any]) -> Any:
    """Return one of several columns at each point.

    Parameters
    ----------
    best : ndarray of int
        Position of the column to take, point by point.
    columns : list
        Of one key.
    """
    if isinstance(columns[0], Words):
        starts = np.cumsum([0, *(len(one.words) for one in columns)])
        codes = [one.codes + start for one, start in zip(columns, starts, strict=False)]
        words = tuple(word for one in columns for word in one.words)
        return Words(np.choose(best, np.broadcast_arrays(best, *codes)[1:]), words)
    if columns[0] is None or isinstance(columns[0], str):
        return columns[0]
    return np.choose(best, np.broadcast_arrays(best, *columns)[1:])


def _cells(column: Any, shape: tuple[int, ...]) -> list[Any]:
    if isinstance(column, Words):
        codes = np.broadcast_to(column.codes, shape).ravel()
        return [column.words[code] for code in codes.tolist()]
    if isinstance(column, str) or column is None:
        return [column] * int(np.prod(shape))
    return np.broadcast_to(column, shape).ravel().tolist()
