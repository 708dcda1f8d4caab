"""Predictions of aiconfigurator for jobs that come on standard input as JSON, one result a line.

Run by aiconfigurator's own Python (0.12), which knows nothing of fastcalc. A job names a mode of
``cli_estimate`` and lists the sets of options to try, best first; the first that it accepts counts.
"""

import contextlib
import json
import logging
import sys
from collections.abc import Iterator
from typing import Any

from aiconfigurator.cli.api import cli_estimate

MODES = ("SILICON", "HYBRID")
"""Its measured operators, then those with formulas where none was measured."""

BATCHES = sorted({int(base * 2**power) for base in (1, 1.5) for power in range(10)} | {1024})
"""Batches of a rank tried for saturated load, to 1,024 as in its own search."""

BUDGETS = (1, 2, 4, 8)
"""Prompts taken in by a step of saturated load."""


def estimate(job: dict[str, Any], options: dict[str, Any], database: str, **more: Any) -> Any:
    """Return one estimate, as much batch as asked for or None where memory does not hold it."""
    try:
        found = cli_estimate(
            job["model"],
            job["system"],
            mode=job["mode"],
            backend_name=job["backend"],
            backend_version="current",
            database_mode=database,
            **{**job["lengths"], **job["layout"], **options, **more},
        )
    except RuntimeError as error:
        if "OOM" in str(error):
            return None
        raise
    # A static batch of a published measurement ran, whatever an estimate says of memory.
    return None if found.kv_cache_warning and job["mode"] == "agg" else found


def best(job: dict[str, Any], options: dict[str, Any], database: str) -> Any:
    """Return the estimate of a job: at its batch, at the most below it that fits, or the best."""
    if job["batch"] is not None:
        for batch in [job["batch"], *(one for one in reversed(BATCHES) if one < job["batch"])]:
            found = estimate(job, options, database, batch_size=batch)
            if found is not None:
                return found
        return None
    prompt = job["lengths"]["isl"]
    most = min(job["most"] or BATCHES[-1], BATCHES[-1])
    rates = []
    for batch in (one for one in BATCHES if one <= most):
        for budget in (one for one in BUDGETS if one < batch or one == 1):
            found = estimate(job, options, database, batch_size=batch, ctx_tokens=budget * prompt)
            if found is None:
                break
            rates.append(found)
    return max(rates, key=lambda one: one.seq_per_second, default=None)


def answers(job: dict[str, Any]) -> dict[str, Any]:
    """Estimate of a job, with that of the format's other kind under ``other`` where it has two."""
    answer = first(job, job["options"])
    if "other_options" not in job:
        return answer
    other = first(job, job["other_options"])
    return other if "reason" in answer else answer | {"other": other}


def first(job: dict[str, Any], choices: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the first estimate that some options give, or why there is none."""
    reasons = []
    for database in MODES:
        for options in choices:
            try:
                found = best(job, options, database)
            except Exception as error:  # whatever a stranger raises is its reason
                reasons.append(f"{type(error).__name__}: {error}"[:200])
                continue
            if found is None:
                reasons.append("does not fit its memory")
                continue
            return {
                "database": database,
                "version": found.backend_version,
                "batch": found.batch_size,
                "ttft_ms": float(found.ttft),
                "tpot_ms": float(found.tpot),
                "seq_per_s": float(found.seq_per_second),
                "request_ms": float(found.request_latency),
                "formats": {name: found.raw.get(name) for name in ("gemm", "moe", "kvcache")},
            }
    return {"reason": reasons[0] if reasons else "no options"}


def results(jobs: list[dict[str, Any]]) -> Iterator[str]:
    """Yield a line of JSON for each job."""
    for job in jobs:
        with contextlib.redirect_stdout(sys.stderr):
            found = answers(job)
        yield json.dumps({"id": job["id"], **found})


if __name__ == "__main__":
    logging.disable(logging.WARNING)
    for line in results(json.load(sys.stdin)):
        print(line, flush=True)
