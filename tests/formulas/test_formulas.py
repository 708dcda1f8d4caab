"""Formulas: every one documented with units and a reference, and right where others print a number."""

import importlib
import inspect
import math
import pkgutil
import re

import numpy as np
import pytest

from fastcalc import formulas
from tests.helpers import every

NOT_FORMULAS = {"types", "recorded", "sequences", "solving"}
FUNCTIONS = [
    (name, function)
    for info in pkgutil.iter_modules(formulas.__path__)
    if info.name not in NOT_FORMULAS
    for module in [importlib.import_module(f"fastcalc.formulas.{info.name}")]
    for name, function in inspect.getmembers(module, inspect.isfunction)
    if function.__module__ == module.__name__ and not name.startswith("_")
]

PUBLISHED = [
    # 1,024 sequences of gpt-oss: 1,024 x 201,088 x 4 B a copy.
    ("logits_memory", {"copies": 2, "rows": 1024, "vocabulary": 201_088}, 1_647_312_896, 0),
    # Two buffers of 64 heads of 128 columns, as in Qwen3 32B.
    (
        "partial_results",
        {"copies": 2, "splits": 32, "rows": 512, "width": 64 * 128},
        2.0**30,
        0,
    ),
    # A step of 16,384 tokens of Llama 3.1 8B takes 1.44 GiB under vLLM 0.31.
    (
        "stream_memory",
        {"copies": 1, "tokens": 16_384, "width": 3 * 14_336 + 4096},
        1.44 * 2**30,
        0.005 * 2**30,
    ),
    ("activation_peak", {"sampling": 1.2, "layer": 1.7}, 1.7, 0),
    # gpt-oss: 2,880 columns on one rank become 3,072, 360 on one of eight 512.
    ("padded_share", {"columns": 360, "multiple": 256}, 512 / 360, 1e-12),
    # What two parts of a step add to it is added.
    ("combined_slowdown", {"first": 1.5, "second": 1.25}, 1.75, 1e-12),
    # A range is as wide as stated where no time is fitted, and twice as wide where all of it is.
    ("half_width", {"least": 0.2, "fitted_share": 0.0}, 0.2, 1e-12),
    ("half_width", {"least": 0.2, "fitted_share": 1.0}, 0.4, 1e-12),
    # Matern 3/2 at half a length: (1 + 0.8660) e^-0.8660 = 0.7849, of which 0.7 and 0.3.
    ("correlation", {"distance": 0.5, "constant": 0.0}, 0.7849, 5e-5),
    ("correlation", {"distance": 0.5, "constant": 0.3}, 0.8494, 5e-5),
    # Far away the constant is left.
    ("correlation", {"distance": 100.0, "constant": 0.3}, 0.3, 1e-12),
    # 1 + 1/2 + 1/4 + 1/8 tokens of three drafts accepted half of the time.
    ("acceptance_needed", {"yielded": 1.875, "drafted": 3}, 0.5, 1e-12),
    # Two drafts that are all kept: three tokens.
    ("acceptance_needed", {"yielded": 3.0, "drafted": 2}, 1.0, 1e-9),
    ("acceptance_needed", {"yielded": 1.0, "drafted": 2}, 0.0, 0.0),
    # DeepSeek-R1 with one draft of its own yields 1.92 tokens a pass (TensorRT-LLM): 0.92.
    ("acceptance_needed", {"yielded": 1.92, "drafted": 1}, 0.92, 1e-12),
    # Parameters a token passes in one FFN of Llama-2-7B: 3 x 4,096 x 11,008 (its configuration).
    ("ffn_matrices", {"hidden": 4096, "width": 11_008, "matrices": 3}, 135_266_304, 0),
    # Query without a bottleneck (DeepSeek-V2-Lite): h H (n + r) + h (c + r) + c H (n + v) + H v h.
    (
        "latent_attention_matrices",
        {
            "hidden": 2048,
            "heads": 16,
            "q_rank": 0,
            "kv_rank": 512,
            "nope_dim": 128,
            "rope_dim": 64,
            "value_dim": 128,
        },
        2048 * 16 * 192 + 2048 * 576 + 512 * 16 * 256 + 16 * 128 * 2048,
        0,
    ),
    # Kimi Linear: 2,304 wide, 32 heads of 128, decay and gate through 128.
    (
        "kda_matrices",
        {
            "hidden": 2304,
            "key_width": 4096,
            "value_width": 4096,
            "heads": 32,
            "decay_rank": 128,
            "gate_rank": 128,
        },
        4 * 2304 * 4096 + 2 * (2304 * 128 + 128 * 4096) + 2304 * 32,
        0,
    ),
    # The same with a gate of full rank, as Kimi K3 has it.
    (
        "kda_matrices",
        {
            "hidden": 2304,
            "key_width": 4096,
            "value_width": 4096,
            "heads": 32,
            "decay_rank": 128,
            "gate_rank": 0,
        },
        5 * 2304 * 4096 + 2304 * 128 + 128 * 4096 + 2304 * 32,
        0,
    ),
    # Nemotron 3 Nano: in_proj of 2 x 4,096 + 2 x 8 x 128 + 64 columns, out_proj of 4,096 rows.
    (
        "mamba2_matrices",
        {"hidden": 2688, "inner": 4096, "state_width": 1024, "heads": 64},
        2688 * (8192 + 2048 + 64) + 4096 * 2688,
        0,
    ),
    # Mamba 130M: in_proj of 3,072 columns, x_proj of 80, dt_proj of 48 rows, out_proj of 768 columns.
    (
        "mamba_matrices",
        {"hidden": 768, "inner": 1536, "state_size": 16, "step_rank": 48},
        768 * 3072 + 1536 * 80 + 48 * 1536 + 1536 * 768,
        0,
    ),
    # MiniMax-01: queries, keys, values, gate and output, each as wide as 32 heads of 128.
    ("lightning_matrices", {"hidden": 4096, "width": 4096}, 5 * 4096 * 4096, 0),
    # LFM2 1.2B: in_proj to three times the width, out_proj.
    ("short_convolution_matrices", {"hidden": 2048, "width": 2048}, 2048 * 6144 + 2048 * 2048, 0),
    # Checkpoints of DeepSeek-V3.2 and R1 differ by an indexer in 62 layers, 256 norm weights each.
    (
        "indexer_matrices",
        {
            "hidden": 7168,
            "query": 1536,
            "heads": 64,
            "head_dim": 128,
            "key_matrices": 1,
            "head_weights": 1,
        },
        (685_355_329_792 - 684_489_845_504) / 62 - 256,
        0,
    ),
    # DeepSeek-V4-Flash: q_a, q_b, kv, grouped o_a and o_b as transformers shapes them.
    (
        "compressed_attention_matrices",
        {
            "hidden": 4096,
            "heads": 64,
            "head_dim": 512,
            "q_rank": 1024,
            "output_groups": 8,
            "output_rank": 1024,
        },
        4096 * 1024 + 1024 * 32_768 + 4096 * 512 + (32_768 // 8) * (8 * 1024) + 8192 * 4096,
        0,
    ),
    ("compressor_matrices", {"hidden": 4096, "head_dim": 512, "overlap": 1}, 2 * 4096 * 512, 0),
    # Four streams: 24 mixing weights from 4 x 4,096 inputs, 24 biases, 3 scales, twice a layer.
    (
        "hyper_connection_parameters",
        {"hidden": 4096, "streams": 4},
        2 * (24 * 4 * 4096 + 24 + 3),
        0,
    ),
    # MiMo-V2-Flash, full layers: 64 query and 4 key heads of 192, as many value heads of 128.
    (
        "attention_matrices",
        {"hidden": 4096, "heads": 64, "kv_heads": 4, "key_dim": 192, "value_dim": 128},
        4096 * (64 * 192 + 4 * 192 + 4 * 128 + 64 * 128),
        0,
    ),
    # JAX scaling book, inference chapter: "240" for bf16 on TPU v5e (197 TFLOP/s over 819 GB/s).
    ("attended_tokens", {"context": 1500, "spread": 500, "window": math.inf}, 1500, 0),
    ("attended_tokens", {"context": 1500, "spread": 500, "window": 128}, 128, 0),
    # Contexts 1 to 257 through a window of 128: 128 - 127^2 / (2 x 256).
    ("attended_tokens", {"context": 129, "spread": 128, "window": 128}, 96.498, 0.001),
    ("critical_batch", {"peak": 1.97e14, "bandwidth": 8.19e11, "bytes_per_weight": 2}, 240.5, 0.1),
    # Expected distinct experts by uniform routing, E 128, k 8: 29.1 and 125.9 at 4 and 64 tokens
    # (Monte Carlo at low Gini: 29.0 and 125.5).
    ("distinct_experts", {"experts": 128, "active": 8, "tokens": 4}, 29.1, 0.05),
    ("distinct_experts", {"experts": 128, "active": 8, "tokens": 64}, 125.9, 0.05),
    ("distinct_experts", {"experts": 8, "active": 2, "tokens": 1}, 2, 1e-12),
    # Of two ranks each holds half; all four experts of four are on both.
    ("other_ranks", {"ranks": 2, "experts": 6, "active": 1}, 0.5, 1e-12),
    ("other_ranks", {"ranks": 2, "experts": 4, "active": 3}, 1.0, 1e-12),
    # Kernels of 192 columns reach three quarters of what wide ones do where 64 cost as much as none.
    ("narrow_share", {"width": 192, "half": 64}, 0.75, 1e-12),
    ("narrow_share", {"width": math.inf, "half": 64}, 1.0, 1e-12),
    # sqrt(4 ln 4 / 64) over sqrt(8 ln 8 / 128): ln 4 / ln 8 = 2/3.
    ("rank_unevenness", {"ranks": 4, "experts": 64}, math.sqrt(2 / 3), 1e-12),
    ("rank_unevenness", {"ranks": 1, "experts": 64}, 0.0, 1e-12),
    # Legs of 3 and 4 in the logarithm make 5; a side that is known adds nothing.
    ("factor_of_ratio", {"over": math.exp(0.3), "under": math.exp(-0.4)}, math.exp(0.5), 1e-12),
    ("factor_of_ratio", {"over": 1.0, "under": 3.0}, 3.0, 1e-12),
    # Looked away after 5 s, the wait no longer counts, but coming back does; within 5 s neither.
    ("attended_time", {"response": 600.0, "patience": 5.0, "return_cost": 30.0}, 35.0, 0),
    ("attended_time", {"response": 5.0, "patience": 5.0, "return_cost": 30.0}, 5.0, 0),
    # 40 million tokens of which 30 are included; and 20 of which all are.
    ("share_beyond", {"usage": 40e6, "included": 30e6}, 0.25, 1e-12),
    ("share_beyond", {"usage": 20e6, "included": 30e6}, 0.0, 0),
    ("shared_link", {"ranks": 8, "domain": 8, "is_mesh": 1, "is_host": 0}, 1.0, 1e-12),
    ("shared_link", {"ranks": 3, "domain": 8, "is_mesh": 1, "is_host": 0}, 2 / 7, 1e-12),
    # RTX PRO 6000: 0.60 of the link among two, 0.376 among eight.
    ("shared_link", {"ranks": 8, "domain": 8, "is_mesh": 0, "is_host": 1}, 0.376 / 0.60, 0.005),
    ("shared_link", {"ranks": 8, "domain": 8, "is_mesh": 0, "is_host": 0}, 1.0, 1e-12),
    ("achieved_bandwidth", {"peak": 2.0, "fraction": 1, "cores": 1, "per_core": 2.0}, 2 * 2 ** (-1 / 8), 1e-12),
    ("achieved_compute", {"peak": 4.0, "fraction": 0.5, "cores": 2, "per_core": 1.0}, 1.0, 1e-12),
    # 355B at 8 bits, a tenth kept back: 9 wafers; at 16 bits 18 (44 GB each).
    ("chips_for_capacity", {"needed": 355e9, "usable_per_chip": 39.6e9}, 9, 0),
    ("chips_for_capacity", {"needed": 710e9, "usable_per_chip": 39.6e9}, 18, 0),
    ("chips_for_whole_layers", {"layers": 3, "layer_bytes": 2.0, "usable_per_chip": 1.0}, math.inf, 0),
    # Wafer alone at 1,800 tokens/s, 25 kW, PUE 1.4: 19 J a token.
    ("joules_per_token", {"power": 25e3, "site_factor": 1.4, "tokens_per_s": 1800}, 19.4, 0.05),
    # DeepSeek production decode: 14.8k tokens/s a node of eight at 2 USD an hour: 0.30 USD a million.
    ("usd_per_million", {"usd_per_hour": 16, "seconds": 1, "tokens": 14_800}, 0.30, 0.005),
    # Little's law at a full pipeline: three micro-batches over three stages of a third each.
    (
        "pipelined_step",
        {"pass_time": 3.0, "hops": 0.0, "stages": 3, "slowest": 1.5, "streams": 9},
        4.5,
        0,
    ),
    # Each of the three stages spends 0.5 itself on a micro-batch.
    (
        "pipelined_step",
        {"pass_time": 3.0, "hops": 0.0, "stages": 3, "slowest": 1.5, "streams": 9, "overhead": 0.5},
        6.0,
        0,
    ),
    ("spatial_step", {"layers": 10, "layer_time": 1.0, "streams": 20}, 20, 0),
    ("prompt_lump", {"batch": 64, "prompt": 8000, "output": 100, "chunk": 8192}, 8000, 0),
    ("exchange_bytes", {"tokens": 2, "hidden": 10, "destinations": 3}, 180, 0),
    ("all_reduce_bytes", {"ranks": 8, "message": 8.0}, 14.0, 0),
    ("all_reduce_bytes", {"ranks": 8, "message": 8.0, "shots": 1}, 56.0, 0),
    ("all_reduce_shots", {"ranks": 8, "message": 1e9, "bandwidth": 1e11, "latency": 5e-6}, 2, 0),
    ("all_reduce_shots", {"ranks": 1, "message": 1e9, "bandwidth": 1e11, "latency": 5e-6}, 0, 0),
    # A triangle of sides 3 and 4; a roofline; a sum.
    ("overlapped_time", {"memory": 3.0, "compute": 4.0, "norm": 2}, 5, 1e-12),
    ("overlapped_time", {"memory": 3.0, "compute": 4.0, "norm": math.inf}, 4, 0),
    ("overlapped_time", {"memory": 3.0, "compute": 4.0, "norm": 1}, 7, 1e-12),
    # Draft kept up to the first rejection: 1 + 0.8 + 0.64 + 0.512; all of it; none of it.
    ("tokens_per_pass", {"acceptance": 0.8, "drafted": 3}, 2.952, 1e-12),
    ("tokens_per_pass", {"acceptance": 1.0, "drafted": 3}, 4, 0),
    ("tokens_per_pass", {"acceptance": 0.0, "drafted": 3}, 1, 0),
    # DeepSeek-R1 on eight B200 keeps 2.58 tokens with two drafted: 1 + a + a^2 (TensorRT-LLM).
    ("acceptance_needed", {"yielded": 2.58, "drafted": 2}, (-1 + math.sqrt(1 + 4 * 1.58)) / 2, 1e-12),
    ("acceptance_needed", {"yielded": 4, "drafted": 3}, 1, 1e-12),
    ("acceptance_needed", {"yielded": 1, "drafted": 3}, 0, 1e-12),
    ("draft_length", {"yielded": 2.952, "acceptance": 0.8}, 3, 0),
    ("draft_length", {"yielded": 2.96, "acceptance": 0.8}, 4, 0),
    ("draft_length", {"yielded": 1, "acceptance": 0.8}, 0, 0),
    # Halves never add up to more than two: twice the tokens kept.
    ("draft_length", {"yielded": 10, "acceptance": 0.5}, 20, 0),
    ("ownership_per_hour", {"purchase": 300_000 / 8, "years": 4, "power": 1275, "site_factor": 1.0, "energy_price": 0.08}, 1.172, 0.001),
    # (64 - 1) / (2 x 6.4).
    ("fill_wait", {"batch": 64, "arrivals": 6.4}, 4.92, 0.005),
    ("step_wait", {"step": 0.05}, 0.025, 0),
    # Erlang's own first values: one server loaded 1 blocks half, two loaded 1 a fifth.
    ("erlang_b", {"servers": 1, "load": 1.0}, 0.5, 1e-12),
    ("erlang_b", {"servers": 2, "load": 1.0}, 0.2, 1e-12),
    # M/M/2 at half load: C = 1/3, W = S / 3 (textbook: rho^2 S / (1 - rho^2)).
    ("slot_wait", {"slots": 2, "utilization": 0.5, "service": 3.0}, 1.0, 1e-12),
    # Requests of ten seconds at nine tenths: 3.7, 0.49 and 0.02 s behind 16, 64 and 256 slots.
    ("slot_wait", {"slots": 16, "utilization": 0.9, "service": 10.0}, 3.7, 0.05),
    ("slot_wait", {"slots": 64, "utilization": 0.9, "service": 10.0}, 0.49, 0.005),
    ("slot_wait", {"slots": 256, "utilization": 0.9, "service": 10.0}, 0.02, 0.005),
    ("slot_wait", {"slots": 16, "utilization": 0.7, "service": 10.0}, 0.27, 0.005),
    ("slot_wait", {"slots": 16, "utilization": 0.95, "service": 10.0}, 9.8, 0.05),
    ("slot_wait", {"slots": 4, "utilization": 1.0, "service": 1.0}, math.inf, 0),
    # Of two slots half busy a third waits: 3 s / (2 x 0.5) times ln((1/3) / 0.1).
    (
        "slot_wait_percentile",
        {"slots": 2, "utilization": 0.5, "service": 3.0, "share": 0.9},
        3 * math.log(10 / 3),
        1e-12,
    ),
    (
        "prompt_wait_percentile",
        {"utilization": 0.5, "service": 2.0, "share": 0.95},
        2 * math.log(10),
        1e-12,
    ),
    # Six times the price for two and a half times the speed: a fifteenth of the batch.
    ("batch_ratio", {"cost_ratio": 6, "speed_ratio": 2.5}, 15, 0),
    ("batch_ratio", {"cost_ratio": 2, "speed_ratio": 1.5}, 3, 0),
    # DeepSeek-R1 on 8 B200 with 3 drafts (TensorRT-LLM): 253 over 111 tokens/s.
    ("drafted_speedup", {"tokens": 2.82, "drafts": 3, "draft_cost": 0.079}, 253 / 111, 0.01),
    # Cerebras at 4,096 wide, 17 us; at 8,192 1.6 times as long, at a quarter of the width 2.6 less.
    ("region_floor", {"floor": 17e-6, "width": 4096, "exponent": 0.69}, 17e-6, 1e-12),
    ("region_floor", {"floor": 17e-6, "width": 8192, "exponent": 0.69}, 27.5e-6, 0.1e-6),
    ("region_floor", {"floor": 17e-6, "width": 1024, "exponent": 0.5}, 8.5e-6, 1e-12),
    ("region_floor", {"floor": 17e-6, "width": 16384, "exponent": 0.0}, 17e-6, 1e-12),
    ("ring_hops", {"chips": 1}, 0, 0),
    ("ring_hops", {"chips": 4}, 4, 0),
    # Llama-3.1-8B over 32 layers of 15 us on one wafer: 2,083; 36 layers and two wafers: 1,818.
    (
        "regional_speed",
        {"tokens": 1, "layers": 32, "layer_time": 15e-6, "chips": 1, "hop": 5e-6},
        1 / 480e-6,
        1e-6,
    ),
    (
        "regional_speed",
        {"tokens": 1, "layers": 36, "layer_time": 15e-6, "chips": 2, "hop": 5e-6},
        1 / 550e-6,
        1e-6,
    ),
    ("chain_success", {"accuracy": 0.8, "steps": 10}, 0.1074, 5e-5),
    ("chain_success", {"accuracy": 0.9, "steps": 10}, 0.3487, 5e-5),
    ("expected_tries", {"accuracy": 0.5, "tries": 3}, 1.75, 1e-12),
    ("expected_tries", {"accuracy": 0.0, "tries": 3}, 3, 0),
    ("expected_tries", {"accuracy": 0.25, "tries": math.inf}, 4, 1e-12),
    # One run at 0.9 a step takes 2.87 runs; fifteen times faster at 0.75 1.18, at 0.68 3.15.
    ("time_to_success", {"attempt": 1, "success": 0.9**10}, 2.87, 0.005),
    ("time_to_success", {"attempt": 1 / 15, "success": 0.75**10}, 1.18, 0.005),
    ("time_to_success", {"attempt": 1 / 15, "success": 0.68**10}, 3.15, 0.005),
    ("best_of", {"accuracy": 0.584, "samples": 3}, 0.928, 5e-4),
    # 3 p^2 - 2 p^3.
    ("majority", {"accuracy": 0.584, "samples": 3}, 0.625, 5e-4),
    ("majority", {"accuracy": 0.3, "samples": 2}, 0.3, 1e-12),
    ("majority", {"accuracy": 1.0, "samples": 5}, 1, 1e-12),
    # Two answers of a fair coin, a judge right four times of five: some is called good in three
    # cases of four and right in 0.8 of them; else a pick among the bad is right in 0.2.
    ("judged", {"accuracy": 0.5, "samples": 2, "judge": 0.8}, 0.75 * 0.8 + 0.25 * 0.2, 1e-12),
    ("judged", {"accuracy": 0.584, "samples": 3, "judge": 1.0}, 0.928, 5e-4),
    ("judged", {"accuracy": 0.3, "samples": 4, "judge": 0.5}, 0.3, 1e-12),
    ("amdahl", {"share": 0.3, "speedup": 6}, 1.33, 0.005),
    ("amdahl", {"share": 0.9, "speedup": 6}, 4, 1e-12),
    ("implied_share", {"overall": 4, "speedup": 6}, 0.9, 1e-12),
    ("break_even_fix", {"speedup": 6, "more_errors": 0.2}, 4.17, 0.005),
    (
        "break_even_check",
        {"attempt": 9.0, "success": 0.75, "other": 1.0, "other_success": 0.5},
        15.0,
        1e-12,
    ),
    ("turn_time", {"wait": 0.1, "lead": 0.4, "tokens": 30, "speed": 60}, 1.0, 1e-12),
    ("tokens_in_window", {"window": 0.45, "lead": 0.0, "speed": 78}, 35.1, 1e-9),
    ("tokens_in_window", {"window": 0.4, "lead": 0.5, "speed": 78}, 0, 0),
    # Of standard normal numbers 97.5% are below 1.96 (tables).
    ("normal_quantile", {"share": 0.975}, 1.95996, 1e-5),
    ("normal_share", {"score": 1.95996}, 0.975, 1e-6),
    # A deviation as large as the mean: the root of ln 2.
    ("lognormal_sigma", {"mean": 5.0, "deviation": 5.0}, 0.832555, 1e-6),
    # 500 people, 40 s to think and 10 s for an answer: one of each in 50 s.
    ("requests_of_thinkers", {"people": 500, "think": 40, "request": 10}, 10.0, 1e-12),
    # A fifth of 600 people, two requests a minute each, three times as many at the peak.
    (
        "requests_of_active",
        {"people": 600, "active": 0.2, "per_minute": 2, "peak": 3},
        12.0,
        1e-12,
    ),
    # A Poisson number of mean ln 2 is none one time in two; a third is filled anyway.
    # One wave of requests: a quarter of a service is lost; of ten a fortieth.
    ("run_over_steady", {"concurrency": 8, "requests": 8}, 1.25, 1e-12),
    ("run_over_steady", {"concurrency": 8, "requests": 80}, 1.025, 1e-12),
    ("run_over_steady", {"concurrency": 8, "requests": 4}, 1.25, 1e-12),
    ("run_over_steady", {"concurrency": 8, "requests": math.inf}, 1.0, 0.0),
    # 2,048 keys, 6,144 values and 48 heads: 69.6 + 159.7 + 24.6 + 36.9 + 49.2 kB.
    (
        "delta_rule_traffic",
        {"key_width": 2048, "value_width": 6144, "heads": 48, "key_dim": 128},
        34 * 2048 + 26 * 6144 + 4 * 6144 + 12 * 64 * 48 + 6144 * 128 / 16,
        1e-12,
    ),
    # 81.9 kB of groups and channels, 16.4 of products in a chunk and 32.8 of states.
    (
        "state_space_traffic",
        {"groups": 8, "state_size": 128, "inner": 4096},
        16 * (1024 + 4096) + 8 * 256 * 8 + 16 * 4096 * 128 / 256,
        1e-12,
    ),
    ("passes_with_prompts", {"long": 1 / 3, "short": math.log(2)}, 2 / 3, 1e-12),
    # Of four that prefill half of the time, none does in a sixteenth of it: 2 / (15 / 16).
    ("prefilling_replicas", {"replicas": 4, "passes": 0.5}, 32 / 15, 1e-12),
    ("prefilling_replicas", {"replicas": 4, "passes": 0.0}, 1.0, 1e-8),
    ("prefilling_replicas", {"replicas": 4, "passes": 1.0}, 4.0, 1e-8),
    # The larger of two Poisson counts of mean ln 2 is 1.11174 on average: over 3 / 4 x 2 ln 2.
    ("longest_replica", {"replicas": 2, "passes": 0.5}, 1.0691461246, 1e-9),
    ("longest_replica", {"replicas": 1, "passes": 0.5}, 1.0, 1e-12),
    ("longest_replica", {"replicas": 8, "passes": 0.0}, 1.0, 1e-8),
    # Half of (1 + 3 / 2): outputs overlap for half of their length, as exponential ones do.
    ("clustered_spread", {"prompts": 0.5, "overlap": 0.5}, 1.25, 1e-12),
    ("clustered_spread", {"prompts": 0.0, "overlap": 1.0}, 1.0, 1e-12),
    ("clustered_spread", {"prompts": 0.5, "overlap": 0.0}, 1.0, 1e-12),
    # M/D/1 at half the load: half of a service; M/M/1: a whole one.
    # Of times that vary as exponential ones it is that of M/M/c; of one slot half of it.
    ("slot_wait_regularity", {"slots": 9, "utilization": 0.5, "variation": 1.0}, 1.0, 1e-12),
    ("slot_wait_regularity", {"slots": 1, "utilization": 0.7, "variation": 0.0}, 0.5, 1e-12),
    # At once it is all of it; over ten times as long 1/10 - 1/300.
    ("variance_in_window", {"window": 0.0}, 1.0, 1e-12),
    ("variance_in_window", {"window": 10.0}, 0.1 - 1 / 300, 1e-12),
    # Of an exponential distribution 95% are below ln 20 means.
    ("gamma_share", {"value": math.log(20), "mean": 1.0, "variance": 1.0}, 0.95, 2e-3),
    ("busy_sessions", {"response": 300, "think": 60}, 6, 1e-12),
    # 2,049 tokens are 128 blocks of 16 and a token of one more.
    ("whole_blocks", {"tokens": 2049, "block": 16}, 129 * 16, 0),
    # Mistral Small 3.2 under vLLM: 28.2 GiB, to a tenth, and 184,832 tokens (its log); a block is
    # keys and values of 40 layers of 8 heads of 128, 2 B each.
    (
        "cached_tokens",
        {
            "available": 28.2 * 2**30,
            "sequence": 16 * 2 * 40 * 8 * 128 * 2,
            "tokens": 16,
            "block": 16,
        },
        184_832,
        0.05 / 28.2 * 184_832,
    ),
    # Qwen3.5 27B, a state of 48 heads of 128 x 128 at 32 bits and 3 x 10,240 inputs at 16: 783
    # tokens of 4,096 B, 784 in multiples of 16 (vLLM's log); halves of both on two ranks at 8 bits.
    ("state_block_tokens", {"state": 3_207_168, "token": 4096, "alignment": 16}, 784, 0),
    ("state_block_tokens", {"state": 1_603_584, "token": 1024, "alignment": 16}, 1568, 0),
    ("group_layers", {"fewest": 16, "most": 48}, 16, 0),
    ("group_layers", {"fewest": 12, "most": 18}, 12, 0),
    ("group_layers", {"fewest": 12, "most": 17}, 17, 0),
    # 127 tokens before a new one are 128 in all: eight blocks, and one as they begin anywhere.
    ("window_blocks", {"tokens": 8192, "window": 128, "step": 1, "block": 16}, 9, 0),
    ("window_blocks", {"tokens": 100, "window": 128, "step": 1, "block": 16}, 8, 0),
    # 51 and 35, 3 and 2, 51 and 51 graphs, as vLLM logged (pull request 39559; issue 434 of
    # club-3090), and the most.
    ("captured_graphs", {"sequences": 256}, 86, 0),
    ("captured_graphs", {"sequences": 2}, 5, 0),
    ("captured_graphs", {"sequences": 1024}, 102, 0),
    ("captured_graphs", {"sequences": 1024, "largest": 8}, 8, 0),  # 1, 2, 4 and 8, twice
    ("captured_graphs", {"sequences": 2, "largest": 1024}, 85, 0),  # 83 to 1,024; 1 and 2
    # 1, 2, 4 and then eighths: 4 of up to 8 rows, with the drafts of 3 tokens 19 of up to 128.
    ("prompt_graphs", {"sequences": 4}, 4, 0),
    ("prompt_graphs", {"sequences": 64}, 19, 0),
    ("graph_memory",
     {"graphs": 10, "cut": 4, "layers": 6, "of_graph": 2, "of_layer": 0.5}, 32, 0),
    # Club-3090's two sequences and one; 512 rows for 256 or more in pull request 39559.
    ("largest_capture", {"sequences": 2}, 4, 0),
    ("largest_capture", {"sequences": 1024}, 512, 0),
    # Of 100 B a block of 32 B is held three times; below none there is none.
    ("cached_tokens", {"available": 100, "sequence": 64, "tokens": 32, "block": 16}, 48, 0),
    ("cached_tokens", {"available": -1, "sequence": 64, "tokens": 32, "block": 16}, 0, 0),
    # DeepSeek's fleet: 608 and 168 billion tokens a day, 73.7k in and 14.8k out a node: 226.9
    # nodes, 226.75 reported.
    (
        "disaggregated_nodes",
        {
            "input_rate": 608e9 / 86_400,
            "prefill_rate": 73_700,
            "output_rate": 168e9 / 86_400,
            "decode_rate": 14_800,
        },
        226.9,
        0.05,
    ),
    # By hand: 1.5 million at 2, 1.5 cached at 1 and one out at 8 USD.
    ("api_request_usd", {"prompt": 3e6, "output": 1e6, "prefix_hit": 0.5, "input_price": 2.0,
     "cached_price": 1.0, "output_price": 8.0}, 12.5, 1e-12),
    # By hand: 2,628,000 seconds of a month at a tenth of a cent.
    ("break_even_rate", {"usd_per_month": 2628.0, "usd_per_request": 0.001}, 1.0, 1e-12),
    # By hand: two a second that stay half a minute.
    ("in_flight", {"rate": 2.0, "seconds": 30.0}, 60.0, 0.0),
    # A quarter more requests on machines of $7,300 a month save $1,825: of 500 GB.
    ("tier_break_even", {"usd_per_hour": 10.0, "gain": 1.25, "size": 5e11}, 3.65, 0.0),
]  # fmt: skip
BY_NAME = dict(FUNCTIONS)


@every("name,arguments,value,within", PUBLISHED)
def test_published_and_hand_made_values(name, arguments, value, within):
    assert float(BY_NAME[name](**arguments)) == pytest.approx(value, abs=within or 1e-12)


@every("name,function", FUNCTIONS)
def test_the_docstring_is_a_contract(name, function):
    text = inspect.getdoc(function)
    parameters = inspect.signature(function).parameters
    assert all(one.kind is one.KEYWORD_ONLY for one in parameters.values()), "keyword-only"
    units = r"1/min|1|s\^2|byte|byte/s|FLOP|FLOP/s|s|W|J|1/s|USD|USD/h|USD/kWh|byte or FLOP|byte/s or FLOP/s|byte or s"
    assert re.search(rf"\A.+ \[(?:{units})\]\n", text), "what is returned has a unit"
    documented = re.findall(rf"(?m)^(\w+) : .+ \[(?:{units})\]$", text)
    assert documented == list(parameters)
    first, *_ = documented
    parts = [".. math::", f"\n{first} : ", "Source:", ">>> "]
    assert all(text.count(part) == 1 for part in parts), "one formula, one source, one example"
    assert sorted(parts, key=text.index) == parts, "in this order"


@every("name,arguments,value,within", PUBLISHED)
def test_arrays_are_as_numbers(name, arguments, value, within):
    function = BY_NAME[name]
    arrays = {key: np.array([number, number]) for key, number in arguments.items()}
    expected = float(function(**arguments))
    np.testing.assert_allclose(function(**arrays), [expected, expected], rtol=1e-14)


def test_every_formula_has_a_row():
    tested = {row[0] for row in PUBLISHED}
    by_doctest = {
        "gated_deltanet_matrices",
        "attention_flops",
        "linear_flops",
    }
    by_doctest |= {"cache_bytes_per_layer", "largest_batch", "time_of", "time_over_tiers"}
    by_doctest |= {"log_likelihood", "log_mean", "posterior", "disagreement"}  # test_diagnose.py
    by_doctest |= {"reuse_distances", "characteristic_time"}  # against replays in test_caches.py
    by_doctest |= {"undominated"}  # against trying all, in test_search.py
    by_doctest |= {"heaviest_stage"}  # by hand, and by brute force, in test_stages.py
    by_doctest |= {"expected_regret", "regret_after"}  # by chance and limits: test_confidence.py
    by_doctest |= {"found_by_arrivals", "closed_loop_arrivals"}  # by hand, in test_in_flight.py
    assert set(BY_NAME) == tested | by_doctest
