"""Reuse distances, cache hit rates, and the price at which a cache tier pays off."""

from itertools import pairwise

import numpy as np

from fastcalc.formulas.money import HOURS_PER_MONTH
from fastcalc.formulas.solving import bisect
from fastcalc.formulas.types import Array, ArrayLike, Floats, Ints, floats

_STRETCH = 2**18
"""The number of prompt blocks sorted at a time, chosen to fit in a CPU's caches. [1]"""


def reuse_distances(*, blocks: Ints, ends: Ints) -> Ints:
    r"""Compute the smallest cache size at which each block is a hit, or 0 if it never is. [1]

    .. math:: d_i = \max_{j \le i} \left( s - p_j - |\{k \le s : p_k > p_j\}| \right)

    blocks : The identifiers of the blocks, prompt after prompt. [1]
    ends : The cumulative number of blocks at the end of each prompt. [1]

    Accesses are numbered in order, :math:`p_k` is the access to the same block that precedes
    :math:`k`, and :math:`s` is the number of accesses before the prompt of :math:`i`. The cache is
    LRU and, as in servers, evicts the end of a prompt before its start. A block is a hit if it and
    all earlier blocks of its prompt are in the cache before the prompt arrives; repeats within a
    prompt do not count.

    Source: R. L. Mattson et al., "Evaluation techniques for storage hierarchies," IBM Systems
    Journal 9(2), 1970, doi:10.1147/sj.92.0078.

    >>> reuse_distances(blocks=np.array([1, 2, 3, 1, 4, 1, 2]), ends=np.array([3, 5, 7])).tolist()
    [0, 0, 0, 1, 0, 1, 3]
    """
    starts = np.append(0, ends)[:-1].astype(np.int32)
    request = np.repeat(np.arange(len(ends), dtype=np.int32), np.diff(ends, prepend=0))
    # The last block of a prompt is accessed first, so access times run backwards within a prompt.
    touch = (starts + ends.astype(np.int32) - 1)[request]
    touch -= np.arange(len(blocks), dtype=np.int32)
    before = _touches_before(blocks, touch, ends)
    if (is_twice := before >= starts[request]).any():
        is_first = np.ones(len(blocks), dtype=bool)
        is_first[touch[before[is_twice]]] = False
        distances = np.zeros(len(blocks), dtype=np.int32)
        distances[is_first] = reuse_distances(
            blocks=blocks[is_first], ends=np.append(0, np.cumsum(is_first))[ends]
        )
        return distances
    del touch, is_twice
    touched = np.flatnonzero(before >= 0)
    distances = np.zeros(len(blocks), dtype=np.int32)
    if len(touched):
        before, request = before[touched], request[touched]
        new_before_prompt = starts - np.searchsorted(touched, starts)
        is_found = touched - np.arange(len(touched)) == new_before_prompt[request]
        distances[touched] = _distances(before, request, starts) * is_found
    return distances


def _touches_before(blocks: Ints, touch: Ints, ends: Ints) -> Ints:
    """Find the previous access to each block, or -1, for one range of prompts at a time. [1]

    touch : The access time of each block. [1]
    """
    if blocks.min(initial=0) < 0 or blocks.max(initial=0) > 4 * len(blocks):
        blocks = np.unique(blocks, return_inverse=True)[1]
    last = np.full(blocks.max(initial=0) + 1, -1, dtype=np.int32)
    before = np.empty(len(blocks), dtype=np.int32)
    stretches = ends[np.searchsorted(ends, np.arange(_STRETCH, len(blocks), _STRETCH))]
    for low, high in pairwise(sorted({0, *stretches.tolist(), len(blocks)})):
        turned = touch[low:high] - low
        bits = (high - low).bit_length()
        keys = blocks[low:high][turned].astype(np.int64) << bits | np.arange(high - low)
        keys.sort()
        block, now = keys >> bits, keys & ((1 << bits) - 1)
        is_other = block[1:] != block[:-1]
        is_first, is_last = np.append(True, is_other), np.append(is_other, True)
        earlier = np.where(is_first, last[block], np.append(0, now[:-1]) + low)
        last[block[is_last]] = now[is_last] + low
        before[low + turned[now]] = earlier
    return before


