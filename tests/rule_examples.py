"""A file that breaks each rule: a shipped one with one thing changed, or a few bytes."""

import re
from collections.abc import Callable

from tests.helpers import ROOT

H100 = (ROOT / "hardware" / "h100-sxm.yaml").read_text()
B200 = (ROOT / "hardware" / "b200.yaml").read_text()
RTX = (ROOT / "hardware" / "rtx-4090.yaml").read_text()
WSE = (ROOT / "hardware" / "wse-3.yaml").read_text()
INFERENTIA = (ROOT / "hardware" / "inferentia-2.yaml").read_text()
DESKTOP = (ROOT / "hardware" / "ddr5-2ch-nvme.yaml").read_text()
MI300X = (ROOT / "hardware" / "mi300x.yaml").read_text()
LLAMA = (ROOT / "models" / "llama-3.1-8b.yaml").read_text()
MIXTRAL = (ROOT / "models" / "mixtral-8x7b.yaml").read_text()
GPT_OSS = (ROOT / "models" / "gpt-oss-120b.yaml").read_text()
FLOOR = r"decode_layer_floor: \{value: [\d.]+ us"
VLLM = (ROOT / "engines" / "vllm.yaml").read_text()
GPU = (ROOT / "engines" / "gpu.yaml").read_text()


def put(text: str, *changes: tuple[str, str]) -> str:
    """Replace the first match of each pattern; one that matches nothing is a mistake here."""
    for pattern, new in changes:
        text, count = re.subn(pattern, new, text, count=1, flags=re.M)
        assert count, pattern
    return text


def h100(*changes: tuple[str, str]) -> tuple[str, str]:
    return "h100-sxm", put(H100, *changes)


def desktop(*changes: tuple[str, str]) -> tuple[str, str]:
    return "ddr5-2ch-nvme", put(DESKTOP, *changes)


def llama(*changes: tuple[str, str]) -> tuple[str, str]:
    return "llama-3.1-8b", put(LLAMA, *changes)


def gpt_oss(*changes: tuple[str, str]) -> tuple[str, str]:
    return "gpt-oss-120b", put(GPT_OSS, *changes)


def child(parameter: str) -> tuple[str, str]:
    """An engine that extends a shipped one and gives a parameter."""
    text = 'id: child\nname: Child\ndate: "2026-11"\nextends: vllm\nfitted_on: our own runs\n'
    return "child", f"{text}sources: {{own: {{title: Ours}}}}\nparameters:\n  {parameter}\n"


def gpu(*changes: tuple[str, str]) -> tuple[str, str]:
    return "gpu", put(GPU, *changes)


def value(key: str, new: str) -> tuple[str, str]:
    """Change a number's value and drop what its source prints."""
    return (
        rf"({re.escape(key)}: )\{{value: [^,}}]*.*\}}$",
        rf"\g<1>{{value: {new}, source: datasheet}}",
    )


CAPACITY = (
    r"value: 80 GiB\n      source: datasheet\n(?:      .*\n)+?    reported:.*\n(?=    bandwidth)",
    "value: {}\n      source: datasheet\n",
)


def capacity(new: str) -> tuple[str, str]:
    return CAPACITY[0], CAPACITY[1].format(new)


