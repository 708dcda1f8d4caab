"""Whole answers about fast modes on a chip whose passes take milliseconds that the head knows.

A step of b sequences takes 10 + 0.01 b ms, and a chip costs a thousandth of a dollar per second.
"""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import fastcalc as fc
from fastcalc.core.placement.layout import Layout
from fastcalc.core.scenario import Sharding
from fastcalc.core.traffic.traffic import Speculation
from fastcalc.features.fastmode import waterfall as steps
from fastcalc.features.fastmode.answer import FastmodeAnswer
from fastcalc.features.fastmode.lighter_passes import drafting
from fastcalc.features.fastmode.option import Option
from fastcalc.features.fastmode.request import Fastmode
from fastcalc.features.fastmode.smaller_models import SmallerShape
from fastcalc.features.fastmode.solve import SpeedupOptions
from fastcalc.features.fastmode.waterfall import waterfall
from fastcalc.kit.answer.answer import Screen
from fastcalc.kit.answer.parts import Remark, TextTable
from fastcalc.kit.request.evaluation import Evaluated
from fastcalc.mentions import as_flags
from tests import made_up
from tests.helpers import every, outcome


@pytest.fixture(autouse=True)
def _width(monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")


SMALL = made_up.clocked(memory=[{"name": "M", "capacity": "1.02 MB", "bandwidth": "1000 TB/s"}])
"""A chip that holds 10,000 sequences of two bytes besides a model of 1 MB."""


@pytest.fixture(scope="module")
def curve():
    """Steps of 10,000 users take 110 ms, so that 2.5 times their speed takes 44 ms: 3,400 users."""
    return fc.fastmode(
        made_up.minimal(),
        on=SMALL,
        engine=made_up.CLOCK,
        curve=True,
        chips=1,
        prompt=1,
        output=1,
        context=2,
    )


def of(curve, engine):
    return {row["batch"]: row for row in curve.records if row["engine"] == engine}


def test_a_curve_starts_from_every_batch_up_to_the_largest(curve):
    """Four per octave: 2^13.25 is 9,741.98. The largest batch is the last."""
    batches = [row["batch"] for row in curve.records if row["engine"] == "made-up-engine"]
    assert batches == sorted(batches)
    assert batches[:5] == [1, 2, 3, 4, 5]
    assert batches[-3:] == [8192, 9742, 10_000]
    assert {2**octave for octave in range(14)} <= {*batches}
    # 17 floors, from 1/8 to 32 ms in steps of the root of two, after the two engines.
    engines = [row["engine"] for row in curve.records]
    count = len(batches)
    assert engines == [
        *["made-up-engine"] * count, *["ideal"] * count, *["textbook"] * 17 * count
    ]  # fmt: skip
    floors = [row["floor_ms"] for row in curve.records if row["batch"] == 1]
    assert floors == pytest.approx([10, 0, *(0.125 * 2 ** (step / 2) for step in range(17))])


def test_the_ends_of_a_curve_are_those_of_mental_arithmetic(curve):
    rows = of(curve, "made-up-engine")
    for batch, end in ((10_000, 3400), (8192, 2676), (2048, 219), (1024, None)):
        row, step = rows[batch], 10 + 0.01 * batch
        assert row["tokens_per_s_per_user"] == pytest.approx(1000 / step)
        assert row["usd_per_mtok_output"] == pytest.approx(step / batch)
        assert (row["end_batch"], row["reaches"]) == (end, end is not None)
        assert (row["layout"], row["end_layout"]) == ("one chip", end and "one chip")
        if end:
            after = 10 + 0.01 * end
            assert after * 2.5 <= step < (after + 0.01) * 2.5
            assert row["end_tokens_per_s_per_user"] == pytest.approx(1000 / after)
            assert row["end_usd_per_mtok_output"] == pytest.approx(after / end)
            assert row["cost_multiple"] == pytest.approx(after / end / (step / batch))
        else:
            assert row["end_usd_per_mtok_output"] is row["cost_multiple"] is None
    # Without a floor 2.5 times the speed takes a batch 2.5 times smaller, at the same cost.
    assert of(curve, "ideal")[10_000]["end_batch"] == 4000
    assert of(curve, "ideal")[10_000]["cost_multiple"] == pytest.approx(1.0)


def test_the_page_of_a_curve(curve):
    page = str(curve)
    heading, *lines = page.splitlines()
    assert heading == (
        "made-up-chip: made-up-model on 1 chip: cost of 2.5x the speed per user by a smaller batch "
        "alone"
    )
    table = [" ".join(line.split()) for line in lines[: lines.index("")]]
    assert table[:4] == [
        "users at tok/s made-up-engine ideal floor for",
        "the start per user native native 6x, ms",
        "2 99.8 never never -",
        "4 99.6 never 1.00x -",
    ]
    # 20.48 + 10 ms over 2.5 are 12.19: 219 users; 2048 / 30.48 over 219 / 12.19 is 3.74.
    assert table[-4:] == [
        "2,048 32.8 3.74x 1.00x 11.3", "4,096 19.6 1.58x 1.00x 22.6",
        "8,192 10.9 1.22x 1.00x 32.0", "10,000 9.09 1.18x 1.00x 32.0",
    ]  # fmt: skip
    text = " ".join(page.split())
    # 10.01 ms of one user times 2.5 are 25.025 ms: of 1,502.5 users. 1,800 take 28 ms, and 120
    # users 11.2: 1800 / 28 over 120 / 11.2 is six.
    assert (
        "made-up-engine in bf16, KV cache bf16 (floor 10.0 ms, one user 99.9): 2.5x from 1,503 to "
        "10,000 users; for 6x or less from 1,800 to 10,000."
    ) in text
    assert "(floor 0 ms, one user 100,000): 2.5x from 3 to 10,000 users; for 6x or" in text
    assert "largest floor at which 2.5x the speed costs at most 6x, in native formats" in text


def test_a_curve_says_which_traffic_and_engines_it_assumes(curve):
    assumed = curve.assumptions
    tokens = ("prompt_tokens", "output_tokens", "context_tokens")
    assert [assumed[key] for key in tokens] == [1, 1, 2]
    assert [*assumed["engines"]] == ["made-up-engine", "ideal", "textbook"]


# Whole pages of options.


SECOND = made_up.clocked(id="second-chip", price={"cloud": "7.2 USD/h"})


def point(batch, *, chips=1, hardware=None, model=None, **changes):
    return outcome(
        model or made_up.minimal(),
        hardware or made_up.clocked(),
        engine=made_up.CLOCK,
        prompt=1,
        output=1,
        batch=(batch,),
        sharding=Sharding(chips=chips),
        **changes,
    )


def fp8(name):
    return Option("fewer-bits", name, point(3000, weights="fp8"))


SMALLER = Option("smaller-batch", "", point(3000))
MORE = Option("more-chips", "dp2", point(6000, chips=2))
NEWER = Option("newer-hardware", "second-chip", point(3000, hardware=SECOND))
OPTIONS = [
    SMALLER,
    Option("other-layout", "", why_not="no other layout exists"),
    MORE,
    NEWER,
    Option("newer-hardware", "third-chip", why_not="at most 20 tokens/s", fastest=20.0),
    *map(fp8, ("fp8", "fp8, kv fp8", "kv fp8")),
    Option("speculation", "3 draft tokens", why_not="too slow"),
    Option("smaller-model", "", why_not="none is given", is_ruled_out=True),
]


def answer(options=OPTIONS, *, same=(SMALLER, MORE, NEWER), shapes=(None, None), **asked):
    request = Fastmode(model="made-up-model", on="made-up-chip", batch=9000, **asked)
    solution = SpeedupOptions(
        today=point(9000), speed=25.0, options=[*options], same_answers=[*same],
        drafts=np.array([1.0, 2.0]), tokens=np.array([2.5, 2.5]),
        acceptance=np.array([np.nan, 0.9]), fewer_layers=shapes[0], thinner_layers=shapes[1],
        nearest=None,
    )  # fmt: skip
    shared = Evaluated.sharing(request, models=[request.model], batch="9000")
    return FastmodeAnswer(request=request, reading=[], comparison=shared, solution=solution)


def page(made, **screen):
    return made.page(Screen(100, **screen))


def rows_of(parts):
    (table, *_) = (part for part in parts if isinstance(part, TextTable))
    return [(row[0], row[1], row[2], row[3], row[-2], row[-1]) for row in table.rows]


TODAY = ("today", "9,000", "1", "10.0", "1.00x")
CHEAPEST = ("smaller batch", "3,000", "1", "25.0", "1.20x")


def test_a_first_screen_has_the_cheapest_of_each_technique_that_reaches_the_speed():
    """9,000 users have 10 tokens/s and 3,000 have 25: 90,000 and 75,000 of the same chip are 1.2."""
    parts = page(answer())
    assert parts[0] == (
        "Cheapest on made-up-chip for 25.0 tokens/s per user (2.50x): a smaller batch, at 1.20x "
        "today's cost, batch 3,000. On other chips: second-chip, 2.40x today's cost."
    )
    assert parts[1].startswith("Price per chip-hour: made-up-chip $3.60 (terms not stated), second")
    assert parts[3] == Remark(
        "Today made-up-model (bf16) on 1 made-up-chip gives each of 9,000 users 10.0 tokens/s."
    )
    assert rows_of(parts) == [
        (*TODAY, "none (compute-bound)"),
        (*CHEAPEST, "-"),
        ("more chips", "6,000", "2", "25.0", "1.20x", "dp2"),
        ("newer hardware", "3,000", "1", "25.0", "2.40x", "second-chip"),
        ("quantization", "3,000", "1", "25.0", "1.20x", "fp8 *"),
    ]


@every(
    "options,sentence",
    [
        ([NEWER], "Nothing on made-up-chip reaches 25.0 tokens/s per user (2.50x). Other chips reach it: second-chip at 2.40x today's cost."),
        ([NEWER, OPTIONS[5]], "On made-up-chip, only quantization or another model reaches 25.0 tokens/s per user (2.50x). Other chips reach it: second-chip at 2.40x today's cost."),
        ([MORE], "Cheapest on made-up-chip for 25.0 tokens/s per user (2.50x): more chips (dp2), at 1.20x today's cost, batch 6,000."),
    ],
)  # fmt: skip
def test_a_headline_names_today_s_chips_first(options, sentence):
    slow = Option("smaller-batch", "", why_not="too slow")
    assert page(answer([slow, *options], same=options[:1]))[0] == sentence


def test_options_that_change_the_answers_follow_those_that_do_not():
    other = Option("other-layout", "fast", point(3000))
    made = answer([other, SMALLER, MORE], same=(MORE,))
    assert [row[0] for row in rows_of(page(made))] == [
        "today", "more chips", "smaller batch", "other layout"
    ]  # fmt: skip
    assert answer([SMALLER], same=(SMALLER,)).key() == (
        "key: each row: cheapest option with its technique, or number of techniques"
    )
    assert made.key().endswith("techniques; *: may lower quality (other model or fewer bits)")


def test_a_wide_page_has_what_is_too_slow_and_the_factors():
    parts = page(answer(), wide=True)
    assert parts[0].startswith("Made up: 0.000500B parameters; weights bf16 1 MB, ")
    assert parts[0].endswith("; prompt 1, output 1, mean context 2 tokens")
    assert [(row[0], row[-1]) for row in rows_of(parts)] == [
        ("today", "compute"),
        ("smaller batch", "compute"),
        ("other layout", "not enough: no other layout exists"),
        ("more chips", "dp2; compute"),
        ("newer hardware", "second-chip; compute"),
        ("quantization", "fp8 *; compute"),
        ("quantization", "fp8, kv fp8 *; compute"),
        ("speculation", "not enough: 3 draft tokens, too slow"),
        ("other model", "not enough: none is given"),
    ]
    tables = [part for part in parts if isinstance(part, TextTable)]
    assert [row[:4] for row in tables[1].rows] == [["batch", "3,000", "2.50x", "1.20x"]]
    # All options, each with all columns.
    every_option = page(answer(everything=True))
    assert len(rows_of(every_option)) == 1 + len(OPTIONS)
    assert [row[-1] for row in rows_of(every_option)][
        5
    ] == "not enough: third-chip, at most 20 tokens/s"
    assert len(rows_of(page(answer(format="markdown"), wide=True))) == 1 + len(OPTIONS)


BEGINNINGS = [
    (0, "Factors of smaller batch: 2.50x = 2.50 (batch 3,000 instead of 9,000); cost 1.20x. Model output is unchanged."),
    (3, "Techniques that are not fast enough alone: other layout, speculation; --wide explains why."),
    (0, "A smaller batch on the same hardware costs today's batch / (its batch x its speed-up) times as much per output token: 9,000 / (3,000 x 2.50) = 1.20, at the same utilization. With prompts included, a token costs 1.20 times as much, and "),
    (0, "Numbers of chips evaluated: made-up-chip: up to 8; other chips: today's number (1), one scale-up domain, or the fewest that fit; SRAM accelerators: up to 64"),
    (0, "Each row uses the largest batch that is expected to reach the speed. "),
    (0, "Tokens per step that speculation needs at batch 9,000, by number of draft tokens: 1: 2.50 (impossible); 2: 2.50 (acceptance 0.90)."),
    (0, "Speculation assumes the tokens per step published for DeepSeek-R1 with its own draft tokens on eight B200, by number of draft tokens 1: 1.92, 2: 2.58, 3: 2.82, 4: 2.99, 5: 3.01; "),
    (0, "Quantization and other models (*) change the output"),
    (0, "Price per chip-hour: made-up-chip $3.60"),
    (0, "made-up-engine lists no formats for none: fp8 is taken"),
    (2, "The heads of made-up-model are not published"),
    (0, "Further options: newer hardware (1), quantization (1); --all shows them."),
]  # fmt: skip
"""Notes of `OPTIONS` with their weights: a first screen has those of the highest."""


def test_notes_have_the_numbers_of_the_records():
    notes = {as_flags(note.text): note.weight for note in answer().notes()}
    for (text, weight), (expected, start) in zip(notes.items(), BEGINNINGS, strict=True):
        assert (weight, text[: len(start)]) == (expected, start)
    assert [note.is_hint for note in answer().notes()].index(True) == 1


def test_a_warning_about_a_row_of_the_first_screen_comes_first():
    """The dearer of two chips is no row of it; what its model lacks is a note like others."""
    other = point(3000, hardware=SECOND, model=made_up.minimal(id="other-model"))
    dear = Option("newer-hardware", "second-chip", other)
    for options, weight in (([SMALLER, NEWER, dear], 0), ([SMALLER, dear, NEWER], 2)):
        made = answer(options, same=(SMALLER,))
        weights = {note.text.partition(" are")[0]: note.weight for note in made.notes()}
        names = ("The heads of made-up-model", "The heads of other-model")
        assert tuple(map(weights.get, names)) == (2, weight)


def test_a_smaller_model_is_said_to_be_the_largest_of_several():
    smaller = Option("smaller-model", "other-model", point(3000))
    said = "other model: the largest smaller one, by active parameters"
    for options, is_said in (([SMALLER, smaller], True), (OPTIONS, False)):
        texts = [note.text.lower().rstrip(".") for note in answer(options).notes()]
        assert (said in texts) is is_said


def test_records_compare_each_option_with_today():
    today, smaller, layout, more, newer, *_ = answer().records()
    assert (today["trick"], today["reaches"], today["speedup"]) == (
        "today",
        False,
        pytest.approx(1),
    )
    assert smaller["speedup"] == pytest.approx(2.5)
    assert smaller["cost_multiple"] == pytest.approx(1.2)
    assert (smaller["batch_ratio"], more["batch_ratio"]) == (3.0, 1.5)
    assert newer["cost_multiple"] == pytest.approx(2.4)
    assert (layout["cannot"], layout["compare"], layout["speedup"]) == (
        "no other layout exists",
        None,
        None,
    )
    start = "fastcalc compare made-up-model --on"
    for row, rest in (
        (today, "made-up-chip --engine made-up-engine --prompt 1 --output 1 --batch 9000 --tp 1 --pp 1 --ep 1 --dp 1"),
        (more, "made-up-chip --engine made-up-engine --prompt 1 --output 1 --batch 6000 --tp 1 --pp 1 --ep 1 --dp 2"),
        (newer, "second-chip --engine made-up-engine --prompt 1 --output 1 --batch 3000 --tp 1 --pp 1 --ep 1 --dp 1"),
    ):  # fmt: skip
        assert as_flags(row["compare"]) == f"{start} {rest}"


def test_details_have_the_target_and_the_shapes():
    shapes = SmallerShape(1e6, 2e6, 3.0), None
    details = answer(shapes=shapes).details()
    assert details["target"] == {"tokens_per_s_per_user": 25, "speedup": pytest.approx(2.5)}
    assert details["speculation_at_todays_batch"] == [
        {"drafts": 1, "tokens_per_pass_needed": 2.5, "acceptance_needed": None},
        {"drafts": 2, "tokens_per_pass_needed": 2.5, "acceptance_needed": 0.9},
    ]
    assert details["smaller_shapes_at_todays_batch"] == {
        "fewer_layers": {"active_parameters": 1e6, "total_parameters": 2e6, "layers": 3},
        "thinner_layers": None,
    }
    (factor,) = details["waterfall"]
    assert (factor["trick"], factor["change"], factor["batch"]) == ("batch", "3,000", 3000)


def test_the_next_command_reports_chips_that_keep_the_model():
    """Of today's chip and two others with a price that stand in the table, in its order."""
    third = made_up.clocked(id="third-chip")
    unpriced = made_up.clocked(id="unpriced-chip", price={})
    model = point(9000).scenario.model
    hardware = unpriced, SECOND, third, made_up.clocked(id="fourth-chip")
    techniques = "sram-machine", "newer-hardware", "other-hardware", "other-hardware"
    own = [
        Option(technique, chip.id, point(3000, hardware=chip, model=model))
        for technique, chip in zip(techniques, hardware, strict=True)
    ]
    made = answer(own, same=own)
    made = replace(made, solution=replace(made.solution, today=point(9000, model=model)))
    command = as_flags(made.next_command())
    assert command.startswith(
        "fastcalc report made-up-model --on made-up-chip,second-chip,third-chip"
    )
    assert "--batch 9000" in command


@every("reached", [True, False])
def test_the_exit_code_is_that_of_a_speed_reached(reached):
    made = answer() if reached else answer([OPTIONS[1]], same=())
    assert made.code == (0 if reached else 1)


# DeepSeek-R1 on eight B200 at batch 1: TensorRT-LLM, "Pushing Latency Boundaries".
@every("drafts,tokens", [(1, 1.92), (2, 2.58), (3, 2.82), (4, 2.99), (5, 3.01)])
def test_tokens_per_step_are_those_published(drafts, tokens):
    words, drafted = drafting(point(1).scenario, drafts)
    assert words == f"{drafts} draft token{'s' * (drafts > 1)}"
    assert drafted.traffic.speculation.tokens_per_pass == tokens


@pytest.mark.thorough
@every(
    "asked,sentence",
    [
        ({"smaller": "none,llama-3.1-8b"}, "no model is called 'none'; list them with 'fastcalc list models'"),
        ({"from_speed": 1e6}, "No batch of llama-3.1-8b on h100-sxm reaches 1e+06 tokens/s per user, so there is no starting point."),
        ({"from_speed": 1e6, "chips": 2}, "No batch of llama-3.1-8b on 2 chips of h100-sxm reaches 1e+06 tokens/s per user, so there is no starting point."),
    ],
)  # fmt: skip
def test_what_has_no_start_or_no_such_model(asked, sentence):
    try:
        said = str(fc.fastmode("llama-3.1-8b", on="h100-sxm", **asked))
    except fc.InputError as error:
        said = str(error)
    assert as_flags(said) == sentence


STEPS = [
    # Twice the price; half of the products: 10 + 45 ms instead of 10 + 90.
    ("machine", "second-chip", 1.0, 2.0, "assumed", "made-up-engine, not fitted on none"),
    ("model", "other-model", 100 / 55, 0.55, "assumed", "the shape of other-model is not published"),
    ("bits", "fp8, kv bf16", 1.0, 1.0, "published", "data-sheet rates of second-chip; the effect of"),
    # Four tokens are verified in 10 + 180 ms, and three drafted in a tenth of 55 each, for two.
    ("drafts", "3 draft tokens, 2 tokens per step", 2 * 55 / 206.5, 206.5 / 110, "assumed", "as published for deepseek-r1: TensorRT-LLM"),
    # Half of the users each, on two chips: 10 + 90 ms, and three times 3.25.
    ("layout", "dp 2", 206.5 / 109.75, 2 * 109.75 / 206.5, "assumed", "made-up-engine, not fitted"),
    # 500 users each: 10 + 10 ms, and three times 1.25. Nine times fewer of them pay for it.
    ("batch", "1,000", 109.75 / 23.75, 9 * 23.75 / 109.75, "assumed", "made-up-engine, not fitted"),
]  # fmt: skip


def test_each_step_to_another_point_has_its_factor():
    other = made_up.minimal(id="other-model", total_parameters=250_000)
    drafts = Speculation(2.0, 3.0)
    end = point(1000, hardware=SECOND, model=other, chips=2, weights="fp8", speculation=drafts)
    today = point(9000)
    found = waterfall(today, end)
    for factor, (trick, change, speedup, cost, evidence, source) in zip(found, STEPS, strict=True):
        assert (factor.trick, factor.change, factor.evidence) == (trick, change, evidence)
        assert factor.source.startswith(source)
        assert factor.speedup == pytest.approx(speedup, rel=1e-6)
        assert factor.cost_multiple == pytest.approx(cost, rel=1e-6)
    # The weakest evidence of steps without a point of their own counts; all of them make the whole.
    assert np.prod([factor.speedup for factor in found]) == pytest.approx(
        float(end.estimate.speed[0] / today.estimate.speed[0])
    )
    assert [factor.trick for factor in waterfall(today, point(3000))] == ["batch"]
    assert waterfall(today, today) == []


@every(
    "is_same,given,fitting,tried",
    [
        # Today's layout on today's chips; else as many chips, as many as in the end, then any.
        (True, {}, 4, [Sharding.of(Layout(pp=2)), *map(Sharding, (2, 4, None))]),
        (True, {}, 0, [Sharding.of(Layout(pp=2))]),
        (False, {}, 3, [*map(Sharding, (2, 4, None))]),
        (False, {}, 1, [*map(Sharding, (2, 4))]),
        (True, {"tp": 4}, 1, [Sharding(tp=4)]),
    ],
)
def test_layouts_of_a_step_are_tried_until_one_fits(is_same, given, fitting, tried, monkeypatch):
    today, end = (
        SimpleNamespace(placement=SimpleNamespace(layout=Layout(pp=pp)), scenario=point(1).scenario)
        for pp in (2, 4)
    )
    asked = []

    def solved(scenario):
        asked.append(scenario.sharding)
        if len(asked) <= fitting == 3:
            raise fc.InputError("impossible on this chip")
        return SimpleNamespace(fits=len(asked) > fitting)

    monkeypatch.setattr(steps, "solve", solved)
    chip = today.scenario.hardware if is_same else SECOND
    scenario = replace(today.scenario, hardware=chip, sharding=Sharding(**given))
    found = steps._point(scenario, today, end)
    assert asked == tried
    assert (found is not None) == (len(asked) > fitting)


def test_a_chart_has_the_cheapest_of_each_technique():
    chart = answer().charts["fastmode"]()
    (panel,) = chart.panels
    points = {series.name: (series.x[0], series.y[0]) for series in panel.series}
    assert points == {
        "today": (pytest.approx(1 / 90), 9000), "smaller batch": (pytest.approx(1 / 75), 3000),
        "more chips": (pytest.approx(2 / 150), 6000), "newer hardware": (pytest.approx(2 / 75), 3000),
        "quantization *": (pytest.approx(1 / 75), 3000),
    }  # fmt: skip
    assert (panel.across.label, panel.upward.label) == (
        "$/Mtok output, at the target speed", "concurrent users"
    )  # fmt: skip
