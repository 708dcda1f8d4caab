"""Results in the public InferenceX (InferenceMAX) database: ``agg_*.json``, or rows of its API.

The keys are those of ``utils/process_result.py`` in github.com/SemiAnalysisAI/InferenceX (read at
843c625): latencies in seconds, throughput per GPU, and requested `isl` and `osl`. API rows have
their metrics in a nested mapping, and contain `hardware` and `spec_method`.
"""

from collections.abc import Iterator
from dataclasses import replace

from fastcalc.importers import vllm
from fastcalc.importers.json_records import NoRunError, Record
from fastcalc.importers.served_run import Arrivals, ServedRun, Times
from fastcalc.importers.setup import engine_named

_CHIPS = {
    "h100": "h100-sxm", "h200": "h200-sxm", "b200": "b200", "b300": "b300", "gb200": "gb200",
    "gb300": "gb300", "mi300x": "mi300x", "mi325x": "mi325x", "mi355x": "mi355x",
    "rtx6000pro": "rtx-pro-6000",
}  # fmt: skip
_WEIGHTS = {"fp8": "fp8", "bf16": "bf16", "fp16": "fp16"}
_BITS = {"fp4": 4, "int4": 4, "fp8": 8, "int8": 8, "bf16": 16, "fp16": 16}


def is_result(record: Record) -> bool:
    """Check whether a record is a row of InferenceX."""
    return {"conc", "isl", "osl", "framework", "precision"} <= record.data.keys() or (
        "scenario_type" in record.data and "infmax_model_prefix" in record.data
    )


def runs(record: Record) -> Iterator[ServedRun | str]:
    """Yield the only run in a row, or the reason why there is none."""
    prompt, output = record.number("isl"), record.number("osl")
    if prompt is None or output is None:
        why = "an agentic run: the record states neither its prompts nor their cached share"
        raise NoRunError(why)
    measured = record.within("metrics") if "metrics" in record.data else record
    is_split = record.data.get("disagg") is True
    chips, layout = _layout(record)
    rate = measured.number("output_tput_per_gpu")
    method = (record.text("spec_decoding") or record.text("spec_method")).lower()
    called = record.text("decode_hw") or record.text("hw") or record.text("hardware")
    run = ServedRun(
        program="InferenceX",
        completed=None,
        seconds=None,
        prompt=prompt,
        output=output,
        arrivals=Arrivals(limit=record.count("conc")),
        ttft=vllm.times(measured, "ttft"),
        tpot=vllm.times(measured, "tpot"),
        request=vllm.times(measured, "e2el"),
        between_chunks=vllm.times(measured, "itl"),
        rate=None if rate is None or chips is None else rate * chips,
        is_speculated=(method != "none" if method else None),
        weight_bits=_BITS.get(record.text("precision").lower()),
        date=record.text("date")[:10],
        names=(record.text("model"),),
        stated={
            **layout,
            "hardware": _CHIPS.get(called.lower().partition("-")[0], called),
            "engine": engine_named(record.text("framework")),
            "weights": _WEIGHTS.get(record.text("precision").lower()),
        },
        # The release can be told from the container image.
        remarks=(f"image {image}" if (image := record.text("image")) else "",),
    )
    if is_split:
        yield "disaggregated prefill: TTFT and throughput include the prefill chips"
        run = replace(run, ttft=Times(), request=Times(), rate=None, is_decode_only=True)
    yield run


def _layout(record: Record) -> tuple[int | None, dict[str, int | None]]:
    """Return the number of GPUs behind the rate per GPU, and the layout of the decode GPUs."""
    is_multinode = record.data.get("is_multinode") is True
    is_row = "decode_tp" in record.data
    prefix = "decode_" if is_multinode or is_row else ""
    tp, ep = record.count(f"{prefix}tp"), record.count(f"{prefix}ep")
    pp = record.count(f"{prefix}pp") or 1
    chips = record.count("num_decode_gpu") if prefix else tp and tp * pp
    if prefix and not chips:  # there is no separate decode pool
        chips = record.count("num_prefill_gpu")
        tp = record.count("prefill_tp")
    if not chips or not tp or chips % (tp * pp):
        return chips or None, {"chips": chips or None}
    is_data_parallel = str(record.data.get(f"{prefix}dp_attention")).lower() == "true"
    ranks, copies = (1, chips // pp) if is_data_parallel else (tp, chips // (tp * pp))
    return chips, {"chips": chips, "tp": ranks, "pp": pp, "dp": copies, "ep": ep}
