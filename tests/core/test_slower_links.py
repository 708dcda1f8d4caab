"""Tensor-parallel groups beyond a bridge of two cards, over the bus of their host."""

import pytest

import fastcalc
from fastcalc.catalogue.store import Catalogue
from fastcalc.core.chip.host import memory_choice, with_usual_cores
from fastcalc.core.chip.machine import MemoryChoice, machine
from fastcalc.core.model.workload import workload
from fastcalc.core.placement.layout import Layout
from fastcalc.core.placement.legal import topology_of
from fastcalc.core.step import pass_work
from tests.helpers import every


@every("chip", ["rtx-3090", "rtx-a6000", "a40", "h100-nvl", "gb10", "rtx-2080-ti"])
def test_four_cards_of_a_bridge_of_two_run_over_the_slower_link(chip):
    (pair, group) = (
        fastcalc.compare("qwen3-8b", on=chip, tp=tp, weights="int4", batch=1, engine="vllm")[0]
        for tp in (2, 4)
    )
    assert pair["fits"]
    assert group["fits"]
    said = [line for line in group["warnings"] if "take the slower link" in line]
    assert len(said) == 1
    of_pair = any("take the slower link" in line for line in pair["warnings"])
    assert of_pair == (chip == "rtx-2080-ti")


@every("chip", ["rtx-3090", "rtx-a6000", "a40", "h100-nvl", "rtx-2080-ti"])
def test_a_bridge_of_two_cards_takes_no_layout_away(chip):
    """Eight cards over PCIe are one tensor-parallel group at batch 1, with a bridge or without."""
    (usual, asked) = (
        fastcalc.compare("qwen3-14b", on=chip, batch=1, engine="vllm", **ranks)[0]
        for ranks in ({"chips": 8}, {"tp": 8})
    )
    assert [usual[name] for name in ("tp", "pp", "dp")] == [8, 1, 1]
    assert usual["tokens_per_s_per_user"] == asked["tokens_per_s_per_user"]


def test_an_exchange_over_the_bus_takes_what_it_takes_without_a_bridge():
    """NVIDIA aiconfigurator-core 0.12.0: 12 us among four cards over PCIe, 2.5 to 5.6 over NVLink."""
    bridged, bus = (
        Catalogue().engine("vllm").on(*Catalogue().hardware(chip).groups)
        for chip in ("rtx-3090", "rtx-4090")
    )
    over_bus = bridged.collective_latency.si + bridged.crossing_latency.si
    assert over_bus == pytest.approx(bus.collective_latency.si) == pytest.approx(12e-6)


def test_chips_of_a_large_domain_stay_in_it_and_heads_still_divide():
    with pytest.raises(fastcalc.InputError, match="leaves the link domain of h100-sxm"):
        fastcalc.compare("llama-3.1-405b", on="h100-sxm", tp=12)
    with pytest.raises(fastcalc.InputError, match="leaves the link domain of h100-sxm"):
        fastcalc.compare("llama-3.1-405b", on="h100-sxm", tp=16, engine="llama-cpp")
    with pytest.raises(fastcalc.InputError, match="does not divide the attention heads"):
        fastcalc.compare("qwen3-8b", on="rtx-3090", tp=3)


@every("model,chip,engine", [("kimi-k2", "h100-sxm", "vllm"), ("deepseek-r1", "h20", "sglang")])
def test_a_group_over_two_nodes_takes_the_network(model, chip, engine):
    """docs.vllm.ai, distributed serving; docs.sglang.io, multi-node: --tp 16 on two nodes of eight.

    NCCL issue 1244: 46 us for the smallest all-reduce, of which a layer has two.
    """
    (wide,) = fastcalc.compare(model, on=chip, engine=engine, tp=16, ep=1, batch=1)
    layers = Catalogue().model(model).blocks
    exchanges = 2 * sum(block.count for block in layers)
    assert wide["tpot_ms"] > exchanges * 46e-3
    assert wide["tokens_per_s_per_user"] < wide["tokens_per_s_per_user_bound"]
    assert any("tp 16 take the slower link between them, 50 GB/s" in w for w in wide["warnings"])


def test_copied_attention_is_answered_with_how_to_write_it():
    with pytest.raises(fastcalc.InputError, match=r"enable-dp-attention, is tp=1 dp=8|tp 1 dp 8"):
        fastcalc.compare("deepseek-r1", on="h200-sxm", chips=8, tp=8, dp=8, engine="sglang")


@pytest.mark.thorough
def test_llama_cpp_multiplies_on_a_host_whose_cores_nobody_states():
    """36.7 tok/s measured with an RTX 2080, 102 GB/s of DDR4 and experts on the host (llmfit 755).

    Streamed over PCIe 3 experts of a token, 1 GB, would take 60 ms: as vLLM is said to do it.
    """
    asked = {
        "on": "rtx-2080-ti", "weights": "q4_k_m", "batch": 1, "prompt": 500, "output": 500,
        "place": "experts=host", "host": "dram=64GiB@102GB/s,link=15.75GB/s,chips=1",
    }  # fmt: skip
    (local,) = fastcalc.compare("qwen3-30b-a3b", engine="llama-cpp", **asked)
    (streamed,) = fastcalc.compare("qwen3-30b-a3b", engine="vllm", **asked)
    low, high = (local[f"tokens_per_s_per_user_{end}"] for end in ("low", "high"))
    assert low < 36.7 < high
    assert streamed["tokens_per_s_per_user"] < 15
    assert any("host is assumed to compute at 3 TFLOP/s" in line for line in local["warnings"])


def test_a_rate_assumed_for_one_engine_is_taken_back_for_another():
    """A service that leaves llama.cpp for vLLM has the host that vLLM is given from the start."""
    engines = Catalogue()
    choice = memory_choice(engines, "dram=480GB@500GB/s,link=450GB/s,chips=2")
    assumed = with_usual_cores(choice, engines.engine("llama-cpp"))
    assert assumed.host.rate("bf16").text == "3 TFLOP/s"
    assert with_usual_cores(assumed, engines.engine("llama-cpp")) == assumed
    assert with_usual_cores(assumed, engines.engine("vllm")) == choice
    stated = memory_choice(engines, "dram=480GB@500GB/s,link=450GB/s,compute=3TFLOP/s")
    for name in ("llama-cpp", "vllm"):
        assert with_usual_cores(stated, engines.engine(name)) == stated


# RTX PRO 6000: 0.376 of the link among eight where two have 0.60, kernel tables of aiconfigurator.
@every("ranks,share", [(2, 1.0), (4, (2 / 4) ** (1 / 3)), (8, 0.376 / 0.60)])
def test_groups_beyond_a_bridge_share_the_ways_through_the_host(ranks, share):
    catalogue = Catalogue()
    work = workload(catalogue.model("qwen3-14b"))
    chip = catalogue.hardware("a40")
    counted = machine(chip, catalogue.engine("vllm"), work, MemoryChoice())
    group = pass_work._tensor_parallel(topology_of(counted), Layout(tp=ranks))
    assert float(group.link_share) == pytest.approx(share, rel=0.01)
