"""Categories of bytes, with the same name in a model's weights and in memory placement."""

from typing import Generic, NamedTuple, TypeVar

Quantity = TypeVar("Quantity", covariant=True)


class Kinds(NamedTuple, Generic[Quantity]):
    """A quantity for each category of bytes that a pass reads.

    dense : matrices that every token uses
    head : the output head with norms, biases and routers
    experts : routed experts
    kv : caches, and attention over them
    """

    dense: Quantity
    head: Quantity
    experts: Quantity
    kv: Quantity

    def of(self, kind: str) -> Quantity:
        """Quantity of a category by its name."""
        return self[self._fields.index(kind)]


READ = Kinds._fields
"""Categories of bytes that a pass reads."""

KINDS = (*READ, "embedding")
"""Categories that are placed in memory: the above, and the table of input embeddings."""

IN_LAYERS = ("dense", "experts", "kv")
"""Categories present in every layer, for which a chip and a host's cores alternate."""
