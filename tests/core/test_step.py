"""The parts of a step, counted by hand on made-up chips: bytes, FLOPs, messages, launches."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from fastcalc.catalogue.schema import Engine
from fastcalc.core.model.workload import workload
from fastcalc.core.placement.layout import Layout
from fastcalc.core.step.schedule import Schedule
from fastcalc.core.traffic.traffic import Speculation, Traffic
from fastcalc.formulas.counting import attention_flops, latent_attention_matrices
from fastcalc.formulas.experts import distinct_experts, other_ranks
from fastcalc.formulas.memory import attended_tokens
from fastcalc.formulas.network import all_reduce_bytes, all_reduce_shots, exchange_bytes
from fastcalc.formulas.pipeline import pipelined_step
from fastcalc.formulas.roofline import (
    achieved_bandwidth,
    achieved_compute,
    overlapped_time,
    time_over_tiers,
)
from fastcalc.formulas.serving import prompt_lump
from tests import made_up


def passes(model, layout=None, *, batch=1.0, prompt=100.0, output=100.0, speculation=None, **made):
    traffic = Traffic(prompt, output, prompt + output / 2, speculation=speculation or Speculation())
    return Schedule(made_up.placed(model, layout, **made), traffic, np.array([batch]))


def part(step, name) -> Any:
    return next(one for one in step.components if one.name == name)


def test_a_token_passes_dense_matrices_and_the_experts_that_it_picks():
    """100 dense parameters, two experts of 100: 200 bytes and 200 FLOPs; 400 bytes and 400."""
    step = passes(made_up.EXPERTS).decode
    dense, routed = part(step, "dense weights"), part(step, "routed experts")
    assert (dense.bytes, dense.flops) == (200, 200)
    assert (routed.bytes, routed.flops) == (pytest.approx(400), pytest.approx(400))
    assert dense.bandwidth == 1e12
    assert dense.flop_rate == 100e12
    # 0.4 ns to read and 4 ps to multiply add up for experts, and overlap nearly for the rest.
    assert routed.seconds == pytest.approx(400 / 1e12 + 400 / 100e12)
    assert dense.seconds == pytest.approx((200e-12**3 + 2e-12**3) ** (1 / 3))


def test_products_take_at_least_the_rows_of_a_tile():
    """Three sequences cost the arithmetic of 64 rows, seventy that of 70; each of two ranks half."""
    tile = made_up.engine(minimum_rows=64)
    for batch, rows in ((3.0, 64), (70.0, 70)):
        step = passes(made_up.minimal(), Layout(tp=2), batch=batch, under=tile).decode
        assert part(step, "dense weights").flops == rows * 2 * 500_000 / 2
        assert part(step, "dense weights").bytes == 2 * 500_000 / 2


@pytest.mark.parametrize(
    ("sequences", "prompt", "rows"), [(0, 100, 100), (0, 10, 64), (3, 10, 64), (3, 100, 103)]
)
def test_prompt_tokens_take_the_rows_of_a_tile_that_decoded_ones_leave_empty(
    sequences, prompt, rows
):
    """A megabyte is read once, in a microsecond, for all of them."""
    tile = made_up.engine(minimum_rows=64)
    made = passes(made_up.minimal(), under=tile)
    work = replace(made.prefill_work(float(prompt)), sequences=float(sequences))
    dense = part(made.expected(work), "dense weights")
    assert dense.flops == rows * 2 * 500_000
    assert dense.seconds == pytest.approx((1e-6**3 + (rows * 1e6 / 100e12) ** 3) ** (1 / 3))


def test_replicas_share_one_copy_of_the_experts():
    """Two replicas of one sequence: tokens of both pick 10 x (1 - 0.8^2) = 3.6 experts; half a rank."""
    step = passes(made_up.EXPERTS, Layout(ep=2, dp=2), batch=2.0).decode
    routed = part(step, "routed experts")
    assert routed.bytes == pytest.approx(2 * 360 / 2)
    assert routed.flops == pytest.approx(2 * 400 / 2)
    # Each replica has its own dense matrices, and its own sequence.
    assert part(step, "dense weights").bytes == 200
    assert part(step, "dense weights").flops == 200


def test_tensor_parallel_groups_with_a_copy_each_share_nothing():
    """Four chips, two copies of the experts of two ranks each: half of four sequences meet in one."""
    made = passes(made_up.EXPERTS, Layout(tp=2, ep=2, dp=2), batch=4.0)
    assert made.decode_work().expert_tokens == 2
    made = passes(made_up.EXPERTS, Layout(tp=2, ep=4, dp=2), batch=4.0)
    assert made.decode_work().expert_tokens == 4
    # Two stages: half of them in each micro-batch.
    made = passes(made_up.EXPERTS, Layout(tp=2, ep=4, dp=2, pp=2), batch=4.0)
    assert made.decode_work().expert_tokens == 2
    assert made.decode_work().sequences == 1


def uneven_by(ranks, experts, at_eight):
    """Return 1 + c sqrt(2 N ln N / E), c such that 128 experts over 8 ranks give what is stated."""
    spread = math.sqrt(2 * 8 * math.log(8) / 128)
    return 1 + (at_eight - 1) / spread * math.sqrt(2 * ranks * math.log(ranks) / experts)


@pytest.mark.parametrize(
    ("ranks", "load"), [(1, 1.0), (2, uneven_by(2, 10, 1.5)), (4, uneven_by(4, 10, 1.5))]
)
def test_experts_on_two_ranks_are_loaded_unevenly(ranks, load):
    """The fullest rank does more than the mean, the more so the more ranks share ten experts."""
    uneven = made_up.engine(expert_imbalance=1.5)
    layout = Layout(ep=ranks, dp=ranks)
    made = passes(made_up.EXPERTS, layout, batch=float(ranks), under=uneven)
    routed = part(made.decode, "routed experts")
    assert routed.flops == pytest.approx(400 * load)
    # So many tokens pick 10 (1 - 0.8^n) experts of 200 bytes.
    picked = 10 * (1 - 0.8**ranks)
    assert routed.bytes == pytest.approx(200 * picked / ranks * load)
    prompt = part(made.expected(made.first_work()), "prompt: experts")
    assert prompt.flops == pytest.approx(100 * 400 / ranks * load)


def test_prompts_of_all_replicas_meet_in_one_copy_of_the_experts():
    """Four replicas each take in 100 tokens in a mixed pass, one of them in a first pass."""
    made = passes(made_up.EXPERTS, Layout(ep=4, dp=4), batch=4.0)
    assert made.mixed_work().expert_prompt == 400
    assert made.prefill_work(100.0).expert_prompt == 400
    assert made.first_work().expert_prompt == 100
    # Two copies of two ranks: prompts of two replicas meet in each.
    made = passes(made_up.EXPERTS, Layout(ep=2, dp=4), batch=4.0)
    assert made.mixed_work().expert_prompt == 200
    # Two replicas of two ranks each, experts over all four: prompts of both.
    made = passes(made_up.EXPERTS, Layout(tp=2, ep=4, dp=2), batch=2.0)
    assert made.mixed_work().expert_prompt == 200


def test_verified_tokens_are_rows_of_every_product_and_the_cache_is_read_once():
    """Four sequences of three tokens; 2 x 4 heads x 32 FLOPs for each of the 150 tokens behind."""
    three = Speculation(2.0, 2.0)
    step = passes(made_up.blocks(), batch=4.0, speculation=three).decode
    attention = part(step, "attention")
    assert attention.flops == 4 * 3 * 256 * 150
    assert attention.bytes == 4 * 150 * 2 * 32 * 2
    assert part(step, "dense weights").flops == 4 * 3 * 2 * 64 * (6 * 32 + 3 * 128)
    assert part(step, "head and norms").flops == 4 * 3 * 2 * (64_000 + 3 * 64)


def test_verified_tokens_and_those_of_prompts_pick_experts():
    """Three tokens 10 (1 - 0.8^3) = 4.88 experts of 200 bytes; one and one of a prompt 3.6."""
    three = passes(made_up.EXPERTS, speculation=Speculation(2.0, 2.0))
    routed = part(three.decode, "routed experts")
    assert routed.bytes == pytest.approx(976)
    assert routed.flops == pytest.approx(3 * 400)
    assert part(passes(made_up.EXPERTS, prompt=1.0, output=1.0).mixed, "routed experts").bytes == (
        pytest.approx(720)
    )


def test_ranks_share_heads_and_what_they_keep():
    """Of four heads two on each of two ranks, and one of two that are cached."""
    attention = part(passes(made_up.blocks(), Layout(tp=2), batch=4.0).decode, "attention")
    assert attention.flops == 4 * 256 * 150 / 2
    assert attention.bytes == 4 * 150 * 32 * 2
    made = passes(made_up.blocks(), Layout(tp=2))
    prompt = part(made.expected(made.prefill_work(100.0)), "prompt: attention")
    assert prompt.flops == 100 * 256 * 50 / 2


def test_the_bound_computes_the_tokens_that_are_kept():
    """Two of three: products and attention of two tokens, the cache once, and both tables at most."""
    three = Speculation(2.0, 2.0)
    light = passes(made_up.blocks(), batch=4.0, speculation=three).bound().work
    layer, small = 64 * (6 * 32 + 3 * 128), 3 * 64
    assert light.flops == 4 * 2 * (2 * (layer + small + 64_000) + 256 * 150)
    assert light.bytes == 2 * (layer + small + 64_000) + 4 * 150 * 2 * 32 * 2


@pytest.mark.parametrize(
    ("batch", "by_hand", "limiter"),
    [
        # A megabyte and a cache of 150 bytes at 2 TB/s.
        (1.0, 1_000_150 / 2e12, 0),
        # A thousand times 10^6 FLOPs at 200 TFLOP/s take longer than 1.15 megabytes.
        (1000.0, 1e9 / 200e12, 1),
    ],
)
def test_the_bound_is_the_longest_that_any_resource_of_all_chips_takes(batch, by_hand, limiter):
    light = passes(made_up.minimal(), Layout(dp=2), batch=batch).bound()
    assert light.seconds == pytest.approx(by_hand, rel=1e-12)
    assert light.limiter == limiter


def test_the_bound_reads_the_experts_of_one_token():
    """100 dense parameters and two experts of 100, whatever the batch; 150 bytes a sequence."""
    light = passes(made_up.EXPERTS, batch=50.0).bound().work
    assert light.bytes == pytest.approx(2 * 300 + 50 * 150)
    assert light.flops == pytest.approx(50 * 2 * 300)


def test_a_prompt_attends_to_half_of_itself_and_pays_no_head():
    """100 tokens: 256 FLOPs for each of 50 tokens on average, and two norms; the last is the head's."""
    made = passes(made_up.blocks())
    step = made.expected(made.prefill_work(100.0))
    layer = 64 * (6 * 32 + 3 * 128)
    assert part(step, "prompt: attention").flops == 100 * 256 * 50
    assert part(step, "dense weights").flops == 100 * 2 * (layer + 2 * 64)


