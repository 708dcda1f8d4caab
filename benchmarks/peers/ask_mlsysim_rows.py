"""mlsysim: one accelerator, a prompt and the tokens after it; its default efficiency of a half."""

from mlsysim import Hardware
from mlsysim.core.units import ureg
from mlsysim.engine.solvers.serving import ServingModel
from mlsysim.models.types import TransformerWorkload
from row_answers import Question, answer_all, demand, plain

CHIPS = {
    "a100-sxm-40gb": Hardware.Cloud.A100_40GB, "a100-sxm-80gb": Hardware.Cloud.A100,
    "b200": Hardware.Cloud.B200, "gaudi-2": Hardware.Cloud.Gaudi2,
    "gaudi-3": Hardware.Cloud.Gaudi3, "gb10": Hardware.Workstation.DGX_Spark,
    "h100-pcie": Hardware.Cloud.H100_PCIe, "h100-sxm": Hardware.Cloud.H100,
    "h200-sxm": Hardware.Cloud.H200, "mi250x": Hardware.Cloud.MI250X,
    "mi300x": Hardware.Cloud.MI300X, "mi325x": Hardware.Cloud.MI325X,
    "tpu-v4": Hardware.Cloud.TPUv4, "tpu-v5p": Hardware.Cloud.TPUv5p,
    "tpu-v6e": Hardware.Cloud.TPUv6, "trainium-2": Hardware.Cloud.Trainium2,
}  # fmt: skip
PRECISIONS = {"bf16": "fp16", "fp16": "fp16", "fp8": "fp8", "int8": "int8"}
PRECISIONS |= {"awq-int4-g128": "int4", "gptq-int4-g128": "int4", "nvfp4": "fp4", "mxfp4": "fp4"}
KINDS = frozenset(("decode", "decode_batch1", "prefill", "static"))


def evaluate(question: Question) -> dict[str, float]:
    """Return what it says of a batch on one chip."""
    shape = plain(question, KINDS)
    demand(question["hardware"] in CHIPS, f"chip {question['hardware']}")
    demand(question["weights"] in PRECISIONS, f"weights {question['weights']}")
    demand(question["chips"] == 1, "more than one chip")
    demand(not shape["experts"], f"model {question['model']}")
    model = TransformerWorkload(
        name=question["model"],
        architecture="Transformer",
        parameters=shape["parameters"] * ureg.count,
        layers=shape["layers"],
        hidden_dim=shape["hidden"],
        heads=shape["heads"],
        kv_heads=shape["kv_heads"],
        head_dim=shape["head_dim"],
    )
    is_decode = question["rule"].startswith("decode")
    result = ServingModel().solve(
        model,
        CHIPS[question["hardware"]],
        seq_len=question["context"] if is_decode else question["prompt"],
        batch_size=question["batch"],
        precision=PRECISIONS[question["weights"]],
    )
    demand(result.feasible, "does not fit its memory")
    return {
        name: time.to("s").magnitude
        for name, time in (("first_s", result.ttft), ("step_s", result.itl))
    }


answer_all(evaluate)
