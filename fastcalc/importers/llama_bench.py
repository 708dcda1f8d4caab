"""Measurements from ``llama-bench -o json`` and ``-o jsonl``.

The fields are those of llama.cpp's ``tools/llama-bench/README.md`` (section JSON; read at 5a32f10)
and of ``test::get_fields`` in its ``llama-bench.cpp`` (read at 0104b15), which separates the names
of GPUs by commas and reports one speed over prompt and generated tokens.
"""

from collections.abc import Mapping
from typing import Any

from fastcalc.catalogue.formats import FORMATS
from fastcalc.catalogue.store import Catalogue
from fastcalc.evidence.point import Point
from fastcalc.importers.json_records import Record
from fastcalc.importers.naming import Options, gguf_format
from fastcalc.importers.setup import LAYOUT, asked, columns, layout, no_model
from fastcalc.mentions import option
from fastcalc.written import shown

_BITS_OFF = 1.35  # tolerated ratio, since files store some tensors in more bits than their type
_NO_GPU = {"BLAS", "CPU", "RPC"}


def is_result(record: Record) -> bool:
    """Check whether a record was printed by ``llama-bench``."""
    return {"avg_ts", "n_prompt", "n_gen"} <= record.data.keys()


def measurements(record: Record, options: Options) -> list[Point | str]:
    """Read the measurement of one test, or the reason why there is none. May raise `Unsaid`."""
    prompt, output = record.count("n_prompt") or 0, record.count("n_gen") or 0
    depth, speed = record.count("n_depth") or 0, record.number("avg_ts") or 0.0
    reason = _no_point(record, prompt=prompt, output=output, depth=depth, speed=speed)
    if reason:
        return [reason]
    setup = _setup(record, options)
    reason = _on_the_host(record, setup["model"], options.names.catalogue)
    if reason:
        return [reason]
    if output:
        metric, point_type = "tokens_per_s_per_user", "decode_batch1"
        words = f"mean context {depth + output / 2:g}"
    else:
        metric, point_type = "prefill_tokens_per_s", "prefill"
        words = f"n_ubatch {record.count('n_ubatch') or 'not stated'}"
    spread = record.number("stddev_ts")
    build = shown(record.text("build_commit"))
    notes = [
        f"kind={point_type}",
        words,
        "" if spread is None else f"+- {spread:.4g}",
        f"build {build}" if build else "",
        *(shown(record.text(key)) for key in ("gpu_info", "model_type")),
    ]
    return [
        Point(
            **setup,
            source="llama-bench",
            date=record.text("test_time")[:10],
            concurrency=1,
            prompt=float(depth if output else prompt),
            output=float(output),
            metric=metric,
            value=speed,
            tokens_per_pass=1.0,
            notes="; ".join(filter(None, notes)),
            line=record.line,
        )
    ]


def _no_point(record: Record, *, prompt: int, output: int, depth: int, speed: float) -> str | None:
    if speed <= 0:
        return "avg_ts is not above 0: the test did not run"
    if prompt < 0 or output < 0 or depth < 0 or prompt == output == 0:
        return "n_prompt and n_gen are both 0: nothing was measured"
    if prompt and output:
        return "a pg test mixes prompt and generated tokens in one speed; run pp and tg separately"
    if prompt and depth:
        return f"a prompt after {depth} tokens of depth, for which there is no metric"
    if record.data.get("embeddings") is True:
        return "an embedding test, which does not decode"
    if record.data.get("no_kv_offload") is True:
        return "the KV cache is in host memory (no_kv_offload)"
    if (record.count("n_cpu_moe") or 0) > 0:
        return "experts are computed on the host (n_cpu_moe)"
    if (record.text("tensor_buft_overrides") or "none") != "none":
        return "tensors are placed manually (tensor_buft_overrides)"
    return None


def _on_the_host(record: Record, model: str, catalogue: Catalogue) -> str | None:
    offloaded = record.count("n_gpu_layers")
    if record.text("backends") == "CPU" or offloaded is None or offloaded < 0:
        return None
    if offloaded == 0:
        return "no layer is on the GPU (n_gpu_layers 0)"
    is_entry = "/" not in model and "\\" not in model and catalogue.knows(model, "models")
    entry = catalogue.model(model) if is_entry else None
    layers = int(entry.layers or sum(block.count for block in entry.blocks)) if entry else 0
    if offloaded <= layers:
        return f"{offloaded} of {layers} layers and the output are on the GPU (n_gpu_layers)"
    return None


