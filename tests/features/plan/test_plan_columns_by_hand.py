"""Amounts of a plan at a rate, and columns of its tables, worked by hand.

As in `test_plan_sentences`: a chip costs $3.60 per hour and draws 2,170 W with host and site.
"""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from fastcalc.core.placement.layout import Layout
from fastcalc.features.plan import ranked_plan
from fastcalc.features.plan.columns import COLUMNS
from fastcalc.features.plan.page_tables import columns, columns_but
from fastcalc.features.plan.ranked_plan import RankedPlan, low_confidence, tpot_range, undetermined
from fastcalc.features.plan.service import Service, Tariff
from fastcalc.features.plan.service_asked import api_prices, grid_grams, owned_chips, usd_a_month
from fastcalc.grid.column import values
from tests import made_up
from tests.features.plan.test_plan_sentences import SECOND, SERVICE, UNPRICED, deployed, plan
from tests.helpers import every, read_or_refusal

PRICED = Tariff(api=(1.0, 0.1, 3.0), grid=400.0)
"""$0.004 for a request of 1,000 and 1,000 tokens."""

ALL = replace(SERVICE, tariff=PRICED, share=0.99)
APART = {
    "prefill_layout": Layout(tp=2, pp=3),
    "prefill_replicas": 3.0,
    "prefill_busy": 0.25,
    "values": {"chips": 8.0},
}


def at(service, **changes):
    return RankedPlan(1, plan(**changes), service, "fastcalc compare", classes=("a", "b"))


def amounts(point, *names):
    known = {column.key: column for column in COLUMNS}
    return [*values([known[name] for name in names], point).values()]


MONEY = (
    "service_usd_per_hour usd_per_month service_usd_per_mtok_total service_joules_per_token watts "
    "kwh_per_month service_g_co2_per_mtok api_usd_per_month api_break_even_tokens_per_month "
    "api_break_even_utilization service_requests_per_s service_output_tokens_per_s"
).split()


@every(
    "asked,changes,by_hand",
    [
        # Eight chips: $28.80 and 17.36 kWh per hour, 7.2 million tokens of each kind. As much as
        # $0.008 per second at 2 requests/s, of 10.
        ({}, {}, [28.8, 21_024.0, 2.0, 8.68, 17_360.0, 12_672.8, 17.36 * 400 / 14.4, 21_024.0,
                  2 * 2000 * 2_628_000.0, 0.2, 2.0, 2000.0]),
        # Without a rate a replica alone, at its highest throughput of 10 requests/s.
        ({"rate": None}, {}, [28.8, 21_024.0, None, None, 17_360.0, 12_672.8, 17.36 * 400 / 72,
                              105_120.0, 2 * 2000 * 2_628_000.0, 0.2, 10.0, 10_000.0]),
        ({"rate": None, "is_fleet": True}, {}, [28.8, 21_024.0, 0.4, 1.736, 17_360.0, 12_672.8,
                                                17.36 * 400 / 72, 105_120.0,
                                                2 * 2000 * 2_628_000.0, 0.2, 10.0, 10_000.0]),
        # Of chips without a price, and without an API or a grid.
        ({}, {"chip": UNPRICED}, [None, None, None, 8.68, 17_360.0, 12_672.8, 17.36 * 400 / 14.4,
                                  21_024.0, None, None, 2.0, 2000.0]),
        ({"tariff": Tariff()}, {}, [28.8, 21_024.0, 2.0, 8.68, 17_360.0, 12_672.8, None, None,
                                    None, None, 2.0, 2000.0]),
    ],
)  # fmt: skip
def test_money_and_power_of_a_plan(asked, changes, by_hand):
    point = at(replace(ALL, **asked), **APART, **changes)
    assert amounts(point, *MONEY) == [each and pytest.approx(each) for each in by_hand]


def test_a_plan_that_serves_nothing_has_no_price_of_a_token():
    idle = at(replace(ALL, rate=None, is_fleet=True), requests=0.0)
    names = (
        "service_usd_per_mtok_total",
        "service_joules_per_token",
        "service_g_co2_per_mtok",
        "api_break_even_tokens_per_month",
    )
    assert amounts(idle, *names) == [None] * 4


PREFILL = (
    "prefill replicas prefill_replicas prefill_utilization prefill_tp prefill_pp prefill_ep "
    "prefill_dp chips_per_replica chips_total idle_chips prefill_hardware prefill_chips "
    "prefill_sending_ms prefill_usd_per_chip_hour prefill_price_terms"
).split()


