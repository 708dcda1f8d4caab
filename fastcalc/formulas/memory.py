"""Cache sizes, and how many sequences or layers fit in memory."""

import numpy as np

from fastcalc.formulas.types import Array, ArrayLike, floats


def attended_tokens(*, context: ArrayLike, spread: ArrayLike, window: ArrayLike) -> Array:
    r"""Count the tokens that a layer attends to, averaged over a uniform range of contexts. [1]

    .. math:: \bar{T} = w - \frac{(w - a)^2}{2 (b - a)} \quad (a = T - h < w < b = T + h),
        \quad \text{else} \min(T, w)

    context : The mean context, :math:`T`. [1]
    spread : The half-width of the range of contexts, :math:`h`. [1]
    window : The tokens in the layer's window, :math:`w`, or infinity without a window. [1]

    Contexts grow during decode. Source: Jensen's inequality, Acta Mathematica 30, 1906.

    >>> float(attended_tokens(context=100, spread=100, window=100))
    75.0
    """
    mean = floats(context)
    reach = np.minimum(window, mean + spread)
    below = np.maximum(reach - (mean - spread), 0.0)
    width = np.maximum(2.0 * floats(spread), 1e-300)
    return reach - below * below / (2.0 * width)


def cache_bytes_per_layer(
    *, elements: ArrayLike, tokens: ArrayLike, bytes_per_element: ArrayLike
) -> Array:
    r"""Compute the cache size of one layer for one sequence. [byte]

    .. math:: M = e \, T \, b

    elements : The elements per token, :math:`e`: keys and values of all heads, or a latent. [1]
    tokens : The tokens kept by the layer, :math:`T`. [1]
    bytes_per_element : The width of a cached element, :math:`b`. [byte]

    Source: PagedAttention, arXiv:2309.06180, sec. 3: OPT-13B keeps 800 KiB per token.

    >>> 40 * float(cache_bytes_per_layer(elements=10240, tokens=1, bytes_per_element=2)) / 1024
    800.0
    """
    return floats(elements) * tokens * bytes_per_element


def largest_batch(*, usable: ArrayLike, weights: ArrayLike, cache_per_sequence: ArrayLike) -> Array:
    r"""Compute the number of sequences whose caches fit in the memory left by the weights. [1]

    .. math:: B = \lfloor (C - W) / M \rfloor

    usable : The memory that the engine may use, :math:`C`. [byte]
    weights : The weights stored there, :math:`W`. [byte]
    cache_per_sequence : The cache of one sequence at its maximum length, :math:`M`. [byte]

    The result is an integer: 0 if nothing fits, and very large for models without a cache. Source:
    JAX scaling book, https://jax-ml.github.io/scaling-book/inference/.

    >>> float(largest_batch(usable=72e9, weights=16e9, cache_per_sequence=0.25e9))
    224.0
    """
    free = np.maximum(floats(usable) - weights, 0.0)
    return np.floor(free / np.maximum(cache_per_sequence, 1e-200))


def chips_for_capacity(*, needed: ArrayLike, usable_per_chip: ArrayLike) -> Array:
    r"""Count the chips needed to store a number of bytes, or infinity without usable memory. [1]

    .. math:: N = \lceil W / C \rceil

    needed : The number of bytes to store, :math:`W`. [byte]
    usable_per_chip : The memory of a chip that the engine may use, :math:`C`. [byte]

    Source: "Introducing Cerebras Inference," cerebras.ai, 2024 (70B at 16 bits on four wafers).

    >>> float(chips_for_capacity(needed=1e12, usable_per_chip=0.9 * 44e9))
    26.0
    """
    with np.errstate(divide="ignore"):
        return np.maximum(np.ceil(floats(needed) / usable_per_chip), 1.0)


def chips_for_whole_layers(
    *, layers: ArrayLike, layer_bytes: ArrayLike, usable_per_chip: ArrayLike
) -> Array:
    r"""Count the chips needed if layers are not split, or infinity if one layer is too large. [1]

    .. math:: N = \lceil L / \lfloor C / m \rfloor \rceil

    layers : The number of layers, embedding and head counted by their size, :math:`L`. [1]
    layer_bytes : The weights and cache of the largest layer, :math:`m`. [byte]
    usable_per_chip : The memory of a chip that the engine may use, :math:`C`. [byte]

    Source: "Introducing Cerebras Inference," cerebras.ai, 2024 (split at layer boundaries).

    >>> float(chips_for_whole_layers(layers=61, layer_bytes=16.8e9, usable_per_chip=39.6e9))
    31.0
    """
    per_chip = np.floor(floats(usable_per_chip) / layer_bytes)
    with np.errstate(divide="ignore"):
        return np.maximum(np.ceil(floats(layers) / per_chip), 1.0)
