"""Decode steps that others measured or summed from measured operators.

The engine is the shipped one. Of these the server with Qwen3 alone is a source that it was fitted on.
"""

import numpy as np
import pytest

from fastcalc.catalogue.schema import Model
from fastcalc.core.scenario import Sharding
from tests.helpers import outcome


@pytest.mark.parametrize(("batch", "milliseconds"), [(8, 7.3), (32, 9.6), (128, 18.1)])
def test_llama_8b_on_one_h100(batch, milliseconds):
    """aiconfigurator 0.12, operators timed by NVIDIA and added up for vLLM, context 2,048."""
    found = outcome("llama-3.1-8b", "h100-sxm", batch=(batch,), context=2048).estimate
    assert found.tpot[0] * 1e3 == pytest.approx(milliseconds, rel=0.17)


@pytest.mark.parametrize(
    ("engine", "context", "milliseconds"), [("sglang", 132, 7.37), ("vllm", 96, 7.38)]
)
def test_one_stream_of_llama_8b_on_one_h100(engine, context, milliseconds):
    """What an engine takes between the operators, whose sum is 6.2 ms, counts for one stream.

    Llama 3 8B in bf16 with CUDA graphs: SGLang's bench_latency (sgl-project/sglang, issue 1008,
    August 2024), and vLLM's benchmark_latency, 0.9447 s for 128 tokens (vllm-project/vllm, pull
    request 11000, December 2024). Neither names the chip; an A100 cannot read 15.0 GB so fast.
    """
    found = outcome("llama-3.1-8b", "h100-sxm", engine=engine, context=context).estimate
    assert found.tpot[0] * 1e3 == pytest.approx(milliseconds, rel=0.10)


@pytest.mark.parametrize(("batch", "milliseconds"), [(32, 12.8), (128, 18.9), (256, 27.8)])
def test_llama_70b_fp8_on_four_h100(batch, milliseconds):
    """aiconfigurator 0.12, as above, with an fp8 cache.

    Kernels that are timed by themselves wait for no other rank.
    """
    found = outcome(
        "llama-3.1-70b",
        "h100-sxm",
        batch=(batch,),
        context=2048,
        weights="fp8",
        kv="fp8",
        sharding=Sharding(tp=4),
    ).estimate
    waits = next(part for part in found.step.components if part.name == "rank wait")
    kernels = found.tpot[0] - np.ravel(waits.seconds)[0]
    assert kernels * 1e3 == pytest.approx(milliseconds, rel=0.17)


@pytest.mark.parametrize(
    ("batch", "prompt", "output", "milliseconds"),
    [(1, 5000, 500, 18.58), (5, 5000, 500, 21.83), (1, 500, 2000, 18.91)],
)
def test_llama_70b_fp8_on_two_h100(batch, prompt, output, milliseconds):
    """Inter-token latency of NVIDIA NIM 1.8.0, https://docs.nvidia.com/nim/benchmarking/llm/1.0.0."""
    found = outcome(
        "llama-3.3-70b",
        "h100-sxm",
        engine="tensorrt-llm",
        batch=(batch,),
        prompt=prompt,
        output=output,
        weights="fp8",
        sharding=Sharding(tp=2),
    ).estimate
    assert found.tpot[0] * 1e3 == pytest.approx(milliseconds, rel=0.18)


@pytest.fixture(scope="module")
def qwen3_8b() -> Model:
    return Model.model_validate(
        {
            "id": "qwen3-8b",
            "name": "Qwen3 8B",
            "weight_format": "bf16",
            "hidden_size": 4096,
            "vocabulary": 151_936,
            "blocks": [
                {
                    "count": 36,
                    "attention": {
                        "kind": "gqa",
                        "heads": 32,
                        "kv_heads": 8,
                        "head_dim": 128,
                        "qk_norm": True,
                    },
                    "ffn": {"kind": "dense", "width": 12_288},
                }
            ],
        }
    )


@pytest.mark.parametrize(
    ("batch", "prompt", "output", "tpot", "served"),
    [
        (1, 128, 1024, 0.00685794, 145.663),
        (4, 128, 1024, 0.00700924, 547.852),
        (16, 128, 1024, 0.00752977, 2116.79),
        (64, 128, 1024, 0.00949428, 6596.98),
        (128, 128, 1024, 0.0120043, 10_301),
        (256, 128, 1024, 0.0180841, 13_566.9),
        (32, 2048, 2048, 0.0118655, 2528.52),
        (64, 2048, 2048, 0.017053, 3462.84),
        (1, 8192, 512, 0.00730057, 128.849),
    ],
)
def test_a_server_measured_at_known_concurrency(qwen3_8b, batch, prompt, output, tpot, served):
    """vLLM 0.30, Qwen3-8B bf16 on one H100: median inter-token time, output tokens a second.

    In sample: a check that the equations are carried over whole, not of how well they predict.
    """
    found = outcome(qwen3_8b, "h100-sxm", batch=(batch,), prompt=prompt, output=output).estimate
    assert found.tpot[0] == pytest.approx(tpot, rel=0.17)
    assert found.served[0] == pytest.approx(served, rel=0.20)
    assert 1 / tpot <= found.bound[0]
