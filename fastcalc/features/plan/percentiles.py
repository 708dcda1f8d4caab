"""Latency percentiles, in words and in records."""

from collections.abc import Mapping
from math import floor

from fastcalc.core.load import (
    MOST_BUSY,
    MOST_PROMPTS,
    MOST_QUEUED,
    ROOM_FOR_CHANCE,
    SHARES,
    Percentiles,
    RandomLoad,
    Spread,
)
from fastcalc.kit.answer.numbers_as_text import number, stated_percent
from fastcalc.kit.answer.point_records import Record, plain
from fastcalc.mentions import option
from fastcalc.written import listed

NAMES = tuple(f"p{share * 100:g}" for share in SHARES)
_LAST = NAMES[-1]


def percentile_record(percentiles: Percentiles) -> Record:
    """Mean and percentiles of each latency, in ms."""
    times: Mapping[str, Spread] = {
        "ttft_ms": percentiles.ttft,
        "tpot_ms": percentiles.tpot,
        "request_ms": percentiles.request,
    }
    return {
        key: {"mean": plain(spread.mean * 1e3)}
        | {
            name: plain(seconds * 1e3)
            for name, seconds in zip(NAMES, spread.percentiles, strict=True)
        }
        for key, spread in times.items()
    }


def percentiles_of(load: RandomLoad | None) -> Record | None:
    """Latency percentiles of a load; None without a closed form."""
    return percentile_record(load.percentiles()) if load and load.is_known else None


def in_words(load: RandomLoad, name: str) -> str:
    """Text of the 99th percentiles, or of the reason for no closed form.

    name : name of the replicas
    """
    if not load.is_known:
        lower = min(floor(load.utilization * 20.0 - 1e-9) / 20.0, ROOM_FOR_CHANCE)
        shares = (
            ("utilization is {}", load.utilization, MOST_BUSY),
            ("prefill takes {} of the time", load.prompt_share, MOST_PROMPTS),
            ("{} of the requests queue for a slot", load.queued, MOST_QUEUED),
        )
        causes = [
            f"{text.format(f'{number(share * 100.0)}%')}, above {stated_percent(most)}"
            for text, share, most in shares
            if share > most
        ]
        return (
            f"{name}: percentiles are upper estimates, as {listed(causes)}; "
            f"{option('load', f'{max(lower, 0.05):g}')} or less avoids that"
        )
    slowest = load.percentiles()
    ttft, tpot, request = (
        spread.percentiles[-1] for spread in (slowest.ttft, slowest.tpot, slowest.request)
    )
    return (
        f"{name}, {_LAST} with Poisson arrivals: TTFT {number(ttft * 1e3)} ms, "
        f"TPOT {number(tpot * 1e3)} ms, end-to-end latency {number(request)} s"
    )