def test_what_is_cached_is_attended_to():
    """Of 100 tokens 60 are cached: 40 are computed, and attend to (60 + 100) / 2."""
    traffic = Traffic(100.0, 100.0, 150.0, prefix_hit=0.6)
    assert traffic.computed_prompt == 40
    assert traffic.prompt_context == 80
    assert traffic.prompt_spread == 20


@pytest.mark.parametrize("bits", [16, 4])
def test_narrow_weights_without_a_rate_of_their_own_are_unpacked(bits):
    """Three operations for each of 500,000 weights at half of 1 TFLOP/s, whatever the batch."""
    slow = made_up.chip(vector="1 TFLOP/s")
    model = made_up.minimal(weight_format={16: "bf16", 4: "int4"}[bits])
    unpacks = made_up.engine(dequantization_operations=3)
    step = passes(model, Layout(tp=2), batch=5.0, on=slow, under=unpacks).decode
    weights = 0 if bits == 16 else 500_000 / 2
    assert part(step, "unpacking").seconds == pytest.approx(3 * weights / 0.5e12)


LATENT = {
    "kind": "mla",
    "heads": 4,
    "q_rank": 32,
    "kv_rank": 24,
    "nope_dim": 16,
    "rope_dim": 8,
    "value_dim": 20,
}


