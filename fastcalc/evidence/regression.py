"""Fit of engines to measurements, with few parameters and priors at plausible values.

All values are fitted as logarithms, which treats fractions and times alike. Residuals are
logarithms of expected over measured time, with a Huber loss. A source with 160 rows has the weight
of thirteen single rows rather than 160.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from math import log
from typing import Protocol

import numpy as np
import numpy.typing as npt

from fastcalc.catalogue.schema import Hardware
from fastcalc.catalogue.schema.engine_parameters import PARAMETERS
from fastcalc.core.chip.machine import EngineParameters
from fastcalc.errors import InputError
from fastcalc.evidence.parameters import FittedValue
from fastcalc.evidence.stacked import StackedPoints
from fastcalc.formulas.types import Bools, Floats, Ints

NOISE = 0.12
"""The scatter of measurements around a good prediction, in logarithms: repeated measurements from
the same source differ by 5 to 15%."""

HUBER = 1.5
"""The multiple of the noise above which residuals count linearly (P. J. Huber, "Robust estimation
of a location parameter," Annals of Mathematical Statistics 35, 1964)."""

_STEP = 1e-4
_INSIDE = 1e-6  # distance of a starting point from the limits

SHARES = frozenset(name for name, item in PARAMETERS.items() if item.reader.kind == "fraction")


class Values(Protocol):
    """Interface through which a fit accesses its values."""

    @property
    def nodes(self) -> tuple[FittedValue, ...]:
        """All values, each after the one that it overrides."""

    def node_for(self, engine: str, hardware: Hardware, name: str) -> int | None:
        """Return the position of the value for a chip with an engine, or None if it has none."""


@dataclass(frozen=True, eq=False)
class Fit:
    """Fits a family of engines to measurements."""

    family: Values
    rows: StackedPoints

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of parameters with at least one fitted value."""
        return tuple(dict.fromkeys(node.name for node in self.family.nodes))

    @cached_property
    def _node_positions(self) -> list[dict[str, Ints]]:
        """The node that provides each parameter's value for each step, or -1 if there is none."""
        machines = [
            (deployment.engine.id, deployment.hardware) for deployment in self.rows.deployments
        ]
        nodes = {}
        for engine, chip in machines:
            if (engine, chip.id) not in nodes:
                positions = (self.family.node_for(engine, chip, name) for name in self.names)
                nodes[engine, chip.id] = [-1 if node is None else node for node in positions]
        by_point = np.array([nodes[engine, chip.id] for engine, chip in machines])
        return [
            dict(zip(self.names, by_point[pile.point].T, strict=True)) for pile in self.rows.piles
        ]

    @cached_property
    def start(self) -> Floats:
        """The logarithms of the prior centers, so that fits do not depend on earlier results."""
        logs: list[float] = []
        for node in self.family.nodes:
            if node.center is None and node.parent is not None:
                logs.append(logs[node.parent])
            else:
                logs.append(log(node.center or node.value))
        return np.array(logs)

    def software(self, logs: Floats) -> list[EngineParameters]:
        """Build the engine parameters of every step for the given values."""
        parameters = []
        for pile, node_indices in zip(self.rows.piles, self._node_positions, strict=True):
            moved = {}
            for name, nodes in node_indices.items():
                limit = 1.0 if name in SHARES else np.inf
                written = pile.software.value(name)
                moved[name] = np.minimum(np.where(nodes >= 0, np.exp(logs[nodes]), written), limit)
            parameters.append(replace(pile.software, **moved))
        return parameters

    def residuals(self, logs: Floats) -> Floats:
        """Compute the logarithm of expected over measured time for every measurement."""
        expected = self.rows.seconds(self.software(logs))
        return np.asarray(np.log(expected / self.rows.measured), dtype=float)

    def jacobian(self, logs: Floats) -> Floats:
        """Compute the derivative of every residual with respect to every value."""
        parameters, count = self.software(logs), len(self.rows.points)
        total = self.rows.seconds(parameters)
        slopes = np.zeros((count, len(logs)))
        for pile, software, node_indices in zip(
            self.rows.piles, parameters, self._node_positions, strict=True
        ):
            before = pile.seconds(software)
            for name in self.names:
                moved = {name: software.value(name) * np.exp(_STEP)}
                change = (pile.seconds(replace(software, **moved)) - before) / _STEP
                is_fitted = node_indices[name] >= 0
                where = pile.point[is_fitted], node_indices[name][is_fitted]
                np.add.at(slopes, where, change[is_fitted])
        return np.asarray(slopes / total[:, np.newaxis], dtype=float)

    @cached_property
    def prior_slopes(self) -> Floats:
        """The derivatives of the prior residuals: deviations from the centers, in spreads."""
        slopes = np.diag([1.0 / node.spread for node in self.family.nodes])
        for index, node in enumerate(self.family.nodes):
            if node.center is None and node.parent is not None:
                slopes[index, node.parent] -= 1.0 / node.spread
        return slopes

    @cached_property
    def limits(self) -> tuple[Floats, Floats]:
        """The bounds on log values: plausible ranges, and at most 1 for fractions."""
        bands = [node.band or (0.0, np.inf) for node in self.family.nodes]
        is_share = [node.name in SHARES for node in self.family.nodes]
        with np.errstate(divide="ignore"):
            lowest, highest = np.log(np.array(bands).reshape(-1, 2).T)
        return lowest, np.where(is_share, np.minimum(highest, 0.0), highest)

    def weights(self, is_used: Bools) -> Floats:
        """Weight every measurement by at most 1, and a source by the square root of its rows."""
        sources, inverse, counts = np.unique(
            self.rows.sources[is_used], return_inverse=True, return_counts=True
        )
        weights = np.zeros(len(self.rows.points))
        weights[is_used] = np.minimum(np.sqrt(len(sources) / counts[inverse]), 1.0)
        return weights

    def solve(self, is_used: Bools, start: Floats | None = None) -> Floats:
        """Find the log values that best fit the given measurements.

        Raises InputError if scipy is not installed.
        """
        try:
            from scipy.optimize import least_squares
        except ImportError:
            raise InputError("fitting needs scipy: python -m pip install scipy") from None
        start = self.start if start is None else start
        if not start.size:  # no value to fit: scipy would fail on an empty norm
            return start
        weights = np.sqrt(self.weights(is_used)) / NOISE
        points, nodes = int(np.count_nonzero(is_used)), self.family.nodes
        lowest, highest = self.limits
        centers = [log(node.center) / node.spread if node.center else 0.0 for node in nodes]

        def errors(logs: Floats) -> Floats:
            data = self.residuals(logs)[is_used] * weights[is_used]
            return np.concatenate([data, self.prior_slopes @ logs - centers])

        def slopes(logs: Floats) -> Floats:
            data = self.jacobian(logs)[is_used] * weights[is_used, np.newaxis]
            return np.concatenate([data, self.prior_slopes])

        def loss(squares: Floats) -> Floats:
            limit = np.full(squares.shape, np.inf)
            limit[:points] = (HUBER * weights[is_used] * NOISE) ** 2
            inside = squares <= limit
            safe = np.where(inside, 1.0, squares)
            bound = np.where(np.isfinite(limit), limit, 0.0)
            loss = np.where(inside, squares, 2.0 * np.sqrt(bound * safe) - bound)
            slope = np.where(inside, 1.0, np.sqrt(bound / safe))
            return np.stack(
                [loss, slope, np.where(inside, 0.0, -0.5 * np.sqrt(bound) * safe**-1.5)]
            )

        solution = least_squares(
            errors,
            np.clip(start, lowest + _INSIDE, highest - _INSIDE),
            jac=slopes,
            bounds=self.limits,
            loss=loss,
            method="trf",
            xtol=1e-10,
            ftol=1e-13,
            gtol=1e-12,
        )
        return np.asarray(solution.x)

    def uncertainty(self, logs: Floats) -> Floats:
        """Compute the standard deviation of every log value at a solution."""
        everything = np.ones(len(self.rows.points), dtype=bool)
        data = self.jacobian(logs) * (np.sqrt(self.weights(everything)) / NOISE)[:, np.newaxis]
        slopes = np.concatenate([data, self.prior_slopes])
        return np.asarray(np.sqrt(np.diag(np.linalg.inv(slopes.T @ slopes))))

    def left_out(
        self,
        is_used: Bools,
        labels: npt.NDArray[np.str_],
        so_far: Callable[[int, int], None] = lambda _fits, _all: None,
    ) -> Floats:
        """Predict every measurement in use by a fit without those that have the same label.

        so_far : A progress callback that receives the number of fits done and the total.
        """
        residuals, near = np.zeros(len(self.rows.points)), self.solve(is_used)
        used_labels = np.unique(labels[is_used])
        for count, label in enumerate(used_labels, 1):
            so_far(count, len(used_labels))
            of_label = labels == label
            residuals[of_label] = self.residuals(self.solve(is_used & ~of_label, near))[of_label]
        return residuals
