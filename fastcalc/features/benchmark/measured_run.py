"""What a run of a benchmark measured."""

from dataclasses import dataclass


@dataclass(frozen=True)
class MeasuredRun:
    """Medians of the requests of a run, and its throughput.

    ttft, tpot : TPOT is None where answers have a single token [s]
    throughput : of output tokens [1/s]
    client_busy : share of the run in which the client itself computed [1]
    """

    ttft: float
    tpot: float | None
    throughput: float
    client_busy: float
