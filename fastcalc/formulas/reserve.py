"""Chip memory that an engine reserves before it allocates caches."""

import numpy as np

from fastcalc.formulas.types import Array, ArrayLike, floats

LOGIT_BYTES = 4.0
"""The size of a 32-bit logit. [byte]"""

_ACTIVATION_BYTES = 2.0


def logits_memory(*, copies: ArrayLike, rows: ArrayLike, vocabulary: ArrayLike) -> Array:
    r"""Compute the memory for one or more copies of the logits at 32 bits. [byte]

    .. math:: M = 4 \, c \, n \, V

    copies : The number of copies that exist at once, :math:`c`. [1]
    rows : The number of tokens whose logits are computed, :math:`n`. [1]
    vocabulary : The columns of the output head, or the keys that an indexer scores, :math:`V`. [1]

    Source: llama.cpp reserves them for a micro-batch: they are 250.5 of the 258.5 MiB that it logs
    as the compute buffer of Llama 3 8B.

    >>> float(logits_memory(copies=1, rows=512, vocabulary=128256)) / 2**20
    250.5
    """
    return LOGIT_BYTES * floats(copies) * rows * vocabulary


def partial_results(
    *, copies: ArrayLike, splits: ArrayLike, rows: ArrayLike, width: ArrayLike
) -> Array:
    r"""Compute the memory for partial results of attention at 32 bits. [byte]

    .. math:: M = 4 \, c \, s \, n \, w

    copies : The number of copies that exist at once, :math:`c`. [1]
    splits : The number of splits of a sequence, each with its own result, :math:`s`. [1]
    rows : The number of tokens in the step, :math:`n`. [1]
    width : The columns of all heads, :math:`w`. [1]

    Source: out_accum of hopper/flash_api.cpp in FlashAttention 3; vLLM has up to 32 splits while it
    captures CUDA graphs (github.com/vllm-project/vllm/pull/25274). The latent heads of DeepSeek-V3
    have 128 x 512 columns.

    >>> float(partial_results(copies=1, splits=32, rows=512, width=128 * 512)) / 2**30
    4.0
    """
    return LOGIT_BYTES * floats(copies) * splits * rows * width


def stream_memory(*, copies: ArrayLike, tokens: ArrayLike, width: ArrayLike) -> Array:
    r"""Compute the memory of a layer's activations at 16 bits. [byte]

    .. math:: M = 2 \, c \, n \, w

    copies : The number of copies that exist at once, :math:`c`. [1]
    tokens : The tokens in the step, :math:`n`. [1]
    width : The columns of the activations, :math:`w`. [1]

    For a feed-forward network, the activations are the residual stream, the outputs of attention,
    the network's input, both halves of a gated projection and their product. Source:
    github.com/vllm-project/vllm/issues/10517, where vLLM with Llama 3.1 8B and steps of 20,000
    tokens has a peak of 17.06 GiB with 14.99 GiB of weights.

    >>> round(float(stream_memory(copies=1, tokens=20_000, width=3 * 14336 + 3 * 4096)) / 2**30, 2)
    2.06
    """
    return _ACTIVATION_BYTES * floats(copies) * tokens * width


def activation_peak(*, sampling: ArrayLike, layer: ArrayLike) -> Array:
    r"""Compute the peak activation memory of a step. [byte]

    .. math:: A = \max(S, F)

    sampling : The memory needed during sampling, :math:`S`. [byte]
    layer : The memory needed by a layer, :math:`F`. [byte]

    They are never needed at the same time. Source: vLLM 0.11, profile_run of
    vllm/v1/worker/gpu_model_runner.py.

    >>> float(activation_peak(sampling=4.7, layer=0.7))
    4.7
    """
    return np.maximum(floats(sampling), layer)


def padded_share(*, columns: ArrayLike, multiple: ArrayLike) -> Array:
    r"""Compute the factor by which padding enlarges a matrix. [1]

    .. math:: p = \lceil w / m \rceil \, m / w

    columns : The columns of the matrix on one rank, :math:`w`. [1]
    multiple : The number of columns that a kernel processes at a time, :math:`m`. [1]

    Source: vLLM 0.11, vllm/model_executor/layers/quantization/mxfp4.py: 2,880 columns of gpt-oss
    are padded to 3,072.

    >>> round(float(padded_share(columns=2880, multiple=256)), 4)
    1.0667
    """
    return np.ceil(floats(columns) / multiple) * multiple / columns


