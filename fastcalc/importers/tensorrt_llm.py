"""Results of ``trtllm-bench --report_json``, the only format that names its chip.

The keys are those of ``get_statistics_dict`` in TensorRT-LLM's ``tensorrt_llm/bench/dataclasses/
reporting.py``. Reports contain the mean number of concurrent requests, but not how they were sent.
"""

from collections.abc import Iterator
from math import ceil

from fastcalc.importers.json_records import NoRunError, Record
from fastcalc.importers.served_run import Arrivals, ServedRun, accepted_tokens, times_in

_WEIGHTS = {
    "fp8": "fp8", "fp8_block_scales": "fp8", "fp8_per_channel_per_token": "fp8", "nvfp4": "nvfp4",
    "w4a16_awq": "awq-int4-g128", "w4a16_gptq": "gptq-int4-g128", "w8a16": "int8",
    "w4a8_mxfp4_mxfp8": "mxfp4", "w4a8_mxfp4_fp8": "mxfp4", "w4a16_mxfp4": "mxfp4",
}  # fmt: skip
_LAYOUT = {"tp": "tp_size", "pp": "pp_size", "ep": "ep_size", "chips": "world_size"}


def is_result(record: Record) -> bool:
    """Check whether a record is a ``trtllm-bench`` report."""
    return {"engine", "world_info", "request_info", "performance"} <= record.data.keys()


def runs(record: Record) -> Iterator[ServedRun | str]:
    """Yield the only run in a report, or raise NoRunError."""
    requests, speed = record.within("request_info"), record.within("performance")
    world, streamed = record.within("world_info"), record.within("streaming_metrics")
    in_flight = requests.number("avg_num_concurrent_requests")
    if in_flight is None or in_flight <= 0:
        raise NoRunError("the report does not state the number of concurrent requests")
    largest = world.count("max_batch_size")
    is_queued = largest is not None and in_flight > largest
    latency = speed.within("request_latency_percentiles_ms")
    model, drafts = record.within("engine"), record.within("decoding_stats")
    accepted = drafts.within("acceptance_length_percentiles")
    yield ServedRun(
        program="trtllm-bench",
        completed=requests.count("num_requests") or 0,
        seconds=(speed.number("total_latency_ms") or 0.0) / 1e3,
        prompt=requests.number("avg_input_length") or 0.0,
        output=requests.number("avg_output_length") or 0.0,
        arrivals=Arrivals(limit=None if is_queued else ceil(in_flight - 1e-6)),
        ttft=times_in(
            streamed.within("ttft_percentiles"), unit=1e-3, mean=streamed.number("avg_ttft_ms")
        ),
        tpot=times_in(
            streamed.within("tpot_percentiles"), unit=1e-3, mean=streamed.number("avg_tpot_ms")
        ),
        request=times_in(latency, unit=1e-3, mean=speed.number("avg_request_latency_ms")),
        rate=speed.number("system_output_throughput_tok_s"),
        # One token if the report has no section on drafts.
        tokens_per_pass=accepted_tokens(accepted, "average")
        if "decoding_stats" in record.data
        else 1.0,
        names=(model.text("model"), model.text("model_path")),
        stated={
            **{name: world.count(key) for name, key in _LAYOUT.items()},
            "engine": "tensorrt-llm",
            "hardware": record.within("machine").text("name"),
            "weights": _WEIGHTS.get(model.text("quantization").lower()),
            "kv": "fp8" if model.text("kv_cache_dtype").lower() == "fp8" else None,
        },
        remarks=(f"mean requests in flight {in_flight:.4g}",) if not is_queued else (),
    )
