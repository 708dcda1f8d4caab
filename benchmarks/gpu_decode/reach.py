"""What a device reaches, as a table for people and as CSV: plain Python."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date

from benchmarks.gpu_decode.points import Decode, Row, Timing, csv_text

COLUMNS = ("date", "hardware", "device", "what", "size", "value", "low", "high", "unit")
_SHOWN = {"B/s": (1e9, "GB/s"), "FLOP/s": (1e12, "TFLOP/s"), "s": (1e-6, "us")}


@dataclass(frozen=True)
class Reached:
    """One measurement: a rate, or a time where no work is given.

    Attributes
    ----------
    what, size : str
        What ran, and how large it was.
    timing : Timing
        Of one run.
    work : float or None
        Bytes moved or operations done in one run. [byte or FLOP]
    unit : str
        Of the value: ``B/s``, ``FLOP/s`` or ``s``.
    """

    what: str
    size: str
    timing: Timing
    work: float | None
    unit: str

    def of(self, seconds: float) -> float:
        """Return the value that a time means."""
        return seconds if self.work is None else self.work / seconds

    @property
    def bounds(self) -> tuple[float, float]:
        """The lowest and the highest value of the repetitions."""
        values = [self.of(one) for one in self.timing.seconds]
        return min(values), max(values)

    def row(self, day: date, hardware: str, device: str) -> Row:
        """Return the CSV row, in SI units."""
        low, high = self.bounds
        return {
            "date": day.isoformat(),
            "hardware": hardware,
            "device": device,
            "what": self.what,
            "size": self.size,
            "value": float(f"{self.of(self.timing.median):.6g}"),
            "low": float(f"{low:.6g}"),
            "high": float(f"{high:.6g}"),
            "unit": self.unit,
        }


def micro_csv(reached: Iterable[Reached], day: date, hardware: str, device: str) -> str:
    """Return the file of what a device reaches."""
    return csv_text(COLUMNS, (one.row(day, hardware, device) for one in reached))


def micro_table(reached: Iterable[Reached]) -> str:
    """Return the same for people."""
    lines = [f"{'':24}{'':24}{'median':>10}{'low':>10}{'high':>10}"]
    for one in reached:
        scale, unit = _SHOWN[one.unit]
        values = (one.of(one.timing.median), *one.bounds)
        cells = "".join(f"{value / scale:10.4g}" for value in values)
        lines.append(f"{one.what:24}{one.size:24}{cells} {unit}")
    return "\n".join(lines) + "\n"


def decode_table(steps: Iterable[Decode]) -> str:
    """Return the decode steps for people: times, and what a user and the chip get."""
    lines = [
        f"{'model':20}{'context':>8}{'batch':>6}{'ms':>10}{'low':>10}{'high':>10}"
        f"{'tok/s user':>12}{'tok/s':>10}"
    ]
    for one in steps:
        seconds = one.timing.median
        times = (seconds, min(one.timing.seconds), max(one.timing.seconds))
        lines.append(
            f"{one.model:20}{one.context:8,}{one.batch:6}"
            + "".join(f"{value * 1e3:10.4g}" for value in times)
            + f"{1 / seconds:12.4g}{one.batch / seconds:10.4g}"
        )
    return "\n".join(lines) + "\n"
