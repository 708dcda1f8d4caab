"""The low end of the 80% range, by which cautious plans decide, follows the parts of a machine."""

from collections.abc import Iterator

from hypothesis import assume, given
from hypothesis import strategies as st

from fastcalc.catalogue.schema import Hardware, Model
from fastcalc.catalogue.schema.quantities import Quantity
from fastcalc.catalogue.store import Catalogue
from fastcalc.core.chip.host import memory_choice
from fastcalc.core.outcome import Outcome
from fastcalc.core.scenario import Sharding, engine_for
from fastcalc.errors import InputError
from tests.helpers import outcome
from tests.strategies import examples

ENTRIES = Catalogue()
MACHINES = ENTRIES.names("hardware")
HOSTS = [name for name in MACHINES if name.startswith(("ddr", "epyc", "grace", "xeon"))]
CHIPS = [name for name in MACHINES if name not in HOSTS]
TINY = 1e-9


def faster(chip: Hardware, factor: float) -> Iterator[Hardware]:
    """Each part of a machine so many times as fast, one at a time."""

    def times(rate: Quantity) -> Quantity:
        return rate.model_copy(update={"si": rate.si * factor})

    for place, tier in enumerate(chip.memory):
        tiers = list(chip.memory)
        tiers[place] = tier.model_copy(update={"bandwidth": times(tier.bandwidth)})
        yield chip.model_copy(update={"memory": tiers})
    for name, rate in chip.peak.items():
        yield chip.model_copy(update={"peak": chip.peak | {name: times(rate)}})
    if chip.vector:
        yield chip.model_copy(update={"vector": times(chip.vector)})
    for name in ("scale_up", "scale_out"):
        if link := getattr(chip.links, name):
            wider = link.model_copy(update={"bandwidth": times(link.bandwidth)})
            yield chip.model_copy(update={"links": chip.links.model_copy(update={name: wider})})


def deeper(model: Model) -> Model:
    """A model with a quarter more layers, and at least one, of each of its blocks."""
    blocks = [
        block.model_copy(update={"count": block.count + max(block.count // 4, 1)})
        for block in model.blocks
    ]
    return model.model_copy(update={"blocks": blocks})


@examples(15)
@given(
    st.sampled_from(CHIPS),
    st.sampled_from(ENTRIES.names("models")),
    st.sampled_from([None, *HOSTS]),
    st.sampled_from([1, 8, 64]),
    st.sampled_from([1.1, 2.0, 4.0]),
    st.integers(0, 100),
)
def test_a_faster_part_never_lowers_the_low_end_and_a_larger_model_never_raises_it(
    chip, model, host, batch, factor, place
):
    """In the layout that the chips have before, under their engine and beside their host."""
    hardware, entry = ENTRIES.hardware(chip), ENTRIES.model(model)

    def solved(chip: Hardware, model: Model, sharding: Sharding | None = None) -> Outcome:
        try:
            found = outcome(
                model, chip, batch=(batch,), engine=engine_for(ENTRIES, hardware)[0],
                sharding=sharding, memory=memory_choice(ENTRIES, host),
            )  # fmt: skip
        except InputError:
            assume(False)
        assume(found.estimate.fits[0] and found.estimate.low is not None)
        return found

    first = solved(hardware, entry)
    low, layout = first.estimate.low[0], Sharding.of(first.placement.layout)
    raised = [*faster(hardware, factor)]
    after = solved(raised[place % len(raised)], entry, layout)
    assert after.estimate.low[0] >= low * (1 - TINY)
    if entry.blocks:
        more = solved(hardware, deeper(entry), layout)
        assert more.estimate.low[0] <= low * (1 + TINY)
