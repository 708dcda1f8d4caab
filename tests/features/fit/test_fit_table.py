"""The table and the sentence of ``fit``, on chips of 1 GB that a head can divide.

0.2 GB are weights, and a user of 200 tokens of 10 kB has 2 MB: 400 users fill the rest.
"""

import re
from dataclasses import replace

from fastcalc.core.chip.tier import MemoryChoice
from fastcalc.core.outcome import locate
from fastcalc.core.start import start_location
from fastcalc.features.fit.contents import table as table_of
from fastcalc.features.fit.records import fit_records
from fastcalc.features.fit.solve import Solution
from fastcalc.features.fit.solved import _limit_note, _sentence
from fastcalc.features.fit.verdict import heading, verdict
from fastcalc.mentions import as_flags
from tests import made_up
from tests.features.fit.test_fit_chart import LARGE, scenario
from tests.helpers import every, run_once

HEADS = "chips|memory, layout|batch|largest batch|memory used|usable per chip|contents".split("|")
FOUR = ["1 x a", "M", "4", "400", "20.8%", "M 1 GB", "D" * 8 + "." * 32]
"""0.2 GB and 4 x 2 MB; a fifth of a bar of 40 letters is dense weights."""


def placed(*scenarios):
    return [start_location(locate(each)) for each in scenarios]


@every(
    "asked,rows,sentence",
    [
        ([scenario(4)], [FOUR], "fits at batch 4 on one a. The largest batch is 400."),
        (
            [scenario(4), scenario(4, chip="b", model=LARGE)],
            [FOUR, ["b", "-", "4", "-", "-", "-", "does not fit"]],
            "fits at batch 4 on one a; it does not fit on one b. The largest batch is 400.",
        ),
        (
            # Of the smallest batch alone.
            [scenario(4), scenario(401, chip="b")],
            [FOUR, ["b", "-", "401", "-", "-", "-", "needs 2 chips"]],
            "fits at batch 4 on one a. The largest batch is 400.",
        ),
        (
            [scenario(4), scenario(4, chip="b", gigabytes=2)],
            [FOUR, ["1 x b", "M", "4", "900", "10.4%", "M 2 GB", "D" * 4 + "." * 36]],
            "fits at batch 4 on one a or one b. The largest batch is 400 on one a and 900 on one "
            "b.",
        ),
        (
            [scenario(401)],
            [["a", "-", "401", "-", "-", "-", "needs 2 chips"]],
            "does not fit at batch 401 on one a.",
        ),
    ],
)
def test_what_fills_memories(asked, rows, sentence):
    locations = placed(*asked)
    table = table_of(locations, fit_records(locations), 100)
    assert [" ".join(filter(None, head)) for head in table.headings] == HEADS
    assert table.rows == rows
    assert verdict(locations) == f"made-up-model {sentence}"


def test_each_row_has_the_largest_batch_of_its_own_layout(capsys, monkeypatch):
    """The chosen layout of DeepSeek-R1 on eight H200 holds less than the roomiest, which follows."""
    monkeypatch.setenv("COLUMNS", "100")

    def rows(*ranks):
        ran = run_once(
            *("fit", "deepseek-r1", "--on", "h200-sxm", *ranks),
            capsys=capsys,
            monkeypatch=monkeypatch,
        )
        lines = [re.split("  +", line) for line in ran.out.splitlines() if " x h200" in line]
        return [line[1:4] for line in lines], " ".join(ran.out.split())

    (chosen, roomiest), said = rows("--chips", "8")
    assert chosen == rows("--tp", "8")[0][0]
    ranks = ("--tp", "2", "--dp", "4", "--ep", "8")
    alone = rows(*ranks, "--batch", roomiest[1].replace(",", ""))[0][0]
    assert roomiest == alone
    assert roomiest[1] == roomiest[2] != chosen[2]
    assert f"The largest batch is {roomiest[2]} (tp 2 dp 4 ep 8)." in said
    widely = rows("--chips", "8", "--wide")[1]
    assert "whole largest, memory hardware" in widely
    assert "layers any layout used" in widely


def test_the_headline_counts_more_than_four_chips():
    """1 to 5 GB hold 400 to 2,400 users; 0.1 GB does not hold 0.2 GB of weights."""
    sizes = {"a": 1, "b": 2, "c": 3, "d": 4, "e": 5}
    locations = placed(*(scenario(4, chip=chip, gigabytes=size) for chip, size in sizes.items()))
    locations += placed(scenario(4, chip="f", model=LARGE))
    assert verdict(locations) == (
        "made-up-model fits at batch 4 on 5 of 6 chip types. The largest batch is from 400 on one a "
        "to 2,400 on one e."
    )


