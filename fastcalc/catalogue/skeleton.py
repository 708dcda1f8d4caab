"""Files to fill in: every key that matters, what it means, and what a value looks like."""

import re
from datetime import date

FILL_IN = "FILL IN, e.g. "


def skeleton(kind: str, name: str, today: date) -> str:
    """Return a commented file of a kind, with place-holders where a person must write.

    Parameters
    ----------
    kind : str
        ``hardware``, ``model`` or ``engine``.
    name : str
        The id; the file is to be called so.
    today : date
        For the day of the look-up.
    """
    text = _HEAD + _BODIES[kind]
    for mark, value in {"KIND": kind, "NAME": name, "TODAY": today.isoformat()}.items():
        text = text.replace(f"<{mark}>", value)
    return text


def filled_in(text: str) -> str:
    """Return a skeleton with every place-holder replaced by its example, which must then check.

    Examples
    --------
    >>> filled_in('capacity: {value: "FILL IN, e.g. 80 GiB"}')
    'capacity: {value: 80 GiB}'
    """
    return re.sub(rf'"{FILL_IN}([^"]*)"', r"\1", text)


_HEAD = """\
# yaml-language-server: $schema=<KIND>.schema.json
# ('fastcalc schema <KIND> > <KIND>.schema.json' writes it: editors then complete and check keys.)
# Replace what says FILL IN, delete what does not apply, then: fastcalc check <NAME>.yaml
id: <NAME>  # also the file's name
name: "FILL IN, e.g. My part"
"""
_SOURCES = """
# Every number names one of these; 'fastcalc check --strict' asks for it.
sources:
  datasheet:
    title: "FILL IN, e.g. My part, data sheet, version 1"
    url: "FILL IN, e.g. https://example.com/datasheet.pdf"
    accessed: "<TODAY>"
"""
_HARDWARE = (
    """\
vendor: "FILL IN, e.g. Me"
kind: "FILL IN, e.g. gpu"  # gpu, tpu, npu, lpu, rdu, wafer, apple, soc or cpu
scope: one chip  # not a superchip, not a server: fastcalc counts chips
# architecture: hopper  # if it is of a known family: engines and clock checks go by it
released: "FILL IN, e.g. '2024'"
"""
    + _SOURCES
    + """
# Streaming multiprocessors or compute units, not CUDA cores. Delete if unknown.
# cores: {value: 132, source: datasheet}

# The fastest memory first. HBM: a vendor's "80 GB" is 80 GiB; say so in 'reading'.
memory:
  - name: "FILL IN, e.g. HBM3"  # HBM2e, HBM3, HBM3e, GDDR6, GDDR7, LPDDR5X, SRAM ...
    capacity: {value: "FILL IN, e.g. 96 GiB", source: datasheet}
    bandwidth: {value: "FILL IN, e.g. 4 TB/s", source: datasheet}

# Dense rates. Data sheets often print the rate with 2:4 sparsity: take half, and add
#   printed: "1,979 teraFLOPS", reading: "printed with sparsity, dense is half"
peak:
  bf16: {value: "FILL IN, e.g. 900 TFLOP/s", source: datasheet}
  # fp8: {value: 1800 TFLOP/s, source: datasheet}
  # fp4, int8, fp16, tf32: likewise

# FP32 without tensor units: what unpacking narrow weights costs.
# vector: {value: 60 TFLOP/s, source: datasheet}

# One direction of one chip. Vendors print the sum of both: take half, and add
#   printed: "900 GB/s", reading: "both directions are printed, one is half"
# links:
#   scale_up:
#     bandwidth: {value: 450 GB/s, source: datasheet}
#     domain: {value: 8, source: datasheet}  # chips that it joins
#   scale_out:
#     bandwidth: {value: 400 Gb/s, source: datasheet}  # Gb: bits, as adapters are sold
#     latency: {value: 10 us, source: datasheet}

# power:
#   chip: {value: 700 W, source: datasheet}

# price:
#   cloud: {value: 2.95 USD/h, date: "<TODAY>", source: datasheet}  # of one chip
#   purchase: {value: 26000 USD, source: datasheet}

# What a reader must know; and rules that this file breaks and is right:
# notes:
#   - "..."
# excused:
#   HW008: an export part with a capped rate
"""
)
_MODEL = (
    """\
released: "FILL IN, e.g. '2025-07'"
"""
    + _SOURCES.replace("data sheet, version 1", "config.json at revision abc").replace(
        "datasheet", "config"
    )
    + """\
shape_source: config

weight_format: "FILL IN, e.g. bf16"  # bf16, fp8, mxfp4, nvfp4, int4, q4_k_m ...
# expert_format: mxfp4  # where routed experts are stored otherwise
kv_format: bf16
max_context: "FILL IN, e.g. 131072"
hidden_size: "FILL IN, e.g. 4096"
vocabulary: "FILL IN, e.g. 128256"
tied_embeddings: false

# Runs of equal layers, with a count.
blocks:
  - count: "FILL IN, e.g. 32"
    # gqa: heads, kv_heads, head_dim; 'window: 4096' for sliding layers.
    # mla: heads, q_rank, kv_rank, nope_dim, rope_dim, value_dim.
    attention:
      kind: gqa
      heads: "FILL IN, e.g. 32"
      kv_heads: "FILL IN, e.g. 8"
      head_dim: "FILL IN, e.g. 128"
    ffn: {kind: dense, width: "FILL IN, e.g. 14336"}
    # ffn: {kind: moe, experts: 128, active_experts: 8, width: 1536, shared_width: 0}

# What others count, to check the shape against: within 0.01 % of the checkpoint.
# published:
#   label: "8.03B"
#   checkpoint: {value: 8030261248, source: config}
"""
)
_ENGINE = """\
date: "FILL IN, e.g. '2026-11'"
fitted_on: "FILL IN, e.g. 12 measurements of my server"
fitted_architectures: []  # e.g. [hopper]; chips of others get the range 'unseen'

sources:
  fit:
    title: "FILL IN, e.g. My own measurements of November 2026"

# Shares of the vendor's peak (1 is all of it), and times; what is left out costs nothing.
parameters:
  bandwidth_fraction: {value: "FILL IN, e.g. 0.85", source: fit}
  compute_fraction: {value: "FILL IN, e.g. 0.7", source: fit}
  link_fraction: {value: "FILL IN, e.g. 0.5", source: fit}
  memory_fraction: {value: "FILL IN, e.g. 0.9", source: fit}
  decode_layer_floor: {value: "FILL IN, e.g. 40 us", source: fit}
  # a fitted value may carry its band, in SI units: band: [30.0e-6, 50.0e-6]
  # sequence_overhead, request_overhead, collective_latency, expert_imbalance: 'fastcalc show vllm'

# 80 % ranges: expected / below to expected * above.
ranges:
  unseen: {below: "FILL IN, e.g. 1.6", above: "FILL IN, e.g. 1.4", basis: "FILL IN, e.g. a guess"}
"""
_BODIES = {"hardware": _HARDWARE, "model": _MODEL, "engine": _ENGINE}
