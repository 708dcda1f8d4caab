"""A chart of prediction errors for measurements, before and after a correction."""

from collections.abc import Sequence

import numpy as np

from fastcalc.formulas.types import Floats
from fastcalc.kit.charts.drawing import Chart, ChartAxis, Panel, Series, axes

_ACROSS = {"prefill": "prompt tokens"}
_UPWARD = "predicted / measured speed"


def before_and_after(
    title: str,
    phases: Sequence[str],
    across: Floats,
    before: Floats,
    after: Floats,
    ends: tuple[Floats, Floats] | None = None,
) -> Chart:
    """Plot predicted over measured speed in one plot per phase. 1 is a perfect prediction.

    phases : The phase of each point: ``decode``, ``served`` or ``prefill``.
    across : The concurrent sequences of each point or, for prefill, prompt tokens.
    before, after : The predicted over measured speed of each point; NaN is not drawn.
    ends : The lower and upper bounds of the range of `after`, if known.
    """
    names = np.array(phases)
    panels = []
    for phase in ("decode", "served", "prefill"):
        order = np.flatnonzero(names == phase)
        if not order.size:
            continue
        order = order[np.argsort(across[order], kind="stable")]
        now = order[np.isfinite(after[order])]
        series = [Series("before", across[order], before[order], 0, "points")]
        if now.size:
            low, high = (end[now] for end in ends) if ends else (None, None)
            series += [Series("after", across[now], after[now], 1, "points", low, high)]
        axis, upward = axes(series, _ACROSS.get(phase, "concurrent sequences"), _UPWARD, (2, 10))
        upward = ChartAxis.over(_UPWARD, [np.array([upward.low, upward.high, 0.7, 1.4])])
        measured = np.array([axis.low, axis.high])
        series += [Series("measured", measured, np.ones(2), 7, "bound")]
        panels.append(Panel(phase, axis, upward, series))
    key = "above 1, the prediction is too fast" + (
        "; bars are the 80% range of the prediction after" * (ends is not None)
    )
    return Chart(title, panels, notes=[key])
