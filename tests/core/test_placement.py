"""What each chip holds, and which layouts there are: counted by hand on made-up chips and models."""

import itertools

import numpy as np
import pytest

from fastcalc.catalogue.schema import Parameters
from fastcalc.catalogue.store import Catalogue
from fastcalc.core.chip.host import memory_choice
from fastcalc.core.chip.machine import machine
from fastcalc.core.chip.tier import OWN_MEMORY, MemoryChoice
from fastcalc.core.chosen_layouts import chosen_layouts, open_layouts
from fastcalc.core.model.layers import count_attention
from fastcalc.core.model.workload import workload
from fastcalc.core.outcome import locate
from fastcalc.core.placement.fullest_chip import stage_share
from fastcalc.core.placement.layout import Layout, Layouts
from fastcalc.core.placement.legal import slots
from fastcalc.core.placement.placement import Site
from fastcalc.core.placement.practice import (
    _run_of,
    copies_run_by_people,
    run_by_people,
    usual_layouts,
)
from fastcalc.core.scenario import Scenario, Sharding
from fastcalc.core.traffic.traffic import Traffic
from fastcalc.errors import InputError
from fastcalc.formulas.memory import chips_for_capacity, chips_for_whole_layers, largest_batch
from tests import made_up
from tests.helpers import outcome

ALONE = made_up.chip(links={})
ANY = Traffic(1.0, 1.0, 1.0)


def test_the_fullest_replica_decides_what_is_used():
    """Seven sequences on two replicas: four of 0.1 GB and 0.4 GB of weights on one chip of 1 GB."""
    model = made_up.minimal(total_parameters=200_000_000, kv_bytes_per_token=1_000_000)
    place = made_up.placed(model, Layout(dp=2), reserved=100)
    assert place.used_fraction(7) == pytest.approx(0.4 + 4 * 0.1)
    assert place.used_fraction(8) == pytest.approx(0.4 + 4 * 0.1)
    # 0.6 GB are left on each: six sequences, twice.
    assert place.max_batch == 12
    assert place.used_fraction(12) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("layout", "experts"),
    [
        (Layout(), 10),
        # Ten experts over four ranks are 3, 3, 2 and 2.
        (Layout(ep=4, dp=4), 3),
        (Layout(ep=5, dp=5), 2),
        # Over three: 4, 3 and 3.
        (Layout(ep=3, dp=3), 4),
        # Two tensor-parallel ranks cut each of them in halves.
        (Layout(tp=2), 5),
        # Five groups of two ranks, spread over all ten.
        (Layout(tp=2, dp=5, ep=10), 1),
        # Two groups of experts, each cut over two ranks: halves of five.
        (Layout(tp=4, ep=2), 2.5),
    ],
)
def test_the_fullest_rank_decides_where_experts_do_not_divide(layout, experts):
    """100 dense parameters over the tensor-parallel ranks and 100 in each expert, at 16 bits."""
    place = made_up.placed(made_up.EXPERTS, layout)
    assert place.weights_per_chip == pytest.approx(2 * (100 / layout.tp + 100 * experts))


MATRICES = 64 * (4 + 2) * 32 + 3 * 64 * 128
NORMS = 2 * 64
TABLE = 64 * 1000


@pytest.mark.parametrize(
    ("tied", "stages", "parameters"),
    [
        # All three layers, a final norm, and both tables or one.
        (False, 1, 3 * (MATRICES + NORMS) + 64 + 2 * TABLE),
        (True, 1, 3 * (MATRICES + NORMS) + 64 + TABLE),
        # Two of three layers on one stage, and at its end the norm and one table.
        (False, 2, 2 * (MATRICES + NORMS) + 64 + TABLE),
        (True, 2, 2 * (MATRICES + NORMS) + 64 + TABLE),
        (True, 3, MATRICES + NORMS + 64 + TABLE),
    ],
)
def test_the_largest_stage_has_the_layers_that_do_not_divide_and_a_table(tied, stages, parameters):
    model = made_up.blocks(layers=3, tied_embeddings=tied)
    place = made_up.placed(model, Layout(pp=stages))
    assert place.weights_per_chip == pytest.approx(2 * parameters)


