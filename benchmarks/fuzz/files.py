"""Input files as they are meant to be, by kind, drawn from the catalogue and the tests."""

import csv
import io
import json
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
}
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
    source = "vllm-closed.json" if kind.startswith("vllm") else "llama-bench.json"
    results = _results(source)
    if kind.endswith("-lines"):
        lines = [json.dumps(rng.choice(results)) for _ in range(rng.choice((1, 2, 4)))]
        return "result", ("\n".join(lines) + "\n").encode()
    return "result", json.dumps(results if kind == "llama-bench" else results[0], indent=1).encode()


def rows_of(text: str) -> list[list[str]]:
    """Return the cells of a CSV."""
    return list(csv.reader(io.StringIO(text, newline=None)))


def csv_text(rows: list[list[str]]) -> str:
    """Return cells as a CSV."""
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows(rows)
    return stream.getvalue()
