"""Chart of the prefix-cache hit rate against cache size."""

from collections.abc import Sequence

import numpy as np

from fastcalc.features.caches.records import DeploymentTiers
from fastcalc.kit.answer.numbers_as_text import number, percent, size
from fastcalc.kit.charts.drawing import MOST, Chart, Panel, Series, axes
from fastcalc.kit.charts.highlight import FEW
from fastcalc.kit.charts.outcome_series import grounds
from fastcalc.mentions import option

_SIZES = 25
"""Number of cache sizes at which a curve is evaluated."""


def hits(answers: Sequence[DeploymentTiers]) -> Chart:
    """Plot the hit rate against cache size, with a line for each chip type.

    Markers show the tiers: the chips' own memory, host memory, and the requested sizes.
    """
    series: list[Series] = []
    for index, answer in enumerate(answers[: MOST // 2]):
        deployment, tiers = answer.deployment, [tier for tier in answer.tiers if tier.size]
        ends = min(tier.size for tier in tiers) / 4.0, max(tier.size for tier in tiers)
        sizes = np.geomspace(*ends, _SIZES)
        shares_found = [
            float(deployment.reuse.hit(at / deployment.bytes_per_token)) for at in sizes
        ]
        series.append(Series(answer.chips, sizes / 1e9, 100.0 * np.array(shares_found), index))
        tier_sizes, fractions = np.array([(tier.size, tier.hit) for tier in tiers]).T
        tips = [
            f"{size(tier.size)} of {tier.name}: {percent(tier.hit)}, "
            f"{number(tier.requests)} requests/s"
            for tier in tiers
        ]
        name = f"tiers of {answer.chips}"
        series.append(Series(name, tier_sizes / 1e9, 100.0 * fractions, index, "points", tips=tips))
    axis, upward = axes(series, "size of the cache [GB]", "prefix-cache hit rate [%]", (10, 0))
    model = answers[0].deployment.scenario.model.heading
    more = [f"the chart shows {MOST // 2} chip types; choose them with {option('on')}"]
    notes = ["cache size is the total of all chips, with LRU eviction"]
    notes += more * (len(answers) > MOST // 2)
    largest = [max(answer.tiers, key=lambda tier: tier.size) for answer in answers]
    finding = "; ".join(
        f"{size(tier.size)} on {answer.chips} hold {percent(tier.hit)} of prompt tokens"
        for answer, tier in zip(answers[:FEW], largest[:FEW], strict=True)
    )
    return Chart(
        f"Prefix-cache hit rate: {model}",
        [Panel("", axis, upward, series)],
        notes=notes,
        finding=f"{finding}.",
        grounds=grounds([answer.deployment.location.scenario for answer in answers]),
    )
