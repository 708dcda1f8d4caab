"""Which notes a first screen leaves to ``--notes``, and which it has."""

import pytest

from tests.helpers import run_once, thorough, words

PRICES = "n-demand price per chip-hour: h100-sxm $2.95 (Nebius eu-north1, 2026, medium confidence)"
H100 = ("llama-3.1-8b", "--on", "h100-sxm")
MEASURE = ("--batch", "8,64", "--prompt", "500", "--output", "200")

# A command; the notes of its first screen; those that only all notes hold.
NOTES = [
    (("compare", *H100), [], [PRICES, "Speeds and output prices cover decode only", "Engine vllm (h100-sxm) is fitted on"]),
    (("frontier", *H100), [], [PRICES, "Evaluated: practical layouts of one replica on up to --max-chips chips"]),
    thorough(
        ("sensitivity", *H100),
        ["decode speeds up by at most 1%"],
        [PRICES, "Without effect here: ", "Host time per sequence and step (parameters.sequence_overhead): "],
    ),
    (
        ("measure", "qwen3-8b", *H100[1:], *MEASURE),
        ["--tool sglang|guidellm|aiperf prints", "--url http://localhost:8000 lets fastcalc run"],
        ["Runs are chosen to make the ranges at your batches as narrow"],
    ),
    (
        ("infer", "--points", "65536"),
        ["Only decode is modeled"],
        ["Ranges searched: active parameters", "Other hardware means more chips", "random setups were sampled with seed", "Step time: the longer of memory reads",
         "Ranges that reach the limit of the search"],
    ),
    (("fit", *H100), ["h100-sxm: with the expected memory reserve, vllm should print at start-up"], ["h100-sxm: vllm uses 92% of 85 GB and reserves"]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("command", "first", "others"), NOTES, ids=lambda value: value[0] if value else ""
)
def test_a_first_screen_has_its_notes_and_all_notes_have_the_others(
    command, first, others, capsys, monkeypatch
):
    shown, full = (
        words(run_once(*command, *more, capsys=capsys, monkeypatch=monkeypatch).out)
        for more in ((), ("--notes",))
    )
    for note in first:
        assert note in shown
        assert note in full
    for note in others:
        assert note not in shown
        assert note in full
    assert "--notes prints" in shown
    assert "--notes prints" not in full