def latent_model(**changes):
    block = {"count": 4, "attention": {**LATENT, **changes}, "ffn": {"kind": "dense", "width": 128}}
    return made_up.blocks(blocks=[block])


def test_query_heads_that_share_a_latent_take_the_rows_of_a_tile():
    """Two heads of a rank cost the arithmetic of 64 rows: 32 tokens of two heads fill them.

    A head computes 2 x (32 + 24) FLOPs for each of 150 tokens, in each of four layers.
    """
    tile, of_head = made_up.engine(minimum_rows=64), 4 * 150 * 2 * (32 + 24)
    for drafted, rows in ((0, 64), (31, 64), (39, 80)):
        speculation = Speculation(1.0 + drafted / 100, drafted)
        drafts = {"batch": 3.0, "speculation": speculation}
        step = passes(latent_model(), Layout(tp=2), under=tile, **drafts).decode
        assert part(step, "attention").flops == pytest.approx(3 * rows * of_head)
    plain = passes(latent_model(), Layout(tp=2), batch=3.0).decode
    assert part(plain, "attention").flops == pytest.approx(3 * 2 * of_head)
    # Heads with keys of their own are not padded.
    grouped = {"kind": "gqa", "heads": 4, "kv_heads": 2, "head_dim": 16}
    block = {"count": 1, "attention": grouped, "ffn": {"kind": "dense", "width": 128}}
    step = passes(made_up.blocks(blocks=[block]), batch=3.0, under=tile).decode
    assert part(step, "attention").flops == pytest.approx(3 * 150 * 2 * 4 * (16 + 16))


def test_latent_attention_on_an_h20_takes_as_long_as_measured(catalogue):
    """FlashMLA issue 30: 0.60 ms for 128 sequences of 4,096 tokens with 16 heads, and with 64.

    128 x 4,096 x 64 rows x 2 x (576 + 512) FLOPs at 0.8 of 148 TFLOP/s: 0.617 ms, in each of 61
    layers; the arithmetic of 16 heads would take 0.154 ms.
    """
    chip, model = catalogue.hardware("h20"), catalogue.model("deepseek-r1")
    h20 = made_up.engine(minimum_rows=64, compute_fraction=0.8)
    full = {"batch": 128.0, "prompt": 4095.0, "output": 2.0}
    for tp in (8, 2):
        step = passes(model, Layout(tp=tp), on=chip, under=h20, **full).decode
        assert part(step, "attention").compute_time / 61 == pytest.approx(0.617e-3, rel=0.01)


