"""Parser of targets: ``1000`` tokens/s per user, ``0.5$/Mtok``, or ``200ms`` of TTFT."""

import re
from typing import TYPE_CHECKING

from fastcalc.catalogue.limits import LIMITS
from fastcalc.catalogue.units import UNITS
from fastcalc.errors import InputError
from fastcalc.features.sensitivity.targets import Target
from fastcalc.mentions import option
from fastcalc.written import shown

if TYPE_CHECKING:
    from fastcalc.kit.request.given_types import NumberGiven

_TARGET = re.compile(r"(\$?)\s*([0-9]+(?:\.[0-9]+)?)\s*([^0-9\s].*)?")
_SPEEDS = ("", "tok/s", "tokens/s", "tps")
_DOLLARS = ("$/Mtok", "USD/Mtok", "/Mtok")


def target(text: "NumberGiven") -> Target:
    """Target figure and value, identified by the unit.

    >>> target("0.5$/Mtok"), target("200 ms")
    (Target(figure='usd', value=0.5), Target(figure='ttft', value=0.2))
    >>> target(1000)
    Target(figure='speed', value=1000.0)
    """
    match = _TARGET.fullmatch(str(text).strip())
    sign, digits, unit = match.groups() if match else ("", "0", "")
    value, unit = float(digits), (unit or "").strip()
    if unit in UNITS["time"] and not sign:
        value, figure = value * UNITS["time"][unit], "ttft"
    elif unit in _DOLLARS and (sign != "") == (unit == "/Mtok"):
        figure = "usd"
    else:
        figure = "speed"
    is_known = figure != "speed" or (unit in _SPEEDS and not sign)
    if not is_known or value not in LIMITS["speed" if figure == "speed" else "dollars"]:
        raise InputError(
            f"{option('target')} '{shown(text, 40)}' is not a target; write 1000 for tokens/s "
            "per user, 200ms for TTFT, or 0.5$/Mtok"
        )
    return Target(figure, value)
