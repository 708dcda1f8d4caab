"""Outcomes to flat records, and records to JSON, CSV and Markdown."""

import csv
import io
import json
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from fastcalc.catalogue import Model
from fastcalc.evaluate import SITE_FACTOR
from fastcalc.scenario import USD_PER_KWH, YEARS, Outcome

SCHEMA = "fastcalc/1"
Record = dict[str, Any]


def compare_records(outcomes: Iterable[Outcome]) -> list[Record]:
    """Return one record for each batch of each outcome, keys in the order of the contract."""
    return [
        {key: plain(value) for key, value in _record(outcome, row, batch).items()}
        for outcome in outcomes
        for row, batch in enumerate(outcome.scenario.batches)
    ]


def _record(outcome: Outcome, row: int, batch: int) -> Record:
    fits = bool(outcome.estimate.fits[row])

    def at(values: Any, scale: float = 1.0) -> float | None:
        """Return one element, or None where the row does not fit or the value is not known."""
        return None if values is None or not fits else float(values[row]) * scale

    return {
        **_deployment(outcome),
        "batch": batch,
        **_memory(outcome, row, batch),
        **_rates(outcome, at),
        "limiter": str(outcome.estimate.limiter[row]) if fits else "capacity",
        **_money(outcome, at),
        "warnings": outcome.warnings,
        "served_tokens_per_s_total": at(outcome.estimate.served),
        "served_request_s": at(batch * outcome.scenario.traffic.output / outcome.estimate.served),
        "bound_limiter": str(outcome.estimate.bound_limiter[row]) if fits else None,
        "tokens_per_s_per_user_bound_memory": at(outcome.estimate.bound_memory),
        "tokens_per_s_per_user_bound_compute": at(outcome.estimate.bound_compute),
        "usd_per_hour": outcome.usd_per_hour,
    }


_At = Callable[..., float | None]


def _deployment(outcome: Outcome) -> Record:
    """Return what runs on what: the keys before ``batch``."""
    scenario, work, layout = outcome.scenario, outcome.placement.work, outcome.placement.layout
    return {
        "hardware": scenario.hardware.id,
        "model": scenario.model.id,
        "engine": scenario.engine.id,
        "chips": layout.chips,
        "tp": layout.tp,
        "pp": layout.pp,
        "ep": layout.ep,
        "dp": layout.dp,
        "weight_format": work.weight_format,
        "kv_format": work.kv_format,
    }


def _memory(outcome: Outcome, row: int, batch: int) -> Record:
    """Return the traffic, and whether and where it fits."""
    place, traffic = outcome.placement, outcome.scenario.traffic
    return {
        "prompt_tokens": traffic.prompt,
        "output_tokens": traffic.output,
        "context_tokens": traffic.context,
        "speculation_tokens_per_pass": plain(traffic.speculation.tokens_per_pass),
        "fits": bool(outcome.estimate.fits[row]),
        "placement": str(place),
        "min_chips": outcome.min_chips[row],
        "max_batch": place.max_batch,
        "weights_gb": place.work.weight_bytes / 1e9,
        "kv_gb": batch * float(place.work.cache_bytes(traffic.reserved)) / 1e9,
        "memory_used_fraction": place.used_fraction(batch),
    }


def _rates(outcome: Outcome, at: _At) -> Record:
    """Return speeds and times."""
    estimate = outcome.estimate
    return {
        "tokens_per_s_per_user": at(estimate.speed),
        "tokens_per_s_per_user_low": at(estimate.low),
        "tokens_per_s_per_user_high": at(estimate.high),
        "tokens_per_s_per_user_bound": at(estimate.bound),
        "tokens_per_s_total": at(estimate.total),
        "tokens_per_s_per_chip": at(estimate.total, 1.0 / outcome.placement.layout.chips),
        "tpot_ms": at(estimate.tpot, 1e3),
        "ttft_ms": at(estimate.ttft, 1e3),
        "request_s": at(estimate.request),
    }