@pytest.mark.parametrize(
    ("program", "dense", "norms"), [("vllm", 72_448 + 16_384, 800), (None, 161_280 / 2, 400)]
)
def test_every_rank_of_a_server_reads_and_multiplies_its_copies(program, dense, norms):
    """Of 161,280 dense parameters, the down-projections are 4 x 64 x (32 + 24 + 8) = 16,384.

    Both ranks have these whole, and 72,448 others. Norms: 4 x (2 x 64 + 32 + 24) in the layers, and
    64 before the head.
    """
    server = made_up.engine().model_copy(update={"program": program})
    made = passes(latent_model(), Layout(tp=2), batch=3.0, under=server)
    matrices, head = part(made.decode, "dense weights"), part(made.decode, "head and norms")
    assert (matrices.bytes, matrices.flops) == (2 * dense, 3 * 2 * dense)
    table = made.placement.work.weights.head.parameters / 2
    assert (head.bytes, head.flops) == (2 * (table + norms), 3 * 2 * (table + norms))
    prompt = part(made.expected(made.prefill_work(10.0)), "dense weights")
    assert prompt.flops == pytest.approx(10 * 2 * (dense + norms * 736 / 800))
    alone = passes(latent_model(), under=server).decode
    assert part(alone, "dense weights").bytes == 2 * 161_280


FLOORS = made_up.engine(
    decode_layer_floor="1 ms",
    prefill_layer_floor="2 ms",
    latent_layer_extra=0.5,
    indexer_layer_extra=0.75,
    recurrent_layer_extra=0.4,
    expert_layer_extra=0.25,
)


def test_floors_of_latent_layers_are_higher_in_decode_alone():
    """Four latent layers: 4 x 1.5 x 1 ms; with prompts 4 x 2 ms."""
    made = passes(latent_model(), under=FLOORS)
    floor = part(made.decode, "layer floors")
    assert floor.seconds == pytest.approx(6e-3)
    for work in (made.first_work(), made.mixed_work(), made.prefill_work(10.0)):
        assert part(made.expected(work), "layer floors").seconds == pytest.approx(8e-3)
    both = made.expected(made.prefill_work(np.array([0.0, 10.0])))
    assert part(both, "layer floors").seconds == pytest.approx([6e-3, 8e-3])


def test_floors_of_layers_with_indexers_are_higher_in_decode_alone():
    """Four latent layers with an indexer each: 4 x (1.5 + 0.75) x 1 ms; with prompts 4 x 2 ms."""
    indexer = {"heads": 2, "head_dim": 16, "top_k": 64}
    made = passes(latent_model(indexer=indexer), under=FLOORS)
    assert part(made.decode, "layer floors").seconds == pytest.approx(9e-3)
    assert part(made.mixed, "layer floors").seconds == pytest.approx(8e-3)


def test_floors_of_recurrent_layers_are_higher_in_decode_alone():
    """Three recurrent layers: 3 x 1.4 x 1 ms; with prompts 3 x 2 ms."""
    made = passes(recurrent_model(), under=FLOORS)
    assert part(made.decode, "layer floors").seconds == pytest.approx(4.2e-3)
    assert part(made.mixed, "layer floors").seconds == pytest.approx(6e-3)


def test_floors_of_layers_with_experts_are_higher_with_prompts_and_without():
    """Ten layers of experts: 12.5 x 1 ms, and 12.5 x 2 ms."""
    made = passes(made_up.EXPERTS, under=FLOORS)
    assert part(made.decode, "layer floors").seconds == pytest.approx(12.5e-3)
    first = made.expected(made.first_work())
    assert part(first, "layer floors").seconds == pytest.approx(25e-3)


def test_every_sequence_costs_the_host_its_time():
    """Eight sequences on two replicas: 4 x 0.1 ms; drafted tokens are not sequences."""
    host = made_up.engine(sequence_overhead="100 us")
    for drafts in (Speculation(), Speculation(2.0, 2.0)):
        made = passes(made_up.minimal(), Layout(dp=2), batch=8.0, under=host, speculation=drafts)
        assert part(made.decode, "sequences").seconds == pytest.approx(0.4e-3)


WIDE = made_up.minimal(hidden_size=1000)


@pytest.mark.parametrize(
    ("latency", "seconds"),
    [
        # Eight rows of 2,000 bytes. At once: 1 us and 3 x 16,000 bytes at 100 GB/s.
        ("1 us", 1e-6 + 0.48e-6),
        # In parts: 2 x 0.1 us and 2 x 3/4 x 16,000 bytes.
        ("0.1 us", 0.2e-6 + 0.24e-6),
    ],
)
def test_two_all_reduces_a_layer(latency, seconds):
    waits = made_up.engine(collective_latency=latency)
    step = passes(WIDE, Layout(tp=4), batch=8.0, under=waits).decode
    assert part(step, "all-reduce").seconds == pytest.approx(20 * seconds)
    alone = passes(WIDE, batch=8.0, under=waits).decode
    assert part(alone, "all-reduce").seconds == 0


