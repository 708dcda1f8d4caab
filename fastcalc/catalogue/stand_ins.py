"""Names of services whose models nobody has published, and the shapes that stand in for them."""

from dataclasses import dataclass
from functools import cache
from typing import Any

from fastcalc.catalogue.folders import shipped_folder
from fastcalc.catalogue.reader import read


@dataclass(frozen=True)
class StandIn:
    """A service: what is reported of it, and its stand-ins. [1/s, USD a million tokens]"""

    id: str
    name: str
    aliases: tuple[str, ...]
    source: str
    shapes: tuple[str, ...]
    chips: str
    unknown: str
    speed: float | None = None
    price: float | None = None
    input_price: float | None = None
    fast_mode_of: str | None = None

    @property
    def refusal(self) -> str:
        """Why no speed of its model is computed, and what to type instead."""
        shapes = " ".join(self.shapes)
        instead = f"'fastcalc compare {shapes} --on {self.chips}' prints both ends of the range"
        decide = f", and 'fastcalc decide {self.id}' takes the speed reported" if self.speed else ""
        return (
            f"{self.id}: {self.name} is not published, and not known are {self.unknown}; its "
            f"stand-ins are {' and '.join(self.shapes)}: {instead}{decide}"
        )


@cache
def services() -> dict[str, StandIn]:
    """Return every service by its id."""
    data: Any = read(shipped_folder("evidence") / "stand_ins.yaml").data
    found = {}
    for name, one in data["services"].items():
        fields = {key: tuple(each) if isinstance(each, list) else each for key, each in one.items()}
        found[name] = StandIn(**{"id": name, "unknown": data["unknown"], **fields})
    return found


def service(name: str) -> StandIn | None:
    """Return the service of a name that people use; None where there is none."""
    wanted = name.lower()
    found = services()
    return found.get(wanted) or next((one for one in found.values() if wanted in one.aliases), None)
