"""Where one made-up chip follows another on a frontier, and why a chip has no point."""

from dataclasses import replace

import pytest

from fastcalc.features.frontier.search import FrontierPoint, edge, frontier, placeable
from tests import made_up
from tests.helpers import every, outcome

QUICK = made_up.engine(
    decode_layer_floor="0.5 ms", prefill_layer_floor="2 ms", prompt_chunk=1000
)  # fmt: skip


def point(batch, *, price="3.6 USD/h", engine=made_up.CLOCK):
    chip = made_up.clocked(price={"cloud": price})
    return FrontierPoint(
        outcome(made_up.minimal(), chip, engine=engine, batch=(batch,), prompt=1, output=1), 0
    )


def test_a_point_has_its_speed_and_price():
    """100 sequences in 11 ms: 9,091 tokens/s for 3.60 USD/h are 11 cents a million."""
    found = point(100)
    assert (found.batch, found.speed) == (100, pytest.approx(1 / 0.011, rel=1e-5))
    assert found.usd == pytest.approx(0.11, rel=1e-5)


def test_one_chip_follows_another_at_the_last_batch_at_which_it_is_cheaper():
    """Steps of 10 + 0.01 b ms, and for ten times the price of 5 + 0.01 b ms.

    At t ms a token costs t / (t - 10) and 10 t / (t - 5): equal at 10.556 ms. Of whole batches,
    56 in 10.56 ms are cheaper than 556, and 55 are not cheaper than 555.
    """
    before = [point(1000), point(128)]
    after = [point(512, price="36 USD/h", engine=QUICK), point(1, price="36 USD/h", engine=QUICK)]
    assert edge(before, after) == pytest.approx(1 / 0.01056, rel=1e-5)
    # Where the other is never cheaper, up to just below it; where it always is, from the start.
    dear = [point(512, price="3600 USD/h", engine=QUICK)]
    assert edge(before, dear) == pytest.approx(1 / 0.01013, rel=1e-5)
    cheap = [point(512, price="0.36 USD/h", engine=QUICK)]
    assert edge(before, cheap) == before[-1].speed


SMALL = made_up.clocked(memory=[{"name": "M", "capacity": "0.35 MB", "bandwidth": "1000 TB/s"}])
"""Of ten layers of 0.1 MB it holds three: four chips hold all."""


def scenario(chip):
    return replace(point(1).outcome.scenario, hardware=chip)


@every(
    "chip,most,reason",
    [
        (made_up.clocked(), 1, None),
        (made_up.clocked(price={}), 8, "made-up-chip has no cloud price; set one with "),
        (SMALL, 4, None),
        (SMALL, 3, "made-up-model needs 4 chips of made-up-chip; "),
        (SMALL, 1, "made-up-model needs 4 chips of made-up-chip; "),
    ],
)
def test_why_a_chip_has_no_point(chip, most, reason):
    asked = scenario(chip)
    placed, reasons = placeable([asked, asked], most)
    assert placed == ([] if reason else [asked, asked])
    assert len(reasons) == bool(reason)
    assert all(text.startswith(reason) for text in reasons)


def test_points_of_one_chip_go_from_the_cheapest_to_the_fastest():
    points = frontier([scenario(made_up.clocked())], max_chips=1)
    speeds, prices = [one.speed for one in points], [one.usd for one in points]
    assert speeds == sorted(speeds)
    assert prices == sorted(prices)
    assert points[-1].batch == 1
    assert points[-1].speed == pytest.approx(1 / 0.01001, rel=1e-5)
    assert frontier([scenario(made_up.clocked(price={}))], max_chips=1) == []
