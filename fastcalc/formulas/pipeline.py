"""Layers in sequence, across pipeline stages or regions of a wafer."""

from collections.abc import Sequence
from functools import reduce

import numpy as np

from fastcalc.formulas.types import Array, ArrayLike, floats, where


def heaviest_stage(
    *, amounts: Sequence[ArrayLike], counts: Sequence[float], stages: ArrayLike, layers: ArrayLike
) -> Array:
    r"""Compute the largest amount per pipeline stage if layer types are spread evenly. [byte or s]

    .. math:: \max_n \sum_k n_k a_k, \quad \sum_k n_k \le N, \quad
        n_k \le \lceil c_k / S \rceil

    amounts : The amount per layer for each layer type, :math:`a_k`. [byte or s]
    counts : The number of layers of each type, :math:`c_k`. [1]
    stages : The number of stages, :math:`S`. [1]
    layers : The number of layers in the stage, :math:`N`. [1]

    Adding a layer of any type only adds choices, so it never makes a stage lighter. Filling a stage
    with the heaviest types first gives the maximum, by duality the minimum of :math:`N \theta +
    \sum_k \lceil c_k / S \rceil \max(a_k - \theta, 0)` over the :math:`a_k`. Source: G. B. Dantzig,
    "Discrete-variable extremum problems," Operations Research 5, 1957 (the bounded knapsack).

    >>> float(heaviest_stage(amounts=[1.0, 5.0], counts=[3, 58], stages=8, layers=8))
    40.0
    """
    caps = [np.ceil(floats(count) / stages) for count in counts]

    def most_at(threshold: ArrayLike) -> Array:
        heavier: ArrayLike = 0.0
        for cap, amount in zip(caps, amounts, strict=True):
            heavier = heavier + cap * np.maximum(amount - threshold, 0.0)
        return floats(heavier + layers * threshold)

    return reduce(np.minimum, map(most_at, amounts))


def pipelined_step(
    *,
    pass_time: ArrayLike,
    hops: ArrayLike,
    stages: ArrayLike,
    slowest: ArrayLike,
    streams: ArrayLike,
    overhead: ArrayLike = 0.0,
) -> Array:
    r"""Compute the time between two tokens of a sequence that passes through a pipeline. [s]

    .. math:: T = \max\left(t + t_h, \; \min(m, S) \, (t_s + t_o)\right)

    pass_time : The time of one micro-batch across all stages, without hops, :math:`t`. [s]
    hops : The time of all hops between stages, :math:`t_h`. [s]
    stages : The number of stages, :math:`S`. [1]
    slowest : The time of one micro-batch on the slowest stage, :math:`t_s`. [s]
    streams : The number of sequences that can be in different stages, :math:`m`. [1]
    overhead : The fixed time per micro-batch on every stage, :math:`t_o`. [s]

    A token passes every stage and hop, and waits until the slowest stage has processed each
    micro-batch in flight; a single micro-batch does not wait for the host work of others. Source:
    GPipe, arXiv:1811.06965.

    >>> float(pipelined_step(pass_time=4.0, hops=0.5, stages=4, slowest=1.0, streams=1))
    4.5
    """
    in_flight = np.minimum(streams, stages)
    spent = where(in_flight > 1.0, overhead, 0.0)
    return np.maximum(floats(pass_time) + hops, in_flight * (slowest + spent))


REFERENCE_WIDTH = 4096.0
"""The hidden width (of Llama 3.1 8B) to which the latency floor of a region's layer refers."""


def region_floor(*, floor: ArrayLike, width: ArrayLike, exponent: ArrayLike) -> Array:
    r"""Scale the latency floor of a layer in its own region to the model's width. [s]

    .. math:: t_0 = t_{4096} \left(\frac{h}{4096}\right)^p

    floor : The floor for a model of width 4,096, :math:`t_{4096}`. [s]
    width : The hidden width, :math:`h`. [1]
    exponent : :math:`p`, between 0.5 and 1 if links set the floor. [1]

    A hidden state is broadcast over the region's rows and summed over its columns. The number of
    hops grows with the square root of the region's cores, and the data per link with the width.
    Source: the two widths of "Introducing Cerebras Inference," cerebras.ai, 2024
    (engines/cerebras.yaml).

    >>> round(float(region_floor(floor=17e-6, width=8192, exponent=0.69)) * 1e6, 1)
    27.4
    """
    return floats(floor) * (floats(width) / REFERENCE_WIDTH) ** floats(exponent)


def spatial_step(*, layers: ArrayLike, layer_time: ArrayLike, streams: ArrayLike) -> Array:
    r"""Compute the time between two tokens of a sequence if each layer has its own region. [s]

    .. math:: T = \max(L, B) \, t_l

    layers : The number of layers, :math:`L`. [1]
    layer_time : The time of one token in a region, :math:`t_l`. [s]
    streams : The number of sequences decoded together, :math:`B`. [1]

    Sequences queue if there are more of them than layers. Source: "Introducing Cerebras Inference,"
    cerebras.ai, 2024.

    >>> round(1 / float(spatial_step(layers=32, layer_time=17e-6, streams=1)))
    1838
    """
    return np.maximum(floats(layers), streams) * layer_time


def ring_hops(*, chips: ArrayLike) -> Array:
    r"""Count a token's hops through all chips and back to the first, or 0 for a single chip. [1]

    .. math:: n = W \text{ if } W > 1, \text{ else } 0

    chips : The number of chips in the layer pipeline, :math:`W`. [1]

    Source: a sampled token becomes the input of the first layer.

    >>> ring_hops(chips=[1, 2, 5]).tolist()
    [0.0, 2.0, 5.0]
    """
    count = floats(chips)
    return where(count > 1.0, count, 0.0)


def regional_speed(
    *, tokens: ArrayLike, layers: ArrayLike, layer_time: ArrayLike, chips: ArrayLike, hop: ArrayLike
) -> Array:
    r"""Compute the speed of one sequence through layers in regions across several chips. [1/s]

    .. math:: v = \frac{E}{L \tau + [W > 1] \, W h}

    tokens : The number of tokens produced by each pass, :math:`E`. [1]
    layers : The number of layers, :math:`L`. [1]
    layer_time : The time of one token in one layer's region, :math:`\tau`. [s]
    chips : The number of chips in the pipeline, :math:`W`; a single chip has no hop. [1]
    hop : The latency from one chip to the next, :math:`h`. [s]

    Source: WaferLLM, arXiv:2502.04563 (a pass over a wafer is a sum over layers).

    >>> round(float(regional_speed(tokens=1, layers=36, layer_time=15e-6, chips=2, hop=5e-6)))
    1818
    """
    crossing = floats(layers) * layer_time + ring_hops(chips=chips) * hop
    return floats(tokens) / crossing