def _distances(before: Ints, request: Ints, starts: Ints) -> Ints:
    """Compute the reuse distances of blocks with a previous access. [1]

    Runs of blocks whose previous accesses are also consecutive are counted together.
    """
    is_head = np.append(True, (np.diff(before) != -1) | (np.diff(request) != 0))
    heads = np.flatnonzero(is_head)
    sizes, first = np.diff(heads, append=len(before)), before[heads]
    rank = np.empty(len(heads), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(heads))
    # Order by time, and within a prompt by rank, so that its blocks do not count for each other.
    in_time = np.argsort(request[heads].astype(np.int64) * len(heads) + rank)
    above = _earlier_above(rank[in_time], sizes[in_time])[rank]
    of_heads = starts[request[heads]] - first - above
    distances = np.repeat(of_heads - heads, sizes) + np.arange(len(before))
    prompts = request.astype(np.int64) << 32
    return np.asarray(np.maximum.accumulate(distances + prompts) - prompts)


def _earlier_above(rank: Ints, weights: Ints) -> Ints:
    """For each element, sum the weights of earlier elements with a higher rank. [1]

    The loop runs from the highest bit of the ranks downwards. Among ranks that agree in all higher
    bits, an element without the current bit is below every earlier element with it.
    """
    bits = max(len(rank) - 1, 1).bit_length()
    rank = np.append(rank, np.arange(len(rank), 1 << bits))
    weights = np.append(weights, np.zeros((1 << bits) - len(weights), dtype=weights.dtype))
    above = np.zeros_like(weights)
    for bit in reversed(range(bits)):
        has_bit = (rank >> bit & 1).astype(bool)
        summed = np.cumsum((weights * has_bit).reshape(-1, 2 << bit), axis=1).ravel()
        above += np.where(has_bit, 0, summed)
        rank, weights, above = (
            np.stack(
                [values[~has_bit].reshape(-1, 1 << bit), values[has_bit].reshape(-1, 1 << bit)],
                axis=1,
            ).ravel()
            for values in (rank, weights, above)
        )
    return above


def characteristic_time(*, rates: Floats, sizes: Floats, passing: float, capacity: float) -> Array:
    r"""Count the requests after which a cache evicts an entry that is not reused. [1]

    .. math:: \sum_i s_i \left(1 - e^{-\lambda_i T}\right) + u T = C

    rates : The fraction of requests with each prefix, :math:`\lambda_i`. [1]
    sizes : The tokens of each prefix, :math:`s_i`. [1]
    passing : The tokens per request that never repeat, :math:`u`. [1]
    capacity : The number of tokens that the cache holds, :math:`C`. [1]

    If requests are independent and there are many prefixes, a prefix is a hit with probability
    :math:`1 - e^{-\lambda_i T}`. Source: H. Che, Y. Tung and Z. Wang, "Hierarchical Web caching
    systems: modeling, design and experimental results," IEEE JSAC 20(7), 2002,
    doi:10.1109/JSAC.2002.801752.

    >>> round(float(characteristic_time(rates=np.full(10, 0.1), sizes=np.ones(10), passing=0.0,
    ...     capacity=5.0)), 6)
    6.931472
    """

    def has_room(exponent: ArrayLike) -> bool:
        time = np.exp(exponent)
        return bool(sizes @ -np.expm1(-rates * time) + passing * time < capacity)

    return floats(float(np.exp(bisect(has_room, -700.0, 700.0, halvings=64)[0])))


def tier_break_even(*, usd_per_hour: ArrayLike, gain: ArrayLike, size: ArrayLike) -> Array:
    r"""Compute the monthly price per GB below which additional cache memory pays off. [USD]

    .. math:: p = \frac{730 \, c \, (\lambda / \lambda_0 - 1)}{10^{-9} \, S}

    usd_per_hour : The price of the machines, :math:`c`. [USD/h]
    gain : The ratio of throughput with and without the memory, :math:`\lambda / \lambda_0`. [1]
    size : The size of the memory, :math:`S`. [byte]

    The memory replaces the machines that would otherwise serve the additional requests. Source: J.
    Gray and G. Putzolu, "The 5 minute rule for trading memory for disc accesses," SIGMOD 1987,
    doi:10.1145/38713.38755.

    >>> float(tier_break_even(usd_per_hour=2.0, gain=1.5, size=100e9))
    7.3
    """
    return HOURS_PER_MONTH * floats(usd_per_hour) * (floats(gain) - 1.0) / (floats(size) / 1e9)
