"""Prices from outside that a plan is held against: of an API, and of the grid's carbon."""

from dataclasses import dataclass

from fastcalc.formulas.money import api_request_usd


@dataclass(frozen=True)
class Tariff:
    """What others charge, and emit.

    api : dollars per million tokens: input, cached input, output; None for no API [USD]
    grid : carbon dioxide of a kilowatt hour; None where it is not asked for [g]
    """

    api: tuple[float, float, float] | None = None
    grid: float | None = None

    def request_usd(self, prompt: float, output: float, prefix_hit: float) -> float | None:
        """What the API charges for a request; None without one. [USD]"""
        if self.api is None:
            return None
        input_price, cached_price, output_price = self.api
        charged = api_request_usd(
            prompt=prompt,
            output=output,
            prefix_hit=prefix_hit,
            input_price=input_price,
            cached_price=cached_price,
            output_price=output_price,
        )
        return float(charged)


NO_TARIFF = Tariff()
"""Of plans that are held against nothing."""
