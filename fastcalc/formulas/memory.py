"""Bytes kept, bytes moved, and how much of them fits."""

import numpy as np

from fastcalc.formulas.types import Array, ArrayLike


def attended_tokens(*, context: ArrayLike, spread: ArrayLike, window: ArrayLike) -> Array:
    r"""Return the tokens that a layer looks back on, averaged over contexts of even spread. [1]

    .. math:: \bar{T} = w - \frac{(w - a)^2}{2 (b - a)} \quad (a = T - h < w < b = T + h)

    and otherwise :math:`\min(T, w)`. A context grows while a request decodes, so the mean of the
    smaller is less than the smaller of the means [1]_.

    Parameters
    ----------
    context : array_like
        Mean context, :math:`T`. [1]
    spread : array_like
        How far contexts go below and above it, :math:`h`. [1]
    window : array_like
        Tokens the layer looks back, :math:`w`; infinity for all. [1]

    Returns
    -------
    ndarray
        The arguments broadcast together. [1]

    Examples
    --------
    Contexts from 0 to 200 through a window of 100: half of them see 50 on average, half 100.

    >>> float(attended_tokens(context=100, spread=100, window=100))
    75.0

    References
    ----------
    .. [1] J. L. W. V. Jensen, "Sur les fonctions convexes," Acta Mathematica 30, 1906.
    """
    mean = np.asarray(context) * 1.0
    below = np.clip(np.minimum(window, mean + spread) - (mean - spread), 0.0, None)
    width = np.maximum(2.0 * np.asarray(spread), 1e-300)
    return np.minimum(window, mean + spread) - below * below / (2.0 * width)


def cache_bytes_per_layer(
    *, elements: ArrayLike, tokens: ArrayLike, bytes_per_element: ArrayLike
) -> Array:
    r"""Return the size of one layer's cache for one sequence. [byte]

    .. math:: M = e \, T \, b

    Parameters
    ----------
    elements : array_like
        Elements a token leaves, :math:`e`: twice the key-value heads times their size, or the
        latent of MLA. [1]
    tokens : array_like
        Tokens the layer keeps, :math:`T`. [1]
    bytes_per_element : array_like
        Width of a cached element, :math:`b`. [byte]

    Returns
    -------
    ndarray
        The arguments broadcast together. [byte]

    Examples
    --------
    OPT-13B keeps 800 KiB a token in 40 layers of 5,120 at 16 bit, as printed in [1]_:

    >>> 40 * cache_bytes_per_layer(elements=2 * 5120, tokens=1, bytes_per_element=2) / 1024
    800.0

    References
    ----------
    .. [1] W. Kwon et al., "Efficient memory management for large language model serving
       with PagedAttention," SOSP 2023, arXiv:2309.06180, sec. 3.
    """
    return 1.0 * elements * tokens * bytes_per_element


def largest_batch(*, usable: ArrayLike, weights: ArrayLike, cache_per_sequence: ArrayLike) -> Array:
    r"""Return how many sequences' caches fit beside the weights. [1]

    .. math:: B = \lfloor (C - W) / M \rfloor

    Parameters
    ----------
    usable : array_like
        Memory that software may fill, :math:`C`. [byte]
    weights : array_like
        Weights held there, :math:`W`. [byte]
    cache_per_sequence : array_like
        Cache of one sequence with all tokens it may reach, :math:`M`. [byte]

    Returns
    -------
    ndarray
        Whole numbers as floats, 0 where nothing fits. [1]

    Examples
    --------
    >>> float(largest_batch(usable=72e9, weights=16e9, cache_per_sequence=0.25e9))
    224.0

    References
    ----------
    .. [1] JAX scaling book, "All about transformer inference,"
       https://jax-ml.github.io/scaling-book/inference/ (memory of weights and caches).
    """
    free = np.maximum(1.0 * np.asarray(usable) - weights, 0.0)
    return np.floor(free / np.maximum(cache_per_sequence, 1e-300))


def chips_for_capacity(*, needed: ArrayLike, usable_per_chip: ArrayLike) -> Array:
    r"""Return the chips whose memory together holds some bytes. [1]

    .. math:: N = \lceil W / C \rceil

    Parameters
    ----------
    needed : array_like
        Bytes to hold, :math:`W`. [byte]
    usable_per_chip : array_like
        Memory of a chip that software may fill, :math:`C`. [byte]

    Returns
    -------
    ndarray
        Whole numbers as floats, at least 1. [1]

    Examples
    --------
    A trillion parameters at 8 bits over wafers of 44 GB with a tenth kept back:

    >>> float(chips_for_capacity(needed=1e12, usable_per_chip=0.9 * 44e9))
    26.0

    References
    ----------
    .. [1] Cerebras, "Introducing Cerebras Inference" (20B parameters on one system at 16
       bits, 70B on four), https://www.cerebras.ai/blog/introducing-cerebras-inference-ai-at-instant-speed.
    """
    return np.maximum(np.ceil(1.0 * np.asarray(needed) / usable_per_chip), 1.0)


def chips_for_whole_layers(
    *, layers: ArrayLike, layer_bytes: ArrayLike, usable_per_chip: ArrayLike
) -> Array:
    r"""Return the chips that hold layers which may not be cut; infinity if one is too large. [1]

    .. math:: N = \lceil L / \lfloor C / m \rfloor \rceil

    Parameters
    ----------
    layers : array_like
        Layers, embedding and head counted by their size, :math:`L`. [1]
    layer_bytes : array_like
        Weights and cache of the largest layer, :math:`m`. [byte]
    usable_per_chip : array_like
        Memory of a chip that software may fill, :math:`C`. [byte]

    Returns
    -------
    ndarray
        Whole numbers as floats, or infinity. [1]

    Examples
    --------
    61 layers of 16.8 GB over wafers with 39.6 GB free: two a wafer.

    >>> float(chips_for_whole_layers(layers=61, layer_bytes=16.8e9, usable_per_chip=39.6e9))
    31.0

    References
    ----------
    .. [1] Cerebras, "Introducing Cerebras Inference" (models are split at layer boundaries),
       https://www.cerebras.ai/blog/introducing-cerebras-inference-ai-at-instant-speed.
    """
    per_chip = np.floor(1.0 * np.asarray(usable_per_chip) / layer_bytes)
    with np.errstate(divide="ignore"):
        return np.maximum(np.ceil(np.asarray(layers) / per_chip), 1.0)
