"""Layers one after another: over stages of a pipeline, and over regions of a wafer."""

import numpy as np

from fastcalc.formulas.types import Array, ArrayLike, floats, where


def pipelined_step(
    *,
    pass_time: ArrayLike,
    hops: ArrayLike,
    stages: ArrayLike,
    slowest: ArrayLike,
    streams: ArrayLike,
    own: ArrayLike = 0.0,
) -> Array:
    r"""Return the time between two tokens of one stream in a pipeline of chips. [s]

    .. math:: T = \max\left(t + t_h, \; \min(m, S) \, (\sigma \, t + t_o)\right)

    pass_time : one micro-batch through all stages, hops apart, :math:`t` [s]
    hops : all hops between stages, :math:`t_h` [s]
    stages : stages, :math:`S` [1]
    slowest : share of the pass that the slowest stage takes, :math:`\sigma` [1]
    streams : sequences that could be in different stages, :math:`m` [1]
    own : what every stage spends on a micro-batch, however few its layers, :math:`t_o` [s]

    A token crosses every stage and hop, and waits until the slowest stage has served each of the
    micro-batches in flight; one alone waits for no other's host. Source: GPipe, arXiv:1811.06965.

    >>> float(pipelined_step(pass_time=4.0, hops=0.5, stages=4, slowest=0.25, streams=1))
    4.5
    """
    in_flight = np.minimum(streams, stages)
    spent = where(in_flight > 1.0, own, 0.0)
    return np.maximum(floats(pass_time) + hops, in_flight * (slowest * pass_time + spent))


def spatial_step(*, layers: ArrayLike, layer_time: ArrayLike, streams: ArrayLike) -> Array:
    r"""Return the time between two tokens of one stream where each layer has its own region. [s]

    .. math:: T = \max(L, B) \, t_l

    layers : layers, :math:`L` [1]
    layer_time : one token in one region, :math:`t_l` [s]
    streams : sequences decoded together, :math:`B` [1]

    More streams than layers queue. Source: "Introducing Cerebras Inference," cerebras.ai, 2024.

    >>> round(1 / (float(spatial_step(layers=32, layer_time=17e-6, streams=1)) + 5e-6))
    1821
    """
    return np.maximum(floats(layers), streams) * layer_time


def regional_speed(
    *, tokens: ArrayLike, layers: ArrayLike, layer_time: ArrayLike, chips: ArrayLike, hop: ArrayLike
) -> Array:
    r"""Return the speed of one stream that crosses layers in regions of several chips. [1/s]

    .. math:: v = \frac{E}{L \tau + W h}

    tokens : tokens that a pass yields, :math:`E` [1]
    layers : layers, :math:`L` [1]
    layer_time : one token in one layer's region, :math:`\tau` [s]
    chips : chips that are crossed, :math:`W` [1]
    hop : from a chip to the next, :math:`h` [s]

    Source: WaferLLM, arXiv:2502.04563 (a pass over a wafer is a sum over layers).

    >>> round(float(regional_speed(tokens=1, layers=36, layer_time=15e-6, chips=2, hop=5e-6)))
    1818
    """
    crossing = floats(layers) * layer_time + floats(chips) * hop
    return floats(tokens) / crossing