def test_ranks_share_layers_and_tables():
    """A half of three layers, a norm and two tables on each of two ranks."""
    place = made_up.placed(made_up.blocks(layers=3), Layout(tp=2))
    assert place.weights_per_chip == 3 * (MATRICES + NORMS) + 64 + 2 * TABLE


def test_a_stage_keeps_the_caches_of_its_layers():
    """Two heads of 16 + 16 elements of 2 bytes; 2 of 3 layers; 10 tokens; one of two heads a rank."""
    model = made_up.blocks(layers=3)
    assert made_up.placed(model, Layout(pp=2), reserved=10).cache_per_chip == 2 * 10 * 64 * 2
    assert made_up.placed(model, Layout(tp=2, pp=2), reserved=10).cache_per_chip == 10 * 64 * 2


def test_a_head_is_copied_where_there_are_more_ranks_than_heads():
    """Two key-value heads on four ranks: a rank keeps one of them whole."""
    model = made_up.blocks()
    assert made_up.placed(model, Layout(tp=4), reserved=10).cache_per_chip == 10 * 32 * 2


def test_default_layouts_end_with_a_layer_a_stage():
    """Three layers on chips that join by a slow link alone: one, two and three stages."""
    slow = made_up.chip(links={"scale_out": {"bandwidth": "10 GB/s"}})
    site = made_up.site(made_up.minimal(layers=3), on=slow)
    assert site.default_layouts == (Layout(), Layout(pp=2), Layout(pp=3))
    assert made_up.site(made_up.minimal(layers=3), on=ALONE).default_layouts == (Layout(),)


def test_default_layouts_grow_in_the_domain_and_then_by_stages():
    """A domain of eight: 1, 2, 4 and 8 ranks, then stages of eight."""
    site = made_up.site(made_up.minimal(layers=2))
    assert [(one.tp, one.pp) for one in site.default_layouts] == [
        (1, 1), (2, 1), (4, 1), (8, 1), (8, 2)
    ]  # fmt: skip


def test_experts_are_spread_over_replicas_up_to_the_whole_domain():
    """Three heads of one kind leave one rank; replicas from two to the eight chips of a domain."""
    odd = {"kind": "gqa", "heads": 3, "kv_heads": 3, "head_dim": 16}
    ffn = {"kind": "moe", "experts": 16, "active_experts": 2, "width": 64}
    model = made_up.blocks(blocks=[{"count": 1, "attention": odd, "ffn": ffn}])
    layouts = made_up.site(model).default_layouts
    spread = [Layout(ep=ranks, dp=ranks) for ranks in range(2, 9)]
    assert layouts[:8] == (Layout(), *spread)


def test_mixtures_take_replicas_beyond_eight_ranks():
    """In a domain of sixteen all matrices are cut over 16 ranks, or over 8 on two replicas."""
    wide = made_up.chip(links={"scale_up": {"bandwidth": "100 GB/s", "domain": 16}})
    last = {
        model.id: max(made_up.site(model, on=wide).default_layouts[:6], key=lambda one: one.width)
        for model in (made_up.minimal(id="dense", layers=1), made_up.EXPERTS)
    }
    assert last["dense"] == Layout(tp=16)
    assert last[made_up.EXPERTS.id] == Layout(tp=8, ep=16, dp=2)


def test_layers_cut_over_chips_go_up_to_the_most():
    """512 layers with regions: a chip each at most, then 2, 3, ... 32 chips for each of them."""
    wafers = made_up.chip(kind="wafer", execution="spatial")
    site = made_up.site(made_up.minimal(layers=512), on=wafers)
    stages = [one.pp for one in site.default_layouts]
    assert stages == [*range(1, 513), *range(1024, 16_385, 512)]


