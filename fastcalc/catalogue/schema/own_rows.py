"""Schema of a user's own measurements of a deployment, each with its slowdown."""

from typing import Annotated

from pydantic import Field

from fastcalc.catalogue.schema.quantities import Entry, Identifier, Name

_Count = Annotated[float, Field(ge=0.0, le=1e30)]
_Ranks = Annotated[int, Field(ge=1)] | None


class OwnRow(Entry):
    """A measurement together with the prediction of the engine.

    batch, context, prompt : The number of sequences decoded together, and the mean token counts.
    decode_share : The fraction of the expected time spent on decode.
    slower : The ratio of measured to expected time.
    drafted : The number of draft tokens.
    point, metric : The name of the measurement, and the metric that was measured.
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
    """A model on chips as measured by its owner. Ranks that were not given are None.

    date : The date of the latest measurement, as YYYY-MM or YYYY-MM-DD, or empty if unknown.
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
        """A phrase for the chips and all given numbers of ranks above one."""
        ranks = (("tp", self.tp), ("pp", self.pp), ("dp", self.dp), ("ep", self.ep))
        stated = [f"{name} {count}" for name, count in ranks if count and count > 1]
        return ", ".join([f"{self.chips} chip{'s' if self.chips > 1 else ''}", *stated])
