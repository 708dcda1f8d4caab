"""External references for a plan: API prices, and carbon emissions of the grid."""

from dataclasses import dataclass

from fastcalc.formulas.money import api_request_usd


@dataclass(frozen=True)
class Tariff:
    """API prices and grid emissions.

    api : dollars per million tokens of input, cached input and output; None for no API [USD]
    grid : carbon dioxide per kilowatt hour; None if not requested [g]
    """

    api: tuple[float, float, float] | None = None
    grid: float | None = None

    def request_usd(self, prompt: float, output: float, prefix_hit: float) -> float | None:
        """API charge per request; None without an API. [USD]"""
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
"""Tariff of plans without external references."""
