"""Ratios and layouts of claims about machines, from made-up outcomes."""

from types import SimpleNamespace

import numpy as np

from fastcalc.core.placement.layout import Layout
from fastcalc.features.claims.premium import Case
from fastcalc.features.claims.tests_on_machines import rate_ratio
from fastcalc.kit.request.groups import a_share
from tests.helpers import every


@every("quantity,ratio", [("total", 0.25), ("speed", 5.0)])
def test_few_users_over_many(quantity, ratio):
    """100 and 400 tokens/s in all, and 50 and 10 of each user."""
    ends = [
        SimpleNamespace(estimate=SimpleNamespace(total=np.array([total]), speed=np.array([speed])))
        for total, speed in ((100.0, 50.0), (400.0, 10.0))
    ]
    served = SimpleNamespace(ends=lambda _: ends)
    assert float(rate_ratio(quantity, catalogue=None, served=served)) == ratio


@every(
    "chips,experts,layout",
    [
        (8.0, 256, Layout(tp=8)),
        (9.0, 256, Layout(dp=9, ep=9)),
        (16.0, 0, Layout(tp=16)),
        (1.0, 0, Layout(tp=1)),
    ],
)
def test_experts_are_spread_over_more_than_eight_chips(chips, experts, layout):
    case = SimpleNamespace(chips=chips, work=SimpleNamespace(experts=experts))
    assert Case.layout.func(case) == layout


def test_a_case_is_named_by_its_chips_and_holds_what_its_memory_leaves():
    """Two chips of 100 bytes at nine tenths less weights of 30 hold 15 caches of 10."""
    case = SimpleNamespace(
        chips=2.0, context=32_768.0,
        machine=SimpleNamespace(
            tier=SimpleNamespace(capacity=100.0), hardware=SimpleNamespace(id="h")
        ),
        work=SimpleNamespace(
            model=SimpleNamespace(id="m"), weight_format="fp8", weight_bytes=30.0,
            cache_bytes=lambda _: 10.0,
        ),
    )  # fmt: skip
    assert Case.largest(case, SimpleNamespace(memory_fraction=0.9)) == 15
    assert Case.name.fget(case) == "2 h, m, 32k, fp8"


@every("says,phrase", [(None, None), ("{} cached", "25% cached")])
def test_a_share_is_told_in_percent_where_it_is_told(says, phrase):
    setting = a_share("A share.", says)
    assert (setting.says and setting.says(0.25)) == phrase
