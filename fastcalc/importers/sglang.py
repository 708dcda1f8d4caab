"""Results of SGLang's ``python -m sglang.bench_serving``, which appends one line per run.

The keys are those that ``python/sglang/bench_serving.py`` writes at the end of ``benchmark``. They
are named like vLLM's, except for end-to-end latency. Lines name neither model nor chip; newer ones
include information about the server.
"""

from collections.abc import Iterator
from dataclasses import replace

from fastcalc.importers import vllm
from fastcalc.importers.json_records import NoRunError, Record
from fastcalc.importers.served_run import Arrivals, ServedRun, accepted_tokens

_OWN = {"mean_e2e_latency_ms", "median_e2e_latency_ms", "total_output_tokens_retokenized"}
_LAYOUT = {"tp": "tp_size", "pp": "pp_size", "ep": "ep_size"}


def is_result(record: Record) -> bool:
    """Check whether a record is a line from ``sglang.bench_serving``."""
    return vllm.is_result(record) and bool(_OWN & record.data.keys())


def runs(record: Record) -> Iterator[ServedRun | str]:
    """Yield the only run in a line, or raise NoRunError."""
    run = vllm.run_of(record, _arrivals(record))
    server = record.within("server_info")
    counts = {name: server.count(key) for name, key in _LAYOUT.items()}
    replicas = server.count("dp_size")
    if server.data.get("enable_dp_attention") is True and counts["tp"] and replicas:
        counts |= {"tp": counts["tp"] // replicas, "dp": replicas}
    elif replicas:
        counts["dp"] = replicas
    cache = "fp8" if server.text("kv_cache_dtype").startswith("fp8") else ""
    yield replace(
        run,
        program="sglang.bench_serving",
        request=vllm.times(record, "e2e_latency"),
        tokens_per_pass=accepted_tokens(record, "accept_length"),
        names=(*map(server.text, ("model_path", "served_model_name")), record.text("model_id")),
        stated={**counts, "kv": cache, **run.stated},
    )


def _arrivals(record: Record) -> Arrivals:
    in_flight = record.number("concurrency")
    if record.text("request_rate") == "trace":
        seconds = record.number("duration") or 0.0
        rate = (record.number("completed") or 0.0) / seconds if seconds > 0 else 0.0
        if rate <= 0:
            raise NoRunError("no request was completed")
        return Arrivals(rate, in_flight=in_flight)
    return replace(vllm.arrivals_of(record), in_flight=in_flight)
