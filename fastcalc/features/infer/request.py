"""The request of `infer`."""

from typing import TYPE_CHECKING, Annotated

from fastcalc.kit.request import groups
from fastcalc.kit.request.fields import flag

if TYPE_CHECKING:
    from fastcalc.kit.request.given_types import ChipsGiven, NumbersGiven


class Infer(groups.Prices, groups.Output, groups.OwnFolders):
    """Infer what two speeds and two prices of one service leave open.

    Which combinations of a smaller batch, drafts, another machine and a higher markup are
    consistent with them, and what would have to be published to tell them apart.
    """

    examples = (
        "fastcalc infer --speeds 65,170 --prices 25,150",
        "fastcalc infer --speeds 65,170 --prices 25,150 --format json",
    )
    premise = "service"

    speeds: Annotated["NumbersGiven", flag("SLOW,FAST", "Tokens a second of both tiers.")] = (
        "65,170"
    )
    prices: Annotated["NumbersGiven", flag("SLOW,FAST", "USD of a million tokens out.")] = "25,150"
    on: Annotated[
        "ChipsGiven", groups.chips_named("Chips that may serve.", premise="deployment")
    ] = "h100-sxm,h200-sxm,b200,gb200"
    tolerance: Annotated[float, groups.a_share("tolerance", "How far each number may be off.")] = (
        0.15
    )
    points: Annotated[int, flag("N", "Points of the box that are tried.")] = 1 << 20
    wide: Annotated[
        bool,
        flag(None, "Print every combination, and what each number may be.", premise=""),
    ] = False
