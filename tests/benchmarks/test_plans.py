"""A few of the random questions to the planner, and what the harness says of wrong answers."""

from types import SimpleNamespace

import pytest

from benchmarks import plans


@pytest.mark.thorough
@pytest.mark.parametrize("check", [plans.same, plans.monotone])
def test_some_random_questions_have_no_wrong_answer(check, without_regret):
    assert [*check(3, seed=5)] == []


def test_an_answer_that_costs_less_for_more_is_named(monkeypatch):
    """A planner that asks 9 for the first question and 1 for any other."""
    costs = iter([9.0, 1.0] * 50)

    def plan(**_):
        return SimpleNamespace(records=[{"cost": next(costs)}], details={"requests_per_s": 1.0})

    monkeypatch.setattr(plans.fc, "plan", plan)
    assert any("costs 1" in sentence for sentence in plans.monotone(20, seed=1))
    assert [*plans.same(3, seed=1)] != []