def test_an_all_reduce_over_domains_crosses_a_hop_and_what_hosts_add():
    """Of four chips in pairs: 20 sums of 1 us, a hop of 10 us and 30 us of crossing, each once."""
    on = made_up.chip(
        links={
            "scale_up": {"bandwidth": "100 GB/s", "domain": 2},
            "scale_out": {"bandwidth": "100 GB/s", "latency": "10 us"},
        }
    )
    waits = made_up.engine(collective_latency="1 us", crossing_latency="30 us")
    apart = passes(WIDE, Layout(tp=4), on=on, under=waits).decode
    together = passes(WIDE, Layout(tp=2), on=on, under=waits).decode
    assert part(apart, "all-reduce").latency == pytest.approx(20 * 41e-6)
    assert part(together, "all-reduce").latency == pytest.approx(20 * 1e-6)


def test_prompt_tokens_and_verified_ones_are_reduced_too():
    """Eight sequences of three tokens; and 100 prompt tokens with 7 of the other sequences."""
    made = passes(WIDE, Layout(tp=4), batch=8.0, speculation=Speculation(2.0, 2.0))
    assert part(made.decode, "all-reduce").sent == 20 * 1.5 * 8 * 3 * 2000
    first = made.expected(made.first_work())
    assert part(first, "all-reduce").sent == 20 * 1.5 * (100 + 7 * 3) * 2000


@pytest.mark.parametrize(
    ("domain", "link", "hop"), [(8, 100e9, 0.0), (2, 100e9, 0.0), (1, 10e9, 100e-6)]
)
def test_replicas_exchange_tokens(domain, link, hop):
    """Two of ten experts, five on each rank: the other is visited but for 5/10 x 4/9. Ten layers.

    3 bytes an element. Out and back are two messages a layer; beyond the domain each crosses a hop.
    """
    on = made_up.chip(
        links={
            "scale_up": {"bandwidth": "100 GB/s", "domain": domain},
            "scale_out": {"bandwidth": "10 GB/s", "latency": "100 us"},
        }
    )
    waits = made_up.engine(collective_latency="2 us", link_fraction=0.5)
    step = passes(made_up.EXPERTS, Layout(ep=2, dp=2), batch=8.0, on=on, under=waits).decode
    exchange = part(step, "expert exchange")
    assert exchange.sent == pytest.approx(10 * 3 * 4 * 1000 * 7 / 9)
    assert exchange.link == link / 2
    assert exchange.latency == pytest.approx(2 * 10 * (2e-6 + hop))


@pytest.mark.parametrize(("domain", "visited"), [(4, 3.0), (72, 3 * (1 - 0.75 * 6.5 / 9))])
def test_every_rank_of_a_host_gets_every_token(domain, visited):
    """Three other ranks; where the link joins several hosts only those of the two experts."""
    on = made_up.chip(links={"scale_up": {"bandwidth": "100 GB/s", "domain": domain}})
    gathers = made_up.engine(exchange_gathers=1)
    step = passes(made_up.EXPERTS, Layout(ep=4, dp=4), batch=8.0, on=on, under=gathers).decode
    assert part(step, "expert exchange").sent == pytest.approx(10 * 3 * 2 * 1000 * visited)


@pytest.mark.parametrize(
    ("kind", "tp", "share"),
    [
        ("nvlink", 4, 1.0),
        # One of the seven links to the others of eight, and three of them.
        ("xgmi", 2, 1 / 7),
        ("xgmi", 4, 3 / 7),
        # (2/8)^(1/3) through the host.
        ("pcie", 2, 1.0),
        ("pcie", 8, 0.25 ** (1 / 3)),
    ],
)
def test_what_ranks_get_of_a_link_depends_on_its_kind(kind, tp, share):
    up = {"bandwidth": "100 GB/s", "domain": 8, "kind": kind}
    on = made_up.chip(links={"scale_up": up})
    step = passes(WIDE, Layout(tp=tp), batch=8.0, on=on).decode
    assert part(step, "all-reduce").link == pytest.approx(100e9 * share)
    replicas = passes(made_up.EXPERTS, Layout(ep=tp, dp=tp), batch=8.0, on=on).decode
    assert part(replicas, "expert exchange").link == pytest.approx(100e9 * share)


def test_an_engine_may_have_values_for_a_kind_of_link():
    """An exchange over PCIe takes 12 us in an engine that says so, else 1 us."""
    waits = Engine.model_validate(
        made_up.engine(collective_latency="1 us").model_dump(exclude_unset=True)
        | {
            "parameters": {"collective_latency": "1 us"},
            "architectures": {"pcie": {"collective_latency": "12 us"}},
        }
    )
    for kind, latency in (("pcie", 12e-6), ("nvlink", 1e-6)):
        up = {"bandwidth": "100 GB/s", "domain": 8, "kind": kind}
        on = made_up.chip(links={"scale_up": up})
        step = passes(WIDE, Layout(tp=2), on=on, under=waits).decode
        assert part(step, "all-reduce").seconds_each == latency