def test_chips_that_pipeline_whole_layers_have_one_rank_of_each():
    """Four chips are four stages, of which one rank says nothing, and more cannot be."""
    site = made_up.site(
        made_up.minimal(layers=8, kv_bytes_per_token=1_000),
        on=made_up.chip(execution="spatial"),
        reserved=2,
    )
    chip = site.machine.hardware
    one = Sharding(chips=4, tp=1, ep=1, dp=1).on(chip, is_alone=True)
    assert one == Sharding(chips=4)
    assert open_layouts(site, 4) == [Layout(pp=4)]
    assert Sharding(tp=2, pp=3, dp=2).on(chip, is_alone=False) == Sharding(pp=3)
    for asked in (Sharding(chips=4, tp=4), Sharding(chips=4, dp=3)):
        with pytest.raises(InputError, match="pipelines whole layers: only pp"):
            asked.on(chip, is_alone=True).layout(site)
    with pytest.raises(InputError, match="chips 4 is not pp 2, and"):
        Sharding(chips=4, pp=2).layout(site)


def test_experts_are_spread_by_default_only_where_there_are_replicas():
    """Over one replica they are cut as all else is."""
    site = made_up.site(made_up.EXPERTS)
    assert site.expert_ranks(4, 1) == 1
    assert site.expert_ranks(4, 2) == 8
    assert made_up.site(made_up.minimal()).expert_ranks(4, 2) == 1
    assert Sharding(tp=4).layout(site) == Layout(tp=4)
    assert Sharding(tp=2, dp=4).layout(site) == Layout(tp=2, ep=8, dp=4)
    assert Sharding(tp=2, dp=4, ep=4).layout(site) == Layout(tp=2, ep=4, dp=4)


def test_chips_asked_for_become_replicas_of_the_ranks_asked_for():
    site = made_up.site(made_up.minimal())
    assert Sharding(chips=8, tp=2).layout(site) == Layout(tp=2, dp=4)
    assert Sharding(chips=8, tp=2, pp=2).layout(site) == Layout(tp=2, pp=2, dp=2)
    with pytest.raises(InputError, match="is not tp x pp x dp"):
        Sharding(chips=8, tp=3).layout(site)
    with pytest.raises(InputError, match="is not tp x pp x dp"):
        Sharding(chips=8, tp=2, dp=2).layout(site)


@pytest.mark.parametrize(
    ("layout", "rule"),
    [
        (Layout(tp=16), "tp beyond the link domain"),
        (Layout(pp=11), "pp beyond the layers"),
        (Layout(ep=2, dp=2), "ep without experts"),
    ],
)
def test_what_cannot_be_is_refused(layout, rule):
    """Eight chips in a domain, ten layers, no experts; one less of each is legal."""
    site = made_up.site(made_up.minimal())
    with pytest.raises(InputError) as refused:
        site.check(layout)
    assert refused.value.rule == rule
    assert site.check(Layout(tp=8))
    assert site.check(Layout(pp=10))


@pytest.mark.parametrize(
    ("layout", "is_legal"),
    [
        (Layout(tp=2, ep=8, dp=4), True),
        (Layout(tp=4, ep=2), True),
        # Three ranks of experts over four chips.
        (Layout(ep=3, dp=4), False),
        # Six is no multiple of four.
        (Layout(tp=4, ep=6, dp=3), False),
    ],
)
def test_experts_suit_the_ranks(layout, is_legal):
    site = made_up.site(made_up.EXPERTS)
    if is_legal:
        assert site.check(layout) == layout
    else:
        with pytest.raises(InputError, match="does not suit"):
            site.check(layout)


