"""What a user's own rows say of a deployment: how much slower than expected each of them was."""

from typing import Annotated

from pydantic import Field

from fastcalc.catalogue.schema.quantities import Entry, Identifier, Name

_Count = Annotated[float, Field(ge=0.0, le=1e30)]
_Ranks = Annotated[int, Field(ge=1)] | None


class OwnRow(Entry):
    """One measurement with what the engine expects of it.

    batch, context, prompt : sequences that decode together, and mean lengths in tokens
    decode_share : share of the expected time in which passes decode [1]
    slower : measured over expected time [1]
    drafted : tokens that were drafted ahead [1]
    point, metric : how the measurement is called, and what was measured
    """

    batch: _Count
    context: _Count
    prompt: _Count
    decode_share: Annotated[float, Field(ge=0.0, le=1.0)]
    slower: Annotated[float, Field(gt=0.0, le=1e60)]
    drafted: _Count = 0.0
    point: Name = ""
    metric: Name = ""


class OwnDeployment(Entry):
    """A model on chips as its owner measured it; ranks are None where nobody stated them.

    date : of the latest measurement, as YYYY-MM or YYYY-MM-DD; empty where none is stated
    """

    hardware: Identifier
    model: Identifier
    weights: Name
    kv: Name
    chips: Annotated[int, Field(ge=1)]
    tp: _Ranks = None
    pp: _Ranks = None
    ep: _Ranks = None
    dp: _Ranks = None
    file: Name
    date: Name = ""
    rows: Annotated[list[OwnRow], Field(min_length=1, max_length=1000)]

    @property
    def layout(self) -> str:
        """Its chips, and the ranks above one that were stated, in words."""
        ranks = (("tp", self.tp), ("pp", self.pp), ("dp", self.dp), ("ep", self.ep))
        stated = [f"{name} {count}" for name, count in ranks if count and count > 1]
        return ", ".join([f"{self.chips} chip{'s' if self.chips > 1 else ''}", *stated])
