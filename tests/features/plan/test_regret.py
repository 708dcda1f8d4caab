"""Which plans are compared, at which speeds and against what, by hand: with plans of five numbers."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from fastcalc.core.own_rows import after_one_row
from fastcalc.core.speed_range import TO_LOW_END
from fastcalc.features.plan import regret
from fastcalc.features.plan.regret import Measurement, regret_of
from fastcalc.features.plan.service import Service
from fastcalc.formulas.regret import expected_regret, regret_after
from tests.helpers import every

MONTH = 730.0  # hours


def plan_of(chip, cost=1.0, *, low=50.0, apart=False, own=None, run=8.0, slowness=1.25, gb=12.0):
    """A plan on chips of one name at 2 USD/h: at 100 tokens/s, down to half of it."""
    return SimpleNamespace(
        cost=cost,
        prefill_scenario=object() if apart else None,
        slowness=slowness,
        layout=SimpleNamespace(chips=4),
        node_chips=1,
        scenario=SimpleNamespace(
            hardware=SimpleNamespace(id=chip),
            work=SimpleNamespace(weight_bytes=gb * 1e9),
            pricing=SimpleNamespace(per_chip_hour=lambda _: 2.0),
        ),
        replica=SimpleNamespace(
            estimate=SimpleNamespace(
                low=None if low is None else np.array([low]),
                speed=np.array([100.0]),
                run=np.array([run]),
                passes=SimpleNamespace(own=own),
            )
        ),
    )


def grids_of(*chips):
    return [
        SimpleNamespace(scenario=SimpleNamespace(hardware=SimpleNamespace(id=c))) for c in chips
    ]


@pytest.fixture
def decided(monkeypatch):
    """A search that finds one plan of the grids' chip, at what a function says it costs."""
    asked = []

    def use(cost):
        def decide(grids, service):
            chips = {grid.scenario.hardware.id for grid in grids}
            asked.append((chips, service.deviations))
            (chip,) = chips or {None}
            usd = cost(chip, service.deviations)
            return SimpleNamespace(plans=[] if usd == math.inf else [SimpleNamespace(cost=usd)])

        def decide_each(questions):  # percentiles are checked of what is bought alone
            return [decide(*question) for question in questions]

        monkeypatch.setattr(regret, "decide_each", decide_each)
        return asked

    return use


def decision_of(*plans, leads=lambda _: True, in_grid=lambda _: True, **service):
    service = Service(1000.0, 500.0, **({"rate": 1.0} | service))
    return SimpleNamespace(
        service=service,
        of_each_chip=plans,
        may_lead=leads,
        grids_to_lead=lambda grids, chip: [
            each for each in grids if each.scenario.hardware.id == chip and in_grid(each.scenario)
        ],
    )


def stepped(chip, deviations):
    """What costs 10 USD/h, or 30 on chips slower than expected; the other 20 in any case."""
    return 20.0 if chip == "sure" else 30.0 if deviations > 0.0 else 10.0


def test_regret_is_that_of_the_costs_at_each_speed(decided):
    """A month of 730 hours, at nine speeds from 2.4 deviations faster to as many slower."""
    asked = decided(stepped)
    plans = plan_of("risky", 10.0), plan_of("sure", 20.0)
    found = regret_of(decision_of(*plans), grids_of("risky", "sure"))
    at = np.linspace(-2.4, 2.4, 9)
    costs = MONTH * np.array([[10.0] * 5 + [30.0] * 4, [20.0] * 9])
    expected = expected_regret(costs=costs, at=at, held=0.0)
    assert found.plans == [*plans]
    assert found.expected == pytest.approx(expected.tolist())
    # Half of the time 20 USD/h too much, less the half that the plan for 10 saves.
    assert expected[1] == pytest.approx(MONTH * 5.0, rel=0.2)
    left = after_one_row(math.log(2.0) / TO_LOW_END)
    then = [
        regret_after(costs=costs, at=at, held=0.0, measured=place, error=left) for place in (0, 1)
    ]
    assert {m.plan.scenario.hardware.id: m.regret for m in found.measurements} == pytest.approx(
        {"risky": then[0], "sure": then[1]}
    )
    assert found.measurements[0].plan is plans[0]  # what lowers regret most
    assert {chips and (*chips,)[0] for chips, _ in asked} == {"risky", "sure"}


def test_a_confident_plan_is_bought_at_its_own_speed(decided):
    decided(stepped)
    plans = plan_of("risky", 30.0), plan_of("sure", 20.0)
    found = regret_of(decision_of(*plans, deviations=1.3), grids_of("risky", "sure"))
    at = np.union1d(np.linspace(-2.4, 2.4, 9), [1.3])
    costs = MONTH * np.array([np.where(at > 0.0, 30.0, 10.0), np.full(10, 20.0)])
    assert found.expected == pytest.approx(expected_regret(costs=costs, at=at, held=1.3).tolist())


