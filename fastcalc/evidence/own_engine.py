"""Engines fitted to a user's measurements: a shipped engine with a few changed values."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fastcalc.catalogue.schema import Engine, Hardware, Parameters
from fastcalc.catalogue.store import Catalogue
from fastcalc.errors import InputError
from fastcalc.evidence.deployments import PointDeployments
from fastcalc.evidence.parameters import FIT, SHRINK, FittedValue
from fastcalc.evidence.point import Point
from fastcalc.evidence.predict import gather
from fastcalc.evidence.regression import Fit
from fastcalc.evidence.score import Group, groups_of, predictions_of
from fastcalc.evidence.stacked import rows_of
from fastcalc.formulas.types import Floats

CERTAIN = 0.7  # a value is fitted if the data reduce its uncertainty to this fraction or less
MOVED = 0.02  # and if it changes by more than this log ratio
MOST_VALUES = 10  # maximum number of changed values
FEWEST_RUNS = 10  # minimum number of measurements for a fit; fewer only become rows of deployments


@dataclass(frozen=True)
class MovableValues:
    """Lists the engine values that a user's measurements can change, and their positions."""

    nodes: tuple[FittedValue, ...]
    positions: dict[tuple[str, str], int]

    def node_for(self, engine: str, hardware: Hardware, name: str) -> int | None:  # noqa: ARG002
        """Return the position of the node that determines a value for a chip."""
        return self.positions.get((name, hardware.architecture or ""))


@dataclass(frozen=True)
class OwnFit:
    """An engine that is fitted to the user's measurements."""

    base: Engine
    nodes: Sequence[FittedValue]
    values: Floats
    before: Group
    after: Group
    left_out: Group | None

    @property
    def engine(self) -> Engine:
        """The engine with the fitted values."""
        parameters, architectures = self.base.parameters, dict(self.base.architectures)
        for node, value in zip(self.nodes, self.values.tolist(), strict=True):
            quantity = self.base.on(node.group).given[node.name]
            moved = {node.name: quantity.model_copy(update={"si": value})}
            if node.group:
                architectures[node.group] = architectures.get(node.group, Parameters()).model_copy(
                    update=moved
                )
            else:
                parameters = parameters.model_copy(update=moved)
        return self.base.model_copy(
            update={"parameters": parameters, "architectures": architectures}
        )


def fit_own(
    points: Sequence[Point],
    catalogue: Catalogue,
    base: Engine,
    file: str = "points",
    base_name: str | None = None,
) -> OwnFit:
    """Fit an engine to the measurements in a file, with another engine as prior.

    Raises InputError if no measurement can be predicted, if the engine (typed as ``base_name`` by
    the user) has no fitted values, or if scipy is missing.
    """
    points = [
        point for point in points if not (point.is_offloaded or point.is_speculation_inferred)
    ]
    batches, reasons = gather(points, PointDeployments(catalogue, base))
    if not batches:
        why = "; ".join(list(dict.fromkeys(reasons.values()))[:3])
        line = points[min(reasons)].line if reasons else 1
        raise InputError(f"{file}:{line}:1: nothing to fit on: {why or 'it holds no point'}")
    rows = rows_of(batches)
    hardware = {deployment.hardware.id: deployment.hardware for deployment in rows.deployments}
    movable = _movable_values(base, list(hardware.values()))
    if not movable.nodes:
        engine_name = base_name or base.id
        raise InputError(f"{engine_name} has no fitted value that runs could change; extend vllm")
    everything = np.ones(len(rows.points), dtype=bool)
    free = Fit(movable, rows)
    logs = free.solve(everything)
    shrunk = free.uncertainty(logs) / np.array([node.spread for node in movable.nodes])
    sure = (shrunk <= CERTAIN) & (np.abs(logs - free.start) > MOVED)
    most_certain = [int(node) for node in np.argsort(shrunk) if sure[node]][:MOST_VALUES]
    position = {node: index for index, node in enumerate(sorted(most_certain))}
    positions = {key: position[node] for key, node in movable.positions.items() if node in position}
    fit = Fit(MovableValues(tuple(movable.nodes[node] for node in position), positions), rows)
    logs = fit.solve(everything)

    def score(residuals: Floats) -> Group:
        return groups_of(predictions_of(rows, rows.measured * np.exp(residuals)))[0]

    several = len(np.unique(rows.sources)) > 1
    return OwnFit(
        base=base,
        nodes=fit.family.nodes,
        values=np.exp(logs),
        before=groups_of(predictions_of(rows))[0],
        after=score(fit.residuals(logs)),
        left_out=score(fit.left_out(everything, rows.sources)) if several else None,
    )


def _movable_values(base: Engine, hardware: Sequence[Hardware]) -> MovableValues:
    """List the values that may change: one per fitted value, or per architecture if they differ."""
    nodes: list[FittedValue] = []
    positions: dict[tuple[str, str], int] = {}
    for name in type(base.parameters).model_fields:
        values = {}
        for chip in hardware:
            quantity = base.on(*chip.groups).given.get(name)
            if quantity is not None and quantity.source == FIT and quantity.si > 0:
                values[chip.architecture or ""] = quantity.si
        alike = len(set(values.values())) == 1
        for group, value in values.items():
            if alike and positions.get((name, next(iter(values)))) is not None:
                positions[name, group] = positions[name, next(iter(values))]
                continue
            positions[name, group] = len(nodes)
            nodes.append(FittedValue(base.id, "" if alike else group, name, value, value, SHRINK))
    return MovableValues(tuple(nodes), positions)