@pytest.mark.parametrize(("ahead", "sequences", "floor"), [(0, 1, 30), (1, 0, 30), (1, 1, 10)])
def test_prompts_that_join_a_pass_that_decodes_may_be_launched_ahead(ahead, sequences, floor):
    """Ten layers at the 10 us of decode each, or at the 30 us of prompts."""
    launches = made_up.engine(
        decode_layer_floor="10 us", prefill_layer_floor="30 us", launches_ahead=ahead
    )
    counted = passes(made_up.minimal(), under=launches)
    work = replace(counted.prefill_work(100.0), sequences=float(sequences))
    floors = part(counted.expected(work), "layer floors")
    assert floors.seconds == pytest.approx(10 * floor * 1e-6)


def test_routing_a_prompt_is_no_launch():
    """Half a floor more for each of ten layers of experts: 10 x 10 us, and 5 x 30 us."""
    launches = made_up.engine(
        decode_layer_floor="10 us",
        prefill_layer_floor="30 us",
        expert_layer_extra=0.5,
        launches_ahead=1,
    )
    counted = passes(made_up.EXPERTS, under=launches)
    floors = part(counted.mixed, "layer floors")
    assert floors.seconds == pytest.approx(10 * 10e-6 + 5 * 30e-6)


def test_every_sum_waits_for_the_slowest_rank():
    """Two sums in each of ten layers wait 3 us; one rank waits for nobody."""
    waits = made_up.engine(rank_wait="3 us")
    assert part(passes(WIDE, Layout(tp=2), under=waits).decode, "rank wait").seconds == (
        pytest.approx(60e-6)
    )
    assert part(passes(WIDE, under=waits).decode, "rank wait").seconds == 0


@pytest.mark.parametrize(("domain", "link", "latency"), [(4, 100e9, 1e-6), (2, 10e9, 101e-6)])
def test_sums_beyond_the_domain_take_the_slower_link_and_its_hop(domain, link, latency):
    on = made_up.chip(
        links={
            "scale_up": {"bandwidth": "100 GB/s", "domain": domain},
            "scale_out": {"bandwidth": "10 GB/s", "latency": "100 us"},
        }
    )
    waits = made_up.engine(collective_latency="1 us")
    reduced = part(passes(WIDE, Layout(tp=4), on=on, under=waits).decode, "all-reduce")
    assert reduced.link == link
    assert reduced.seconds_each == pytest.approx(latency)


@pytest.mark.parametrize(("layout", "width"), [(Layout(), 96), (Layout(tp=2), 48)])
def test_narrow_slices_of_experts_read_slower(layout, width):
    """Of 96 columns a rank of two has 48: w / (w + 48) of 1 TB/s; spread experts stay whole."""
    ffn = {"kind": "moe", "experts": 4, "active_experts": 1, "width": 96}
    attention = {"kind": "gqa", "heads": 4, "kv_heads": 2, "head_dim": 16}
    model = made_up.blocks(blocks=[{"count": 1, "attention": attention, "ffn": ffn}])
    narrow = made_up.engine(narrow_expert_width=48)
    step = passes(model, layout, under=narrow).decode
    assert part(step, "routed experts").bandwidth == pytest.approx(1e12 * width / (width + 48))
    spread = passes(model, Layout(ep=2, dp=2), under=narrow).decode
    assert part(spread, "routed experts").bandwidth == pytest.approx(1e12 * 96 / 144)


def test_unpacked_weights_have_smaller_tiles():
    """Three sequences cost the rows of a tile: 64 at 16 bits, 16 where 4 bits are unpacked."""
    tile = made_up.engine(minimum_rows=64)
    for weights, rows in (("bf16", 64), ("int4", 16)):
        step = passes(made_up.minimal(weight_format=weights), batch=3.0, under=tile).decode
        assert part(step, "dense weights").flops == rows * 2 * 500_000


def recurrent_model():
    """Return a model of three recurrent layers."""
    attention = {
        "kind": "gated-deltanet",
        "key_heads": 2,
        "value_heads": 4,
        "key_dim": 16,
        "value_dim": 16,
    }
    block = {"count": 3, "attention": attention, "ffn": {"kind": "dense", "width": 128}}
    return made_up.blocks(blocks=[block])


@pytest.mark.parametrize(("copies", "moved"), [(0, 2), (2, 6)])
def test_a_recurrent_state_is_read_and_written(copies, moved):
    """4 heads of 16 x 16 at 32 bits, and what the convolutions keep; a cache is read alone.

    Each copy reads and writes the state once more.
    """
    copied = made_up.engine(state_copies=copies)
    made = passes(recurrent_model(), Layout(tp=2), under=copied)
    state = made.placement.work.state_bytes
    assert state > 3 * 4 * 16 * 16 * 4 - 1
    assert made.decode_work().bytes.kv == pytest.approx(moved * state / 2)


@pytest.mark.parametrize("layout", [Layout(), Layout(dp=2), Layout(tp=2)])
def test_nothing_is_exchanged_without_experts_on_other_replicas(layout):
    waits = made_up.engine(collective_latency="2 us")
    step = passes(made_up.EXPERTS, layout, batch=8.0, under=waits).decode
    assert part(step, "expert exchange").seconds == 0


