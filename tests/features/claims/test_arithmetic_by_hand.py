"""Tests of claims by arithmetic, verdicts and break-evens, with numbers for the head."""

from types import SimpleNamespace

import numpy as np
import pytest

from fastcalc.errors import InputError
from fastcalc.features.claims import judge as judging
from fastcalc.features.claims import tests_by_arithmetic as by
from fastcalc.features.claims.judge import Judged, meets
from fastcalc.features.claims.premises import Flip, explore, outcome_over
from tests.helpers import every

SAVINGS = {"trips": 2.0, "trip": 0.1, "trip_saving": 0.5, "tokens": 100.0, "token": 0.001,
           "token_saving": 0.2, "lead": 3.0, "lead_saving": 0.1}  # fmt: skip
# Each step takes 100 tokens at 50/s and 2 s of a tool; of ten, each is right with 0.9 or 0.8.
RERUNS = {"accuracy": 0.9, "other": 0.8, "steps": 10.0, "tokens": 100.0, "speed": 50.0,
          "speedup": 2.0, "tool": 2.0}  # fmt: skip
HOLDING = {"parameters": 100e9, "capacity": 50e9, "reserve": 0.2}


@every(
    "test,inputs,value",
    [
        # 100 GB on chips with 40 GB left.
        (by.chips_holding, HOLDING | {"bytes_each": 1.0}, 3.0),
        (by.chips_holding, HOLDING | {"bytes_each": 0.4}, 1.0),
        (by.with_chips, HOLDING | {"speed": 30.0, "than": 20.0}, 1.5),
        # 2,000 tokens at $1 a million and 1,000 at $4 are $0.006; at $2 and $8 twice that.
        (by.bill_ratio, {"prompt": 2000.0, "output": 1000.0, "prices": np.array([1.0, 4.0]),
                         "other_prices": np.array([2.0, 8.0])}, 0.5),
        # After 1 s, 10 and 90 tokens at 10/s and 30/s: 2 / (4/3) of the gain 10 / 4.
        (by.interaction, {"tokens": np.array([10.0, 90.0]), "speeds": np.array([10.0, 30.0]), "lead": 1.0},
         (2 / (4 / 3)) / (10 / 4)),
        (by.bus_wait, {"scheduling": "continuous", "step": 0.03, "batch": 5.0, "arrivals": 2.0}, 0.015),
        (by.bus_wait, {"scheduling": "static", "step": 0.03, "batch": 5.0, "arrivals": 2.0}, 1.0),
        (by.slot_wait, {"slots": 1, "utilization": 0.5, "service": 10.0}, 10.0),
        (by.memory_not_fabric, {"memory": 21e15, "fabric": 27e15}, 21e15),
        (by.turn, {"trips": 2.0, "trip": 0.1, "tokens": 100.0, "token": 0.001, "lead": 3.0, "speed": 50.0},
         0.2 + 0.1 + 3.0 + 2.0),
        (by.saved, SAVINGS, 0.1 + 0.02 + 0.3),
        # Runs of 4 s and 3 s, 0.75 of it.
        (by.reruns, RERUNS, 0.75 * (0.9 / 0.8) ** 10),
        (by.sessions_for_bill, {"subscriptions": 500.0, "multiple": 2.0, "price": 10.0, "speed": 50.0, "hours": 100.0},
         100e6 / 18e6),
        (by.success_slope, {"accuracy": 0.9, "steps": 10.0}, 10.0),
        (by.speed_needed, {"tokens": 60.0, "window": 0.8, "lead": 0.2, "given": 50.0}, 100.0),
        (by.with_fixing, {"speedup": 4.0, "more_errors": 0.2, "base": 0.5, "fix": 3.0}, 0.25 + 0.3),
        (by.system_prices, {"wafer": 2e6, "wafer_memory": 40e9, "server": 5e5, "server_memory": 1e12}, 100.0),
        # Of two coins: one is right in three of four pairs, both votes agree or a coin decides.
        (by.picked, {"accuracy": 0.5, "samples": 2, "speedup": 4.0}, [0.75, 0.5]),
        (by.merging_gain, {"accuracy": 0.5, "samples": 2}, [1.5, 1.0]),
    ],
)  # fmt: skip
def test_the_number_of_a_test(test, inputs, value):
    found = test(**inputs)
    assert getattr(found, "values", found) == pytest.approx(np.array(value), rel=1e-5)


