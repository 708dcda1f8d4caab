"""The parameters in a scenario's files, and the scenario with a changed parameter."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from fastcalc.catalogue.entry_numbers import EntryNumber, default_numbers, entry_numbers, with_value
from fastcalc.catalogue.schema import Engine, Hardware
from fastcalc.catalogue.schema.engine_parameters import PARAMETERS
from fastcalc.core.chip.host import WRITTEN
from fastcalc.core.scenario import Scenario

_UNMOVED = ("ranks",)
"""Numbers that belong to the layout, which is fixed."""


@dataclass(frozen=True)
class Lever:
    """A parameter in one of a scenario's files.

    file : kind of file: ``hardware``, ``engine``, ``model`` or ``host``
    entry : id of the entry
    """

    file: str
    entry: str
    number: EntryNumber

    def __hash__(self) -> int:
        return hash((self.file, self.number.path))  # identifies it; hashing its limits is slow

    @property
    def is_choice(self) -> bool:
        """Whether the better direction depends on the request."""
        name = str(self.number.place[-1])
        is_parameter = self.file == "engine" and name in PARAMETERS
        return self.file == "model" or (is_parameter and PARAMETERS[name].raised is None)

    def moved(self, scenario: Scenario, value: float) -> Scenario:
        """Change this parameter of a scenario to another value."""
        location = self.number.place
        if self.file == "engine":
            return replace(scenario, engine=with_value(scenario.engine, location, value))
        if self.file == "model":
            return replace(scenario, model=with_value(scenario.model, location, value))
        if self.file == "host":
            host = with_value(scenario.memory.host, location, value)
            return replace(scenario, memory=replace(scenario.memory, host=host))
        return replace(scenario, hardware=with_value(scenario.hardware, location, value))


def levers(scenario: Scenario) -> list[Lever]:
    """List the parameters and defaults in a scenario's files that apply to its chip."""
    chip, model, host = scenario.hardware, scenario.model, scenario.memory.host
    listed = [Lever("hardware", chip.id, number) for number in _of_chip(scenario)]
    listed += [Lever("hardware", chip.id, number) for number in default_numbers(chip)]
    if host is not None and host.id != WRITTEN:
        listed += [Lever("host", host.id, number) for number in entry_numbers(host)]
    engine_numbers = _of_engine(scenario.engine, chip)
    listed += [Lever("engine", scenario.engine.id, number) for number in engine_numbers]
    listed += [Lever("model", model.id, number) for number in entry_numbers(model)]
    return [
        lever
        for lever in listed
        if lever.number.path not in _UNMOVED and lever.number.kind != "switch"
    ]


def _of_chip(scenario: Scenario) -> Iterator[EntryNumber]:
    """Yield a chip's parameters and, of its offers, only the one that sets the price.

    The median offer counts, and moving it could make another offer the median; it is therefore
    treated as a rent of its own.
    """
    offer = scenario.quote.offer
    is_replaced = offer is not None and offer in scenario.hardware.price.offers
    is_replaced = is_replaced and scenario.pricing.offer is None
    for number in entry_numbers(scenario.hardware):
        is_offer = number.path.startswith("price.offers[")
        if not (is_replaced and is_offer):
            yield number
    if offer is not None and is_replaced:
        yield EntryNumber(("price", "cloud"), "price.cloud", offer.price.si, "hourly price")


def _of_engine(engine: Engine, chip: Hardware) -> Iterator[EntryNumber]:
    """Yield the engine parameters that apply to a chip: the most specific value of each."""
    by_name: dict[str, EntryNumber] = {}
    groups = [None, *chip.groups]
    for group in groups:
        for number in entry_numbers(engine):
            owner = number.place[1] if number.place[0] == "architectures" else None
            if owner == group:
                by_name[str(number.place[-1])] = number
    yield from by_name.values()
