"""Chips whose cores are ranks: layouts count ranks, memory and links are of the chip."""

import pytest

from fastcalc.catalogue.store import Catalogue
from fastcalc.core.placement.layout import Layout, LayoutError
from fastcalc.core.scenario import Sharding
from tests import made_up
from tests.core.test_step import part, passes
from tests.helpers import outcome

WIDE = made_up.minimal(hidden_size=1000)
TWO = made_up.chip(ranks=2)
"""Two ranks on each of eight chips."""


def forty_heads(**changes):
    """A layer of forty heads of 16, none of them shared."""
    attention = {"kind": "mha", "heads": 40, "kv_heads": 40, "head_dim": 16}
    block = {"count": 2, "attention": attention, "ffn": {"kind": "dense", "width": 128}}
    return made_up.blocks(hidden_size=640, blocks=[block], **changes)


def joining(chips, **changes):
    """A chip whose fast link joins so many."""
    return made_up.chip(links={"scale_up": {"bandwidth": "100 GB/s", "domain": chips}}, **changes)


@pytest.mark.parametrize(
    ("layout", "chips"), [(Layout(tp=24), 12), (Layout(tp=2, pp=3), 3), (Layout(tp=2, dp=3), 3)]
)
def test_two_ranks_are_a_chip(layout, chips):
    assert made_up.site(WIDE, on=joining(12, ranks=2)).place(layout).layout.chips == chips
    assert made_up.site(WIDE, on=joining(24)).place(layout).layout.chips == 2 * chips


def test_a_rank_without_a_neighbour_takes_a_whole_chip():
    assert made_up.site(WIDE, on=TWO).place(Layout(pp=3)).layout.chips == 2


@pytest.mark.parametrize(("tp", "heads"), [(24, 48), (16, 48), (40, 40)])
def test_heads_that_do_not_divide_are_padded_on_chips_of_several_ranks(tp, heads):
    site = made_up.site(forty_heads(), on=joining(24, ranks=2))
    assert site.check(Layout(tp=tp)).chips == tp / 2
    said = [note for note in site.rank_notes(Layout(tp=tp)) if "pads" in note]
    assert [f"to {heads};" in note for note in said] == ([True] if heads > 40 else [])


def test_a_chip_that_is_one_rank_divides_heads_evenly():
    with pytest.raises(LayoutError) as refused:
        made_up.site(forty_heads(), on=joining(24)).check(Layout(tp=24))
    assert refused.value.rule == "tp that does not divide the heads"
    # A rank of padding alone is of no use.
    with pytest.raises(LayoutError, match="does not divide"):
        made_up.site(forty_heads(), on=joining(24, ranks=2)).check(Layout(tp=48))


def test_groups_end_with_the_ranks_of_the_link_domain():
    site = made_up.site(WIDE, on=TWO)
    assert site.check(Layout(tp=16)).chips == 8
    with pytest.raises(LayoutError, match="has 16 ranks; use tp up to 16"):
        site.check(Layout(tp=32))


def test_a_chip_holds_what_its_ranks_hold():
    """500,000 weights of 2 bytes over two chips of two ranks each."""
    site = made_up.site(WIDE, on=TWO)
    assert site.place(Layout(tp=4)).weights_per_chip == 500_000
    assert site.place(Layout(tp=2)).weights_per_chip == 1_000_000
    # Two copies, one on each rank.
    assert site.place(Layout(dp=2)).weights_per_chip == 2_000_000


def test_a_chip_keeps_the_caches_of_its_ranks():
    """Two heads of 16 + 16 elements of 2 bytes, ten tokens; four ranks keep one of them each."""
    site = made_up.site(made_up.blocks(), on=TWO, reserved=10)
    assert site.place(Layout(tp=2)).cache_per_chip == 10 * 128
    assert site.place(Layout(tp=4)).cache_per_chip == 10 * 128


def test_a_rank_may_fill_its_part_of_the_memory():
    """600 MB of weights on chips of 1 GB: a rank alone has half of one, both together have it all."""
    heavy = made_up.minimal(total_parameters=300_000_000)
    site = made_up.site(heavy, on=TWO, reserved=10)
    assert site.place(Layout(tp=1)).max_batch == 0
    assert site.place(Layout(tp=2)).max_batch > 0


@pytest.mark.parametrize(("tp", "read"), [(1, 2e6), (2, 1e6), (4, 5e5), (16, 125e3)])
def test_a_step_reads_what_the_ranks_of_a_chip_read(tp, read):
    """A rank alone has half of the chip's bandwidth: as if the chip read its part twice."""
    step = passes(WIDE, Layout(tp=tp, per_chip=2), on=TWO).decode
    assert part(step, "dense weights").bytes == read
    assert part(step, "dense weights").flops == read


