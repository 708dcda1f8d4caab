"""Weights of a model by component, each in its stored format."""

from dataclasses import dataclass
from typing import NamedTuple

from fastcalc.catalogue.formats import NumberFormat


@dataclass(frozen=True)
class Weights:
    """Parameters of one category and the format in which they are stored."""

    parameters: float
    format: NumberFormat

    @property
    def bytes(self) -> float:
        """Bytes of these weights. [byte]"""
        return self.parameters * self.format.bytes


class WeightsByPart(NamedTuple):
    """The weights of a model.

    dense : matrices that every token uses
    small : norms, biases and routers
    head, embedding : output head and input embedding; tied weights are counted in the head only
    experts, expert_biases : matrices and biases of all routed experts
    """

    dense: Weights
    small: Weights
    head: Weights
    embedding: Weights
    experts: Weights
    expert_biases: Weights

    def of(self, part: str) -> Weights:
        """Weights of a component by its name."""
        return self[self._fields.index(part)]
