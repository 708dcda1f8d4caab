"""The request of `infer`."""

from typing import TYPE_CHECKING, Annotated

from fastcalc.kit.request import groups
from fastcalc.kit.request.fields import flag

if TYPE_CHECKING:
    from fastcalc.kit.request.given_types import ChipsGiven, NumbersGiven


class Infer(groups.Prices, groups.Written):
    """Infer how a provider's fast tier may work, from the speeds and prices of two tiers.

    infer finds out which combinations of a smaller batch, speculative decoding, other hardware and
    a higher markup explain these numbers, and what the provider would have to publish to
    distinguish them.
    """

    examples = (
        "fastcalc infer --speeds 65,170 --prices 25,150",
        "fastcalc infer --speeds 65,170 --prices 25,150 --format json",
    )
    premise = "service"

    speeds: Annotated["NumbersGiven", flag("SLOW,FAST", "Tokens/s of both tiers.")] = "65,170"
    prices: Annotated[
        "NumbersGiven", flag("SLOW,FAST", "USD per million output tokens of both tiers.")
    ] = "25,150"
    on: Annotated[
        "ChipsGiven", groups.chips_named("Chip types the provider may use.", premise="deployment")
    ] = "h100-sxm,h200-sxm,b200,gb200"
    tolerance: Annotated[
        float, groups.a_share("Accepted deviation from each published number.")
    ] = 0.15
    points: Annotated[int, flag("N", "Number of configurations to try.")] = 1 << 20