def captured_graphs(*, sequences: ArrayLike, largest: ArrayLike = np.inf) -> Array:
    r"""Count the CUDA graphs captured at startup, for mixed and for decode-only steps. [1]

    .. math:: n = c(m) + c(\min(s, m)), \quad
        c(m) = |\{1, 2, 4, 8, 16, \ldots, 248, 256, 272, \ldots\} \cap [1, m]|

    sequences : The maximum number of sequences per step, :math:`s`. [1]
    largest : The rows of the largest graph, :math:`m`; by default :math:`\min(2 s, 512)`. [1]

    Source: vLLM 0.27, vllm/config/vllm.py, _set_cudagraph_sizes: 51 and 35 for 256 sequences in
    pull request 39559.

    >>> float(captured_graphs(sequences=256))
    86.0
    """
    rows = largest_capture(sequences=sequences, largest=largest)
    return _captured_sizes(rows) + _captured_sizes(np.minimum(floats(sequences), rows))


def prompt_graphs(*, sequences: ArrayLike, largest: ArrayLike = np.inf) -> Array:
    r"""Count the CUDA graphs for steps with prompts, which are split at every attention layer. [1]

    .. math:: n = c(m)

    sequences : The maximum number of sequences per step, :math:`s`. [1]
    largest : The rows of the largest graph, :math:`m`; by default :math:`\min(2 s, 512)`. [1]

    Source: vLLM 0.27, vllm/config/vllm.py, _set_cudagraph_sizes; :math:`c` as in
    `captured_graphs`.

    >>> float(prompt_graphs(sequences=256))
    51.0
    """
    return _captured_sizes(largest_capture(sequences=sequences, largest=largest))


def graph_memory(
    *,
    graphs: ArrayLike,
    cut: ArrayLike,
    layers: ArrayLike,
    of_graph: ArrayLike,
    of_layer: ArrayLike,
) -> Array:
    r"""Estimate the memory of CUDA graphs, regardless of their number of rows. [byte]

    .. math:: M = n m + c L \ell

    graphs : The number of graphs, :math:`n`. [1]
    cut : The number of graphs that need additional memory for every layer, :math:`c`. [1]
    layers : The number of layers in the model, :math:`L`. [1]
    of_graph : The memory per graph, :math:`m`. [byte]
    of_layer : The additional memory per layer of each such graph, :math:`\ell`. [byte]

    Source: vLLM 0.27, profile_cudagraph_memory of vllm/v1/worker/gpu_model_runner.py, which assumes
    at least 1 MiB per graph.

    >>> float(graph_memory(graphs=86, cut=51, layers=36, of_graph=1.0, of_layer=0.25))
    545.0
    """
    return floats(graphs) * of_graph + floats(cut) * layers * of_layer


def largest_capture(*, sequences: ArrayLike, largest: ArrayLike = np.inf) -> Array:
    r"""Compute the number of rows of the largest CUDA graph captured at startup. [1]

    .. math:: m = \min(2 s, 512)

    sequences : The maximum number of sequences per step, :math:`s`. [1]
    largest : The rows of the largest graph if configured, otherwise infinity. [1]

    Source: vLLM 0.27, vllm/config/vllm.py, _set_cudagraph_sizes.

    >>> float(largest_capture(sequences=4))
    8.0
    """
    by_default = np.minimum(2.0 * floats(sequences), 512.0)
    return np.where(np.isinf(largest), by_default, largest)


def _captured_sizes(largest: Array) -> Array:
    steps = np.minimum(np.floor(largest / 8.0), 31.0) + np.maximum(
        np.floor(largest / 16.0) - 15.0, 0.0
    )
    smallest = (np.where(largest >= size, 1.0, 0.0) for size in (1.0, 2.0, 4.0))
    return floats(sum(smallest) + steps)