@every(
    "test,inputs,parts",
    [
        (by.with_chips, HOLDING | {"speed": 30.0, "than": 20.0}, [("chips for 100B at 8 bits", 3.0, "")]),
        (by.memory_not_fabric, {"memory": 21e15, "fabric": 27e15}, [("fabric", 27.0, "PB/s")]),
        (by.bus_wait, {"scheduling": "continuous", "step": 0.03, "batch": 5.0, "arrivals": 2.0},
         [("until a batch of 5 is full at 2 requests/s", 1.0, "s")]),
        (by.bill_ratio, {"prompt": 2000.0, "output": 1000.0, "prices": np.array([1.0, 4.0]),
                         "other_prices": np.array([2.0, 8.0])}, [("first", 0.006, "USD"), ("second", 0.012, "USD")]),
        (by.reruns, RERUNS, [("accurate option at 0.9", 0.9**-10, "runs"), ("fast option at 0.8", 0.75 * 0.8**-10, "runs")]),
        (by.sessions_for_bill, {"subscriptions": 500.0, "multiple": 2.0, "price": 10.0, "speed": 50.0, "hours": 100.0},
         [("API bill", 1000.0, "USD/month"), ("output tokens", 100.0, "Mtok/month"), ("tokens of one session", 18.0, "Mtok/month")]),
        (by.picked, {"accuracy": 0.5, "samples": 2, "speedup": 4.0},
         [("perfect judge", 0.75, ""), ("majority", 0.5, ""), ("time one after another, over one standard answer", 0.5, "")]),
        (by.merging_gain, {"accuracy": 0.5, "samples": 2}, [("perfect judge", 1.5, ""), ("majority", 1.0, "")]),
        (by.speed_needed, {"tokens": 60.0, "window": 0.8, "lead": 0.2, "given": 50.0},
         [("tokens at 50 tokens/s, first after 0 s", 40.0, ""), ("tokens at 50 tokens/s, first after 0.2 s", 30.0, "")]),
        (by.with_fixing, {"speedup": 4.0, "more_errors": 0.2, "base": 0.5, "fix": 3.0},
         [("break-even time of fixing", 7.5, "answers")]),
        (by.system_prices, {"wafer": 2e6, "wafer_memory": 40e9, "server": 5e5, "server_memory": 1e12},
         [("wafer", 50_000.0, "USD/GB"), ("server", 500.0, "USD/GB")]),
    ],
)  # fmt: skip
def test_what_explains_the_number(test, inputs, parts):
    found = [(part.label, pytest.approx(part.value), part.unit) for part in test(**inputs).parts]
    assert found == parts


@every(
    "samples,is_allowed",
    [(1, True), (100_000, True), (0, False), (100_001, False), ([1, 0], False)],
)
def test_slots_and_samples_are_few(samples, is_allowed):
    inputs = {"slots": samples, "utilization": 0.0, "service": 1.0}
    if is_allowed:
        assert float(by.slot_wait(**inputs)) == 0.0
    else:
        with pytest.raises(InputError, match="slots must lie between 1 and 100,000"):
            by.slot_wait(**inputs)


def test_a_schedule_is_one_of_two():
    with pytest.raises(InputError, match="scheduling is continuous or static, not 'x'"):
        by.bus_wait(scheduling="x", step=1.0, batch=1.0, arrivals=1.0)


def check(comparison, tolerance=0.0, *, may=False):
    return SimpleNamespace(comparison=comparison, tolerance=tolerance, may=may)


