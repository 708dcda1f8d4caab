"""The parameters in a scenario's files, and how a scenario changes with a parameter."""

from dataclasses import dataclass, replace

from fastcalc.catalogue.entry_numbers import EntryNumber, default_numbers, entry_numbers, with_value
from fastcalc.catalogue.schema.engine_parameters import PARAMETERS
from fastcalc.core.chip.host import WRITTEN
from fastcalc.core.scenario import Scenario

_UNMOVED = ("ranks",)
"""Parameters that belong to the layout, which is fixed."""


@dataclass(frozen=True)
class Lever:
    """A parameter in one of a scenario's files.

    file : The type of file: ``hardware``, ``engine``, ``model`` or ``host``.
    entry : The id of the entry.
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
        """Return the scenario with another value of this parameter."""
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
    """Return the parameters in a scenario's files, including defaults, that apply to its chip."""
    chip, model, host = scenario.hardware, scenario.model, scenario.memory.host
    # Of a chip's offers, only the one that sets the price (the median) counts. It changes as a
    # price of its own, because otherwise another offer could become the median.
    offer, pricing = scenario.quote.offer, scenario.pricing
    is_replaced = offer is not None and offer in chip.price.offers and pricing.offer is None
    numbers = [
        number
        for number in entry_numbers(chip)
        if not (is_replaced and number.path.startswith("price.offers["))
    ]
    if offer is not None and is_replaced:
        numbers.append(
            EntryNumber(("price", "cloud"), "price.cloud", offer.price.si, "hourly price")
        )
    listed = [Lever("hardware", chip.id, number) for number in numbers]
    listed += [Lever("hardware", chip.id, number) for number in default_numbers(chip)]
    if host is not None and host.id != WRITTEN:
        listed += [Lever("host", host.id, number) for number in entry_numbers(host)]
    by_name: dict[str, EntryNumber] = {}  # the most specific value of each parameter
    for group in (None, *chip.groups):
        for number in entry_numbers(scenario.engine):
            owner = number.place[1] if number.place[0] == "architectures" else None
            if owner == group:
                by_name[str(number.place[-1])] = number
    listed += [Lever("engine", scenario.engine.id, number) for number in by_name.values()]
    listed += [Lever("model", model.id, number) for number in entry_numbers(model)]
    return [
        lever
        for lever in listed
        if lever.number.path not in _UNMOVED and lever.number.kind != "switch"
    ]
