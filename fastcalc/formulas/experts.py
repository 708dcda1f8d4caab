"""Mixture of experts: distinct experts read per step, and ranks to which a token is sent."""

import numpy as np

from fastcalc.formulas.types import Array, ArrayLike, floats


def distinct_experts(
    *, experts: ArrayLike, active: ArrayLike, tokens: ArrayLike, correlation: ArrayLike = 1.0
) -> Array:
    r"""Count the distinct experts per layer that the tokens of a step select. [1]

    .. math:: D = \max\left(k, \; E \left(1 - (1 - k/E)^{B^\gamma}\right)\right)

    experts : The number of experts in a layer, :math:`E`. [1]
    active : The number of experts per token, :math:`k`. [1]
    tokens : The number of tokens in the step, :math:`B`. [1]
    correlation : :math:`\gamma`, 1 for independent tokens. [1]

    In practice, tokens tend to select the same experts, which a smaller :math:`\gamma` models.
    Source: Erdil, "Inference economics of language models," arXiv:2506.04645.

    >>> round(float(distinct_experts(experts=128, active=8, tokens=16)), 1)
    82.4
    """
    missed = (1.0 - floats(active) / experts) ** floats(tokens) ** correlation
    return np.maximum(active, experts * (1.0 - missed))


def narrow_share(*, width: ArrayLike, half: ArrayLike) -> Array:
    r"""Compute the fraction of bandwidth achieved when reading narrow expert slices. [1]

    .. math:: s = \frac{w}{w + w_0}

    width : The columns of a rank's slice of one expert, :math:`w`. [1]
    half : The columns at which half the bandwidth is achieved, :math:`w_0`. [1]

    A slice is a short read, whose start-up costs as much as :math:`w_0` columns. Source: kernel
    tables of NVIDIA aiconfigurator-core 0.12.0 (experts of H100, H200, B200, GB200),
    https://github.com/ai-dynamo/aiconfigurator; the fits are our own, docs/method.md.

    >>> float(narrow_share(width=96, half=32))
    0.75
    """
    return 1.0 / (1.0 + half / floats(width))


def rank_unevenness(*, ranks: ArrayLike, experts: ArrayLike) -> Array:
    r"""Compute the excess load of the fullest rank, relative to 128 experts over 8 ranks. [1]

    .. math:: u = \sqrt{\frac{N \ln N}{E}} \; \Big/ \; \sqrt{\frac{8 \ln 8}{128}}

    ranks : The number of ranks that hold different experts, :math:`N`. [1]
    experts : The number of experts in a layer, :math:`E`. [1]

    The relative spread of the load of :math:`E/N` experts falls with its square root. The largest
    of :math:`N` sums lies :math:`\sqrt{2 \ln N}` spreads above the mean. Source: Cramer,
    "Mathematical methods of statistics," sec. 28.6 (extremes of normal samples).

    >>> float(rank_unevenness(ranks=8, experts=128))
    1.0
    """
    n = np.maximum(floats(ranks), 1.0)
    return floats(np.sqrt(n * np.log(n) / experts / (8.0 * np.log(8.0) / 128.0)))


def other_ranks(*, ranks: ArrayLike, experts: ArrayLike, active: ArrayLike) -> Array:
    r"""Count the other ranks that hold experts selected by a token. [1]

    .. math:: r = (N - 1) \left(1 - \prod_{i=0}^{k-1} \left(1 - \frac{E/N}{E - i}\right)\right)

    ranks : The number of ranks that share the experts, :math:`N`. [1]
    experts : The number of experts in a layer, :math:`E`. [1]
    active : The number of distinct experts per token, :math:`k`. [1]

    Source: Feller, "Probability theory," vol. 1, sec. II.6 (hypergeometric distribution).

    >>> float(other_ranks(ranks=1, experts=64, active=8))
    0.0
    """
    ranks, active = floats(ranks), floats(active)
    missed = floats(1.0)
    for picked in range(int(np.max(active))):
        fraction = experts / ranks / np.maximum(floats(experts) - picked, 1.0)
        missed = missed * (1.0 - np.minimum(fraction, 1.0) * (picked < active))
    return (ranks - 1.0) * (1.0 - missed)
