"""80 % ranges: what they are learned from, and how wide they are."""

import math
from dataclasses import replace

import numpy as np
import pytest

from fastcalc.catalogue.schema import Engine
from fastcalc.catalogue.schema.engines import RangeWidths
from fastcalc.catalogue.store import Catalogue
from fastcalc.core.speed_range import is_new, range_note
from fastcalc.evidence.score import Prediction
from fastcalc.evidence.shipped import shipped
from fastcalc.evidence.speed_ranges import learned, ranged
from fastcalc.evidence.validate import validate
from tests.evidence.test_measured import point
from tests.helpers import outcome

KINDS = {"vllm": {phase: ["datacenter"] for phase in ("decode", "prefill", "served")}}


def missed(by, source="aa", *, bound=99.0, phase="decode", machine="datacenter", fitted=0.0):
    """A speed of 100 tokens/s, expected so much too fast in the logarithm."""
    measured = point(id=f"{source}-001", metric="tokens_per_s_per_user", value=100.0)
    expected = 100.0 * math.exp(by)
    return Prediction(
        measured,
        "vllm",
        machine,
        phase,
        False,
        expected,
        None,
        None,
        bound * expected,
        fitted_share=fitted,
    )


def one_each(phase, widths, **where):
    """A point of each of some sources; the sign of its error does not count."""
    return [
        missed((-1) ** number * width, f"s{number}", phase=phase, **where)
        for number, width in enumerate(widths)
    ]


PROMPTS_AND_TRAFFIC = [*one_each("prefill", [0.5] * 5), *one_each("served", [0.2] * 5)]


def test_widths_are_quantiles_of_sources_by_phase():
    """Nine sources: 0.84 of them is 7.56, and the middle of the eighth lies at 7.5."""
    decoded = one_each("decode", np.arange(1, 10) / 10)
    widths = learned([*decoded, *PROMPTS_AND_TRAFFIC], KINDS)
    assert (widths.decode, widths.prefill, widths.served) == (0.806, 0.5, 0.2)
    assert widths.unseen == 1.0
    assert widths.basis == "19 points of 9 sources that no engine was fitted on"


def test_a_source_weighs_as_the_root_of_its_points():
    """Sixteen points weigh four: 0.84 of eight is 6.72, and the middle of 0.4 lies at 6.5.

    Weighing alike, it would be 16.8 of 20, where 0.2 lies at 16.5: 0.23.
    """
    many = [missed(0.1, "many") for _ in range(16)]
    few = one_each("decode", [0.2, 0.3, 0.4, 0.5])
    assert learned([*many, *few, *PROMPTS_AND_TRAFFIC], KINDS).decode == 0.422


def test_errors_of_fitted_time_need_half_the_width_without_it():
    decoded = one_each("decode", [0.6] * 5, fitted=1.0)
    assert learned([*decoded, *PROMPTS_AND_TRAFFIC], KINDS).decode == pytest.approx(0.3)


def test_other_kinds_of_chip_say_how_many_times_as_wide():
    """Errors of 0.6 and 1.0 where the phases have 0.3 and 0.5."""
    unseen = [
        *one_each("decode", [0.6] * 5, machine="tpu"),
        *one_each("prefill", [1.0] * 5, machine="tpu"),
    ]
    seen = [*one_each("decode", [0.3] * 5), *PROMPTS_AND_TRAFFIC]
    widths = learned([*seen, *unseen], KINDS)
    assert (widths.decode, widths.prefill, widths.unseen) == (0.3, 0.5, 2.0)


def test_models_in_their_first_months_say_how_many_times_as_wide():
    """Errors of 0.6 and 1.0 where the phases have 0.3 and 0.5, and twice that on another kind."""
    young = [*one_each("decode", [0.6] * 5), *one_each("prefill", [1.0] * 5)]
    unseen = one_each("decode", [0.6] * 5, machine="tpu")
    both = one_each("decode", [1.2] * 5, machine="tpu")
    new = [replace(prediction, is_young=True) for prediction in (*young, *both)]
    seen = [*one_each("decode", [0.3] * 5), *PROMPTS_AND_TRAFFIC]
    widths = learned([*seen, *unseen, *new], KINDS)
    assert (widths.decode, widths.prefill, widths.unseen, widths.new) == (0.3, 0.5, 2.0, 2.0)