@every(
    "changes,by_hand",
    [
        ({"values": {"chips": 3.0}}, ["together", 2.0, *[None] * 6, 1, 3.0, 1.0, *[None] * 5]),
        (
            APART,
            # 2 replicas of a chip, and 3 of 6 on chips of which there are too few.
            ["apart", 2.0, 3.0, 0.25, 2, 3, 1, 1, 1, 8.0, -12.0, *[None] * 5],
        ),
        (
            APART | {
                "prefill_scenario": deployed(SECOND), "prefill_chips": 6.0, "kv_transfer_s": 0.0125
            },
            ["apart", 2.0, 3.0, 0.25, 2, 3, 1, 1, 1, 8.0, -12.0, "second-chip", 6.0, 12.5, 3.6,
             "unstated"],
        ),
    ],
)  # fmt: skip
def test_prefill_of_a_plan(changes, by_hand):
    assert amounts(at(SERVICE, **changes), *PREFILL) == by_hand


@every(
    "asked,by_hand",
    [
        (ALL, [500.0, 99.0, 10.0, 2.0, 10.0, 1, "a, b", 2.0]),
        (SERVICE, [500.0, None, 10.0, 2.0, 10.0, 1, "a, b", 2.0]),
    ],
)
def test_times_of_a_plan(asked, by_hand):
    names = (
        *("service_ttft_ms", "service_ttft_percentile", "service_tpot_ms"),
        *("service_requests_per_s", "service_requests_per_s_most", "node_chips", "classes"),
        "chips_expected",
    )
    assert amounts(at(asked), *names) == by_hand


def test_chips_by_expected_speeds():
    slow = replace(SERVICE, deviations=1.0)
    assert at(slow).chips_expected is None
    expected = plan(values={"chips": 1.0})
    assert at(slow, expected=expected).chips_expected == 1.0
    assert at(SERVICE, expected=expected).chips_expected == 2.0


def test_requests_in_flight_are_the_batch_at_which_replicas_serve_the_rate():
    """Of b sequences a token takes 10 + 0.01 b ms: 498.8 tokens/s of 5, 596.4 of 6.

    Two replicas of 500 tokens/s serve 1 request/s at 5.013 each. With prefill on others a prompt
    takes 5 + half of 10.1 + 20 + 10 + 0.09 ms.
    """
    one = replace(SERVICE, rate=1.0)
    alone = 5 + (500 - 5 / 0.01005) / (6 / 0.01006 - 5 / 0.01005)
    in_flight = at(one, **APART).in_flight
    assert in_flight == pytest.approx(2 * alone + 0.04014, rel=1e-4)
    slow = at(replace(one, rate=0.5), **APART, slowness=2.0).in_flight
    assert slow == pytest.approx(2 * alone + 0.5 * 0.08028, rel=1e-4)
    # No more than full batches of 10, and of colocated prefill more, as its steps are longer.
    assert at(replace(SERVICE, rate=99.0)).in_flight == 20.0
    assert at(one).in_flight > 2 * alone + 0.04


@every("low,high,ends", [(None, None, None), (0.5, 2.0, (0.0025, 0.01)), (None, 2.0, None)])
def test_the_range_of_tpot_is_that_of_the_speed(low, high, ends):
    """10 ms, twice as long as expected by percentiles: half to twice of 5 ms."""
    slow = plan(slowness=2.0)
    speeds = {"speed": 1.0, "low": low, "high": high}
    estimate = {name: speed and np.array([speed]) for name, speed in speeds.items()}
    slow.__dict__["replica"] = SimpleNamespace(estimate=SimpleNamespace(**estimate))
    assert tpot_range(slow) == ends
    in_ms = tuple(end and end * 1e3 for end in ends or (None, None))
    assert RankedPlan(1, slow, SERVICE, "").tpot_ms == in_ms


TPOT = {"service_tpot_ms", "service_tpot_ms_low", "service_tpot_ms_high"}
SIZED = {"replicas", "utilization", "chips_total", "usd_per_month", "watts", "kwh_per_month"}
POOL = {"prefill_replicas", "prefill_utilization"}


