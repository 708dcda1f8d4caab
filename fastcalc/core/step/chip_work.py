"""Bytes and FLOPs of a chip in a step, if everything is in its first memory tier."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fastcalc.core.chip.machine import Chip, EngineParameters, Reached, reached
from fastcalc.core.model.kinds import Kinds
from fastcalc.core.step.component import (
    BESIDE,
    GROUPED_PRODUCTS,
    PRINTED,
    Component,
    idle,
    is_nothing,
    scaled,
)
from fastcalc.core.step.pass_work import PassWork
from fastcalc.formulas.experts import distinct_experts, narrow_share
from fastcalc.formulas.types import ArrayLike, floats, where

_FUSED_MULTIPLY_ADD = 2.0

_NO_PROMPTS = Kinds(
    *(idle(f"prompt: {product}") for product in ("dense", "head", "experts", "attention"))
)


class ChipWork(NamedTuple):
    """The reads and products of a chip in a step.

    kinds : The bytes read of each category, with its products for decoded tokens; for dense
        weights, also for prompt tokens.
    widened : The operations for unpacking low-bit weights, in FLOPs.
    prompts : The additional arithmetic for prompt tokens.
    touched : The fraction of routed expert weights that is read.
    """

    kinds: Kinds[Component]
    widened: Kinds[ArrayLike]
    prompts: Kinds[Component]
    touched: ArrayLike

    def left(self, near: Kinds[ArrayLike], multiplied: Kinds[ArrayLike]) -> "ChipWork":
        """Return the remaining work if other memories and the host's cores do part of it.

        near, multiplied : The fractions of each category that the chip reads from its first memory,
            and that it multiplies.
        """
        return self._replace(
            kinds=Kinds(*map(Component.part, self.kinds, near)),
            widened=Kinds(*map(scaled, self.widened, multiplied)),
            prompts=Kinds(*map(Component.part, self.prompts, multiplied)),
        )

    def besides(self, chip: Chip) -> list[ArrayLike]:
        """Compute the additional arithmetic time for each category, in seconds."""
        rate = chip.vector / _FUSED_MULTIPLY_ADD
        pairs = zip(self.prompts, self.widened, strict=True)
        return [prompt.seconds + scaled(operations, 1.0 / rate) for prompt, operations in pairs]


def chip_work(
    work: PassWork, chip: Chip, software: EngineParameters, same: ChipWork | None = None
) -> ChipWork:
    """Compute the reads and products of a chip with everything in its first memory.

    same : The work of a different step with the same decoded sequences, with or without prompts.
    """
    rates, touched = reached(chip, software), touched_experts(work, software)
    if same is None:
        tokens = work.sequences * work.verified
        head = Component(
            "head and norms",
            bytes=work.bytes.head,
            bandwidth=rates.bandwidth,
            flops=np.maximum(tokens, rates.least_rows * (tokens > 0.0)) * work.flops.head,
            flop_rate=rates.decode.head,
            basis=BESIDE,
        )
        # Caches are read once for all new tokens of a sequence. Heads that share a latent also
        # share the rows of a tile (FlashMLA, csrc/sm90: 64 rows, for 16 heads as for 64).
        empty = np.maximum(software.minimum_rows - work.verified * work.latents.heads, 0.0)
        attention = Component(
            "attention",
            bytes=work.sequences * work.bytes.kv,
            bandwidth=rates.bandwidth,
            flops=tokens * work.flops.kv + scaled(work.latents.flops, work.sequences * empty),
            flop_rate=rates.decode.kv,
            basis=PRINTED,
        )
    else:
        _, head, _, attention = same.kinds
    operations, products = software.dequantization_operations, chip.products
    widened: Kinds[ArrayLike] = Kinds(
        operations * products.dense.is_unpacked * work.weights.dense,
        operations * products.head.is_unpacked * work.weights.head,
        operations * products.experts.is_unpacked * work.weights.experts * touched,
        0.0,
    )
    # If experts are spread over ranks, the fullest rank determines the time.
    uneven = 1.0 + work.routing.unevenness * (software.expert_imbalance - 1.0)
    routed = _routed(work, rates, software, touched, uneven)
    groups = Kinds(_dense(work, rates), head, routed, attention)
    return ChipWork(groups, widened, _prompts(work, rates, uneven), touched)


def _dense(work: PassWork, rates: Reached) -> Component:
    """Compute the work for matrices that all tokens use.

    Prompt tokens fill tile rows that decoded tokens leave empty (A. Agrawal et al., "SARATHI,"
    arXiv:2308.16369, sec. 4: decode-maximal batches, tile quantization). Norms and routers are
    included.
    """
    tokens, prompt = work.sequences * work.verified, floats(work.prompt)
    rows = np.maximum(tokens, rates.least_rows - prompt)
    prompt_flops = prompt * (work.prompt_flops.dense + work.prompt_flops.head)
    return Component(
        "dense weights",
        bytes=work.bytes.dense,
        bandwidth=rates.bandwidth,
        flops=rows * work.flops.dense + prompt_flops,
        flop_rate=where(prompt > 0.0, rates.prompt.dense, rates.decode.dense),
        basis=PRINTED,
    )


def touched_experts(work: PassWork, software: EngineParameters) -> ArrayLike:
    """Compute the fraction of routed expert weights that a step's tokens read."""
    routing = work.routing
    if is_nothing(routing.layers):
        return 1.0
    distinct = distinct_experts(
        experts=routing.experts,
        active=routing.active,
        tokens=floats(work.expert_tokens + work.expert_prompt),
        correlation=software.expert_correlation,
    )
    return distinct / routing.experts


def _routed(
    work: PassWork,
    rates: Reached,
    software: EngineParameters,
    touched: ArrayLike,
    uneven: ArrayLike,
) -> Component:
    """Compute the work for the selected experts."""
    if is_nothing(work.bytes.experts):
        return idle("routed experts")
    return Component(
        "routed experts",
        bytes=work.bytes.experts * touched * uneven,
        bandwidth=rates.bandwidth
        * narrow_share(width=work.routing.width, half=software.narrow_expert_width),
        flops=work.expert_tokens * work.flops.experts * uneven,
        flop_rate=rates.decode.experts,
        norm=GROUPED_PRODUCTS,
    )


def unpacking(chip: Chip, operations: Sequence[ArrayLike]) -> Component:
    """Compute the time to unpack low-bit weights to 16 bits on vector units, once per weight."""
    total = sum(operations[:3])  # caches are not unpacked
    if is_nothing(total):
        return idle("unpacking")
    return Component("unpacking", flops=total, flop_rate=chip.vector / _FUSED_MULTIPLY_ADD)


def _prompts(work: PassWork, rates: Reached, uneven: ArrayLike) -> Kinds[Component]:
    """Compute the arithmetic of prompt tokens in experts and attention."""
    _, _, experts, kv = _NO_PROMPTS
    if is_nothing(work.prompt):
        return _NO_PROMPTS
    if not is_nothing(work.prompt_flops.experts):
        experts = Component(
            experts.name,
            flops=work.expert_prompt * work.prompt_flops.experts * uneven,
            flop_rate=rates.prompt.experts,
        )
    flops = work.prompt * work.prompt_flops.kv
    kv = Component(
        kv.name,
        bytes=work.prompt * work.prompt_bytes,
        bandwidth=rates.bandwidth,
        flops=flops,
        flop_rate=rates.prompt.kv,
        norm=GROUPED_PRODUCTS,  # the two occur in different layers
        basis=PRINTED,
    )
    return _NO_PROMPTS._replace(experts=experts, kv=kv)
