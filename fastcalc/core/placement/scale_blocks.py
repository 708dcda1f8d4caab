"""Blocks of weights that share a scale, of which vLLM gives no rank a part.

It stops at a start whose ranks would cut a block of 128 x 128 weights in fp8: "The output_size of
gate's and up's weight = 192 is not divisible by weight quantization block_n = 128". Source: vLLM
issues 17569, 25292 and 52997 (the last of August 2026, open). Other engines are not held to it:
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
    """Blocks that tensor-parallel ranks must divide; 0 where any number of ranks will do. [1]

    Of networks that every token passes, shared experts among them.
    """
    side = _side(machine.engine, work.model, work.weights.dense.format)
    networks = [block.ffn for block in work.model.blocks]
    widths = [ffn.width for ffn in networks if isinstance(ffn, DenseFFN)]
    widths += [ffn.shared_width for ffn in networks if isinstance(ffn, MixtureOfExperts)]
    return gcd(*(width // side for width in widths if side and width % side == 0))


@once
def expert_blocks(machine: Machine, work: Workload) -> int:
    """Blocks that the ranks which share one expert must divide; 0 where any number will do. [1]"""
    side = _side(machine.engine, work.model, work.weights.experts.format)
    networks = [block.ffn for block in work.model.blocks]
    widths = [ffn.width for ffn in networks if isinstance(ffn, MixtureOfExperts)]
    return gcd(*(width // side for width in widths if side and width % side == 0))


def block_side(machine: Machine, work: Workload) -> int:
    """Rows and columns of a block of experts, else of dense matrices; 0 without any. [1]"""
    formats = (work.weights.experts.format, work.weights.dense.format)
    return next(filter(None, (_side(machine.engine, work.model, stored) for stored in formats)), 0)


def _side(engine: Engine, model: Model, stored: NumberFormat) -> int:
    if not model.block_sizes or engine.program != "vllm":
        return 0
    return max((model.block_sizes.get(one.id, 0) for one, _ in stored.shares), default=0)