def test_so_many_chips_exactly():
    """Four chips: every product of ranks, stages and replicas, the ranks in powers of two."""
    found = set(made_up.site(made_up.minimal()).exactly(4))
    assert found == {Layout(tp, pp, 1, 4 // (tp * pp)) for tp, pp in
                     [(1, 1), (1, 2), (1, 4), (2, 1), (2, 2), (4, 1)]}  # fmt: skip
    # Replicas share the experts where there are some.
    found = set(made_up.site(made_up.EXPERTS).exactly(2))
    assert found == {Layout(pp=2), Layout(ep=2, dp=2), Layout(tp=2)}
    # Sixteen are two domains: eight replicas with experts are the most, and no 16 ranks.
    found = set(made_up.site(made_up.EXPERTS).exactly(16))
    assert all(one.width <= 8 for one in found if one.dp > 1)
    assert Layout(ep=8, dp=8, pp=2) in found
    assert Layout(tp=16) not in found


def test_of_so_many_chips_the_layout_is_taken_that_serves_most_and_holds_the_batch():
    """0.9 GB of weights: replicas leave 0.1 GB of a chip each, two ranks 0.55 GB.

    Both hold a sequence of 0.1 GB on each of two chips, and replicas read 0.9 GB for one where ranks
    read 0.45 GB for both; of four, replicas hold but two.
    """
    model = made_up.minimal(total_parameters=450_000_000, kv_bytes_per_token=1_000_000)
    site = made_up.site(model, reserved=100)
    traffic = Traffic(1.0, 100.0, 50.0)
    chosen = chosen_layouts(site, 2, np.array([2.0, 4.0]), traffic)
    assert [chosen.layouts[place] for place in chosen.positions] == [Layout(tp=2), Layout(tp=2)]


@pytest.mark.parametrize(
    ("needed", "usable", "chips"), [(3.0, 1.0, 3), (2.5, 1.0, 3), (0.0, 1.0, 1), (4.0, 2.0, 2)]
)
def test_chips_for_a_capacity(needed, usable, chips):
    """A multiple needs no chip more."""
    assert chips_for_capacity(needed=needed, usable_per_chip=usable) == chips


@pytest.mark.parametrize(
    ("layers", "each", "chips"), [(6, 0.5, 3), (7, 0.5, 4), (6, 0.6, 6), (1, 0.1, 1), (5, 1.0, 5)]
)
def test_chips_for_whole_layers(layers, each, chips):
    """As many layers as fit a chip of 1, and a chip more for what is left."""
    found = chips_for_whole_layers(layers=layers, layer_bytes=each, usable_per_chip=1.0)
    assert found == chips


def test_a_memory_that_is_just_full_holds_all():
    assert largest_batch(usable=1.0, weights=0.5, cache_per_sequence=0.125) == 4
    assert largest_batch(usable=1.0, weights=0.5, cache_per_sequence=0.2) == 2
    assert largest_batch(usable=1.0, weights=1.5, cache_per_sequence=0.125) == 0


def test_capacity_of_exact_multiples():
    """2 GB of weights on chips of 1 GB, and 1 GB for each of three sequences."""
    model = made_up.minimal(total_parameters=1_000_000_000, kv_bytes_per_token=10_000_000)
    site = made_up.site(model, reserved=100)
    assert site.chips_needed(0) == (2, None)
    assert site.chips_needed(3) == (5, None)


@pytest.mark.parametrize(
    ("place", "sequences", "chips"),
    [
        ((), 0, 1),  # 2 GB of weights in 1 + 4 GB
        ((), 4, 2),  # 6 GB
        ((("kv", "M"),), 4, 4),  # 4 GB of cache in 1 GB a chip
        ((("kv", "far"),), 5, 2),  # 5 GB of cache in 4 GB a chip
        ((("kv", "M"), ("dense", "M")), 1, 3),  # 1 GB of cache and 2 of weights in 1 GB a chip
    ],
)
def test_chips_for_what_is_asked_to_live_in_one_memory(place, sequences, chips):
    """2 GB of weights and 1 GB for each sequence, on chips of 1 GB and 4 GB farther away."""
    model = made_up.minimal(total_parameters=1_000_000_000, kv_bytes_per_token=10_000_000)
    memory = [
        {"name": "M", "capacity": "1 GB", "bandwidth": "1 TB/s"},
        {"name": "far", "capacity": "4 GB", "bandwidth": "0.1 TB/s"},
    ]
    on, asked = made_up.chip(memory=memory), MemoryChoice(place=place)
    site = made_up.site(model, on=on, reserved=100, memory=asked)
    assert site.chips_needed(sequences) == (chips, None)


def test_a_wafer_holds_layers_with_their_caches():
    """Layers of 100 MB and 50 MB of caches: six on each wafer of 1 GB, and ten without caches."""
    wafer = made_up.chip(kind="wafer", execution="spatial")
    model = made_up.minimal(total_parameters=500_000_000, kv_bytes_per_token=1_000_000)
    site = made_up.site(model, on=wafer, reserved=100)
    assert site.chips_needed(0) == (1, 1)
    assert site.chips_needed(5) == (2, 2)
    assert site.chips_needed(40) == (5, 5)


def test_regions_take_whole_layers_and_the_ends_some_more():
    """A layer has 36,992 parameters of 2 bytes; tables of 2 x 64,000 are four layers more."""
    wafer = made_up.chip(kind="wafer", execution="spatial", links={"scale_out": {"bandwidth": "10 GB/s"}})  # fmt: skip
    place = made_up.placed(made_up.blocks(layers=6), on=wafer)
    assert place.work.largest_layer_bytes == 2 * (MATRICES + NORMS)
    assert slots(place.machine, place.work) == 6 + 4
    three = made_up.placed(made_up.blocks(layers=6), Layout(pp=3), on=wafer)
    # Ten slots over three chips: four on the fullest.
    assert three.weights_per_chip == 4 * 2 * (MATRICES + NORMS)
    assert stage_share(three.machine, three.work, three.layout) == 4 / 6


def test_a_layer_is_cut_where_there_are_more_chips_than_slots():
    lpus = made_up.chip(kind="lpu", execution="spatial")
    place = made_up.placed(made_up.minimal(layers=4), Layout(pp=8), on=lpus)
    assert place.chips_per_layer == 2
    assert stage_share(place.machine, place.work, place.layout) == 1 / 8
    assert place.weights_per_chip == pytest.approx(500_000 * 2 / 8)
    # Seven chips hold four layers: one each.
    place = made_up.placed(made_up.minimal(layers=4), Layout(pp=7), on=lpus)
    assert place.chips_per_layer == 1


FEW_EXPERTS = made_up.minimal(
    total_parameters=500, active_parameters=300, experts=4, active_experts=2, hidden_size=1000
)


@pytest.mark.parametrize(
    "model",
    [made_up.minimal(), made_up.EXPERTS, FEW_EXPERTS],
    ids=["dense", "ten experts", "four experts"],
)
def test_whatever_a_search_takes_is_legal(model):
    site = made_up.site(model)
    searched = [
        *site.default_layouts,
        *site.exactly(8),
        *run_by_people(site, 8),
        *usual_layouts(site),
    ]
    assert [site.check(layout) for layout in searched] == searched


def test_experts_are_divided_evenly_or_not_at_all():
    """Four experts have no place on eight ranks, but each is cut over eight; two copies on four."""
    site = made_up.site(FEW_EXPERTS)
    assert list(run_by_people(site, 8)) == [Layout(8)]
    two = {Layout(8), *(Layout(tp, 1, 4, 8 // tp) for tp in (1, 2, 4)), Layout(4, dp=2)}
    assert two <= set(copies_run_by_people(site, 8))
    assert all(4 % layout.ep == 0 for layout in copies_run_by_people(site, 8))


@pytest.mark.parametrize("model", [made_up.minimal(), made_up.EXPERTS, FEW_EXPERTS])
def test_a_search_takes_no_layout_twice(model):
    site = made_up.site(model)
    for chips in range(1, 17):
        searched = list(run_by_people(site, chips))
        assert len(set(searched)) == len(searched)
        assert {layout.chips for layout in searched} <= {chips}


def test_several_layouts_have_the_quantities_of_each():
    """tp 2, pp 3, ep 4, dp 2: 12 chips, 4 ranks a stage, experts over 4."""
    both = Layouts.of([Layout(2, 3, 4, 2), Layout(8)], axes=1)
    assert both.chips.tolist() == [[12], [8]]
    assert both.width.tolist() == [[4], [8]]
    assert both.expert_shards.tolist() == [[4], [8]]


def test_a_machine_and_its_default_layouts_are_found_once():
    hardware, engine, model = made_up.chip(), made_up.engine(), made_up.minimal()
    work = workload(model)
    one, same = (machine(hardware, engine, work, OWN_MEMORY) for _ in range(2))
    assert one is same
    sites = [Site(one, workload(model), tokens) for tokens in (1.0, 2.0)]
    assert sites[0].default_layouts is sites[1].default_layouts
    # Another entry that says the same is another machine: entries are known by identity.
    other = machine(made_up.chip(), engine, work, OWN_MEMORY)
    assert other is not one


@pytest.mark.parametrize(("share", "most"), [(1.0, 900), (0.9, 810)])
def test_caches_may_have_a_share_of_what_weights_leave(share, most):
    """Of 1 GB a model of 100 MB leaves 900: caches of 1 MB each, in all of it or nine tenths."""
    model = made_up.minimal(total_parameters=50_000_000, kv_bytes_per_token=1000)
    under = made_up.engine(cache_fraction=share)
    place = made_up.placed(model, under=under, reserved=1000)
    assert place.max_batch == most
    assert place.used_fraction(most) == pytest.approx(1.0)


TWO_MEMORIES = [
    {"name": "M", "capacity": "1 GB", "bandwidth": "1 TB/s"},
    {"name": "N", "capacity": "4 GB", "bandwidth": "0.3 TB/s"},
]


def test_what_is_used_of_two_memories_is_the_whole_or_that_of_the_caches():
    """0.2 GB of weights live in 1 GB, sequences of 0.1 MB in 4 GB."""
    model = made_up.minimal(total_parameters=100_000_000, kv_bytes_per_token=1000)
    apart = MemoryChoice(place=(("weights", "M"), ("kv", "N")))
    place = made_up.placed(model, on=made_up.chip(memory=TWO_MEMORIES), reserved=100, memory=apart)
    assert place.used_fraction(4000) == pytest.approx((0.2 + 0.4) / 5)
    assert place.used_fraction(32_000) == pytest.approx(3.2 / 4)
    assert place.max_batch == 40_000


@pytest.mark.parametrize(("layers", "first"), [(2, "M"), (10, "N")])
def test_memory_in_regions_comes_first_where_one_region_is_read_faster(layers, first):
    """Each of two regions reads 0.5 TB/s, each of ten 0.1: less than the 0.3 of the other memory."""
    memory = [{**TWO_MEMORIES[0], "where": "chip"}, {**TWO_MEMORIES[1], "where": "package"}]
    wafer = made_up.chip(kind="wafer", execution="spatial", memory=memory)
    place = made_up.placed(made_up.minimal(layers=layers), on=wafer)
    assert place.machine.tiers[0].name == first


@pytest.mark.parametrize("chip", ["h100-sxm", "h100-pcie", "gb200"])
@pytest.mark.parametrize("name", ["deepseek-r1", "gemma-3-27b", "gpt-oss-120b"])
def test_formats_and_engines_change_no_layout_that_people_run(catalogue, name, chip):
    """So that searches look for the layouts of a chip and a model once."""
    hardware, model, counts = catalogue.hardware(chip), catalogue.model(name), (1, 6, 8, 32, 72)
    engines = map(catalogue.engine, ("vllm", "tensorrt-llm", "ideal"))
    distinct = set()
    for engine, weights, kv in itertools.product(engines, (None, "fp8"), (None, "fp8")):
        work = workload(model, weights, kv)
        legal = Site(machine(hardware, engine, work, OWN_MEMORY), work, 0.0)
        anew = tuple(tuple(_run_of(legal, count)) for count in counts)
        assert tuple(run_by_people(legal, count) for count in counts) == anew
        distinct.add(anew)
    assert len(distinct) == 1


def _weights(name, engine, set_to=None, **sharding):
    """Weights on a chip of a model of the catalogue. [GiB]"""
    entries = Catalogue()
    scenario = Scenario(
        hardware=entries.hardware("h200-sxm"),
        model=entries.model(name),
        engine=entries.engine(engine).limited(Parameters.model_validate(set_to or {})),
        batches=(1,),
        traffic=Traffic(1000.0, 1000.0, 1500.0),
        sharding=Sharding(**sharding),
    )
    return float(locate(scenario).placement.weights_per_chip) / 2.0**30


def test_ranks_hold_copies_of_what_tensor_parallelism_does_not_divide():
    """DeepSeek-R1 on eight ranks: 79.41 GiB each as loaded (HabanaAI/vllm-fork issue 809).

    Down-projections of 61 layers, 7,168 x (1,536 + 576) bytes each, and routers of 58 layers,
    7,168 x 256 x 2 bytes, are whole on each rank; of 512 x 128 heads x 256 there are copies of two
    bytes, which were not part of the loading. Each rank has the sines and cosines of all positions.
    """
    whole = (61 * 7168 * 2112 + 58 * 7168 * 256 * 2) * 7 / 8 / 2**30
    absorbed = 61 * 512 * 128 * 256 * 2 / 8 / 2**30
    rotary = 163_840 * 64 * 2 / 2**30
    copied = _weights("deepseek-r1", "vllm", tp=8)
    assert copied - _weights("deepseek-r1", "gpu", tp=8) == pytest.approx(
        whole + absorbed + rotary, abs=0.01
    )
    assert copied - absorbed == pytest.approx(79.41, rel=0.003)


def test_compressors_are_whole_on_each_rank():
    """As the first projections and indexers (disable_tp in vLLM's models/deepseek_v4)."""
    first, compressor = 4096 * (1024 + 512), 4096 * 2 * 512
    indexer = 1024 * 64 * 128 + 4096 * 64 + 4096 * 4 * 128
    blocks = Catalogue().model("deepseek-v4-flash").blocks
    assert [count_attention(block.attention, 4096).copied for block in blocks] == [
        first,
        first + compressor,
        first + 2 * compressor + indexer,
    ]


def test_tables_of_ngrams_stay_on_the_host():
    """51.2B parameters at 16 bits; a start on eight H100 had 31.42 GiB of weights on each."""
    on_chips, logged = 51.2e9 * 2 / 8 / 2**30, 31.42
    placed = {"tp": 8, "ep": 8}
    whole = _weights("qwen3.8-flash-next-180b", "vllm", {"ngrams_on_host": 0}, **placed)
    there = _weights("qwen3.8-flash-next-180b", "vllm", **placed)
    assert whole - there == pytest.approx(on_chips)
    assert there == pytest.approx(logged, rel=0.06)  # the mixers of streams are not divided


def test_replicas_of_attention_have_no_further_copies():
    """DeepSeek-R1 with 288 experts on eight ranks: 105.59 GiB (sgl-project/sglang issue 6017)."""
    absorbed = 61 * 512 * 128 * 256 * 2 / 2**30
    spread = {"tp": 1, "dp": 8, "ep": 8}
    rotary = 163_840 * 64 * 4 / 2**30  # at 32 bits
    copied = _weights("deepseek-r1", "sglang", **spread)
    more = copied - _weights("deepseek-r1", "gpu", **spread)
    assert more == pytest.approx(absorbed + rotary, abs=0.01)
    redundant = 4 * 58 * 3 * 7168 * 2048 / 2**30
    assert copied + redundant == pytest.approx(105.59, rel=0.005)


@pytest.mark.parametrize("dram", ["64GB", "512GB", "2TB"])
def test_chips_that_share_a_host_are_as_many_as_hold_the_model_by_trial(dram):
    """Four chips share the host's memory, so that each has less of it the more there are."""
    memory = memory_choice(Catalogue(), f"dram={dram}@300GB/s,link=64GB/s,chips=4")
    site = outcome("llama-3.1-405b", "rtx-4090", memory=memory, weights="fp8").site

    def held(chips):
        return chips * float(sum(np.asarray(room) for room in site._usable(float(chips))))

    needed = site.weight_bytes_needed + max(site.batch_cache_bytes(1.0), site.longest_cache_bytes)
    fewest = next(chips for chips in range(1, 100) if held(chips) >= needed)
    assert site.chips_needed(1.0) == (fewest, None)
