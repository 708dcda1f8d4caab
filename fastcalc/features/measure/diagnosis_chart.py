"""A chart of a diagnosis: predicted / measured speeds, before and with the named causes."""

from dataclasses import replace

import numpy as np

from fastcalc.features.measure.diagnosis.diagnose import Diagnosis
from fastcalc.features.measure.diagnosis_words import verdict
from fastcalc.kit.charts.drawing import Chart
from fastcalc.kit.charts.of_measurements import before_and_after
from fastcalc.written import listed


def slowdowns(diagnosis: Diagnosis) -> Chart:
    """Plot predicted / measured speeds, before and with the named causes."""
    points = [prediction.point for prediction in diagnosis.predictions]
    phases = [prediction.phase for prediction in diagnosis.predictions]
    batches = diagnosis.belief.slowdowns.batches
    lengths = np.array([point.prompt or np.nan for point in points])
    now = np.exp(diagnosis.belief.slowdowns.residuals)
    high, after, low = (now / slower for slower in diagnosis.slower)
    drawn = before_and_after(
        f"Before and after a diagnosis: {points[0].model} on {points[0].hardware}",
        phases,
        np.where(np.array(phases) == "prefill", lengths, batches),
        diagnosis.before,
        after,
        (low, high),
    )
    engines = listed(sorted({p.engine_used for p in diagnosis.predictions}))
    return replace(drawn, finding=f"{verdict(diagnosis)}.", grounds=f"Engines: {engines}.")
