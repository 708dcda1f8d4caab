"""aiconfigurator: measured operators, interpolated; TensorRT-LLM, its default engine."""

import contextlib
import logging
import sys

from aiconfigurator.cli.api import cli_estimate
from aiconfigurator.sdk.backends.factory import get_backend
from aiconfigurator.sdk.common import FMHAQuantMode, GEMMQuantMode, KVCacheQuantMode
from aiconfigurator.sdk.config import ModelConfig, RuntimeConfig
from aiconfigurator.sdk.inference_session import InferenceSession
from aiconfigurator.sdk.models import get_model
from aiconfigurator.sdk.perf_database import get_database_view
from answer import OUTPUT, PROMPT, rate, tell

logging.disable(logging.WARNING)
SMALL, LARGE = "meta-llama/Meta-Llama-3.1-8B", "meta-llama/Meta-Llama-3.1-70B"


def at(prompt: int, batch: int = 64, model: str = SMALL, chips: int = 1) -> object:
    """Return its estimate of a batch run to its end on some H100."""
    return cli_estimate(
        model,
        "h100_sxm",
        mode="static",
        backend_version="current",
        batch_size=batch,
        isl=prompt,
        osl=OUTPUT,
        tp_size=chips,
    )


def session() -> InferenceSession:
    """Return its session, set up once: the quickest way in."""
    formats = ModelConfig(
        tp_size=1,
        gemm_quant_mode=GEMMQuantMode.bfloat16,
        kvcache_quant_mode=KVCacheQuantMode.bfloat16,
        fmha_quant_mode=FMHAQuantMode.bfloat16,
    )
    database = get_database_view("h100_sxm", "trtllm", "current", database_mode="SILICON")
    return InferenceSession(get_model(SMALL, formats, "trtllm"), database, get_backend("trtllm"))


with contextlib.redirect_stdout(sys.stderr):
    quick = session()
    points_per_s = rate(
        lambda prompt: quick.run_static(
            RuntimeConfig(batch_size=64, isl=prompt, osl=OUTPUT), mode="static"
        )
    )
    cases = {
        "step-1": at(PROMPT, 1).tpot / 1e3,
        "step-64": at(PROMPT, 64).tpot / 1e3,
        "step-70b": at(PROMPT, 64, LARGE, 8).tpot / 1e3,
        "prompt": at(PROMPT, 1).ttft / 1e3,
    }
tell(points_per_s, cases)