@every("width,letters", [(200, 40), (100, 40), (60, 10), (20, 10)])
def test_bars_have_the_room_that_is_left(width, letters):
    """The other columns of 5, 7, 5, 7, 6 and 8 letters with 2 blanks each leave 10 of 60."""
    locations = placed(scenario(4))
    (row,) = table_of(locations, fit_records(locations), width).rows
    assert len(row[-1]) == letters


def test_the_heading_has_the_bytes_of_weights_and_of_a_user():
    (location,) = placed(replace(scenario(4)))
    assert heading([location], ["asked so"]) == (
        "Made up: 0.100B parameters; weights bf16 200 MB; KV cache bf16 2 MB for a sequence of "
        "200 tokens; engine: made-up-engine; asked so"
    )


def solved(unknown, certain, limited_by, edge=None, **changes):
    (location,) = placed(scenario(4, **changes))
    return Solution(unknown, certain, certain if edge is None else edge, limited_by, location)


@every(
    "unknown,certain,limited_by,note",
    [
        ("context", 8000, "engine", "--max-model-len limits made-up-engine to 8,000 tokens"),
        ("users", 256, "engine", "made-up-engine runs at most 256 sequences per replica and queues "
         "the rest; --max-num-seqs changes that"),
        ("context", 0, "engine", "made-up-engine runs at most 256 sequences per replica and queues "
         "the rest; --max-num-seqs changes that"),
        ("context", 8000, "memory", None),
        ("context", 8000, "model", None),
    ],
)  # fmt: skip
def test_limits_of_an_engine(unknown, certain, limited_by, note):
    under = made_up.engine(max_sequences=256)
    memory = MemoryChoice(longest=8000.0)
    solution = solved(unknown, certain, limited_by, under=under, memory=memory)
    found = _limit_note(solution)
    assert (found and as_flags(found)) == note


ASKED = "with 200 tokens"


@every(
    "solutions,sentence",
    [
        (
            [solved("users", 400, "memory")],
            f"made-up-model {ASKED} per user: 400 concurrent users on one a.",
        ),
        (
            [solved("users", 400, "memory"), solved("users", 900, "memory", chip="b")],
            f"made-up-model {ASKED} per user: 400 concurrent users on one a and 900 on one b.",
        ),
        (
            [solved("users", 400, "memory"), solved("users", 0, "memory", chip="b")],
            f"made-up-model {ASKED} per user: 400 concurrent users on one a.",
        ),
        (
            [solved("users", number, "memory", chip=f"c{number}") for number in range(9, 0, -1)],
            f"made-up-model {ASKED} per user: from 1 concurrent users on one c1 to 9 on one c9.",
        ),
        (
            [solved("context", 20_000, "memory")],
            "Longest context for 4 users of made-up-model: 20,000 tokens on one a.",
        ),
        (
            [solved("users", 0, "memory")],
            f"One user of made-up-model {ASKED} does not fit on one a.",
        ),
        (
            [solved("users", 0, "memory", edge=1)],
            f"One user of made-up-model {ASKED} fits on one a only if the engine "
            "reserves less memory than its maximum.",
        ),
        (
            [solved("users", 0, "memory"), solved("users", 0, "memory", edge=3, chip="b")],
            f"Up to 3 users of made-up-model {ASKED} fit on one b only if the "
            "engine reserves less memory than its maximum.",
        ),
        (
            [solved("context", 0, "memory"), solved("context", 0, "memory", chip="b")],
            "4 users of made-up-model do not fit on one a or one b.",
        ),
        (
            [solved("context", 0, "memory", edge=9)],
            "4 users of made-up-model fit on one a only if the engine "
            "reserves less memory than its maximum.",
        ),
        (
            [solved("users", 400, "memory"), solved("users", 800, "memory", kv="fp8")],
            f"made-up-model {ASKED} per user: 400 concurrent users on one a (bf16, KV cache bf16) "
            "and 800 on one a (bf16, KV cache fp8).",
        ),
    ],
)
def test_what_chips_hold_in_a_sentence(solutions, sentence):
    assert _sentence(solutions) == sentence


def test_solved_table_has_the_length_of_each_sequence(capsys, monkeypatch):
    """With --context, sequences end at that length; without, at prompt and output."""
    solve = ["fit", "llama-3.1-8b", "--on", "rtx-4090", "--solve", "users"]
    for words, length in (["--context=16k"], "16,000"), (["--prompt=2k", "--output=1k"], "3,000"):
        ran = run_once(*solve, *words, capsys=capsys, monkeypatch=monkeypatch)
        assert f" {length} " in ran.out.splitlines()[4]
