"""Notes on predictions that are corrected by the user's own measurements.

The notes give the number of measurements, their age and their effect on the prediction, and list
measurements that contradict it.
"""

import re
from collections.abc import Iterator, Sequence

import numpy as np

from fastcalc.catalogue.schema.own_rows import OwnDeployment
from fastcalc.core.chip.machine import Machine
from fastcalc.core.model.workload import Workload
from fastcalc.core.own_rows import believed_at_rows, is_of, measured_on
from fastcalc.core.placement.layout import AnyLayout
from fastcalc.mentions import command, option
from fastcalc.quoting import shell_word
from fastcalc.written import listed


def own_notes(machine: Machine, work: Workload, layout: AnyLayout) -> Iterator[str]:
    """Yield notes on whether the prediction for a layout is based on the user's measurements."""
    deployments = machine.engine.own_deployments
    if machine.engine.is_bound or not deployments:
        return
    chip = machine.hardware.id
    measured = measured_on(machine.engine, chip, work)
    alike = [subset for subset in measured if is_of(subset, layout)]
    elsewhere = listed(
        [*dict.fromkeys(subset.layout for subset in measured if subset not in alike)]
    )
    if alike:
        yield _moved(chip, alike, elsewhere)
        yield from _contradictions(machine, alike)
        return
    files = ", ".join(dict.fromkeys(subset.file for subset in deployments))
    if elsewhere:
        yield f"{chip}: {files} has measurements for {elsewhere}; other layouts are unchanged"
    else:
        yield f"{chip} is unchanged, because {files} has no measurement of it in these formats"


def _moved(chip: str, measured: Sequence[OwnDeployment], elsewhere: str) -> str:
    """Describe the measurements that changed a prediction, their dates and the size of the change.

    elsewhere : The layouts of the other measurements, in words.
    """
    rows = sum(len(subset.rows) for subset in measured)
    noun = "rows" if rows > 1 else "row"
    date = max(subset.date for subset in measured)
    slower, widths = map(np.concatenate, zip(*map(believed_at_rows, measured), strict=True))
    speeds = dict.fromkeys(f"{1.0 / end:.2f}" for end in (slower.max(), slower.min()))
    return (
        f"{chip}, {measured[0].layout}: speeds and ranges are corrected by {rows} {noun} of "
        f"{measured[0].file}{f', measured up to {date}' * bool(date)}. For "
        f"{'these rows' if rows > 1 else 'this row'}, the speed changes by a factor of "
        f"{' to '.join(speeds)} and the width of the 80% range by a factor of "
        f"{np.exp(np.mean(np.log(widths))):.2f}"
        + f"; measurements for {elsewhere} are not used"
        * bool(elsewhere)
    )


_MONTHS_OLD = 6
"""The age in months at which measurements count as old, since newer releases are faster."""

_UNLIKELY = 1.5
"""The ratio of measured to expected speed at which a measurement is questioned: what halving the
bits would gain."""


def _contradictions(machine: Machine, measured: Sequence[OwnDeployment]) -> Iterator[str]:
    """Yield notes on measurements that are old, contradictory, or use other draft lengths."""
    file, engine = measured[0].file, machine.engine
    rows = [row for subset in measured for row in subset.rows]
    date = max(subset.date for subset in measured)
    months = _months(engine.date or "", date)
    if months is not None and months >= _MONTHS_OLD:
        yield (
            f"{file} is {months} months older than the values of {engine.id} ({engine.date}); "
            "measure again after an update of the server"
        )
    drafted, is_drafting = sum(row.drafted > 0 for row in rows), machine.memory.drafted > 0
    if drafted and not is_drafting:
        yield (
            f"{drafted} of {len(rows)} rows of {file} used speculative decoding, but this "
            f"prediction does not; add {option('speculate', 'TOKENS')}"
        )
    elif is_drafting and not drafted:
        yield (
            f"no row of {file} used speculative decoding, so its gain is predicted, not measured"
        )
    slower = float(np.median([row.slower for row in rows]))
    off, of_half = max(slower, 1.0 / slower), f"half the rows of {file} are at least"
    if off > _UNLIKELY and slower < 1.0:
        yield (
            f"{of_half} {off:.1f} times as fast as predicted without them; are its weights "
            "quantized further, or did it use speculative decoding?"
        )
    elif off > _UNLIKELY:
        yield (
            f"{of_half} {off:.1f} times as slow as predicted without them; "
            f"{command(f'fastcalc diagnose {shell_word(file)}')} looks for a cause"
        )


def _months(later: str, earlier: str) -> int | None:
    """Count the months between two dates (YYYY-MM or longer), or None if either is missing."""
    matches = [re.match(r"(\d{4})-(\d\d)", text) for text in (later, earlier)]
    if None in matches:
        return None
    (year, month), (before, month_before) = (map(int, match.groups()) for match in matches if match)
    return 12 * (year - before) + month - month_before