EXAMPLES: dict[str, Callable[[], tuple[str, str | bytes]]] = {
    "ST002": lambda: ("h", "a: " + "x" * 300_000),
    "ST003": lambda: ("h", b"id: \xff\n"),
    "ST004": lambda: ("h", "id: [a\nname: b\n"),
    "ST005": lambda: ("h", "id: a\nmemory:\n\t- x: 1\n"),
    "ST006": lambda: ("h", "# nothing\n"),
    "ST007": lambda: ("h", "- a\n- b\n"),
    "ST008": lambda: ("h100-sxm", H100 + "---\nid: b\n"),
    "ST009": lambda: ("h100-sxm", H100 + "\nid: again\n"),
    "ST010": lambda: ("h", "id: &a x\nname: *a\n"),
    "ST011": lambda: ("h", "a: " + "[" * 100),
    "ST012": lambda: h100(("value: 3.35 TB/s", "value: 3.35e12")),
    "ST013": lambda: h100(("vendor: NVIDIA", "vendor: no")),
    "ST014": lambda: ("h", "? [a, b]\n: c\n"),
    "ST015": lambda: h100(("^vendor:", "vendr:")),
    "ST016": lambda: h100(("^vendor: .*\n", "")),
    "ST017": lambda: h100(("^vendor: .*", "vendor: [a, b]")),
    "ST018": lambda: h100(("^kind: .*", "kind: gpus")),
    "ST019": lambda: h100(("^id: .*", "id: h100")),
    "ST021": lambda: ("h", "steps: [build, test]\n"),
    "ST022": lambda: ("h100-sxm", H100 + "\nexcused: {HW008: it is an export part}\n"),
    "ST023": lambda: ("h", "id: h\nname: H\nextends: nothing\nvendor: V\nkind: gpu\n"),
    "ST024": lambda: h100(("^aliases: .*", "aliases: [b200]")),
    "UN001": lambda: h100(("value: 80 GiB", "value: 80")),
    "UN002": lambda: h100(("value: 3.35 TB/s", "value: 3.35 TBps")),
    "UN003": lambda: h100(("value: 3.35 TB/s", "value: 3.35 TB")),
    "UN004": lambda: h100(("value: 3.35 TB/s", 'value: "3,35 TB/s"')),
    "HW001": lambda: h100(value("fp8", "3958 TFLOP/s")),
    "HW002": lambda: ("b200", put(B200, value("fp4", "18 PFLOP/s"))),
    "HW003": lambda: h100(value("int8", "7916 TOPS")),
    "HW004": lambda: h100(value("int8", "3958 TOPS")),
    "HW005": lambda: h100(("^  fp8:", "  tf32: {value: 989 TFLOP/s, source: datasheet}\n  fp8:")),
    "HW006": lambda: h100(value("bf16", "1979 TFLOP/s")),
    "HW007": lambda: h100(("^  fp8:", "  int4: {value: 900 TOPS, source: datasheet}\n  fp8:")),
    "HW008": lambda: h100(value("bf16", "1979 TFLOP/s")),
    "HW009": lambda: h100(value("vector", "134 TFLOP/s")),
    "HW010": lambda: h100(value("vector", "134 TFLOP/s")),
    "HW011": lambda: h100(value("bandwidth", "3.35 PB/s")),
    "HW012": lambda: h100((r"value: 132\b", "value: 16896")),
    "HW013": lambda: h100(value("bf16", "1979 TFLOP/s")),
    "HW014": lambda: h100(("architecture: hopper", "architecture: secret")),
    "HW015": lambda: h100(value("bf16", "989.5 EFLOP/s")),
    "HW021": lambda: h100(capacity("160 GiB")),
    "HW022": lambda: ("rtx-4090", put(RTX, ("value: 1008 GB/s", "value: 2016 GB/s"))),
    "HW023": lambda: h100(capacity("640 GiB")),
    "HW024": lambda: h100(capacity("13.4 TB")),
    "HW025": lambda: h100(capacity("80 GB")),
    "HW026": lambda: ("wse-3", put(WSE, ("value: 21 PB/s", "value: 27 PB/s"))),
    "HW027": lambda: ("wse-3", put(WSE, ("value: 44 GB", "value: 440 GB"))),
    "HW028": lambda: h100(("name: HBM3$", "name: HBM4")),
    "HW029": lambda: h100(value("chip", "70 W")),
    "HW041": lambda: h100((r"bandwidth: \{value: 450.*\}$", "bandwidth: {value: 900 GB/s, source: datasheet}")),
    "HW042": lambda: h100((r"bandwidth: \{value: 450.*\}$", "bandwidth: {value: 7.2 TB/s, source: datasheet}")),
    "HW043": lambda: h100((r"bandwidth: \{value: 450.*\}$", "bandwidth: {value: 20 GB/s, source: datasheet}")),
    "HW044": lambda: h100((r"value: 400 Gb/s", "value: 400 GB/s")),
    "HW045": lambda: h100((r"domain: \{value: 8,", "domain: {value: 900,")),
    "HW046": lambda: h100((r"value: 10 us", "value: 10 ms")),
    "HW047": lambda: h100(("^scope: .*", "scope: one superchip of two GPUs")),
    "HW061": lambda: h100(value("chip", "10.2 kW")),
    "HW062": lambda: h100((r"value: 1730 W", "value: 350 W")),
    "HW063": lambda: h100((r"value: 814 mm2", "value: 814 cm2")),
    "HW064": lambda: ("h100-sxm", H100 + "\ntransistors: {value: 416000000000, source: architecture}\n"),
    "HW065": lambda: h100((r"value: 814 mm2", "value: 100 mm2")),
    "HW066": lambda: h100((r"value: 2.95 USD/h", "value: 55 USD/h")),
    "HW067": lambda: h100((r"value: 26000 USD", "value: 260 USD")),
    "HW068": lambda: h100((r"value: 26000 USD", "value: 100000 USD")),
    "HW069": lambda: h100(('released: "2022"', 'released: "2202"')),
    "HW031": lambda: desktop((r"value: 89.6 GB/s", "value: 75 GB/s")),
    "HW032": lambda: desktop((r"value: 63 GB/s", "value: 126 GB/s")),
    "HW033": lambda: desktop((r"shared_by: \{value: 2", "shared_by: {value: 16")),
    "HW073": lambda: ("inferentia-2", put(INFERENTIA, (r"ranks: \{value: 2", "ranks: {value: 64"))),
    "HW070": lambda: h100((r"terms: spot(.*)value: 0.8015", r"terms: spot\1value: 2.8015")),
    "HW071": lambda: h100((r"value: 2.29 USD/h", "value: 18.32 USD/h")),
    "HW072": lambda: h100((r"value: 2.95 USD/h", "value: 23.6 USD/h")),
    "HW074": lambda: h100(("^architecture: .*\n", "")),
    "HW075": lambda: h100(("^kind: gpu", "kind: gpu\nexecution: spatial")),
    "HW076": lambda: ("wse-3", put(WSE, ("^    where: chip\n", ""))),
    "HW077": lambda: desktop(("^scope: .*", "scope: one desktop")),
    "PV001": lambda: h100((r"(value: 400 Gb/s), source: [a-z-]+", r"\1")),
    "PV002": lambda: h100((r"(value: 400 Gb/s), source: [a-z-]+", r"\1, source: nowhere")),
    "PV003": lambda: h100(("^sources:\n", "sources:\n  spare: {title: A spare document}\n")),
    "PV004": lambda: h100((r"(value: 26000 USD, source: street), confidence: low", r"\1")),
    "PV005": lambda: h100((r'date: "2026-05"', 'date: "5/2026"')),
    "PV006": lambda: h100((r'accessed: "2026-11-21"', 'accessed: "2062-11-21"')),
    "PV007": lambda: h100((r' *date: "2026-05"\n', "")),
    "PV008": lambda: h100((r'date: "2026-05"', 'date: "2023-05"')),
    "PV009": lambda: h100((r"value: 3.35 TB/s", "value: 3.53 TB/s")),
    "PV010": lambda: h100((r"value: 989.5 TFLOP/s", "value: 1979 TFLOP/s")),
    "PV011": lambda: h100((r"(value: 400 Gb/s, source: [a-z-]+)", r"\1, confidence: memory")),
    "PV012": lambda: h100((r"url: .*", "url: see the data sheet")),
    "PV013": lambda: h100((r"(?m)^  fp8: .*", '  fp8: {value: 3958 TFLOP/s, source: datasheet, printed: "3,958 TFLOPS with sparsity"}')),
    "PV014": lambda: h100(("^vendor: .*", 'vendor: "FILL IN, e.g. NVIDIA"')),
    "PV015": lambda: h100((r'    accessed: .*\n', "")),
    "PV016": lambda: h100((r"(value: 400 Gb/s, source: [a-z-]+)", r"\1, confidence: memory")),
    "MD001": lambda: llama(("kv_heads: 8", "kv_heads: 7")),
    "MD002": lambda: ("mixtral-8x7b", put(MIXTRAL, (r"active_experts: 2", "active_experts: 20"))),
    "MD003": lambda: ("m", "id: m\nname: M\nweight_format: fp8\ntotal_parameters: 1000000\nactive_parameters: 2000000\nlayers: 6\nkv_bytes_per_token: 70\n"),
    "MD004": lambda: llama(("kv_format: bf16", "kv_format: q6_k")),
    "MD005": lambda: llama(("width: 14336", "width: 14848")),
    "MD006": lambda: llama(("width: 14336", "width: 14848"), (r"  checkpoint: .*\n", "")),
    "MD007": lambda: ("mixtral-8x7b", put(MIXTRAL, (r"active_experts: 2", "active_experts: 4"))),
    "MD008": lambda: llama(("head_dim: 128", "head_dim: 128, window: 262144")),
    "MD009": lambda: llama(("hidden_size: 4096", "hidden_size: 4069")),
    "MD010": lambda: llama(("width: 14336", "width: 143360")),
    "MD011": lambda: llama(("head_dim: 128", "head_dim: 8")),
    "MD012": lambda: llama(("vocabulary: 128256", "vocabulary: 12825600")),
    "MD013": lambda: llama(("count: 32", "count: 3200")),
    "MD014": lambda: llama((r"^shape_source: .*\n", "")),
    "MD015": lambda: llama(('released: "2024-07"', 'released: "2042-07"')),
    "MD016": lambda: llama((r"^aliases: \[", "aliases: [my-llama-70b, ")),
    "MD017": lambda: gpt_oss(("^expert_format: .*\n", "")),
    "MD018": lambda: llama(("weight_format: bf16", "weight_format: fp8")),
    "MD019": lambda: gpt_oss(("window: 128, ", "")),
    "MD020": lambda: gpt_oss(("^expert_format: .*\n", "")),
    "MD021": lambda: gpt_oss(("window: 128, ", "window: 1, ")),
    "MD022": lambda: gpt_oss(("router_bias: true, ", "")),
    "MD023": lambda: llama(("^confidence: .*\n", "")),
    "MD024": lambda: llama(("^confidence: .*", "confidence: low")),
    "MD025": lambda: llama(("^  label: .*\n", "")),
    "MD026": lambda: llama(("^  label: .*", "  label: 8.2B")),
    "EN001": lambda: gpu((FLOOR, "decode_layer_floor: {value: 95 us")),
    "EN002": lambda: gpu((r"band: \[0.85, 0.93\]", "band: [0.93, 0.85]")),
    "EN003": lambda: gpu((r"^date: .*\n", "")),
    "EN004": lambda: gpu((FLOOR, "decode_layer_floor: {value: 41 ms")),
    "EN005": lambda: gpu((r"(?s)^range_widths:.*", "")),
    "EN006": lambda: child("decode_layer_floor: {value: 200 us, source: own}"),
    "EN007": lambda: ("vllm", put(VLLM, ("engine: young", "engine: yuong"))),
    "EN009": lambda: gpu((r"below: [\d.]+", "below: 20")),
    "EN010": lambda: gpu((r"hopper, cdna3", "hopper, hopper")),
    "EN008": lambda: gpu((r"\bcdna3\b", "cdna-3")),
}  # fmt: skip
