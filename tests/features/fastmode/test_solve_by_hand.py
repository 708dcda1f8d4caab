"""Refusals, choices and starting points of a search for speed, from made-up outcomes."""

from types import SimpleNamespace

import pytest

from fastcalc.errors import InputError
from fastcalc.features.fastmode import curve, solve
from fastcalc.features.fastmode.answer import FastmodeAnswer
from fastcalc.features.fastmode.curve import _UNDETERMINED, COLUMNS, CurveStart
from fastcalc.features.fastmode.option import TRICKS, Option
from fastcalc.features.fastmode.solve import SpeedupOptions, fastmode
from fastcalc.mentions import as_flags
from tests.helpers import every


def outcome(*, chips=2, needed=4, most=7, **changes):
    layout = SimpleNamespace(chips=chips)
    placement = SimpleNamespace(layout=layout, max_batch=most)
    usual = {"refused": None, "fits": False, "is_stopped": False}
    return SimpleNamespace(min_chips=[needed], placement=placement, **usual | changes)


TODAY = SimpleNamespace(
    batches=(1200,), model=SimpleNamespace(id="m"), hardware=SimpleNamespace(id="h")
)


@every(
    "changes,sentence",
    [
        ({}, "batch 1,200 of m does not fit 2 h chips, which fit at most 7: why; write --chips 4"),
        ({"needed": 3}, "batch 1,200 of m does not fit 2 h chips, which fit at most 7: why; write --chips 3"),
        # More chips are named only where they help.
        ({"needed": 2}, "batch 1,200 of m does not fit 2 h chips, which fit at most 7: why"),
        ({"needed": None}, "batch 1,200 of m does not fit 2 h chips, which fit at most 7: why"),
        ({"chips": 1, "most": 0, "needed": None}, "batch 1,200 of m does not fit 1 h chip: why"),
        ({"chips": 1, "most": 0, "is_stopped": True}, "batch 1,200 of m does not start on 1 h chip: why; write --chips 4"),
        ({"refused": "no such format", "fits": True}, "no such format"),
    ],
)  # fmt: skip
def test_a_batch_that_does_not_fit_is_refused(changes, sentence):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(solve, "solve", lambda _: outcome(**changes))
        patch.setattr(solve, "why", lambda _: "why")
        with pytest.raises(InputError) as refused:
            fastmode(TODAY, 100.0, None)
    assert as_flags(refused.value.sentence) == sentence


def option(chip, trick="other-layout"):
    scenario = SimpleNamespace(hardware=SimpleNamespace(id=chip))
    found = SimpleNamespace(scenario=scenario, usd=None)
    return Option(trick, "", outcome=found if chip else None)


def options(*of, same=None):
    today = SimpleNamespace(scenario=SimpleNamespace(hardware=SimpleNamespace(id="today")))
    return SpeedupOptions(
        today=today, speed=1.0, options=list(of), same_answers=list(of if same is None else same),
        drafts=None, tokens=None, acceptance=None, fewer_layers=None, thinner_layers=None, nearest=None,
    )  # fmt: skip


def test_options_on_todays_chips_are_told_from_others(monkeypatch):
    """An option without an outcome, such as draft tokens, stays on today's chips."""
    here, there, drafts = option("today"), option("other"), option(None)
    monkeypatch.setattr(solve, "best", lambda chosen: chosen[0] if chosen else None)
    found = options(there, drafts, here)
    assert found.on_same_chips is drafts
    assert found.on_another_machine is there
    assert found.leading == [drafts, there]
    assert found.reached == [there, here]
    assert found.reaches_on_same_chips
    assert options(there, drafts).reaches_on_same_chips is False
    assert options(there).leading == [there]
    assert options(here, same=[]).leading == []
    assert options(here, there, same=[there]).cheapest is there


def start(engine):
    return CurveStart(
        study=None, scenario=SimpleNamespace(engine=engine), floor_ms=1.0, batch=10, speed=100.0,
        before=None, smaller_batch=5, faster=150.0, after=None, cost_multiple=1.0,
    )  # fmt: skip


def test_numbers_of_an_engine_without_published_measurements_are_undetermined(monkeypatch):
    monkeypatch.setattr(curve, "is_assumed", lambda engine: engine == "assumed")
    assert start("measured").undetermined == []
    assert start("assumed").undetermined == list(_UNDETERMINED)
    # Each is a column of numbers; what the user gave is known.
    keys = {column.key for column in COLUMNS}
    assert set(_UNDETERMINED) <= keys
    assert not {"batch", "chips", "speedup", "hardware", "model"} & set(_UNDETERMINED)


def test_a_first_screen_names_techniques_that_are_too_slow_alone():
    """One that another option of its technique makes up for is not among them."""
    slow, fast = option(None, trick="fewer-bits"), option("other", trick="newer-hardware")
    late = option(None, trick="newer-hardware")
    impossible = Option("more-chips", "", why_not="one chip", is_ruled_out=True)

    def hints(*of):
        request = SimpleNamespace(everything=True, written_as="table")
        answer = FastmodeAnswer(request=request, comparison=None, solution=options(*of))
        return [*answer._hints()]

    (hint,) = hints(slow, fast, late, impossible)
    assert TRICKS["fewer-bits"] in hint.text
    assert not any(TRICKS[trick] in hint.text for trick in ("newer-hardware", "more-chips"))
    assert (hint.weight, hint.is_hint) == (3, True)
    assert hints(fast) == []
