"""The weights of a model by part, each in the format that it is stored in."""

from dataclasses import dataclass
from typing import NamedTuple

from fastcalc.catalogue.formats import NumberFormat


@dataclass(frozen=True)
class Weights:
    """Parameters of one kind and the format they are stored in."""

    parameters: float
    format: NumberFormat

    @property
    def bytes(self) -> float:
        """Bytes they take. [byte]"""
        return self.parameters * self.format.bytes


class WeightsByPart(NamedTuple):
    """The weights of a model.

    dense : matrices that every token passes
    small : norms, biases and routers
    head, embedding : output head and input embedding; a tied one is counted in the first alone
    experts, expert_biases : matrices and biases of all routed experts
    """

    dense: Weights
    small: Weights
    head: Weights
    embedding: Weights
    experts: Weights
    expert_biases: Weights

    def of(self, part: str) -> Weights:
        """Weights of a part by its name."""
        return self[self._fields.index(part)]
