"""How many layers of a model llama.cpp can keep on a card that does not hold all of them."""

from dataclasses import dataclass, replace

from fastcalc.catalogue.store import Catalogue
from fastcalc.core.chip.host import shares_memory_with_host, with_gpu_layers, with_usual_cores
from fastcalc.core.chip.tier import MemoryChoice
from fastcalc.core.scenario import Location, site_of
from fastcalc.mentions import option


@dataclass(frozen=True)
class GpuLayers:
    """The most layers on a card, the output layer among them, with which a server starts.

    chip, host : names of the card and of the host that has the others
    most : these layers; None where the host has too little memory for the others [1]
    layers : of the model, without the output layer [1]
    """

    chip: str
    host: str
    most: int | None
    layers: int

    @property
    def note(self) -> str:
        """As a sentence for the owner of the card."""
        if self.most is None:
            return f"{self.chip} starts with no {option('n_gpu_layers')}: {self.host} is too small"
        starts = f"{self.chip} starts with at most {option('n_gpu_layers', self.most)}"
        if self.most > self.layers:
            return f"{starts}: all layers and the output layer"
        if not self.most:
            return f"{starts}: all layers are on {self.host}"
        return (
            f"{starts}: {self.most - 1:,} of {self.layers:,} layers and the output layer on the "
            f"card, the others on {self.host}"
        )


def most_gpu_layers(location: Location, entries: Catalogue) -> GpuLayers | None:
    """The most layers on the card at the smallest batch, None where that is not the question.

    It is where layers are shared out as asked, or where llama.cpp does not start on a card that has
    a host beside it.
    """
    scenario, placement = location.scenario, location.placement
    chip, memory = scenario.hardware, scenario.memory
    is_asked = memory.gpu_layers is not None
    could_be = scenario.engine.id == "llama-cpp" and not shares_memory_with_host(chip)
    is_open = memory.host is None and not memory.place and location.verdict != "fits"
    if not (is_asked or (could_be and is_open)):
        return None
    given = replace(memory, gpu_layers=0)
    shared = with_usual_cores(with_gpu_layers(entries, chip, scenario.model, given))
    assert shared.host is not None
    layers = int(placement.work.layers)

    def holds(memory: MemoryChoice) -> bool:
        site = site_of(replace(scenario, memory=memory), scenario.traffic.reserved)
        return bool(site.place(placement.layout).certain_batch >= min(scenario.batches))

    counts = range(layers + 1, -1, -1)
    most = next((count for count in counts if holds(replace(shared, gpu_layers=count))), None)
    return GpuLayers(chip.id, shared.host.id, most, layers)