@every(
    "comparison,tolerance,expected,met",
    [
        ("equals", 0.0, 10.0, [False, True, False]), ("equals", 0.1, 10.0, [True, True, True]),
        ("equals", 0.0999, 10.0, [False, True, False]), ("equals", 0.1, -10.0, [False, False, False]),
        ("at-least", 0.0, 10.0, [False, True, True]), ("at-least", 0.1, 10.0, [True, True, True]),
        ("at-most", 0.0, 10.0, [True, True, False]), ("at-most", 0.1, 10.0, [True, True, True]),
        ("between", 0.0, [10.0, 11.0], [False, True, True]), ("between", 0.1, [10.0, 10.0], [True, True, True]),
        ("between", 0.0, [9.5, 10.5], [False, True, False]),
    ],
)  # fmt: skip
def test_numbers_that_are_as_claimed(comparison, tolerance, expected, met):
    found = meets(np.array([9.0, 10.0, 11.0]), check(comparison, tolerance), np.array(expected))
    assert found.tolist() == met


@every(
    "met,comparison,expected,outcome",
    [
        ([True, True], "equals", (1.0,), "holds"), ([True, False], "equals", (1.0,), "varies"),
        ([False, False], "equals", (1.0,), "fails"),
        # A claim with a number for each case holds or fails.
        ([True, False], "equals", (1.0, 2.0), "fails"), ([True, True], "equals", (1.0, 2.0), "holds"),
        ([True, False], "between", (1.0, 2.0), "varies"), ([True, False], "between", (1.0, 2.0, 3.0, 4.0), "fails"),
    ],
)  # fmt: skip
def test_a_claim_at_the_stated_inputs(met, comparison, expected, outcome):
    tested = SimpleNamespace(met=np.array(met), check=check(comparison), expected=expected)
    assert judging.Tested.outcome_as_stated.fget(tested) == outcome


@every("over,may,outcome", [("varies", True, "holds"), ("varies", False, "varies"), ("fails", True, "fails"), ("holds", False, "holds")])  # fmt: skip
def test_a_claim_that_says_may_needs_one_case(over, may, outcome):
    tested = SimpleNamespace(check=check("equals", may=may), outcome_over_ranges=over)
    assert judging.Tested.outcome.fget(tested) == outcome


def ran(outcome, *files):
    return outcome and SimpleNamespace(outcome=outcome, files=files)


@every(
    "first,second,claim,unfit,verdict",
    [
        (None, None, {}, "", "external"), (None, None, {}, "x", "undetermined"),
        ("fails", None, {}, "", "refuted"), ("fails", None, {}, "x", "refuted"),
        ("holds", None, {}, "x", "undetermined"), ("holds", None, {}, "", "supported"),
        ("holds", "fails", {}, "", "misleading"), ("holds", "holds", {}, "", "supported"),
        ("holds", "varies", {}, "", "conditional"), ("varies", "holds", {}, "", "conditional"),
        ("holds", None, {"condition": "if"}, "", "conditional"),
        ("holds", "fails", {"unpublished": "size"}, "", "misleading"),
        ("varies", None, {"unpublished": "size", "condition": "if"}, "", "undetermined"),
    ],
)  # fmt: skip
def test_verdicts_follow_from_outcomes(first, second, claim, unfit, verdict):
    facts = SimpleNamespace(**({"condition": "", "unpublished": ""} | claim))
    assert Judged(facts, ran(first), ran(second), str, unfit).verdict == verdict


@every(
    "files,depends",
    [
        ((), "constants"),
        (("hardware/a",), "catalogue"),
        (("models/a", "engines/b"), "engine"),
        (None, None),
    ],
)
def test_what_could_change_a_verdict(files, depends):
    judged = Judged(None, files if files is None else ran("holds", *files), None, str)
    assert judged.depends == depends
    assert judged.files == sorted(files or ())


def premise(ends=(), others=(), factor=1.0, unit=""):
    return SimpleNamespace(ends=ends, others=others, factor=factor, unit=unit)


def beyond(limit, name="a", stated=1.0):
    return lambda moved: "holds" if moved.get(name, stated) >= limit else "fails"


@every(
    "limit,outcome",
    [(0.5, "holds"), (3.0, "varies"), (9.0, "varies"), (9.1, "fails"), (1.0, "holds")],
)
def test_an_outcome_over_a_range(limit, outcome):
    assert outcome_over(beyond(limit), {"a": premise((1.0, 9.0))}) == outcome