@pytest.mark.parametrize(("tp", "sent"), [(2, 0), (4, 20 * 2000), (8, 20 * 3 * 2000)])
def test_ranks_of_a_chip_sum_in_its_memory(tp, sent):
    """20 sums of 1,000 numbers of 2 bytes: nothing leaves a chip; two swap, four send to three."""
    waits = made_up.engine(collective_latency="10 us")
    step = passes(WIDE, Layout(tp=tp, per_chip=2), on=TWO, under=waits).decode
    reduced = part(step, "all-reduce")
    assert reduced.sent == sent
    assert reduced.count == 20
    assert reduced.seconds == pytest.approx(20 * 10e-6 + sent / 100e9)


@pytest.mark.parametrize(("replicas", "visits"), [(2, 0), (4, 1.375 * 2 / 3 * 2)])
def test_tokens_cross_a_link_to_experts_of_other_chips(replicas, visits):
    """Of four ranks a token visits 3 (1 - 3/4 x 13/18) = 1.375 others, two thirds on another chip.

    Both ranks of a chip send over its link: 10 layers of 1,000 wide, 3 bytes there and back.
    """
    layout = Layout(ep=replicas, dp=replicas, per_chip=2)
    step = passes(made_up.EXPERTS, layout, on=TWO, batch=float(replicas)).decode
    exchange = part(step, "expert exchange")
    assert exchange.sent == pytest.approx(10 * 3 * 1000 * visits)
    assert exchange.link == 100e9


def test_chips_asked_for_are_filled_with_ranks():
    site = made_up.site(WIDE, on=TWO)
    filled = Sharding(chips=8, tp=2).layout(site)
    assert (filled.tp, filled.dp, filled.chips) == (2, 8, 8)
    assert Sharding(chips=8, tp=16).layout(site).chips == 8
    with pytest.raises(LayoutError, match="chips 8, of 2 ranks each, is not tp x pp x dp"):
        Sharding(chips=8, tp=3).layout(site)


def test_no_default_leaves_a_rank_of_a_chip_idle():
    site = made_up.site(WIDE, on=made_up.chip(ranks=4))
    assert {layout.ranks % 4 for layout in site.default_layouts} == {0}


@pytest.mark.parametrize("layout", [Layout(tp=4), Layout(tp=2, pp=2), Layout(tp=2, dp=2)])
def test_a_chip_of_one_rank_gives_what_a_chip_gives(layout):
    for model in (made_up.blocks(layers=4), made_up.EXPERTS):
        plain, ranked = (
            passes(model, layout, on=chip, batch=4.0).decode.components
            for chip in (made_up.chip(), made_up.chip(ranks=1))
        )
        assert [part.seconds for part in ranked] == [part.seconds for part in plain]


def test_a_rank_is_as_fast_as_a_chip_of_its_own_inside_and_its_links_are_shared():
    """16 ranks of 8 chips read what 8 chips read, and sum over 8 chips: nothing else is different."""
    ranked = passes(WIDE, Layout(tp=16, per_chip=2), on=TWO).decode.components
    plain = passes(WIDE, Layout(tp=8), on=made_up.chip()).decode.components
    assert [part.seconds for part in ranked] == [part.seconds for part in plain]


def test_a_bound_sends_nothing_inside_a_chip():
    """Two ranks of one chip: no link limits even a million sequences of a wide model."""
    ideal = outcome("llama-3.1-8b", "inferentia-2", engine="ideal", sharding=Sharding(tp=2))
    slow = Catalogue().hardware("inferentia-2").model_copy(deep=True)
    links = slow.links.model_copy(update={"scale_up": None, "scale_out": None})
    alone = slow.model_copy(update={"links": links})
    unlinked = outcome("llama-3.1-8b", alone, engine="ideal", sharding=Sharding(tp=2))
    assert ideal.estimate.tpot == unlinked.estimate.tpot


def test_inferentia_runs_llama_2_13b_on_all_cores_of_its_instance():
    """24 cores of 12 chips are 24 ranks, which pad 40 heads to 48."""
    solved = outcome("llama-2-13b", "inferentia-2", sharding=Sharding(chips=12, tp=24))
    assert solved.placement.layout == Layout(tp=24, per_chip=2)
    with pytest.raises(LayoutError):
        outcome("llama-2-13b", "h100-sxm", sharding=Sharding(chips=8, tp=3, dp=8))


@pytest.mark.parametrize(
    ("chip", "ranks"), [("inferentia-2", 2), ("trainium-1", 2), ("trainium-2", 4)]
)
def test_ranks_as_the_vendor_prints_them(chip, ranks):
    assert Catalogue().hardware(chip).ranks.si == ranks
