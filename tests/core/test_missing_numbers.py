"""A file that leaves a number out is never faster for it: a default stands in, or it is refused."""

import json
from functools import cache
from statistics import median_high, median_low

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fastcalc.catalogue.chip_defaults import (
    HOST_LINK,
    MEDIANS,
    OF_A_CORE,
    Default,
    defaults_of,
)
from fastcalc.catalogue.schema import Hardware
from fastcalc.catalogue.schema.quantities import QuantityReader
from fastcalc.catalogue.store import Catalogue
from fastcalc.core.chip.host import memory_choice
from fastcalc.core.chip.tier import OWN_MEMORY, MemoryChoice
from fastcalc.core.defaults_used import _moves
from fastcalc.core.model.workload import VOCABULARY, WIDTH_RATIO, workload
from fastcalc.core.placement.layout import Layout
from fastcalc.core.scenario import Sharding
from fastcalc.errors import InputError
from tests import made_up
from tests.helpers import every, outcome, run
from tests.strategies import examples

CATALOGUE = Catalogue()
TINY = 1e-9
SPEEDS = ("speed", "low", "high", "bound", "served")


@cache
def chips() -> list[Hardware]:
    named = (CATALOGUE.hardware(name) for name in CATALOGUE.names("hardware"))
    return [chip for chip in named if chip.kind != "host"]


def without(chip: Hardware, *path: str) -> Hardware:
    """A chip whose file leaves a number out."""
    name, *inside = path
    if not inside:
        return chip.model_copy(update={name: None})
    part = getattr(chip, name)
    return chip if part is None else chip.model_copy(update={name: without(part, *inside)})


def with_best(chip: Hardware, path: tuple[str, ...]) -> Hardware:
    """A chip with the fastest number of its kind that any file of the catalogue states there."""

    def stated(one: Hardware) -> object:
        part: object = one
        for name in path:
            part = getattr(part, name, None)
        return part

    alike = [stated(one) for one in chips() if one.kind == chip.kind] or [None]
    known = [number for number in alike if number is not None]
    known = known or [number for number in map(stated, chips()) if number is not None]
    ranked = sorted(known, key=lambda number: number.si)
    best = ranked[0] if path[-1] == "latency" else ranked[-1]

    def put(part: object, *rest: str) -> object:
        name, *inside = rest
        value = put(getattr(part, name), *inside) if inside else best
        return part.model_copy(update={name: value})

    return put(chip, *path)


LEFT_OUT = [
    ("cores",),
    ("vector",),
    ("links", "scale_out", "latency"),
]


@pytest.mark.thorough
@examples(40)
@given(
    st.sampled_from(chips()),
    st.sampled_from(LEFT_OUT),
    st.sampled_from(["llama-3.1-8b", "llama-3.1-70b", "deepseek-r1", "gpt-oss-120b"]),
    st.sampled_from([None, "bf16", "fp8", "q4_k_m"]),
    st.sampled_from([1, 16, 256]),
    st.sampled_from(
        [Sharding(), Sharding(tp=2), Sharding(pp=2), Sharding(dp=2), Sharding(tp=8, pp=2)]
    ),
)
def test_a_file_without_a_number_is_no_faster_than_with_the_best_of_its_kind(
    chip, path, model, weights, batch, sharding
):
    part = chip
    for name in path[:-1]:
        part = part and getattr(part, name)
    assume(part is not None)
    left_out, best = without(chip, *path), with_best(chip, path)
    given_ = {"batch": (batch,), "weights": weights, "sharding": sharding}
    try:
        found = outcome(model, left_out, **given_)
    except InputError:
        return  # refused
    assume(found.estimate.fits[0])
    same = Sharding(**{n: getattr(found.placement.layout, n) for n in ("tp", "pp", "ep", "dp")})
    if chip.execution == "spatial":
        same = Sharding(pp=same.pp)
    other = outcome(model, best, **given_ | {"sharding": same}).estimate
    for name in SPEEDS:
        mine, theirs = getattr(found.estimate, name), getattr(other, name)
        if mine is not None:
            assert mine[0] <= theirs[0] * (1 + TINY), (name, path)
    assert found.estimate.ttft[0] >= other.ttft[0] * (1 - TINY)


def test_one_wafer_pays_no_hop_whether_its_file_has_links_or_not():
    """32 layers of 17 us. Two wafers pay two hops of 5 us and 8 kB each at 150 GB/s."""
    wafer = CATALOGUE.hardware("wse-3")
    alone = without(wafer, "links", "scale_out")
    with_links, without_links = (
        outcome("llama-3.1-8b", chip, batch=(1, 8), sharding=Sharding(chips=1)).estimate
        for chip in (wafer, alone)
    )
    for name in (*SPEEDS, "ttft", "bound_serial"):
        np.testing.assert_array_equal(getattr(with_links, name), getattr(without_links, name), name)
    assert with_links.tpot[0] == pytest.approx(32 * 17e-6)
    two = outcome("llama-3.1-8b", wafer, sharding=Sharding(chips=2)).estimate
    assert two.tpot[0] == pytest.approx(32 * 17e-6 + 2 * (5e-6 + 4096 * 2 / 150e9))
    with pytest.raises(InputError, match="specifies no link"):
        outcome("llama-3.1-8b", alone, sharding=Sharding(chips=2))