def _setup(record: Record, user_options: Options) -> dict[str, Any]:
    names, (gpus, unclear) = user_options.names, _gpus(record)
    called, point_type = record.text("model_filename"), record.text("model_type")
    from_record = {
        "hardware": names.chip(gpus[0]) if len(set(gpus)) == 1 else None,
        "model": names.model(called),
        "weights": gguf_format(point_type),
        "kv": gguf_format(record.text("type_k")),
    }
    options = user_options.left_by(from_record)
    hardware = options.get("hardware", "")
    if not hardware and len(set(gpus)) == 1:
        hardware = names.chip(gpus[0]) or ""
        no_chip = (
            f"'{shown(gpus[0])}' is not a single chip of the catalogue: give {option('hardware')}"
        )
    else:
        give = f"give {option('hardware')} and {option('chips')}"
        no_chip = f"the file names no GPU (gpu_info): {give}"
        if gpus:
            no_chip = f"the file names several types of GPU: {give} if only one was used"
    # GPUs get layers in order, or rows or tensors of each layer.
    stated = {name: options[name] for name in LAYOUT if name in options}
    chips = stated.get("chips") or str(len(gpus) or "")
    if chips and not {"tp", "pp", "dp"} & stated.keys():
        shared = "tp" if record.text("split_mode") in ("row", "tensor") else "pp"
        stated |= {"chips": chips, shared: chips}
    machine = layout(stated) if not unclear or "chips" in options else {}
    model = options.get("model") or names.model(called) or ""
    stored, no_format = _weights(record, options)
    kv, no_cache = _cache(record, options)
    asked(
        None if hardware else no_chip,
        None if machine else unclear,
        None if model else no_model(called),
        no_format,
        no_cache,
    )
    asked(None if machine else f"the file states no number of chips: give {option('chips')}")
    engine = options.get("engine", "llama-cpp")
    return columns(machine, hardware=hardware, model=model, engine=engine, weights=stored, kv=kv)


def _cache(record: Record, options: dict[str, str]) -> tuple[str, str | None]:
    keys, values = record.text("type_k"), record.text("type_v")
    kv = options.get("kv") or gguf_format(keys) or ""
    if "kv" in options or (keys == values and (kv or not keys)):
        return kv, None
    return kv, f"keys are in '{shown(keys)}' and values in '{shown(values)}': give {option('kv')}"


def _gpus(record: Record) -> tuple[list[str], str | None]:
    gpus = [name.strip() for name in record.text("gpu_info").split(",") if name.strip()]
    if record.text("split_mode") == "none" and gpus:
        main = record.count("main_gpu") or 0
        return ([gpus[main]] if 0 <= main < len(gpus) else gpus[:1]), None
    pieces = [item for item in record.text("tensor_split").split("/") if item.strip("0. ")]
    devices = record.text("devices")
    if devices and devices not in ("auto", "none"):
        count = devices.count("/") + 1
        return (gpus[:count] if len(set(gpus)) == 1 else gpus), None
    if pieces and len(set(gpus)) == 1 and len(pieces) <= len(gpus):
        return gpus[: len(pieces)], None
    backends = {name.strip() for name in record.text("backends").split(",")} - _NO_GPU
    if len(backends) > 1 and len(gpus) > 1:
        return gpus, f"several backends may list one GPU twice: give {option('chips')}"
    return gpus, None


def _weights(record: Record, options: Mapping[str, str]) -> tuple[str, str | None]:
    if "weights" in options:
        return options["weights"], None
    called = record.text("model_type")
    name = gguf_format(called) if called else None
    if not called:
        return (
            "",
            f"the file has no model_type, which names the number format: give {option('weights')}",
        )
    if name is None:
        return "", f"'{shown(called)}' does not end in a number format: give {option('weights')}"
    size, count = record.number("model_size"), record.number("model_n_params")
    stored = FORMATS.get(name)
    if stored and size and count and size > 0 and count > 0:
        bits = 8 * size / count
        if not stored.bits / _BITS_OFF <= bits <= stored.bits * _BITS_OFF:
            return "", (
                f"'{shown(called)}' should have {stored.bits:g} bits per weight, but the file has "
                f"{bits:.3g}: give {option('weights')}"
            )
    return name, None
