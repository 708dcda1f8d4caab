"""Time of memory accesses and arithmetic on a machine."""

import numpy as np

from fastcalc.formulas.types import Array, ArrayLike, floats


def time_of(*, work: ArrayLike, rate: ArrayLike) -> Array:
    r"""Compute the time for work at a given rate: bytes over bandwidth, or FLOPs over FLOP/s. [s]

    .. math:: t = W / R

    work : The bytes or FLOPs, :math:`W`. [byte or FLOP]
    rate : The bytes or FLOPs per second, :math:`R`. [byte/s or FLOP/s]

    Source: Williams et al., "Roofline," 2009, doi:10.1145/1498765.1498785.

    >>> float(time_of(work=3.35e12, rate=3.35e12))
    1.0
    """
    return floats(work) / rate


def time_over_tiers(*, work: ArrayLike, capacities: ArrayLike, bandwidths: ArrayLike) -> Array:
    r"""Compute the minimum time to read data spread optimally over memory tiers. [s]

    .. math:: t = \max_k \frac{W - \sum_{i<k} C_i}{\sum_{i \ge k} \beta_i}

    work : The number of bytes read, :math:`W`. [byte]
    capacities : The capacity of each tier, :math:`C`. [byte]
    bandwidths : The bandwidth of each tier, in the same order, :math:`\beta`. [byte/s]

    All tiers are read at the same time. Along the last axis, they are sorted by the time to read a
    full tier (:math:`C / \beta`). Source: Williams et al., "Roofline," 2009,
    doi:10.1145/1498765.1498785.

    >>> float(time_over_tiers(work=10.0, capacities=[4.0, 100.0], bandwidths=[10.0, 2.0]))
    3.0
    """
    sizes = floats(capacities)
    rates = floats(bandwidths)
    if sizes.shape[-1] == 1:
        return floats(work) / rates[..., 0]
    faster = np.cumsum(sizes, axis=-1) - sizes
    slower_rates = np.cumsum(rates[..., ::-1], axis=-1)[..., ::-1]
    time = (floats(work) - faster[..., 0]) / slower_rates[..., 0]
    for tier in range(1, sizes.shape[-1]):
        time = np.maximum(time, (work - faster[..., tier]) / slower_rates[..., tier])
    return time


def critical_batch(*, peak: ArrayLike, bandwidth: ArrayLike, bytes_per_weight: ArrayLike) -> Array:
    r"""Compute the rows at which a matrix product takes as long to compute as to read. [1]

    .. math:: B = \frac{F}{\beta} \cdot \frac{b}{2}

    peak : The arithmetic rate, :math:`F`. [FLOP/s]
    bandwidth : The memory bandwidth, :math:`\beta`. [byte/s]
    bytes_per_weight : The width of a weight, :math:`b`. [byte]

    Source: JAX scaling book, https://jax-ml.github.io/scaling-book/inference/ (critical batch).

    >>> round(float(critical_batch(peak=989e12, bandwidth=3.35e12, bytes_per_weight=2)))
    295
    """
    return floats(peak) / bandwidth * bytes_per_weight / 2.0


def achieved_bandwidth(
    *, peak: ArrayLike, fraction: ArrayLike, cores: ArrayLike, per_core: ArrayLike
) -> Array:
    r"""Compute the achieved bandwidth: a fraction of the peak, capped by the cores. [byte/s]

    .. math:: \beta = \left( (\eta \beta_0)^{-8} + (n c)^{-8} \right)^{-1/8}

    peak : The data-sheet bandwidth, :math:`\beta_0`. [byte/s]
    fraction : The fraction achieved by long reads, :math:`\eta`. [1]
    cores : The number of cores that issue reads, :math:`n`. [1]
    per_core : The bandwidth of one core's reads in flight, :math:`c`, or infinity. [byte/s]

    A few cores cannot saturate a wide memory (Little's law); the norm is a smooth minimum. Source:
    McCalpin, "Memory bandwidth and machine balance," 1995.

    >>> float(achieved_bandwidth(peak=2e12, fraction=0.5, cores=100, per_core=float("inf")))
    1000000000000.0
    """
    ratio = floats(peak) * fraction
    cap = floats(cores) * per_core
    return ratio * (1.0 + (ratio / cap) ** 8) ** (-1 / 8)


def achieved_compute(
    *, peak: ArrayLike, fraction: ArrayLike, cores: ArrayLike, per_core: ArrayLike
) -> Array:
    r"""Compute the achieved FLOP rate of products whose operands must be fed to the cores. [FLOP/s]

    .. math:: R = \left( \frac{1}{\eta F} + \frac{1}{n f} \right)^{-1}

    peak : The dense peak rate of these products, :math:`F`. [FLOP/s]
    fraction : The fraction achieved by cores that are fed in time, :math:`\eta`. [1]
    cores : The number of cores, :math:`n`. [1]
    per_core : The rate at which a core is fed, :math:`f`, or infinity for no limit. [FLOP/s]

    Kernels feed every core the same operand bytes per second, so chips with faster cores achieve a
    smaller fraction of their peak: the two times add up. Operands with half as many bits are fed
    twice as fast. Source: Amdahl, AFIPS 1967: parts of a time add up, rates do not.

    >>> float(achieved_compute(peak=1e15, fraction=0.8, cores=100, per_core=float("inf")))
    800000000000000.0
    """
    fed = 1.0 * np.asarray(cores) * per_core
    return 1.0 * np.asarray(peak) / (1.0 / np.asarray(fraction) + peak / fed)


def overlapped_time(*, memory: ArrayLike, compute: ArrayLike, norm: ArrayLike) -> Array:
    r"""Compute the time of a kernel that reads and computes at the same time. [s]

    .. math:: t = \left(t_m^p + t_c^p\right)^{1/p}

    memory : The time of the reads alone, :math:`t_m`. [s]
    compute : The time of the FLOPs alone, :math:`t_c`. [s]
    norm : :math:`p`, at least 1. [1]

    With :math:`p = \infty`, the shorter time is hidden (a roofline); with :math:`p = 1`, the two
    add up. Matrix products lie near 3: the median error over 105,225 products on eight chips is
    1.09, compared with 1.10 for the maximum and 1.18 for the sum. Products with routed experts lie
    near 1, because the rows of each expert are padded to a tile. Source: kernel tables of NVIDIA
    aiconfigurator-core 0.12.0, https://github.com/ai-dynamo/aiconfigurator; the fits are our own,
    docs/method.md.

    >>> float(overlapped_time(memory=3.0, compute=4.0, norm=2.0))
    5.0
    """
    larger = floats(np.maximum(memory, compute))
    ratio = np.minimum(memory, compute) / np.maximum(larger, 1e-300)
    # In numpy, a third power is ten times slower than a square and a product.
    power = ratio**2.0 * ratio if isinstance(norm, float) and norm == 3.0 else ratio**norm
    return larger * (1.0 + power) ** (1.0 / norm)
