"""Flat records of outcomes, and their values for JSON."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any, Protocol

import numpy as np

from fastcalc.catalogue.chip_defaults import defaults_of
from fastcalc.catalogue.schema import Model
from fastcalc.core.estimate import SITE_FACTOR
from fastcalc.core.outcome import Location, Outcome
from fastcalc.core.overflow import overflows
from fastcalc.core.scenario import Scenario
from fastcalc.grid import columns
from fastcalc.grid.column import values
from fastcalc.grid.evaluated_points import CodedColumn, EvaluatedPoints, places
from fastcalc.kit.answer.numbers_as_text import counted

SCHEMA = "fastcalc/1"
Record = dict[str, Any]

_KEPT = 256
"""Number of outcomes whose records are cached: every model on every chip."""


class AtPoint(Protocol):
    """A table row that belongs to one point and has its record."""

    @property
    def point(self) -> Record:
        """The record of the point."""


def value_at_point(key: str, row: AtPoint) -> Any:
    """Return the value of a key in the record of the row's point."""
    return row.point[key]


KEYS = tuple(column.key for column in columns.COLUMNS)


class PointRecord(Mapping[str, Any]):
    """The record of one batch of an outcome. Values are computed on first access.

    of_outcome, index : Values of all batches, and the index of this batch.
    cells : Values that override those of some keys.
    """

    def __init__(
        self, of_outcome: "_OutcomeRecords", index: int, cells: Mapping[str, Any] | None = None
    ) -> None:
        self._of_outcome, self._index, self._cells = of_outcome, index, cells or {}

    def __getitem__(self, key: str) -> Any:
        if key in self._cells:
            return self._cells[key]
        return self._of_outcome.column(key)[self._index]

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys((*KEYS, *self._cells)))

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PointRecord):
            return super().__eq__(other)
        mine, others = ((one._of_outcome, one._index, one._cells) for one in (self, other))
        return mine == others

    def showing(self, cells: Mapping[str, Any]) -> "PointRecord":
        """Copy the record with some values overridden."""
        return PointRecord(self._of_outcome, self._index, cells)


class _OutcomeRecords:
    """The records of an outcome, shared by the tables, sentences and charts of a page."""

    def __init__(self, outcome: Outcome) -> None:
        self._points, self._shape = _points_of(outcome), outcome.estimate.batch.shape
        self._columns: dict[str, list[Any]] = {}

    def column(self, key: str) -> list[Any]:
        """Return the values of a column, one per batch."""
        if key not in self._columns:
            cells = columns.flat(_BY_KEY[key].of(self._points), self._shape).tolist()
            if key in columns.NEEDS_FIT:
                fits = self.column("fits")
                cells = [cell if fit else None for cell, fit in zip(cells, fits, strict=True)]
            self._columns[key] = [plain(cell) for cell in cells]
        return self._columns[key]

    def records(self) -> list[PointRecord]:
        """Build one record per batch, in the order of the batches."""
        return [PointRecord(self, index) for index in range(math.prod(self._shape))]


_BY_KEY = {column.key: column for column in columns.COLUMNS}
_records_of = lru_cache(maxsize=_KEPT)(_OutcomeRecords)


def point_records(outcomes: Iterable[Outcome]) -> list[PointRecord]:
    """Build a record for each batch of each outcome. Values are computed on first access."""
    return [record for outcome in outcomes for record in _records_of(outcome).records()]


def compare_records(outcomes: Iterable[Outcome]) -> list[Record]:
    """Build a record for each batch of each outcome, with keys in the documented order."""
    return [dict(record) for record in point_records(outcomes)]


def compare_column(outcomes: Iterable[Outcome], key: str) -> list[Any]:
    """Return the values of one key for all outcomes, without computing other keys."""
    return [record[key] for record in point_records(outcomes)]


def unrounded(outcomes: Iterable[Outcome]) -> Iterator[Record]:
    """Yield the records of outcomes with unrounded values."""
    for outcome in outcomes:
        of_columns = values(columns.COLUMNS, _points_of(outcome))
        yield from columns.records(of_columns, outcome.estimate.batch.shape)


def _points_of(outcome: Outcome) -> EvaluatedPoints:
    """Return the evaluated points of an outcome, from which columns take their values."""
    return EvaluatedPoints(
        scenario=outcome.scenario,
        estimate=outcome.estimate,
        usd_per_hour=outcome.usd_per_hour,
        min_chips=partial(np.array, outcome.min_chips, dtype=float),
        largest_batch=lambda: outcome.max_batch,
        locations=partial(
            places, outcome.estimate, np.asarray(0), [outcome.placement.layout], outcome.site
        ),
        warnings=lambda: CodedColumn(
            overflows(outcome.estimate) + 2 * outcome.estimate.is_at_edge, outcome.row_warnings
        ),
    )