@pytest.mark.parametrize(
    ("domain", "link", "hop"), [(8, 100e9, 0.0), (4, 100e9, 0.0), (3, 10e9, 100e-6)]
)
def test_stages_pass_tokens_on(domain, link, hop):
    """Three crossings of two rows of 2,000 bytes; four chips are in a domain of 4, not of 3."""
    on = made_up.chip(
        links={
            "scale_up": {"bandwidth": "100 GB/s", "domain": domain},
            "scale_out": {"bandwidth": "10 GB/s", "latency": "100 us"},
        }
    )
    step = passes(WIDE, Layout(pp=4), batch=8.0, on=on).decode
    hops = part(step, "stage hops")
    assert hops.sent == 3 * 2 * 2000
    assert hops.link == link
    assert hops.latency == pytest.approx(3 * hop)


@pytest.mark.parametrize(
    ("stages", "slowest", "streams", "by_hand"),
    [
        # A pass of 4 and hops of 1; the slowest stage takes 2 for each of three: 6 > 5.
        (3, 2.0, 3, 6.0),
        # Two in flight: 4 < 5.
        (3, 2.0, 2, 5.0),
        # More than three cannot be in three stages.
        (3, 2.0, 10, 6.0),
        (1, 4.0, 10, 5.0),
    ],
)
def test_a_stage_serves_every_micro_batch_and_no_hop(stages, slowest, streams, by_hand):
    found = pipelined_step(pass_time=4.0, hops=1.0, stages=stages, slowest=slowest, streams=streams)
    assert found == by_hand


def test_every_stage_does_the_host_work_of_a_micro_batch():
    """Two stages of 5 of 10 ms; each of 4 sequences costs 1 ms of host, and a stage 2 ms more.

    A pass of a micro-batch of 4 is 10 + 4 ms, of which a stage has (10 / 2) + 4 + 8.
    """
    host = made_up.engine(
        decode_layer_floor="1 ms", sequence_overhead="1 ms", stage_overhead="2 ms"
    )
    on = made_up.clocked(links={"scale_up": {"bandwidth": "100 TB/s", "domain": 8}})
    made = passes(made_up.minimal(), Layout(pp=2), batch=8.0, on=on, under=host)
    assert made.decode.seconds == pytest.approx(2 * 17e-3, rel=0.01)
    alone = passes(made_up.minimal(), batch=8.0, on=on, under=host)
    assert alone.decode.seconds == pytest.approx(18e-3, rel=0.01)


def test_latent_attention_with_keys_and_values_of_different_widths():
    """Four heads of 16 + 8 for keys and 20 for values over a latent of 24 + 8, 64 wide.

    Query: 64 x 32 down, 32 x 96 up. Latent: 64 x 32 down, 24 x 4 x (16 + 20) up. Out: 80 x 64.
    """
    matrices = 64 * 32 + 32 * 96 + 64 * 32 + 24 * 4 * 36 + 80 * 64
    found = latent_attention_matrices(
        hidden=64, heads=4, q_rank=32, kv_rank=24, nope_dim=16, rope_dim=8, value_dim=20
    )
    assert found == matrices
    work = workload(latent_model())
    assert work.weights.dense.parameters == 4 * (matrices + 3 * 64 * 128)
    # A gate as wide as the values of all heads.
    gated = workload(latent_model(output_gate=True))
    assert gated.weights.dense.parameters - work.weights.dense.parameters == 4 * 64 * 80
    # Decode: scores over 32 elements and sums over 24. Prompts: scores over 24 and sums over 20.
    assert work.attention_flops(10.0) == 4 * 10 * 2 * 4 * (32 + 24)
    assert work.attention_flops(10.0, prompt=True) == 4 * 10 * 2 * 4 * (24 + 20)
    assert work.cache_bytes_per_token == 4 * 32 * 2


def test_grouped_attention_with_keys_and_values_of_different_widths():
    """Four heads and two cached ones of 16 for keys and 24 for values: 64 x 6 x 40 parameters."""
    attention = {"kind": "gqa", "heads": 4, "kv_heads": 2, "head_dim": 16, "value_dim": 24}
    block = {"count": 1, "attention": attention, "ffn": {"kind": "dense", "width": 128}}
    work = workload(made_up.blocks(blocks=[block]))
    assert work.weights.dense.parameters == 64 * 6 * 40 + 3 * 64 * 128
    assert work.cache_bytes_per_token == 2 * 40 * 2
    assert work.attention_flops(10.0) == 10 * 2 * 4 * 40
    assert attention_flops(heads=4, key_dim=16, value_dim=24) == 2 * 4 * 40


def test_a_window_is_full_for_part_of_an_answer():
    """Contexts of 0 to 40 through a window of 10: a quarter sees 5 on average, the rest 10."""
    assert attended_tokens(context=20, spread=20, window=10) == pytest.approx(8.75)
    assert attended_tokens(context=20, spread=5, window=10) == 10
    assert attended_tokens(context=20, spread=5, window=30) == 20
    assert attended_tokens(context=20, spread=0, window=10) == 10
    assert attended_tokens(context=20, spread=0, window=np.inf) == 20


