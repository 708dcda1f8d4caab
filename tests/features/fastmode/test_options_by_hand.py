"""Order of options, and how many of each technique a table shows."""

from functools import partial
from types import SimpleNamespace

from fastcalc.features.fastmode.option import TRICKS, Option, best, in_order, option_of, shown
from fastcalc.features.fastmode.start import Base
from tests.helpers import every

FREE = SimpleNamespace(usd=None)


def priced(usd):
    return SimpleNamespace(usd=(None, [usd]))


def test_the_cheapest_option_comes_first_and_without_a_price_or_a_point_it_comes_last():
    order = [
        Option("other-layout", "1 USD, one technique", priced(1.0)),
        Option("two-tricks", "1 USD, two", priced(1.0), tricks=2),
        Option("other-layout", "2 USD", priced(2.0)),
        Option("other-layout", "no price", FREE),
        Option("two-tricks", "no price, two", FREE, tricks=2),
        Option("other-layout", "90 tokens/s", fastest=90.0),
        Option("other-layout", "80 tokens/s", fastest=80.0),
        Option("other-layout", "no layout"),
    ]
    assert in_order(order[::-1]) == order
    assert best(order[::-1]) is order[0]
    assert best(order[:-4:-1]) is None


@every(
    "trick,count",
    [(trick, 3) for trick in ("newer-hardware", "other-hardware", "sram-machine")]
    + [(trick, 2) for trick in ("fewer-bits", "smaller-model", "two-tricks", "three-tricks")]
    + [(trick, 1) for trick in ("smaller-batch", "other-layout", "more-chips", "speculation")]
    + [("four-tricks", 1)],
)
def test_a_table_shows_three_chips_two_changes_of_a_model_and_one_of_other_options(trick, count):
    options = [Option(trick, str(usd), priced(usd)) for usd in range(5)]
    assert shown(options, None) == options[:count]
    # The cheapest of all is shown, too, and once.
    assert shown(options, options[4]) == [*options[:count], options[4]]
    assert shown(options, options[0]) == options[:count]


def test_of_options_that_reach_no_speed_the_fastest_is_shown():
    slow, slower = (Option("speculation", "", fastest=speed) for speed in (9.0, 8.0))
    point = Option("speculation", "", priced(1.0))
    assert shown([slower, slow], None) == [slow]
    assert shown([slower, slow, point], None) == [point]


def test_techniques_keep_their_order():
    options = [Option(trick, "", priced(1.0)) for trick in TRICKS]
    assert shown(options[::-1], None) == options


@every(
    "reach,why",
    [
        ({"is_placed": False, "bound": 500.0, "fastest": 0.0}, "no layout fits it"),
        ({"is_placed": True, "bound": 99.0, "fastest": 70.0}, "hardware bound is 99 tokens/s"),
        ({"is_placed": True, "bound": 100.0, "fastest": 70.0}, "at most 70 tokens/s expected at batch 1"),
    ],
)  # fmt: skip
def test_why_100_tokens_per_second_are_not_reached(reach, why):
    option = option_of("more-chips", "8 chips", SimpleNamespace(outcome=None, **reach), 100.0)
    assert (option.trick, option.change, option.why_not) == ("more-chips", "8 chips", why)
    assert option.fastest == reach["fastest"]
    found = option_of("more-chips", "8 chips", SimpleNamespace(outcome=FREE), 100.0)
    assert (found.outcome, found.why_not, found.fastest) == (FREE, None, 0.0)


OWN, NAMED = (SimpleNamespace(also_published={"fp8": "x"}) for _ in range(2))


@every(
    "model,weights,kv,models,keeps",
    [
        # Today's model in today's formats, or in another that its maker publishes.
        (OWN, "int4", "bf16", None, True), (OWN, "fp8", "bf16", None, True),
        (OWN, "int8", "bf16", None, False), (OWN, "int4", "fp8", None, False), (OWN, None, "bf16", None, False),
        # A model that is named has its own formats.
        (NAMED, None, None, ["m"], True), (NAMED, "fp8", None, ["m"], True), (NAMED, "int4", None, ["m"], False),
        (NAMED, None, "bf16", ["m"], False), (NAMED, None, None, None, False), (NAMED, None, None, [], False),
    ],
)  # fmt: skip
def test_answers_stay_with_the_model_and_its_formats(model, weights, kv, models, keeps):
    base = SimpleNamespace(
        scenario=SimpleNamespace(model=OWN, weights="int4", kv="bf16"), models=models
    )
    base.may_take = partial(Base.may_take, base)
    scenario = SimpleNamespace(model=model, weights=weights, kv=kv)
    option = Option("other-layout", "", SimpleNamespace(scenario=scenario))
    assert Base.keeps_answers(base, option) is keeps
    assert Base.keeps_answers(base, Option("other-layout", "")) is False