@every(
    "keys,asked,is_apart,affected,not_affected",
    [
        ([], {}, False, set(), {"cost"}),
        (["ttft_ms"], {}, False, {"ttft_ms", "service_ttft_ms", "cost"} | TPOT | SIZED, POOL),
        (["ttft_ms"], {}, True, {"service_ttft_ms", "cost"} | SIZED | POOL, TPOT),
        (["tpot_ms"], {}, True, {"tpot_ms", "cost"} | SIZED | POOL | TPOT, set()),
        # Without a rate there is one replica, whose number depends on nothing.
        (["ttft_ms"], {"rate": None}, False, {"cost"} | TPOT, SIZED),
        (["ttft_ms"], {"rate": None}, True, SIZED, TPOT),
        (["ttft_ms"], {"rate": None, "is_fleet": True}, False, SIZED, POOL),
        (["ttft_ms"], {"rate": None, "objective": "chips"}, False, TPOT, {"cost"}),
        (["ttft_ms"], {"objective": "chips"}, False, {"cost"}, POOL),
    ],
)
def test_what_of_a_plan_is_undetermined(keys, asked, is_apart, affected, not_affected):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            ranked_plan, "undetermined_keys", lambda *_, is_alone: [] if is_alone else keys
        )
        made = plan(**(APART if is_apart else {}))
        found = undetermined(made, replace(SERVICE, **asked))
        assert undetermined(replace(made, batch=1.0), SERVICE) == []
    assert affected <= set(found)
    assert not not_affected & set(found)
    assert len(found) == len(set(found))


@every(
    "asked,is_uncertain,has_cost",
    [({}, True, True), ({"objective": "chips"}, True, False), ({"is_fleet": True}, True, False),
     ({}, False, False)],
)  # fmt: skip
def test_what_of_a_plan_uses_an_uncertain_price(asked, is_uncertain, has_cost):
    price = {"cloud": "3.6 USD/h"}
    if is_uncertain:
        offer = {"provider": "P", "terms": "survey", "price": "3.6 USD/h"}
        price = {"offers": [offer]}
    found = low_confidence(plan(made_up.clocked(price=price)), replace(SERVICE, **asked))
    assert ("cost" in found) is has_cost
    assert ("usd_per_month" in found) is is_uncertain


# Tables.


def heads(service, *, wide=False):
    return {column.key: " ".join(column.heading) for column in columns(service, wide=wide)}


@every(
    "asked,shown,hidden",
    [
        ({}, {"replicas", "usd_per_month"}, {"watts", "chips_expected", "service_requests_per_s",
         "requests_in_flight", "service_g_co2_per_mtok", "kwh_per_month"}),
        ({"objective": "watts"}, {"watts"}, {"kwh_per_month"}),
        ({"objective": "watts", "rate": None}, {"cost"}, {"watts", "replicas"}),
        ({"objective": "watts", "rate": None, "is_fleet": True}, {"watts", "replicas"}, {"cost"}),
        ({"rate": None}, {"cost"}, {"replicas"}),
        ({"rate": None, "objective": "chips"}, {"replicas"}, {"cost"}),
        ({"is_fleet": True}, {"service_requests_per_s", "requests_in_flight"}, {"cost"}),
        ({"deviations": 1.0}, {"chips_expected"}, set()),
        ({"deviations": 1.0, "is_fleet": True}, set(), {"chips_expected"}),
        ({"tariff": PRICED}, {"service_g_co2_per_mtok"}, set()),
    ],
)  # fmt: skip
def test_columns_of_a_first_screen(asked, shown, hidden):
    keys = set(heads(replace(SERVICE, **asked)))
    assert shown <= keys
    assert not hidden & keys


def test_a_wide_screen_has_all_columns_and_drops_none():
    wide = columns_but(SERVICE, {"batch"}, wide=True)
    assert {"watts", "kwh_per_month", "service_requests_per_s"} <= {each.key for each in wide}
    assert "batch" not in {each.key for each in wide}
    assert {each.drop_priority for each in wide} == {0}
    assert {each.drop_priority for each in columns_but(SERVICE, (), wide=False)} > {0}


@every(
    "asked,ttft,tpot,key_figure",
    [
        ({}, "TTFT ms", "TPOT ms", "usd_per_month"),
        ({"share": 0.95}, "TTFT p95 ms", "TPOT p95", "usd_per_month"),
        ({"share": 0.95, "variation": 3.0}, "TTFT Poisson ms", "TPOT Poisson", "usd_per_month"),
        ({"objective": "watts"}, "TTFT ms", "TPOT ms", "watts"),
        ({"rate": None}, "TTFT ms", "TPOT ms", "cost"),
        ({"rate": None, "objective": "chips"}, "TTFT ms", "TPOT ms", "usd_per_month"),
    ],
)
def test_headings_of_times_and_the_key_figure(asked, ttft, tpot, key_figure):
    service = replace(SERVICE, **asked)
    found = heads(service)
    assert (found["service_ttft_ms"], found["service_tpot_ms"]) == (ttft, tpot)
    assert [each.key for each in columns(service) if each.is_key_figure] == [key_figure]


