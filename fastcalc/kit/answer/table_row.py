"""Row of the table: a deployment at one batch, with its speed and price."""

from collections.abc import Mapping
from math import nan
from typing import Any, Literal, NamedTuple

from fastcalc.core.ratios import Ranged, cost_range
from fastcalc.core.scenario import Outcome
from fastcalc.formulas.types import floats
from fastcalc.kit.answer.numbers_as_text import counted

Figure = Literal["speed", "cost"]


class TableRow(NamedTuple):
    """Row of the table: a deployment at one batch."""

    record: Mapping[str, Any]
    outcome: Outcome

    @property
    def chip(self) -> str:
        """Id of the chip."""
        return str(self.record["hardware"])

    @property
    def chips(self) -> int:
        """Chips of the deployment. [1]"""
        return int(self.record["chips"])

    @property
    def name(self) -> str:
        """Number and name of the chips."""
        return counted(self.chips, self.chip)

    @property
    def batch(self) -> int:
        """Sequences decoded together. [1]"""
        return int(self.record["batch"])

    @property
    def price(self) -> float | None:
        """Price per million output tokens. [USD]"""
        usd: float | None = self.record["usd_per_mtok_output"]
        return usd

    @property
    def speed(self) -> Ranged:
        """Speed range per user; bounds are nan if the range is undetermined. [1/s]"""
        ends = (self.record[f"tokens_per_s_per_user{end}"] for end in ("", "_low", "_high"))
        return Ranged(*(floats(nan if speed is None else speed) for speed in ends))

    @property
    def cost(self) -> Ranged:
        """Price range per million output tokens; the lower speed gives the higher price. [USD]"""
        return cost_range(nan if self.price is None else self.price, self.speed)

    def figure(self, figure: Figure) -> Ranged:
        """Speed or cost."""
        return self.speed if figure == "speed" else self.cost