def test_an_outcome_inside_a_range_is_looked_for():
    """Between 4 and 6 alone it fails; sixteen steps from 1 to 9 are 0.5 each."""

    def answer(moved):
        return "fails" if 4.0 < moved.get("a", 1.0) < 6.0 else "holds"

    assert outcome_over(answer, {"a": premise((1.0, 9.0))}) == "varies"
    found = explore(answer, {"a": premise((1.0, 9.0), factor=2.0, unit="s")})
    (down, up) = found.flips
    assert (down.below, down.above, up.below, up.above) == ("holds", "fails", "fails", "holds")
    assert (down.at, up.at) == (pytest.approx(2.0, abs=1e-5), pytest.approx(3.0, abs=1e-5))
    assert (down.premise, down.unit, down.is_count) == ("a", "s", False)


def test_counts_flip_at_whole_numbers():
    found = explore(beyond(5.2), {"a": premise((1.0, 9.0))}, {"a"})
    assert found.flips == (Flip("a", 6.0, "", "fails", "holds", True),)
    found = explore(beyond(5.0), {"a": premise((1.0, 9.0))}, {"a"})
    assert found.flips == (Flip("a", 5.0, "", "fails", "holds", True),)


def test_wide_ranges_are_looked_at_in_equal_factors():
    """From 1 to 65,536 in sixteen steps of two: 1.5 to 3 alone, where even steps see nothing."""

    def answer(moved):
        return "fails" if 1.5 < moved.get("a", 1.0) < 3.0 else "holds"

    assert outcome_over(answer, {"a": premise((1.0, 65_536.0))}) == "varies"
    # From 1 to 9.9 the steps are equal: 1.55625 is the first, and 1.2 is not seen.
    assert outcome_over(answer, {"a": premise((1.0, 9.9))}) == "varies"
    assert (
        outcome_over(
            lambda m: "fails" if 1.0 < m.get("a", 1.0) < 1.5 else "holds",
            {"a": premise((1.0, 9.9))},
        )
        == "holds"
    )
    assert (
        outcome_over(
            lambda m: "fails" if 1.0 < m.get("a", 1.0) < 1.5 else "holds",
            {"a": premise((1.0, 10.0))},
        )
        == "varies"
    )


def test_alternatives_and_pairs_of_inputs():
    def either(moved):
        return "fails" if moved.get("chip") == "slow" else "holds"

    found = explore(either, {"chip": premise(others=("slow", "fast"))})
    assert found.alternatives == (("chip", "slow", "fails"), ("chip", "fast", "holds"))
    assert (found.flips, found.jointly) == ((), None)

    def both(moved):
        return "fails" if moved.get("a") == 2.0 and moved.get("b") == 4.0 else "holds"

    found = explore(both, {"a": premise((1.0, 2.0)), "b": premise((3.0, 4.0))})
    assert (found.flips, found.jointly) == ((), {"a": 2.0, "b": 4.0})
    assert explore(lambda _: "holds", {"a": premise((1.0, 2.0))}).jointly is None


@every(
    "result,refused",
    [
        ([1.0, 2.0], ""),
        ([1.0, np.nan], "x gives no number with its inputs"),
        (ZeroDivisionError("division by zero"), "x cannot compute with its inputs: division by zero"),
        (ValueError("no"), "x cannot compute with its inputs: no"),
    ],
)  # fmt: skip
def test_a_test_without_a_number_is_refused(result, refused, monkeypatch):
    asked = []

    def compute(arguments, *, is_full):
        asked.append((arguments, is_full))
        if isinstance(result, Exception):
            raise result
        return SimpleNamespace(values=result)

    monkeypatch.setitem(judging.TESTS, "x", SimpleNamespace(groups=("catalogue",), compute=compute))
    inputs = {name: SimpleNamespace(argument=number) for name, number in (("a", 1.0), ("b", 2.0))}
    trial = judging._Trial(SimpleNamespace(test="x"), "entries", inputs)
    if refused:
        with pytest.raises(InputError, match=refused):
            trial.finding({"b": 3.0})
    else:
        assert trial.finding({"b": 3.0}).values == result
    assert asked == [({"a": 1.0, "b": 3.0, "catalogue": "entries"}, False)]
