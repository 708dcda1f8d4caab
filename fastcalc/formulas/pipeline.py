"""Layers one after another: over stages of a pipeline, and over regions of a wafer."""

import numpy as np

from fastcalc.formulas.types import Array, ArrayLike


def pipelined_step(
    *,
    pass_time: ArrayLike,
    hops: ArrayLike,
    stages: ArrayLike,
    slowest: ArrayLike,
    streams: ArrayLike,
) -> Array:
    r"""Return the time between two tokens of one stream in a pipeline of chips. [s]

    .. math:: T = \max\left(t + t_h, \; \min(m, S) \, \sigma \, t\right)

    A token crosses every stage and hop; and while :math:`m` micro-batches are in flight it
    waits until the slowest stage has served each of them [1]_. A pipeline never lowers
    latency; it carries more streams.

    Parameters
    ----------
    pass_time : array_like
        One micro-batch through all stages, hops apart, :math:`t`. [s]
    hops : array_like
        All hops between stages, :math:`t_h`. [s]
    stages : array_like
        Stages, :math:`S`. [1]
    slowest : array_like
        Share of the pass that the slowest stage takes, :math:`\sigma`. [1]
    streams : array_like
        Sequences that could be in different stages, :math:`m`. [1]

    Returns
    -------
    ndarray
        The arguments broadcast together. [s]

    Examples
    --------
    >>> float(pipelined_step(pass_time=4.0, hops=0.5, stages=4, slowest=0.25, streams=1))
    4.5

    References
    ----------
    .. [1] Y. Huang et al., "GPipe," arXiv:1811.06965, sec. 2.3.
    """
    in_flight = np.minimum(streams, stages)
    return np.maximum(1.0 * np.asarray(pass_time) + hops, in_flight * slowest * pass_time)


def spatial_step(*, layers: ArrayLike, layer_time: ArrayLike, streams: ArrayLike) -> Array:
    r"""Return the time between two tokens of one stream where each layer has its own region. [s]

    .. math:: T = \max(L, B) \, t_l

    A token visits the regions one after another, so one stream sees one region's bandwidth
    at a time; further streams fill the other regions, and once there are more streams than
    layers they queue [1]_.

    Parameters
    ----------
    layers : array_like
        Layers, :math:`L`. [1]
    layer_time : array_like
        One token in one region, :math:`t_l`. [s]
    streams : array_like
        Sequences decoded together, :math:`B`. [1]

    Returns
    -------
    ndarray
        The arguments broadcast together. [s]

    Examples
    --------
    Llama-3.1-8B, 32 layers at 17 us, and one wafer entered at 5 us: 1,821 tokens/s.

    >>> round(1 / (float(spatial_step(layers=32, layer_time=17e-6, streams=1)) + 5e-6))
    1821

    References
    ----------
    .. [1] Cerebras, "Introducing Cerebras Inference" (layers resident in SRAM, pipelined),
       https://www.cerebras.ai/blog/introducing-cerebras-inference-ai-at-instant-speed.
    """
    return np.maximum(layers, streams) * 1.0 * layer_time