WAFER_FILE = """
id: my-wafer
name: My wafer
vendor: Nobody
kind: wafer
scope: one wafer
cores: 900000
memory: [{name: SRAM, where: chip, capacity: 44 GB, bandwidth: 21 PB/s}]
peak: {bf16: 15.6 PFLOP/s, fp16: 15.6 PFLOP/s}
power: {chip: 23 kW}
price: {cloud: 41.96 USD/h}
"""


@pytest.mark.parametrize(
    "words",
    [
        "compare llama-3.1-8b --batch 1,8",
        "sweep llama-3.1-8b --batch 1,8",
        "fit llama-3.1-8b",
        "plan llama-3.1-8b --rate 1/s --tpot 10ms",
    ],
)
def test_no_command_prefers_a_wafer_without_links(words, tmp_path, capsys, monkeypatch):
    file = tmp_path / "my-wafer.yaml"
    file.write_text(WAFER_FILE)
    asked = (*words.split(), "--on", f"{file},wse-3", "--format", "json")
    rows = json.loads(run(*asked, capsys=capsys, monkeypatch=monkeypatch).out)["records"]
    mine, theirs = (
        [row for row in rows if row["hardware"] == name] for name in ("my-wafer", "wse-3")
    )
    assert mine
    for row, other in zip(mine, theirs, strict=True):
        for key in ("tokens_per_s_per_user", "tpot_ms", "ttft_ms", "chips", "max_batch"):
            assert row.get(key) == other.get(key), key


def test_a_chip_without_links_reads_its_host_over_the_link_of_chips_on_pcie():
    """The median of the catalogue, of two in the middle the slower."""
    on_pcie = [
        chip.links.scale_up.bandwidth.si
        for chip in chips()
        if chip.links.scale_up and chip.links.scale_up.kind == "pcie"
    ]
    assert HOST_LINK.quantity.si == median_low(on_pcie)
    stated = CATALOGUE.hardware("rtx-2080-ti")
    links = stated.links.model_copy(update={"scale_up": None, "scale_out": None})
    card = stated.model_copy(update={"links": links})
    assert card.links.fastest is None
    ways = {}
    for host in ("ddr5-2ch", "dram=64GB@80GB/s,link=50GB/s"):
        memory = memory_choice(CATALOGUE, host, "stream" if host == "ddr5-2ch" else None)
        found = outcome("llama-3.1-70b", card, weights="q4_k_m", memory=memory)
        ways[host] = found.placement.machine.tiers[-1].link
        says = [note for note in found.warnings if "specifies no link" in note]
        assert bool(says) == (host == "ddr5-2ch")
    assert list(ways.values()) == [HOST_LINK.quantity.si, 50e9]
    assert not any("specifies no link" in note for note in outcome("llama-3.1-8b", card).warnings)


def test_defaults_of_models_are_medians_of_the_catalogue():
    works = [workload(CATALOGUE.model(name)) for name in CATALOGUE.names("models")]
    shaped = [work for work in works if work.model.blocks]
    ratios = [
        work.hidden
        / np.sqrt((work.multiplied_parameters - work.weights.head.parameters) / work.layers)
        for work in shaped
    ]
    assert pytest.approx(np.median(ratios), abs=0.002) == WIDTH_RATIO
    assert np.median([work.model.vocabulary for work in shaped]) == VOCABULARY


def test_a_model_without_a_hidden_size_sends_what_others_of_its_size_do():
    """A million active parameters in each of ten layers: 0.272 x 1,000 numbers of 2 bytes a token.

    One hop of 100 us to the next of two stages, over 10 GB/s.
    """
    shy, stated = (
        made_up.minimal(total_parameters=10_000_000, hidden_size=width) for width in (None, 272)
    )
    found, known = (
        outcome(model, made_up.chip(links={"scale_out": {"bandwidth": "10 GB/s", "latency": "100 us"}}),
                engine=made_up.engine(), sharding=Sharding(pp=2))
        for model in (shy, stated)
    )  # fmt: skip
    assert found.estimate.tpot[0] == pytest.approx(known.estimate.tpot[0])
    (hops,) = [part for part in found.estimate.step.components if part.name == "stage hops"]
    assert float(np.squeeze(hops.sent)) == pytest.approx(272 * 2)
    assert any("communication assumes 272" in note for note in found.warnings)
    assert not any("the hidden size" in note for note in known.warnings)


