"""Measurements of a benchmark run."""

from dataclasses import dataclass


@dataclass(frozen=True)
class MeasuredRun:
    """The median latencies of a run's requests, and the throughput of the run.

    ttft, tpot : TPOT is None if answers have a single token [s]
    throughput : output tokens per second [1/s]
    client_busy : fraction of the run in which the client itself computed [1]
    """

    ttft: float
    tpot: float | None
    throughput: float
    client_busy: float