@pytest.mark.parametrize(
    ("date", "new"),
    [
        ("2026-01", True),  # before it came out
        ("2026-02", True),
        ("2026-04-30", True),
        ("2026-05-01", False),
        ("2027-01", False),
        ("2026", False),
        ("", False),
        (None, False),
    ],
)
def test_a_model_is_new_in_the_month_of_its_release_and_two_more(date, new):
    model = Catalogue().model("llama-3.1-8b").changed(released="2026-02")
    assert is_new(model, date) == new


def test_compare_knows_the_age_of_a_model_when_its_engine_was_fitted():
    model = Catalogue().model("llama-3.1-8b")
    under = engine(fitted_kinds={"decode": ["datacenter"]}, date="2026-03")
    reaches = []
    for released in ("2026-02", "2025-02"):
        aged = model.changed(released=released)
        found = outcome(aged, "h100-sxm", engine=under, batch=(8,)).estimate
        reaches.append(math.log(found.speed[0] / found.low[0]))
        note = range_note(under, Catalogue().hardware("h100-sxm"), aged)
        assert ("3 times as wide" in note) == (released == "2026-02")
    assert reaches[0] == pytest.approx(3.0 * reaches[1])


def test_widths_learned_from_some_sources_hold_as_much_of_others():
    """Of normal errors 84 % lie within 1.4051 deviations: a little more than the 80 % promised."""
    random = np.random.default_rng(1)
    decoded, others = (one_each("decode", random.normal(0.0, 0.2, 4000)) for _ in range(2))
    widths = learned([*decoded, *PROMPTS_AND_TRAFFIC], KINDS)
    assert widths.decode == pytest.approx(1.4051 * 0.2, rel=0.05)
    held = [abs(math.log(prediction.bias)) <= widths.decode for prediction in others]
    assert np.mean(held) == pytest.approx(0.84, abs=0.02)


WIDTHS = RangeWidths(decode=0.2, prefill=0.4, served=0.1, unseen=2.0, new=3.0, basis="made up")


def test_a_range_is_as_wide_both_ways_and_ends_at_the_bound():
    prediction = ranged(missed(0.0, fitted=1.0), WIDTHS, unseen=False)
    assert (prediction.low, prediction.high) == pytest.approx(
        (100 / math.exp(0.4), 100 * math.exp(0.4))
    )
    wide = ranged(missed(0.0, fitted=1.0), WIDTHS, unseen=True)
    assert wide.low == pytest.approx(100 / math.exp(0.8))
    near = ranged(missed(0.0, bound=1.1), WIDTHS, unseen=False)
    assert near.high == pytest.approx(110.0)


def engine(**stated):
    return Engine.model_validate(
        {"id": "mine", "name": "", "fitted_on": "", "range_widths": WIDTHS.model_dump(), **stated}
    )


def test_compare_takes_the_width_of_its_kind_of_chip_or_what_is_stated():
    stated = {"unseen": {"below": 3.0, "above": 1.01, "basis": "made up"}}
    for under, multiple in (
        (engine(fitted_kinds={"decode": ["datacenter"]}), 1.0),
        (engine(fitted_kinds={"decode": ["apple"], "served": ["datacenter"]}), 2.0),
    ):
        found = outcome("llama-3.1-8b", "h100-sxm", engine=under, batch=(8,)).estimate
        parts = {part.name: part for part in found.step.components}
        printed = sum(float(parts[name].work_time[0]) for name in ("dense weights", "attention"))
        head = float(parts["head and norms"].seconds[0])
        half = 0.2 * multiple * (2 - printed / (float(found.step.seconds[0]) - head))
        assert float(found.low[0]) == pytest.approx(found.speed[0] / math.exp(half))
    found = outcome("llama-3.1-8b", "h100-sxm", engine=engine(ranges=stated), batch=(8,)).estimate
    assert float(found.speed[0] / found.low[0]) == pytest.approx(3.0)


def test_the_shipped_widths_are_learned_from_what_no_engine_was_fitted_on():
    """As `fastcalc calibrate` writes them, but for the fourth digit of fitted values."""
    catalogue, evidence = Catalogue(), shipped()
    apart = [measured for measured in evidence.points if evidence.is_held_apart(measured)]
    assert not any(evidence.is_fitted(held) or held.is_offloaded for held in apart)
    kinds = {name: catalogue.engine(name).fitted_kinds for name in catalogue.names("engines")}
    widths = learned(validate(apart, catalogue).predictions, kinds)
    written = catalogue.engine("gpu").range_widths
    for name, width in written:
        expected = width if name == "basis" else pytest.approx(width, rel=0.01)
        assert getattr(widths, name) == expected
