"""Weights of a model by component, each in its stored format."""

from dataclasses import dataclass
from typing import NamedTuple

from fastcalc.catalogue.formats import NumberFormat


@dataclass(frozen=True)
class Weights:
    """The parameters of one component, and the format in which they are stored."""

    parameters: float
    format: NumberFormat

    @property
    def bytes(self) -> float:
        """The size of these weights, in bytes."""
        return self.parameters * self.format.bytes


class WeightsByPart(NamedTuple):
    """The weights of a model by component.

    dense : The matrices that every token uses.
    small : The norms, biases and routers.
    head, embedding : The output head and the input embedding; tied weights count as head only.
    experts, expert_biases : The matrices and biases of all routed experts.
    """

    dense: Weights
    small: Weights
    head: Weights
    embedding: Weights
    experts: Weights
    expert_biases: Weights

    def of(self, part: str) -> Weights:
        """Return the weights of a component, given its name."""
        return self[self._fields.index(part)]
