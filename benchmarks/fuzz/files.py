"""Input files as they are meant to be, by kind, drawn from the catalogue and the tests."""

import csv
import io
import json
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from random import Random

from fastcalc.catalogue.folders import shipped_folder

TESTS = Path(__file__).resolve().parents[2] / "tests"

ENDINGS = {
    "hardware": ".yaml",
    "model": ".yaml",
    "engine": ".yaml",
    "config": ".json",
    "measured": ".csv",
    "vllm": ".json",
    "vllm-lines": ".jsonl",
    "llama-bench": ".json",
    "llama-bench-lines": ".jsonl",
    "claims": ".yaml",
    "sglang": ".jsonl",
    "aiperf": ".json",
    "aiperf-requests": ".jsonl",
    "guidellm": ".json",
    "trtllm": ".json",
    "trace": ".jsonl",
    "azure": ".csv",
    "workload": ".yaml",
    "log": ".log",
    "factors": ".csv",
    "check-record": ".json",
}
RESULTS = {
    "vllm": "vllm-closed.json",
    "llama-bench": "llama-bench.json",
    "sglang": "sglang-h200.jsonl",
    "aiperf": "aiperf-rtx-5090.json",
    "aiperf-requests": "aiperf-requests.jsonl",
    "guidellm": "guidellm-xpu.json",
    "trtllm": "trtllm-bench.json",
}
"""Results of benchmarks as they were published, by their kind."""
EXAMPLES = TESTS.parent / "docs" / "examples"
SAID = ("--hardware", "h100-sxm", "--model", "llama-3.1-8b", "--tp", "1")
"""What has to be said of a result that does not name its machine."""


@lru_cache(maxsize=1)
def _folders() -> dict[str, list[Path]]:
    return {
        "hardware": sorted(shipped_folder("hardware").glob("*.yaml")),
        "model": sorted(shipped_folder("models").glob("*.yaml")),
        "engine": sorted(shipped_folder("engines").glob("*.yaml")),
        "config": sorted((TESTS / "configs").glob("*.json")),
    }


@lru_cache(maxsize=1)
def _measured() -> list[str]:
    return (shipped_folder("evidence") / "measured.csv").read_text(encoding="utf-8").splitlines()


@lru_cache(maxsize=1)
def _claims() -> tuple[str, list[str]]:
    """Return what stands before the claims, and each of them."""
    text = (shipped_folder("evidence") / "claims.yaml").read_text(encoding="utf-8")
    head, _, rest = text.partition("\nclaims:\n")
    first, *others = rest.split("\n  - id:")
    return head + "\nclaims:\n", [part + "\n" for part in (first, *("  - id:" + x for x in others))]


@lru_cache(maxsize=2)
def _results(name: str) -> list[dict[str, object]]:
    data = json.loads((TESTS / "measured" / name).read_text(encoding="utf-8"))
    return data if isinstance(data, list) else [data]


def sound(rng: Random, kind: str) -> tuple[str, bytes]:
    """Return a name without ending for a file of some kind, and what is in it.

    An entry's name is its id, for so it is called in a folder.
    """
    if kind in _folders():
        path = rng.choice(_folders()[kind])
        return path.stem, path.read_bytes()
    if kind == "measured":
        rows = rng.sample(_measured()[1:], rng.choice((1, 3, 6, 12)))
        return "points", "\n".join([_measured()[0], *rows, ""]).encode()
    if kind == "claims":
        head, claims = _claims()
        chosen = rng.sample(claims[1:], rng.choice((1, 2, 5)))
        return "claims", (head + "".join(chosen)).encode()
    if kind in OTHERS:
        return kind, OTHERS[kind](rng)
    if kind in RESULTS and kind not in ("vllm", "llama-bench"):
        return "result", (TESTS / "measured" / RESULTS[kind]).read_bytes()
    results = _results(RESULTS[kind.removesuffix("-lines")])
    if kind.endswith("-lines"):
        lines = [json.dumps(rng.choice(results)) for _ in range(rng.choice((1, 2, 4)))]
        return "result", ("\n".join(lines) + "\n").encode()
    return "result", json.dumps(results if kind == "llama-bench" else results[0], indent=1).encode()


def _trace(rng: Random) -> bytes:
    """Return a few recorded requests, some of them the same for their first blocks."""
    apart = rng.choice((1e-15, 0.001, 1, 50, 1e4))
    requests = [
        {
            "timestamp": place * apart,
            "input_length": rng.choice((1, 512, 1000, 6000)),
            "output_length": rng.choice((1, 100, 700)),
        }
        for place in range(rng.choice((1, 2, 20)))
    ]
    if rng.random() < 0.6:
        for request in requests:
            request["hash_ids"] = list(range(-(-request["input_length"] // 512)))
    return "".join(json.dumps(request) + "\n" for request in requests).encode()


def _azure(rng: Random) -> bytes:
    rows = [
        f"2023-11-16 18:15:{rng.randrange(60):02d}.6805900,{rng.randrange(1, 5000)},44"
        for _ in range(rng.choice((1, 2, 20)))
    ]
    return "\n".join(["TIMESTAMP,ContextTokens,GeneratedTokens", *rows, ""]).encode()


def _factors(rng: Random) -> bytes:
    ids = [row.split(",")[0] for row in rng.sample(_measured()[1:], 6)]
    rows = [f"{name},h100-sxm,{rng.uniform(1.0, 3.0):.3f}" for name in ids]
    return "\n".join(["id,hardware,factor", *rows, ""]).encode()


def _check_record(rng: Random) -> bytes:
    rule = rng.choice(("HW001", "HW041", "ST003"))
    fault = {"rule": rule, "file": "chip.yaml", "line": 3, "message": "what is wrong"}
    return json.dumps({"schema": "fastcalc/1", "records": [fault]}).encode()


OTHERS: dict[str, Callable[[Random], bytes]] = {
    "trace": _trace,
    "azure": _azure,
    "workload": lambda _: (EXAMPLES / "my-mix.yaml").read_bytes(),
    "log": lambda _: (EXAMPLES / "my-server.log").read_bytes(),
    "factors": _factors,
    "check-record": _check_record,
}
"""Files of which none is published, or that somebody's own program wrote."""


def rows_of(text: str) -> list[list[str]]:
    """Return the cells of a CSV."""
    return list(csv.reader(io.StringIO(text, newline=None)))


def csv_text(rows: list[list[str]]) -> str:
    """Return cells as a CSV."""
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows(rows)
    return stream.getvalue()
