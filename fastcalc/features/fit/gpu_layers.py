"""How much of a model llama.cpp can keep on a card that is too small for all of it."""

from dataclasses import dataclass, replace

from fastcalc.catalogue.store import Catalogue
from fastcalc.core.chip.host import shares_memory_with_host, with_gpu_layers
from fastcalc.core.chip.tier import MemoryChoice
from fastcalc.core.outcome import Location, site_of
from fastcalc.mentions import option


@dataclass(frozen=True)
class MostOnCard:
    """Describes how much of a model fits on a card such that the server starts.

    chip, host : Names of the card and the host.
    setting : ``n_gpu_layers`` (its largest value) or ``n_cpu_moe`` (its smallest value).
    count : That value, or None if the host has too little memory.
    layers : The layers of the model, without the output layer.
    """

    chip: str
    host: str
    setting: str
    count: int | None
    layers: int

    @property
    def note(self) -> str:
        """A sentence on the setting with which the server starts."""
        if self.count is None:
            return (
                f"{self.chip} and its host ({self.host}) together have too little memory for any "
                f"{option(self.setting)}; name a larger {option('host')}"
            )
        if self.setting == "n_cpu_moe":
            return (
                f"{self.chip}: the server needs {option(self.setting, self.count)} or more: "
                f"experts of {self.count:,} of {self.layers:,} layers in host memory ({self.host})"
            )
        starts = f"{self.chip} allows up to {option(self.setting, self.count)}"
        if self.count > self.layers:
            return f"{starts}: all layers and the output layer"
        if not self.count:
            return f"{starts}: all layers in host memory ({self.host})"
        return (
            f"{starts}: {self.count - 1:,} of {self.layers:,} layers and the output layer in "
            f"card memory, the rest in host memory ({self.host})"
        )


def most_on_card(location: Location, entries: Catalogue) -> MostOnCard | None:
    """Find how much of a model fits on the card at the smallest batch, if that applies.

    It applies if the request splits layers or experts between card and host, or if llama.cpp does
    not start on a card that has a host.
    """
    scenario, placement = location.scenario, location.placement
    chip, memory = scenario.hardware, scenario.memory
    could_be = scenario.engine.program == "llama-cpp" and not shares_memory_with_host(chip)
    is_open = memory.host is None and not memory.place and location.verdict != "fits"
    if location.refused or not (memory.shares_layers or (could_be and is_open)):
        return None
    is_moe = bool(placement.work.experts) and memory.gpu_layers is None
    layers = int(placement.work.layers)
    choices = dict[int, MemoryChoice]()
    for on_host in range(layers + 1 + (not is_moe)):  # most on the card first
        count = on_host if is_moe else layers + 1 - on_host
        choice = replace(memory, gpu_layers=count)
        if is_moe:
            choice = replace(memory, cpu_moe_layers=count)
        choices[count] = with_gpu_layers(entries, chip, scenario.model, choice)

    def holds(memory: MemoryChoice) -> bool:
        site = site_of(replace(scenario, memory=memory), scenario.traffic.reserved)
        return bool(site.place(placement.layout).certain_batch >= min(scenario.batches))

    host = choices[count].host
    assert host is not None
    most = next((count for count, choice in choices.items() if holds(choice)), None)
    setting = "n_cpu_moe" if is_moe else "n_gpu_layers"
    return MostOnCard(chip.id, host.id, setting, most, layers)
