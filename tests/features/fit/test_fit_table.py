"""The table and the sentence of ``fit``, on chips of 1 GB that a head can divide.

0.2 GB are weights, and a user of 200 tokens of 10 kB has 2 MB: 400 users fill the rest.
"""

from dataclasses import replace

from fastcalc.core.scenario import locate
from fastcalc.core.start import start_location
from fastcalc.features.fit.answer import _heading, _table, _verdict
from fastcalc.features.fit.records import fit_records
from tests.features.fit.test_fit_chart import LARGE, scenario
from tests.helpers import every

HEADS = ["chips", "memory", "batch", "largest batch", "memory used", "usable per chip", "contents"]
FOUR = ["1 x a", "M", "4", "400", "20.8 %", "M 1 GB", "D" * 8 + "." * 32]
"""0.2 GB and 4 x 2 MB; a fifth of a bar of 40 letters is dense weights."""


def placed(*scenarios):
    return [start_location(locate(each)) for each in scenarios]


@every(
    "asked,rows,sentence",
    [
        ([scenario(4)], [FOUR], "fits at batch 4 on one a. The largest batch is 400."),
        (
            [scenario(4), scenario(4, chip="b", model=LARGE)],
            [FOUR, ["b", "-", "4", "-", "-", "-", "no place"]],
            "fits at batch 4 on one a; it does not fit on b. The largest batch is 400.",
        ),
        (
            # Of the smallest batch alone.
            [scenario(4), scenario(401, chip="b")],
            [FOUR, ["b", "-", "401", "-", "-", "-", "needs 2 chips"]],
            "fits at batch 4 on one a. The largest batch is 400.",
        ),
        (
            [scenario(4), scenario(4, chip="b", gigabytes=2)],
            [FOUR, ["1 x b", "M", "4", "900", "10.4 %", "M 2 GB", "D" * 4 + "." * 36]],
            "fits at batch 4 on one a or one b. The largest batch is 400 on one a and 900 on one "
            "b.",
        ),
        (
            [scenario(401)],
            [["a", "-", "401", "-", "-", "-", "needs 2 chips"]],
            "does not fit at batch 401 on a.",
        ),
    ],
)
def test_what_fills_memories(asked, rows, sentence):
    locations = placed(*asked)
    table = _table(locations, fit_records(locations), 100)
    assert [" ".join(filter(None, head)) for head in table.headings] == HEADS
    assert table.rows == rows
    assert _verdict(locations) == f"made-up-model {sentence}"


@every("width,letters", [(200, 40), (100, 40), (60, 11), (20, 10)])
def test_bars_have_the_room_that_is_left(width, letters):
    """The other columns of 5, 6, 5, 7, 6 and 8 letters with 2 blanks each leave 11 of 60."""
    locations = placed(scenario(4))
    (row,) = _table(locations, fit_records(locations), width).rows
    assert len(row[-1]) == letters


def test_the_heading_has_the_bytes_of_weights_and_of_a_user():
    (location,) = placed(replace(scenario(4)))
    assert _heading([location], ["asked so"]) == (
        "Made up: 0.100B parameters; weights bf16 200 MB; KV cache bf16 2 MB for the 200 tokens "
        "reserved per sequence; engine: made-up-engine; asked so"
    )
