"""Services with unpublished models, and the models that stand in for them."""

from dataclasses import dataclass
from functools import cache
from typing import Any

from fastcalc.catalogue.folders import shipped_folder
from fastcalc.catalogue.reader import read
from fastcalc.mentions import command, flag


@dataclass(frozen=True)
class StandIn:
    """A service with its reported values and stand-in models. [1/s, USD per million tokens]"""

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
        """The reason why no speed is computed for its model, and what to type instead."""
        shapes = " ".join(self.shapes)
        compare = command(f"fastcalc compare {shapes} {flag('on')} {self.chips}")
        instead = f"'{compare}' prints both ends of the range"
        decide = (
            f", and '{command(f'fastcalc decide {self.id}')}' takes the speed reported"
            if self.speed
            else ""
        )
        return (
            f"{self.id}: {self.name} is not published ({self.unknown} are undisclosed); its "
            f"stand-ins are {' and '.join(self.shapes)}: {instead}{decide}"
        )


@cache
def services() -> dict[str, StandIn]:
    """Return all services by id."""
    data: dict[str, Any] = {**read(shipped_folder("evidence") / "stand_ins.yaml").mapping()}
    by_id = {}
    for name, written in data["services"].items():
        fields = {
            key: tuple(field) if isinstance(field, list) else field
            for key, field in written.items()
        }
        by_id[name] = StandIn(**{"id": name, "unknown": data["unknown"], **fields})
    return by_id


def service(name: str) -> StandIn | None:
    """Find a service by a name that users type, or return None."""
    lowered = name.lower()
    by_id = services()
    return by_id.get(lowered) or next(
        (stand_in for stand_in in by_id.values() if lowered in stand_in.aliases), None
    )