# Means as they are typed.


@every(
    "typed,usd",
    [
        ("50k/month", 50_000.0), ("1M/year", 1e6 / 12), ("70/h", 51_100.0), ("2/hour", 1460.0),
        ("$1,200", 1200.0), (1200, 1200.0), ("1_200", 1200.0), (None, None),
        *[(text, f"--budget '{text}' is not dollars per month; write for example 50k/month, or "
           "70/h") for text in ("0", "x", "5/day", "-5", "2e9", "5K")],
    ],
)  # fmt: skip
def test_budgets(typed, usd):
    found = read_or_refusal(usd_a_month, typed)
    assert found == (pytest.approx(usd) if isinstance(usd, float) else usd)


@every(
    "typed,prices",
    [
        ("0.6/0.15/2.4", (0.6, 0.15, 2.4)),
        ("$1 / $0 / $2", (1.0, 0.0, 2.0)),
        ([1, 0.5, 2], (1.0, 0.5, 2.0)),
        (None, None),
        *[(text, f"--api '{text}' is not the price of an API in $ per million input, cached and output tokens; "
           "write for example 0.6/0.15/2.4") for text in ("1/2", "1/2/3/4", "0/0/0", "1/x/2",
           "1/-1/2", "1/2/2e9", "1/2/x/3")],
    ],
)  # fmt: skip
def test_prices_of_apis(typed, prices):
    assert read_or_refusal(api_prices, typed) == prices


@every(
    "typed,grams",
    [(None, None), (0.0, 0.0), (400, 400), (10_000, 10_000),
     (10_001, "--grid 10001 is not a number from 0 to 10000 g/kWh; write for example 400")],
)  # fmt: skip
def test_carbon_of_a_grid(typed, grams):
    assert read_or_refusal(grid_grams, typed) == grams


@every(
    "typed,chips",
    [
        (["a=16"], [("a", 16)]),
        ({"a": 16, "b": 2}, [("a", 16), ("b", 2)]),
        (["a=1,b=2k"], [("a", 1), ("b", 2000)]),
        (["8xl40s"], [("8xl40s", 8)]),
        (["8xl40s=3"], [("8xl40s", 24)]),
        (None, []),
        (["a"], "--own 'a' is not CHIP=N; write h100-sxm=16"),
        (["a="], "--own 'a=' is not CHIP=N; write h100-sxm=16"),
        (["=5"], "--own '=5' is not CHIP=N; write h100-sxm=16"),
        (["a:5"], [("a:5", 5)]),
        (["a:5="], "--own 'a:5=' is not CHIP=N; write a=5"),
        (["a:x"], "--own 'a:x' is not CHIP=N; write h100-sxm=16"),
        (["a=0"], "--own of a '0' is not a whole number from 1 to 1,000,000; write for example 16"),
    ],
)
def test_owned_chips(typed, chips):
    assert read_or_refusal(owned_chips, typed) == chips


def test_services_without_a_tariff_are_charged_nothing():
    assert Service(1.0, 1.0).api_request_usd is None
    cached = replace(SERVICE, tariff=PRICED, prefix_hit=0.5)
    # 500 tokens at $1 and 500 at $0.1 per million, and 1,000 at $3.
    assert cached.api_request_usd == pytest.approx(0.00355)


def test_columns_leave_a_narrow_table_in_this_order():
    leaving = {}
    for column in COLUMNS:
        leaving.setdefault(column.drop_priority, []).append(column.key)
    leaving.pop(0)  # those that stay
    assert [" ".join(leaving[priority]) for priority in sorted(leaving, reverse=True)] == [
        "joules_per_token",
        "service_output_tokens_per_s",
        "utilization tpot_ms",
        "kv_format ttft_ms",
        "speculation_tokens_per_pass",
        "weight_format tokens_per_s_per_user_bound requests_in_flight",
        "usd_per_mtok_total service_g_co2_per_mtok",
        "tokens_per_s_per_user_low memory_used_fraction service_tpot_ms_low",
    ]
