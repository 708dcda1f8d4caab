"""Quantization blocks with a common scale, which vLLM does not split between ranks.

vLLM fails to start if ranks would split a block of 128 x 128 weights in fp8: "The output_size of
gate's and up's weight = 192 is not divisible by weight quantization block_n = 128". Source: vLLM
issues 17569, 25292 and 52997 (the last of August 2026, open). Other engines have no such limit:
SGLang 0.5.17 runs such shards on AMD chips (ATOM issue 1944).
"""

from math import gcd

from fastcalc.catalogue.formats import NumberFormat
from fastcalc.catalogue.once import once
from fastcalc.catalogue.schema import DenseFFN, Engine, MixtureOfExperts, Model
from fastcalc.core.chip.machine import Machine
from fastcalc.core.model.workload import Workload


@once
def dense_blocks(machine: Machine, work: Workload) -> int:
    """Count the blocks of dense layers that the tensor-parallel size must divide.

    The result is 0 if any number of ranks is allowed. The check covers feed-forward networks used
    by every token, including shared experts.
    """
    side = _side(machine.engine, work.model, work.weights.dense.format)
    networks = [block.ffn for block in work.model.blocks]
    widths = [ffn.width for ffn in networks if isinstance(ffn, DenseFFN)]
    widths += [ffn.shared_width for ffn in networks if isinstance(ffn, MixtureOfExperts)]
    return gcd(*(width // side for width in widths if side and width % side == 0))


@once
def expert_blocks(machine: Machine, work: Workload) -> int:
    """Count the blocks that the ranks sharing an expert must divide, or 0 if any may."""
    side = _side(machine.engine, work.model, work.weights.experts.format)
    networks = [block.ffn for block in work.model.blocks]
    widths = [ffn.width for ffn in networks if isinstance(ffn, MixtureOfExperts)]
    return gcd(*(width // side for width in widths if side and width % side == 0))


def block_side(machine: Machine, work: Workload) -> int:
    """Return the side length of a quantization block, or 0 if there are no blocks."""
    formats = (work.weights.experts.format, work.weights.dense.format)
    return next(filter(None, (_side(machine.engine, work.model, stored) for stored in formats)), 0)


def _side(engine: Engine, model: Model, stored: NumberFormat) -> int:
    if not model.block_sizes or engine.program != "vllm":
        return 0
    return max(model.block_sizes.get(one.id, 0) for one, _ in stored.shares)
