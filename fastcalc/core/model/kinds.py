"""Kinds of bytes, each of one name from a model's weights to the memory that it is placed in."""

from typing import Generic, NamedTuple, TypeVar

Quantity = TypeVar("Quantity", covariant=True)


class Kinds(NamedTuple, Generic[Quantity]):
    """A quantity of each kind of bytes that a pass reads.

    dense : matrices that every token passes
    head : the output head with norms, biases and routers
    experts : routed experts
    kv : caches, and attention over them
    """

    dense: Quantity
    head: Quantity
    experts: Quantity
    kv: Quantity

    def of(self, kind: str) -> Quantity:
        """Quantity of a kind by its name."""
        return self[self._fields.index(kind)]


READ = Kinds._fields
"""Kinds of bytes that a pass reads."""

KINDS = (*READ, "embedding")
"""What is placed: these, and the table of input embeddings."""

IN_LAYERS = ("dense", "experts", "kv")
"""Those of every layer, for which a chip and the cores of a host take turns."""
