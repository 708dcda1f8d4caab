"""Options as they are typed: numbers in their units, plans, names that tell them apart."""

import math

import pytest

from fastcalc.features.decide import options
from fastcalc.features.decide.choice import Contender
from tests.helpers import every, read_or_refusal


@every(
    "text,key,value",
    [
        ("0.5", "accuracy", 0.5),
        ("1", "accuracy", 1.0),
        ("0", "accuracy", 0.0),
        ("1.01", "accuracy", "x 1.01 is not a share from 0 to 1; write for example 0.5"),
        ("40%", "cached", 0.4),
        ("40%", "share", 0.4),
        ("40%", "accuracy", "x '40%' is not a number; write for example 0.5"),
        ("1_000", "tokens", 1000),
        (
            "1.5",
            "tokens",
            "x 1.5 is not a whole number from 1 to 1,000,000,000; write for example 10",
        ),
    ],
)
def test_a_number_is_within_the_limit_of_its_key(text, key, value):
    assert read_or_refusal(options.read_number, text, key, "x") == value


@every(
    "text,value",
    [
        ("majority", None),
        ("oracle", 1.0),
        ("0.7", 0.7),
        ("70%", 0.7),
        (0.7, 0.7),
        (0.0, 0.0),
        ("0", 0.0),
        ("1.5", "x 1.5 is not a share from 0 to 1; write for example 0.5"),
        (1.5, "x 1.5 is not a share from 0 to 1; write for example 0.5"),
        ("jury", "x 'jury' is not oracle, majority or a share"),
        ("", "x '' is not oracle, majority or a share"),
    ],
)
def test_a_judge_is_named_or_a_share(text, value):
    assert read_or_refusal(options.judge, text, "x") == value


@every(
    "numbers,filled",
    [
        ({"speed": 9.0}, {"speed": 9.0}),
        # A plan without a quota includes all tokens; beyond one without a price there are no more.
        ({"plan": 200.0}, {"plan": 200.0, "price": 0.0, "input_price": 0.0}),
        ({"plan": 200.0, "price": 5.0}, {"plan": 200.0, "price": 5.0, "input_price": 0.0}),
        ({"plan": 200.0, "quota": 1e9, "price": 5.0}, {"plan": 200.0, "quota": 1e9, "price": 5.0}),
    ],
)
def test_a_plan_fills_in_its_prices(numbers, filled):
    assert options._with_plan("a", numbers) == filled


def test_beyond_a_quota_without_a_price_no_tokens_are_for_sale():
    found = options._with_plan("a", {"plan": 200.0, "quota": 1e9})
    assert math.isnan(found["price"])
    assert math.isnan(found["input_price"])


def contender(name="", **where):
    return Contender(name, {}, **where)


@every(
    "where,names",
    [
        ([{"model": "m", "hardware": "h", "batch": 1}], ["x"]),
        ([{"model": "m", "hardware": "h", "batch": batch} for batch in (1, 8)], ["x/1", "x/8"]),
        ([{"model": "m", "hardware": chip, "batch": 1} for chip in "hi"], ["x/h", "x/i"]),
        ([{"model": model, "hardware": chip, "batch": 1} for model, chip in ("mh", "ni")], ["x/m/h", "x/n/i"]),
    ],
)  # fmt: skip
def test_names_hold_what_differs(where, names):
    found = options._told_apart("x", [contender(**place) for place in where])
    assert [one.name for one in found] == names


def test_a_file_is_called_by_its_model(tmp_path):
    (tmp_path / "mine.yaml").touch()
    (found,) = options._told_apart(str(tmp_path / "mine.yaml"), [contender(model="mine")])
    assert found.name == "mine"


@pytest.mark.parametrize(
    ("names", "routes", "said"),
    [
        ("ab", ("a", "b"), None),
        ("aa", None, "two options are called a; give each a name of its own"),
        ("ab", ("a", "c"), "m routes to 'c', which is not an option; options: a, b"),
        ("ab", ("m", "a"), "m routes to 'm', which is not an option; options: a, b"),
        ("", ("a", "b"), "m routes to 'a', which is not an option; options: none"),
    ],
)
def test_names_are_distinct_and_routes_lead_to_plain_options(names, routes, said):
    mixed = [contender("m", routes=routes)] if routes else []
    found = read_or_refusal(options._check_names, [*map(contender, names), *mixed])
    assert found == said


@every(
    "text,keys",
    [
        ("speed=9", {"speed": "9"}),
        (" speed = 9 , price = 3 ", {"speed": "9", "price": "3"}),
        ("speed=", "a: 'speed=' is not KEY=VALUE, such as speed=1000"),
        ("=9", "a: '' is unknown: one of "),
        ("speed=9,speed=8", "a gives speed twice; remove one"),
        ("speed", "a: 'speed' is not KEY=VALUE, such as speed=1000"),
    ],
)
def test_settings_of_an_option(text, keys):
    found = read_or_refusal(options._keys, "a", text)
    if isinstance(keys, str) and "unknown" in keys:
        assert "is unknown" in found
    else:
        assert found == keys


def test_only_an_option_with_a_speed_or_a_whole_mix_is_plain():
    plain = options._plain("a", {"speed": "9", "accuracy": "0.5"})
    assert (plain.numbers["speed"], plain.numbers["accuracy"]) == (9.0, 0.5)
    mix = options._plain("b", {"to": "c", "else": "d", "share": "70%"})
    assert (mix.routes, mix.numbers["share"]) == (("c", "d"), 0.7)
    for keys, said in (
        ({"speed": "9", "batch": "8"}, "a gives speed and batch; a speed already includes it: remove one"),
        ({"speed": "9", "to": "b"}, "a gives speed and to; a speed already includes it: remove one"),
        ({"to": "b", "share": "0.5"}, "a is not a mix: write for example both=to=spark,else=opus,share=0.7"),
        ({"to": "b", "else": "c", "share": "0.5", "price": "3"}, "a is not a mix: write for example both=to=spark,else=opus,share=0.7"),
    ):  # fmt: skip
        assert read_or_refusal(options._plain, "a", keys) == said