def _money(outcome: Outcome, at: _At) -> Record:
    """Return dollars and joules of served traffic."""
    usd_input, usd_output, usd_total = outcome.usd or (None, None, None)
    return {
        "usd_per_mtok_input": at(usd_input),
        "usd_per_mtok_output": at(usd_output),
        "usd_per_mtok_total": at(usd_total),
        "joules_per_token": at(outcome.estimate.joules),
    }


def assumptions(outcomes: Sequence[Outcome]) -> Record:
    """Return what the records rest on: traffic, prices and engines."""
    first = outcomes[0].scenario
    pricing, traffic = first.pricing, first.traffic
    prices = {}
    for hardware in {one.scenario.hardware.id: one.scenario.hardware for one in outcomes}.values():
        origin = pricing.origin(hardware)
        prices[hardware.id] = {
            "usd_per_chip_hour": plain(pricing.per_chip_hour(hardware)),
            "basis": "given" if hardware.id in pricing.given else pricing.basis,
            "date": origin.date if origin else None,
            "note": origin.note if origin else None,
        }
    return {
        "prompt_tokens": plain(traffic.prompt),
        "output_tokens": plain(traffic.output),
        "context_tokens": plain(traffic.context),
        "prefix_hit": plain(traffic.prefix_hit),
        "speculation": speculation_record(outcomes),
        "rates": "tokens_per_s_* are decode alone; served_tokens_per_s_total and usd_* hold "
        "prefill",
        "range": "low to high is an 80 % range",
        "utilization": pricing.utilization,
        "prices": prices,
        "ownership": {"years": YEARS, "usd_per_kwh": USD_PER_KWH, "site_factor": SITE_FACTOR},
        "engines": {one.scenario.engine.id: one.scenario.engine.fitted_on for one in outcomes},
    }


def speculation_record(outcomes: Sequence[Outcome]) -> Record | None:
    """Return how decoding drafts ahead and what that is taken to cost, or None."""
    one = outcomes[0].scenario.traffic.speculation
    if not one.drafted:
        return None
    return {
        "tokens_per_pass": plain(one.tokens_per_pass),
        "drafted_tokens": plain(one.drafted),
        "acceptance": plain(one.acceptance),
        "drafters": {model.id: drafter(model) for model in models_of(outcomes)},
    }


def models_of(outcomes: Sequence[Outcome]) -> list[Model]:
    """Return the models of outcomes, each once."""
    return list({one.scenario.model.id: one.scenario.model for one in outcomes}.values())


def drafter(model: Model) -> str:
    """Say who is taken to draft for a model, and at what cost."""
    who = "its own multi-token-prediction module" if model.mtp else "a head of one layer (assumed)"
    return f"{who}, a drafted token costs one layer's share of a step"


def plain(value: Any) -> Any:
    """Return a value as JSON holds it: finite, twelve digits, whole where it is whole."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return value
    if isinstance(value, int):
        return value
    if not math.isfinite(value):
        return None
    rounded = float(f"{value:.12g}")
    return int(rounded) if rounded.is_integer() and abs(rounded) < 1e15 else rounded


def to_json(records: list[Record], **beside: Any) -> str:
    """Return ``{"schema": ..., "records": [...], ...}`` with a line for each record's key."""
    return json_text({"schema": SCHEMA, "records": records, **beside})


def json_text(document: Record) -> str:
    """Return one JSON document as text; NaN and infinity are errors, never written."""
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def to_csv(records: list[Record]) -> str:
    """Return a header row and a row for each record; what does not apply is empty."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(records[0])
    writer.writerows([_cell(value) for value in record.values()] for record in records)
    return text.getvalue()


def _cell(value: Any) -> Any:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return "; ".join(str(item) for item in value)
    return value


def to_markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table, columns padded so that it reads as text, too."""
    table = [list(header), *(list(row) for row in rows)]
    widths = [max(len(row[column]) for row in table) for column in range(len(header))]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"
        for row in table
    ]
    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    return "\n".join([lines[0], rule, *lines[1:]]) + "\n"
