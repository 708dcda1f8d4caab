"""Measurements of a benchmark run."""

from dataclasses import dataclass


@dataclass(frozen=True)
class MeasuredRun:
    """Stores the throughput of a run and the median latencies of its requests.

    ttft, tpot : TPOT is None if responses have a single token, in seconds
    throughput : output tokens per second [1/s]
    client_busy : fraction of the run in which the client itself was computing
    """

    ttft: float
    tpot: float | None
    throughput: float
    client_busy: float
