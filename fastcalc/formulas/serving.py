"""Prefill and decode on the same replica, and disaggregated prefill."""

import numpy as np

from fastcalc.formulas.types import Array, ArrayLike, floats


def prompt_lump(
    *, batch: ArrayLike, prompt: ArrayLike, output: ArrayLike, chunk: ArrayLike
) -> Array:
    r"""Count the prompt tokens per mixed step at steady state. [1]

    .. math:: s = \max\left(B P / O, \; \min(C, P)\right)

    batch : The number of sequences decoded together, :math:`B`. [1]
    prompt : The prompt tokens of a request that are not cached, :math:`P`. [1]
    output : The output tokens of a request, :math:`O`. [1]
    chunk : The engine's maximum prompt tokens per step, :math:`C`. [1]

    Prompts are processed in pieces of at least a chunk, not spread over all steps. Source:
    Sarathi-Serve, arXiv:2403.02310; the size of a piece is our interpretation, docs/method.md.

    >>> float(prompt_lump(batch=8, prompt=1000, output=1000, chunk=8192))
    1000.0
    """
    return np.maximum(floats(batch) * prompt / output, np.minimum(chunk, prompt))


def disaggregated_nodes(
    *,
    input_rate: ArrayLike,
    prefill_rate: ArrayLike,
    output_rate: ArrayLike,
    decode_rate: ArrayLike,
) -> Array:
    r"""Count the nodes needed for a load with disaggregated prefill. [1]

    .. math:: N = \frac{\lambda_i}{R_p} + \frac{\lambda_o}{R_d}

    input_rate : The prompt tokens per second, including cached ones, :math:`\lambda_i`. [1/s]
    prefill_rate : The prompt tokens that a node prefills per second, :math:`R_p`. [1/s]
    output_rate : The output tokens requested per second, :math:`\lambda_o`. [1/s]
    decode_rate : The output tokens that a node decodes per second, :math:`R_d`. [1/s]

    Source: DeepSeek, open-infra-index, day 6, 2025.

    >>> float(disaggregated_nodes(input_rate=10, prefill_rate=5, output_rate=3, decode_rate=1))
    5.0
    """
    return floats(input_rate) / prefill_rate + floats(output_rate) / decode_rate


def in_flight(*, rate: ArrayLike, seconds: ArrayLike) -> Array:
    r"""Compute the mean number of requests in flight (Little's law). [1]

    .. math:: N = \lambda T

    rate : The arrival rate of requests, :math:`\lambda`. [1/s]
    seconds : The time from the arrival of a request to its last token, :math:`T`. [s]

    Source: Little, Operations Research 9(3), 1961.

    >>> float(in_flight(rate=2.0, seconds=30.0))
    60.0
    """
    return floats(rate) * seconds


DRAIN = 0.25
"""The fraction of a request's time lost while a run's last requests finish, between 0 and 1/2."""


def run_over_steady(*, concurrency: ArrayLike, requests: ArrayLike) -> Array:
    r"""Compute the time of a finite benchmark run relative to steady state. [1]

    .. math:: f = 1 + \frac{1}{4} \min\left(\frac{C}{N}, 1\right)

    concurrency : The number of concurrent requests, :math:`C`. [1]
    requests : The number of requests in the whole run, :math:`N`. [1]

    The last C requests finish over about one request time, during which half of the slots are empty
    on average. This costs half a request time if memory is the limit, and nothing if compute is; we
    assume a quarter. Source: our own calculation, docs/method.md (finite runs).

    >>> run_over_steady(concurrency=[64, 64, 1], requests=[64, 256, 1000]).tolist()
    [1.25, 1.0625, 1.00025]
    """
    return 1.0 + DRAIN * np.minimum(floats(concurrency) / requests, 1.0)
