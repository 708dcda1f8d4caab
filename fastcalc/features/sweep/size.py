"""Size and time forecast of a sweep, printed before it starts; excessive sweeps are refused."""

import os
import shutil
from contextlib import suppress
from pathlib import Path

from fastcalc.errors import InputError
from fastcalc.kit.answer import output
from fastcalc.mentions import option

NOTED = 1_000_000
"""Number of points from which the forecast is printed. [1]"""

LONGEST = 600.0
"""Longest time that needs no confirmation. [s]"""

SECONDS = {"csv": 15e-6, "json": 20e-6, "parquet": 2e-6}
"""Time per point, rounded up; measured as docs/benchmarks.md describes. [s]"""

BYTES = {"csv": 450, "json": 1600, "parquet": 180}
"""Bytes per point, rounded up. [B]"""

DEPLOYMENT = 0.02
"""Time of the setup of each combination of chip, model, formats and engine. [s]"""


def foresee(
    points: int, deployments: int, file_format: str, file: Path | None, *, is_meant: bool
) -> None:
    """Print the size of a large output file, or refuse to start if it is excessive."""
    seconds = points * SECONDS[file_format] + deployments * DEPLOYMENT
    size = points * BYTES[file_format]
    time = f"{seconds / 60.0:,.0f} minutes" if seconds > 120.0 else f"{seconds:,.0f} s"
    forecast = f"{points:,} points, about {size / 1e9:,.1f} GB and {time}"
    free = float("inf")
    if file is not None and not output.is_stream(file):
        with suppress(OSError):
            free = float(shutil.disk_usage(os.path.dirname(os.path.realpath(file))).free)
    if not is_meant and (seconds > LONGEST or size > free):
        limit = f"the {free / 1e9:,.1f} GB free there" if size > free else "10 minutes"
        raise InputError(
            f"{forecast}: more than {limit}; name fewer values, or add {option('anyway')}"
        )
    if points > NOTED:
        output.warn([forecast])
