"""Categories of bytes; weights and memory placement use the same names."""

from typing import Generic, NamedTuple, TypeVar

Quantity = TypeVar("Quantity", covariant=True)


class Kinds(NamedTuple, Generic[Quantity]):
    """A value for each category of bytes that a step reads.

    dense : The matrices that every token uses.
    head : The output head, norms, biases and routers.
    experts : The routed experts.
    kv : The caches, and attention over them.
    """

    dense: Quantity
    head: Quantity
    experts: Quantity
    kv: Quantity

    def of(self, kind: str) -> Quantity:
        """Return the value for a category, given its name."""
        return self[self._fields.index(kind)]


READ = Kinds._fields
"""The categories of bytes that a step reads."""

KINDS = (*READ, "embedding")
"""The categories that are placed in memory: those that a step reads, and the embedding table."""

IN_LAYERS = ("dense", "experts", "kv")
"""The categories present in every layer, between which a chip and a host's cores alternate."""