@pytest.mark.parametrize("usd", [math.inf, 1e6, 31.0])
def test_what_slow_chips_cannot_do_the_cheapest_other_does_on_top(decided, usd):
    """Nor is there regret of more of them than the other costs."""
    decided(lambda chip, at: usd if chip == "risky" and at > 0.0 else stepped(chip, at))
    plans = plan_of("risky", 10.0), plan_of("sure", 20.0), plan_of("sure", 25.0)
    found = regret_of(decision_of(*plans), grids_of("risky", "sure"))
    costs = MONTH * np.array([[10.0] * 5 + [30.0] * 4, [20.0] * 9, [25.0] * 9])
    at = np.linspace(-2.4, 2.4, 9)
    assert found.expected[0] == pytest.approx(
        expected_regret(costs=costs, at=at, held=0.0)[0], rel=0.01
    )
    # Of the only plan there is none, however many of its chips there are.
    alone = regret_of(decision_of(plans[0]), grids_of("risky"))
    assert (alone is None) is (usd == math.inf)


@every(
    "changes,plans",
    [
        ({"rate": None}, [plan_of("a")]),
        ({"objective": "watts"}, [plan_of("a")]),
        ({"is_fleet": True}, [plan_of("a")]),
        ({}, [plan_of("a"), plan_of("b", low=None)]),
        ({}, [plan_of("a"), plan_of("b", apart=True)]),
        ({}, []),
        ({"leads": lambda _: False}, [plan_of("a")]),
    ],
)
def test_there_is_no_regret_without_a_rate_dollars_and_ranges(decided, changes, plans):
    decided(stepped)
    assert regret_of(decision_of(*plans, **changes), grids_of("a", "b")) is None


def test_there_is_none_without_deployments_to_search(decided):
    decided(stepped)
    assert regret_of(decision_of(plan_of("a")), ()) is None
    assert regret_of(decision_of(plan_of("a", 10.0)), grids_of("a")) is not None


def test_three_plans_that_may_lead_are_compared(decided):
    asked = decided(stepped)
    plans = [plan_of(chip) for chip in "abcde"]
    found = regret_of(
        decision_of(
            *plans,
            leads=lambda plan: plan is not plans[1],
            in_grid=lambda scenario: not hasattr(scenario, "narrow"),
        ),
        [*grids_of(*"abcde"), SimpleNamespace(scenario=SimpleNamespace(
            hardware=SimpleNamespace(id="a"), narrow=True))],
    )  # fmt: skip
    assert [plan.scenario.hardware.id for plan in found.plans] == ["a", "c", "d"]
    assert len(found.expected) == 3
    assert {len(chips) for chips, *_ in asked} == {1}


def test_what_was_measured_is_not_measured_again(decided):
    decided(stepped)
    plans = plan_of("risky", 10.0, own=object()), plan_of("sure", 20.0)
    found = regret_of(decision_of(*plans), grids_of("risky", "sure"))
    assert [measured.plan for measured in found.measurements] == [plans[1]]


@every(
    "gb,run,slowness,minutes",
    [
        # Four batches of requests of 8 s each, 10 s on slow chips, 12 GB at 0.75 GB/s in 16 s, and
        # 160 s to start: 216 s, in steps of five minutes.
        (12.0, 8.0, 1.25, 5),
        (12.0, 8.0, 1.0, 5),
        # 160 + 60 + 4 x 20 are five minutes to the second; a second more is ten.
        (45.0, 16.0, 1.25, 5),
        (45.0, 20.0, 1.0, 5),
        (45.75, 20.0, 1.0, 10),
        (45.0, 20.25, 1.0, 10),
        (45.0, 20.0, 1.02, 10),
        (750.0, 8.0, 1.25, 20),
    ],
)
def test_a_measurement_takes_a_start_and_four_batches(gb, run, slowness, minutes):
    measured = regret._measured(
        plan_of("a", gb=gb, run=run, slowness=slowness), lambda error: 10.0 * error
    )
    left = after_one_row(math.log(2.0) / TO_LOW_END)
    # Four chips at 2 USD/h; a range down to half is 1.28 deviations of its logarithm.
    assert (measured.minutes, measured.usd) == (minutes, pytest.approx(8.0 * minutes / 60))
    assert measured.error == pytest.approx(2.0 ** (left / TO_LOW_END))
    assert measured.regret == pytest.approx(10.0 * left)
    assert isinstance(measured, Measurement)


def test_a_chip_without_a_price_is_measured_for_nothing():
    plan = plan_of("a")
    plan.scenario.pricing.per_chip_hour = lambda _: None
    assert regret._measured(plan, lambda **_: 0.0).usd == 0.0
