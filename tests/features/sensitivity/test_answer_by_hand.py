"""Whole answers about the effect of each number, on a chip whose steps the head knows.

A step of b sequences takes 10 ms of floors, and 0.01 b ms at 100 GFLOP/s.
"""

from functools import partial

import pytest

import fastcalc as fc
from fastcalc.features.sensitivity.run import target
from fastcalc.mentions import as_flags
from tests import made_up
from tests.helpers import every


@pytest.fixture(autouse=True)
def _width(monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")


ask = partial(
    fc.sensitivity,
    made_up.minimal(),
    on=made_up.clocked(),
    engine=made_up.CLOCK,
    prompt=1,
    output=1,
    context=2,
    chips=1,
)


@pytest.fixture(scope="module")
def effects():
    """1,000 users: 20 ms a step, half of which are floors and half products."""
    return ask(batch=1000)


@pytest.fixture(scope="module")
def reached():
    """80 tokens/s are 12.5 ms a step, instead of 20 and of 100."""
    return ask(batch="1000,9000", target=80)


LINES = [
    "layers 10 -4.8% +5.6% +5% 0 - -",
    "total parameters 500,000 -4.8% +3.3% +5% 0 - -",
    "decode latency floor per layer 1 ms -4.8% +1.1% +5% 0 2.00x 10.1 us",
    "peak bf16 100 GFLOP/s +4.8% -3% -4.5% 0 2.00x 9.9 TFLOP/s",
    "kv bytes per token 1 0 0 0 -50% - -",
    "M bandwidth 1 PB/s 0 0 0 0 1.00x 256.3 MB/s",
    "price per hour 3.6 USD/h 0 0 +10% 0 1.00x -",
    "M capacity 1 TB 0 0 0 +10% 1.00x 1.002 MB",
    "prefill latency floor per layer 2 ms 0 +4.4% 0 0 1.00x -",
    "server time per request 5 ms 0 +1.1% 0 0 1.00x -",
]
"""Speed, TTFT, price and largest batch of a tenth more; the largest gain, and what has 99% of it.

Eleven floors are a step of 21 ms; products at 110 GFLOP/s take 9.09 ms. A first token takes 45 ms:
5 of the server, 20 of floors and 10 of products with a prompt, and half of a step of 20.
"""


def test_ten_per_cent_more_of_each_number(effects):
    lines = [" ".join(line.split()) for line in str(effects).splitlines()]
    assert lines[:2] == [
        "At batch 1,000 one made-up-chip gives each user 50.0 tokens/s (range undetermined); "
        "compute-bound.",
        "Strongest chip or engine parameter: peak bf16 (+10% changes speed by +4.8%).",
    ]
    start = next(at for at, line in enumerate(lines) if line.startswith("parameter now"))
    assert lines[start + 1 : start + 1 + len(LINES)] == LINES
    assert lines[start + 1 + len(LINES)].startswith("- key: change: ")


CHANGES = {
    "layers": (21 / 20, 1.0, None),
    "total_parameters": (21 / 20, 1.0, None),
    "parameters.decode_layer_floor": (21 / 20, 1.0, 10.101e-6),
    "peak.bf16": ((10 + 10 / 1.1) / 20, 1.0, 9.9e12),
    "price.cloud": (1.0, 1.1, None),
    "memory.M.capacity": (1.0, 1.0, None),
}
"""What a step and a price are times as long and as high as, and the value that has 99% of the gain."""


def test_records_have_the_changes_of_speed_price_and_batch(effects):
    """99% of 100 tokens/s are steps of 10.101 ms: floors of 10.1 us, or 99 times the products."""
    records = {row["path"]: row for row in effects.records}
    for path, (step, price, enough) in CHANGES.items():
        row = records[path]
        assert row["tokens_per_s_per_user_change"] == pytest.approx(1 / step - 1, abs=1e-6)
        assert row["usd_per_mtok_output_change"] == pytest.approx(step * price - 1, abs=1e-6)
        if enough:
            assert row["tokens_per_s_per_user_best"] == pytest.approx(100.0, rel=1e-3)
            assert row["enough_value"] == pytest.approx(enough, rel=1e-3)
    assert records["memory.M.capacity"]["max_batch_change"] == pytest.approx(0.1, rel=1e-3)
    # A byte of a whole number of bytes is the least: twice the cache, and half of the batch.
    assert records["kv_bytes_per_token"]["max_batch_change"] == pytest.approx(-0.5)


def test_what_has_no_effect_is_listed_and_what_an_engine_s_number_means(effects):
    notes = [as_flags(note) for note in effects.notes]
    (idle,) = (note for note in notes if note.startswith("Without effect here: "))
    listed = idle.removeprefix("Without effect here: ").rstrip(".").split(", ")
    assert {"cores", "power.chip", "links.scale_out.bandwidth", "parameters.prompt_chunk"} <= {
        *listed
    }
    assert len(listed) == len({*listed}) == len(effects.records) - len(LINES)
    assert "memory.M.capacity" not in idle
    assert "Price per chip-hour: made-up-chip $3.60 (terms not stated)." in notes
    assert any(
        note.startswith("Beyond these values, decode speeds up by at most 1%: M bandwidth ")
        for note in notes
    )
    assert any("(parameters.decode_layer_floor): Latency floor of a layer in decode" in note for note in notes)  # fmt: skip
    # What nothing uses is not explained.
    assert not any("(parameters.prompt_chunk)" in note for note in notes)
    assert not any("cannot raise" in note for note in notes)


def test_a_target_is_reached_by_one_number_or_by_the_least_change_of_two(reached):
    """2.5 ms of floors or products beside 10; both 1.6 times better, or 8 times from 100 ms."""
    text = " ".join(str(reached).split())
    change = "The smallest chip or engine change that reaches 80.0 tokens/s: "
    assert f"{change}decode latency floor per layer of 250 us." in text
    assert f"{change}peak bf16 of 3.6 TFLOP/s." in text
    notes = [as_flags(note) for note in reached.notes]
    for batch, peak, floor in (("1,000", "160 GFLOP/s (1.60x)", "625 us (0.625x)"), ("9,000", "800 GFLOP/s (8.00x)", "125 us (0.125x)")):  # fmt: skip
        (pair,) = (note for note in notes if note.startswith(f"At batch {batch}, "))
        for words in ("80.0 tokens/s", f"peak bf16 to {peak}", f"floor per layer to {floor}"):
            assert words in pair
    first, second = reached.details["targets"]
    assert (first["batch"], first["figure"], first["target"]) == (1000, "tokens_per_s_per_user", 80)
    for found, factor in ((first, 1.6), (second, 8.0)):
        assert found["factor"] == pytest.approx(factor)
        assert found["pair"] == {
            "peak.bf16": pytest.approx(1e11 * factor),
            "parameters.decode_layer_floor": pytest.approx(1e-3 / factor),
        }


NEEDED = {
    (1000, "parameters.decode_layer_floor"): (0.25e-3, 0.25),
    (1000, "peak.bf16"): (4e11, 4.0),
    (1000, "layers"): (2, 0.2),  # three are 15 + 0.01 x 300 ms of work
    (9000, "peak.bf16"): (3.6e12, 36.0),
    (9000, "parameters.decode_layer_floor"): (None, None),  # 90 ms of products alone
}


def test_records_have_the_value_that_each_number_needs(reached):
    records = {(row["batch"], row["path"]): row for row in reached.records}
    for key, (value, factor) in NEEDED.items():
        row = records[key]
        assert row["target_value"] == (value and pytest.approx(value, rel=1e-5))
        assert row["target_factor"] == (factor and pytest.approx(factor, rel=1e-5))
    notes = [as_flags(note) for note in reached.notes]
    (idle,) = (
        note for note in notes if note.startswith("Not shown, because they cannot raise the ")
    )
    assert "memory.M.bandwidth" in idle
    assert "peak.bf16" not in idle


SMALL = made_up.clocked(memory=[{"name": "M", "capacity": "1.02 MB", "bandwidth": "1000 TB/s"}])


@pytest.mark.thorough
def test_a_batch_that_fits_nowhere_has_no_effects():
    """20,000 sequences of 2 bytes are twice what a chip holds; two hold the weights once each."""
    answer = ask(on=SMALL, batch=20_000)
    assert len(answer) == 0
    said = "made-up-chip: 1.04 MB does not fit (1.02 MB usable per chip); "
    assert str(answer).splitlines()[0] == f"{said}batch 20,000 needs chips=2."
    both = ask(on=SMALL, batch="8000,20000")
    assert {row["batch"] for row in both.records} == {8000}


def test_a_price_is_no_target_without_one():
    with pytest.raises(fc.InputError) as error:
        ask(batch=1, on=made_up.clocked(price={}), target="0.5$/Mtok")
    said = as_flags(error.value.args[0])
    assert said.startswith("--target 0.5$/Mtok: made-up-chip has no cloud price; ")
    assert said.endswith(" --price made-up-chip=USD")


SWINGS = {
    "layers": ("10", 20 / 19, 20 / 21),
    "total parameters": ("500,000", 20 / (10 + 10 / 1.1), 20 / 21),
    "peak bf16": ("100 GFLOP/s", 20 / 21, 20 / (10 + 10 / 1.1)),
    "decode latency floor per layer": ("1 ms", 20 / (10 / 1.1 + 10), 20 / 21),
}
"""Speeds with less and more of each number: a layer, or 1.1 times less and more."""


def test_the_chart_has_the_effects_of_less_and_more_of_each_number(effects, reached):
    chart, several = (answer._answer.charts["tornado"]() for answer in (effects, reached))
    assert [swing.name for swing in chart.swings] == [*SWINGS]
    for swing in chart.swings:
        value, lowered, raised = SWINGS[swing.name]
        assert swing.says == value
        assert (swing.lowered, swing.raised) == pytest.approx((lowered - 1, raised - 1), abs=1e-6)
    assert chart.title.endswith(
        "made-up-model on 1 made-up-chip, batch 1,000; prompt 1, output 1 tokens"
    )
    assert [note for note in several.notes if note not in chart.notes] == [
        "the chart shows the first batch"
    ]
    assert any("at most 1%: M bandwidth" in note for note in chart.notes)
    assert chart.finding.startswith("At batch 1,000 one made-up-chip gives each user 50.0 tokens/s")


@every(
    "asked,sentence",
    [
        ({"on": [SMALL, made_up.clocked(id="b")]}, "sensitivity is computed for one chip; name one"),
        ({"on": "all"}, "--on all: sensitivity is computed for one chip; name one"),
        ({"batch": "1..13+1"}, "--batch names 13 batches, and every number is varied at each: name at most 12, such as 1..1024x2"),
    ],
)  # fmt: skip
def test_one_chip_and_twelve_batches_at_most(asked, sentence):
    with pytest.raises(fc.InputError) as error:
        ask(**asked)
    assert as_flags(error.value.args[0]).endswith(sentence)


@every(
    "text,figure,value",
    [
        ("1000", "speed", 1000.0),
        ("1000 tps", "speed", 1000.0),
        ("200ms", "ttft", 0.2),
        ("2 s", "ttft", 2.0),
        ("0.5$/Mtok", "usd", 0.5),
        ("$0.5/Mtok", "usd", 0.5),
        ("0.5 USD/Mtok", "usd", 0.5),
    ],
)
def test_a_target_is_told_by_its_unit(text, figure, value):
    found = target(text)
    assert (found.figure, found.value) == (figure, pytest.approx(value))


@every("text", ["", "fast", "-5", "0", "$5", "$5 s", "$0.5$/Mtok", "5 /Mtok", "1e9", "5 km"])
def test_what_is_no_target_is_refused(text):
    with pytest.raises(fc.InputError) as error:
        target(text)
    assert as_flags(error.value.args[0]).endswith(
        "is not a target; write 1000 for tokens/s per user, 200ms for TTFT, or 0.5$/Mtok"
    )