def test_cores_that_are_no_cores_of_a_gpu_limit_nothing_stated_or_not():
    chip = CATALOGUE.hardware("gaudi-3")
    assert chip.kind not in MEDIANS["cores"].by_kind
    counted = chip.model_copy(update={"cores": CATALOGUE.hardware("apple-m1").cores})
    silent, stated = (outcome("llama-3.1-8b", one, batch=(64,)) for one in (chip, counted))
    assert silent.estimate.speed[0] == stated.estimate.speed[0]
    assert any("per-core limits" in note for note in stated.warnings)


@every(
    "kind,cores",
    [
        # Of a 16-bit PFLOP/s at 2.511 TFLOP/s a core, and of 5 TB/s at 11.41 GB/s; at most an MI300X's.
        ({"peak": "100 TFLOP/s", "bandwidth": "0.1 TB/s"}, 40),
        ({"peak": "100 TFLOP/s", "bandwidth": "2 TB/s"}, 176),
        ({"peak": "5 PFLOP/s", "bandwidth": "20 TB/s"}, 304),
    ],
)
def test_cores_that_are_not_stated_follow_peak_and_bandwidth(kind, cores):
    memory = [{"name": "M", "capacity": "100 GB", "bandwidth": kind["bandwidth"]}]
    chip = made_up.chip(memory=memory, peak={"bf16": kind["peak"]})
    (found,) = (default for default in defaults_of(chip) if default.path == "cores")
    assert found.quantity.si == cores


def test_medians_of_a_core_are_those_of_the_catalogue():
    """Of two in the middle, the one that makes a chip slower: more of a chip per core."""
    by_kind = {}
    for chip in chips():
        if chip.cores and chip.kind in MEDIANS["cores"].by_kind:
            by_kind.setdefault(chip.kind, []).append(chip)
    for kind, alike in by_kind.items():
        assert max(chip.cores.si for chip in alike) == MEDIANS["cores"].by_kind[kind]
        peaks = [
            max(chip.peak[name].si for name in ("bf16", "fp16") if name in chip.peak)
            / chip.cores.si
            for chip in alike
        ]
        tiers = [max(tier.bandwidth.si for tier in chip.memory) / chip.cores.si for chip in alike]
        for printed, each, dimension in zip(
            OF_A_CORE[kind], (peaks, tiers), ("compute rate", "bandwidth"), strict=True
        ):
            told = QuantityReader(dimension).si(printed)
            assert told == pytest.approx(median_high(each), rel=0.002), (kind, dimension)


def test_a_faster_chip_is_no_slower_for_lack_of_cores():
    """An MI455X has twice the 16-bit peak and 2.45 times the bandwidth of an MI355X."""
    older, newer = (
        outcome("qwen3-32b", without(CATALOGUE.hardware(name), "cores"), prompt=8000).estimate
        for name in ("mi355x", "mi455x")
    )
    stated = outcome("qwen3-32b", "mi355x", prompt=8000).estimate
    for one in (older, stated):
        assert newer.speed[0] > one.speed[0]
        assert newer.ttft[0] < one.ttft[0]


HOST = MemoryChoice(CATALOGUE.hardware("epyc-9004-12ch"))
WAFER = made_up.clocked_wafer()


@every(
    "path,row,changes,under,moves",
    [
        ("cores", "cores", {}, {}, False),
        ("cores", "cores", {}, {"compute_per_core": "1 TFLOP/s"}, True),
        ("cores", "cores", {}, {"bandwidth_per_core": "1 GB/s"}, True),
        # Vector units unpack weights that matrix units do not multiply.
        ("vector", "vector", {"weights": "int4"}, {"dequantization_operations": 2}, True),
        ("vector", "vector", {"weights": "int4"}, {}, False),
        ("vector", "vector", {}, {"dequantization_operations": 2}, False),
        # Eight chips share the fast link; wafers have no other.
        ("links.scale_out.latency", "links.scale_out.latency", {"layout": Layout(tp=8)}, {}, False),
        ("links.scale_out.latency", "links.scale_out.latency", {"layout": Layout(tp=8, pp=2)}, {}, True),
        ("links.scale_up.latency", "links.scale_out.latency", {"on": WAFER}, {}, False),
        ("links.scale_up.latency", "links.scale_out.latency", {"on": WAFER, "layout": Layout(pp=2)}, {}, True),
        ("links.scale_up.domain", "links.scale_up.domain", {}, {}, False),
        ("links.scale_up.domain", "links.scale_up.domain", {"layout": Layout(tp=2)}, {}, True),
        ("power.all_in", "power.all_in", {"memory": HOST}, {}, False),
        ("memory.M.link", "memory.link", {}, {}, False),
        ("memory.M.link", "memory.link", {"memory": HOST}, {}, True),
    ],
)  # fmt: skip
def test_a_default_is_noted_where_it_moves_a_number(path, row, changes, under, moves):
    model = made_up.minimal(weight_format=changes.get("weights", "bf16"))
    place = made_up.placed(
        model, changes.get("layout"), on=changes.get("on"), under=made_up.engine(**under),
        memory=changes.get("memory", OWN_MEMORY),
    )  # fmt: skip
    assert _moves(Default(path, row, "gpu"), place) is moves