def test_small_formulas():
    # (100^-8 + 100^-8)^(-1/8)
    found = achieved_bandwidth(peak=200, fraction=0.5, cores=10, per_core=10)
    assert found == pytest.approx(100 / 2 ** (1 / 8))
    # 100 / (2 + 100/50)
    assert achieved_compute(peak=100, fraction=0.5, cores=10, per_core=5) == 25
    assert overlapped_time(memory=5.0, compute=12.0, norm=2.0) == pytest.approx(13.0)
    # 5 bytes: the fast tier holds 4 and is done after 0.4, the other reads 1 byte at 2.
    assert time_over_tiers(work=5.0, capacities=[4.0, 9.0], bandwidths=[10.0, 2.0]) == 0.5
    # Six bytes at both rates together, which neither fills.
    assert time_over_tiers(work=6.0, capacities=[99.0, 99.0], bandwidths=[10.0, 2.0]) == 0.5
    # Three tiers: 12 bytes less the 4 and 6 of the faster ones are read at 1; of 8 bytes less 4
    # the last two read 6 a second; 4 bytes are read by all three.
    for work, seconds in ((12.0, 2.0), (8.0, 4 / 6), (4.0, 4 / 16)):
        found = time_over_tiers(work=work, capacities=[4, 6, 100], bandwidths=[10, 5, 1])
        assert found == pytest.approx(seconds)
    # Three tokens with a quarter of four experts each: 4 (1 - (3/4)^3).
    assert distinct_experts(experts=4, active=1, tokens=3) == pytest.approx(4 * 37 / 64)
    # 16 tokens that pick as 4 would.
    alike = distinct_experts(experts=4, active=1, tokens=16, correlation=0.5)
    assert alike == pytest.approx(4 * 175 / 256)
    # No fewer than one token's.
    assert distinct_experts(experts=4, active=2, tokens=0.1) == 2
    # Three others, each with 2 of 8 experts, left out with 6/8 x 5/7.
    assert other_ranks(ranks=4, experts=8, active=2) == pytest.approx(3 * 13 / 28)
    assert all_reduce_bytes(ranks=4, message=100) == 150
    assert all_reduce_bytes(ranks=4, message=100, shots=1.0) == 300
    # 1.5 extra against a latency of 1 and of 2.
    one = {"ranks": 4, "message": 100, "bandwidth": 100}
    assert all_reduce_shots(**one, latency=1.0) == 2
    assert all_reduce_shots(**one, latency=1.5) == 1
    assert all_reduce_shots(**{**one, "ranks": 1}, latency=9.0) == 0
    assert exchange_bytes(tokens=2, hidden=10, destinations=0.5) == 30
    assert prompt_lump(batch=8, prompt=100, output=10, chunk=50) == 80
    assert prompt_lump(batch=2, prompt=100, output=10, chunk=50) == 50
    assert prompt_lump(batch=2, prompt=30, output=10, chunk=50) == 30


def test_a_sweep_reads_and_multiplies_all_experts():
    """Two wafers: 100 dense and 1,000 routed parameters in ten regions; no floor, hops of 5 us.

    A sweep reads 2,200 bytes at 2 TB/s, 1.1 ns; ten of them are a token.
    """
    made_of = {
        "kind": "wafer",
        "execution": "spatial",
        "links": {"scale_out": {"bandwidth": "10 GB/s", "latency": "5 us"}},
    }
    free = made_up.chip(**made_of)
    step = passes(made_up.EXPERTS, Layout(pp=2), on=free).decode
    sweeps = part(step, "layer sweeps")
    cache = 150 * 1
    assert sweeps.seconds == pytest.approx(10 * (2200 + cache) / 2e12)
    # 2,000 bytes cross each of two wafers' links.
    assert part(step, "hops").seconds == pytest.approx(2 * (5e-6 + 2000 / 10e9))
    # 2 FLOPs of all parameters at 2 x 0.5 TFLOP/s are 2.2 ns, longer than to read them.
    slow = made_up.chip(**made_of, peak={"bf16": "0.5 TFLOP/s"})
    step = passes(made_up.EXPERTS, Layout(pp=2), on=slow).decode
    assert part(step, "layer sweeps").seconds == pytest.approx(10 * 2 * 1100 / 1e12)
    assert part(step, "layer sweeps").compute_time > 0
    # Prompts pass the experts that they pick alone.
    made = passes(made_up.EXPERTS, Layout(pp=2), on=slow)
    prompt = made.expected(made.prefill_work(100.0))
    experts, dense = part(prompt, "prompt: experts"), part(prompt, "prompt: dense")
    assert experts.seconds == pytest.approx(100 * 2 * 200 / 1e12)
    assert dense.seconds == pytest.approx(100 * 2 * 100 / 1e12)