def assumptions(outcomes: Sequence[Outcome]) -> Record:
    """Return the inputs behind the records: traffic, prices and engines."""
    traffic, drafts = outcomes[0].scenario.traffic, None
    if traffic.speculation.drafted:
        drafts = {
            "tokens_per_pass": plain(traffic.speculation.tokens_per_pass),
            "drafted_tokens": plain(traffic.speculation.drafted),
            "acceptance": plain(traffic.speculation.acceptance),
            "drafters": drafters(outcomes),
        }
    return {
        "prompt_tokens": plain(traffic.prompt),
        "output_tokens": plain(traffic.output),
        "context_tokens": plain(traffic.context),
        "prefix_hit": plain(traffic.prefix_hit),
        "speculation": drafts,
        **grounds([outcome.scenario for outcome in outcomes]),
    }


def price_records(scenarios: Iterable[Scenario]) -> Record:
    """Return the price per chip-hour of each chip, with its source."""
    prices = Record()
    for scenario in scenarios:
        quote, hardware, pricing = scenario.quote, scenario.hardware, scenario.pricing
        prices[hardware.id] = {
            "usd_per_chip_hour": plain(quote.usd_per_hour),
            "basis": "given" if hardware.id in pricing.user_prices else pricing.basis,
            "date": quote.date,
            "confidence": quote.confidence,
            "note": quote.origin.note if quote.origin else None,
            "provider": quote.provider,
            "offer": pricing.offer,
            "terms": quote.terms,
            "commitment_months": quote.commitment_months,
            "region": quote.region,
            "price_of": quote.price_of,
            "is_uncertain": quote.is_uncertain,
        }
    return prices


def grounds(scenarios: Sequence[Scenario]) -> Record:
    """Return the inputs that do not depend on the traffic: prices and engines."""
    pricing = scenarios[0].pricing
    return {
        "rates": "tokens_per_s_* and usd_per_mtok_output cover decode only; usd_per_mtok_input "
        "covers prefill; usd_per_mtok_total, joules_per_token and "
        "served_tokens_per_s_total cover both",
        "range": "four of five measurements from held-out sources lie between low and high",
        "utilization": pricing.utilization,
        "prices": price_records(scenarios),
        "ownership": {
            "years": plain(pricing.years),
            "usd_per_kwh": plain(pricing.usd_per_kwh),
            "site_factor": SITE_FACTOR,
        },
        "engines": {scenario.engine.id: scenario.engine.fitted_on for scenario in scenarios},
        "defaults": {
            entry.id: {
                default.path: {"value": default.quantity.text, "basis": default.basis}
                for default in defaults_of(entry)
            }
            for scenario in scenarios
            for entry in (scenario.hardware, scenario.memory.host)
            if entry and defaults_of(entry)
        },
    }


def named_chips(location: Location) -> str:
    """Format the number and type of the chips in a deployment."""
    return counted(location.placement.layout.chips, location.scenario.hardware.id)


def chip_in_layout(location: Location) -> str:
    """Format the chip type of a deployment, and its layout if it has several chips."""
    layout = str(location.placement.layout)
    return location.scenario.hardware.id + f" ({layout})" * bool(layout)


def models_of(outcomes: Sequence[Outcome]) -> list[Model]:
    """Return the distinct models of the outcomes."""
    models = (outcome.scenario.model for outcome in outcomes)
    return list({model.id: model for model in models}.values())


def drafters(outcomes: Sequence[Outcome]) -> dict[str, str]:
    """Describe the draft model of each model, and its cost."""
    by_model: dict[str, str] = {}
    for scenario in (outcome.scenario for outcome in outcomes):
        draft, cost = scenario.memory.draft, "the time of one layer"
        if draft:
            verb, cost = f"drafts with {draft.name}", "one of its steps"
        elif scenario.model.mtp:
            verb = "drafts with its own multi-token-prediction module"
        else:
            verb = "is assumed to draft with a head of one layer (EAGLE or MTP)"
        if scenario.engine.is_bound:
            cost = f"no time with {scenario.engine.id}, which ignores drafting"
        by_model[scenario.model.id] = f"{verb}; each draft token takes {cost}"
    return by_model


def plainly(record: Record) -> Record:
    """Convert every value of a record for JSON."""
    return {key: plain(value) for key, value in record.items()}


def plain(value: Any) -> Any:
    """Convert for JSON: replace non-finite values, round to 12 digits, make whole numbers int."""
    if not isinstance(value, float):
        return value
    if not math.isfinite(value):
        return None
    rounded = float(f"{value:.12g}")
    return int(rounded) if rounded.is_integer() and abs(rounded) < 1e15 else rounded
