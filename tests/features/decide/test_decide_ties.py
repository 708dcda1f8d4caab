"""Level options: headline, records, break-evens and map name one winner, by a rule worked by hand."""

import json
import math
import re
from functools import partial

import numpy as np
import pytest
from hypothesis import given

from fastcalc.core.ratios import cost_range
from fastcalc.features.decide import map as decision_map
from fastcalc.features.decide import rows as decision_rows
from fastcalc.features.decide.choice import Axis, Choice, Contender, winner_map
from fastcalc.features.decide.parameters import PARAMETERS
from fastcalc.features.decide.verdict import verdict
from fastcalc.kit.answer.point_records import compare_records
from fastcalc.kit.answer.row_words import TableRow
from tests.helpers import outcome, run, thorough, words
from tests.strategies import Dice, dice, examples

OTHER = {"time": "cost", "cost": "time", "total": "time"}


@pytest.fixture
def fastcalc(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    return partial(run, "decide", capsys=capsys, monkeypatch=monkeypatch)


def contender(name, roll: Dice) -> Contender:
    """Return an option whose speed was computed or given, now and then as fast as others."""
    speed = roll.choice([50.0, roll.number(20.0, 80.0)])
    numbers = {"speed": speed, "accuracy": roll.choice([1.0, roll.number(0.7, 1.0)])}
    if roll.random() < 0.85:
        numbers["price"] = roll.choice([8.0, roll.number(4.0, 16.0)])
    if roll.either():
        return Contender(name, numbers)
    ends = speed / roll.number(1.01, 2.0), speed * roll.number(1.01, 2.0)
    return Contender(name, numbers, speed_ends=ends)


def random_choice(roll: Dice) -> Choice:
    options = [contender(name, roll) for name in "abc"[: roll.whole(2, 3)]]
    task = {"steps": float(roll.whole(1, 5)), "tokens": 1000.0, "tools": roll.choice([0.0, 5.0])}
    objective = roll.choice(["time", "cost", "total"])
    return Choice(options, task | {"hour": roll.number(0.5, 5.0)}, objective)


def figures(numbers, faster=1.0):
    """Return time, cost and both of one success of a computed or a given speed, by hand."""
    speed, price = numbers["speed"] * faster, numbers.get("price", math.inf) / faster
    runs = numbers["accuracy"] ** -numbers["steps"]
    time = runs * numbers["steps"] * (numbers["tokens"] / speed + numbers["tools"])
    cost = runs * numbers["steps"] * numbers["tokens"] * price / 1e6
    return {"time": time, "cost": cost, "total": cost + numbers["hour"] * time / 3600.0}


def values(choice, option, changes):
    """Return what an option has: its own, or a changed number, or one that all share."""
    own = {
        key: value
        for name, value in changes.items()
        for key in [name.removeprefix(option.name + ".")]
    }
    return {**choice.shared, **option.numbers, **own}


def interval_of_ratio(over, under):
    """Return the 80% interval of a ratio: errors are independent and multiply."""
    (slow, middle, fast), (base_slow, base, base_fast) = over, under
    below = math.hypot(math.log(middle / fast), math.log(base_slow / base))
    above = math.hypot(math.log(slow / middle), math.log(base / base_fast))
    return middle / base * math.exp(-below), middle / base * math.exp(above)


def winners_by_hand(choice, changes):
    """Return who may win: one option, but for equals in both figures; none without a price."""
    objective = choice.objective
    expected, ends, others = {}, {}, {}
    for option in choice.options:
        numbers = values(choice, option, changes)
        low, high = option.speed_ends or (option.numbers["speed"],) * 2
        factors = (low / option.numbers["speed"], 1.0, high / option.numbers["speed"])
        at_ends = [figures(numbers, factor) for factor in factors]
        ends[option.name] = [at_end[objective] for at_end in at_ends]
        expected[option.name] = at_ends[1][objective]
        others[option.name] = at_ends[1][OTHER[objective]]
    best = min(expected, key=expected.get)
    if math.isinf(expected[best]):
        return set()
    level = set()
    for name, value in expected.items():
        if math.isinf(value):
            continue
        low, high = interval_of_ratio(ends[name], ends[best])
        is_ranged = high / low > 1.0 + 1e-12
        if value <= expected[best] * (1.0 + 1e-9) or (
            is_ranged and low < 1.005 and high > 1 / 1.005
        ):
            level.add(name)
    least = min(others[name] for name in level)
    return {name for name in level if others[name] <= least * (1.0 + 1e-9)}


def on_map(choice, name, value):
    """Return who wins at a point of a map: the letter that is printed, and the record."""
    up = "steps" if name == "tools" else "tools"
    axes = [Axis(name, np.array([value])), Axis(up, np.array([choice.shared[up]]))]
    drawn = winner_map(choice, *axes)
    (record,), ((_, letter),) = decision_map.records(choice, drawn), decision_map.table(drawn).rows
    names = {decision_map.letter(place): option.name for place, option in enumerate(choice.options)}
    assert record["winner"] == names.get(letter)
    return record["winner"]


def before(flip):
    """Return a value on this side of a break-even, or None where there is no room for one."""
    if PARAMETERS[flip.parameter.rpartition(".")[2]].is_count:
        return flip.value + (-1.0 if flip.is_above else 1.0)
    if flip.value == 0.0:
        return None if flip.is_above else 1e-9
    aside = flip.value * (1.0 - 1e-6 if flip.is_above else 1.0 + 1e-6)
    return aside if (aside < flip.now) != flip.is_above else None


@pytest.mark.thorough
@examples(20)
@given(dice)
def test_headline_records_break_evens_and_map_name_one_winner(roll):
    choice = random_choice(roll)
    expected, rows = winners_by_hand(choice, {}), decision_rows.rows(choice)
    won = [record["option"] for record in decision_rows.records(choice) if record["wins"]]
    flips = choice.flips()
    sentence = verdict(choice, rows, flips).removeprefix("If they are equally right, ")
    if not expected:
        assert won == []
        assert sentence.startswith("No option")
        return
    (winner,) = won
    assert winner in expected
    if "which would decide" not in sentence:
        assert re.match(r"\w+", sentence).group() == winner
    assert f"{winner} wins where" not in sentence
    assert on_map(choice, "a.speed", choice.options[0].numbers["speed"]) == winner
    for flip in flips:
        assert flip.winner != winner
        first = flip.value or (1e-9 if flip.is_above else 0.0)
        assert on_map(choice, flip.parameter, first) == flip.winner
        aside = before(flip)
        if flip.parameter not in ("check", "repair", "sessions", "look-away"):
            beyond = first * (1.0 + 1e-6 if flip.is_above else 1.0 - 1e-6)
            assert flip.winner in winners_by_hand(choice, {flip.parameter: beyond})
        assert aside is None or on_map(choice, flip.parameter, aside) == winner, flip


@pytest.mark.thorough
@examples(60)
@given(dice)
def test_the_map_is_the_rule_by_hand(roll):
    choice = random_choice(roll)
    name = roll.choice([option.name for option in choice.options])
    across = Axis(f"{name}.speed", np.linspace(10.0, 150.0, 15))
    up = Axis(roll.choice([f"{name}.accuracy", "accuracy"]), np.linspace(0.55, 0.95, 4))
    drawn = winner_map(choice, across, up)
    for row, accuracy in enumerate(up.values):
        for column, speed in enumerate(across.values):
            place = drawn.winners[row, column]
            changes = {across.name: speed}
            if up.name != "accuracy":  # which all options have of their own
                changes[up.name] = accuracy
            expected = winners_by_hand(choice, changes)
            assert choice.options[place].name in expected if expected else place == -1


def computed(name, speed, price, ends, **numbers):
    return Contender(name, {"speed": speed, "price": price, **numbers}, speed_ends=ends)


def test_a_break_even_of_level_options_is_the_end_of_the_interval():
    """40 tokens/s within a factor of 1.25, next to 45 that are given and cost more.

    The interval of the ratio holds 1 until the given speed is 1.25 x 1.005 times that expected:
    50.25 tokens/s. The computed speed keeps its factor: below 45 / 1.25 / 1.005 = 35.82 tokens/s
    it is slower. While they are level the price decides, and above $9 the other is cheaper.
    """
    slow = computed("slow", 40.0, 8.0, (32.0, 50.0))
    choice = Choice([Contender("fast", {"speed": 45.0, "price": 9.0}), slow], {})
    assert (choice.winner, choice.decided_by) == (slow, "cost")
    flips = {(flip.parameter, flip.is_above): flip for flip in choice.flips()}
    assert {flip.winner for flip in flips.values()} == {"fast"}
    assert flips["fast.speed", True].value == pytest.approx(40.0 * 1.25 * 1.005)
    assert flips["slow.speed", False].value == pytest.approx(45.0 / 1.25 / 1.005)
    assert flips["slow.price", True].value == pytest.approx(9.0)
    assert flips["fast.price", False].value == pytest.approx(8.0)


def test_a_break_even_at_nothing_is_no_half_line(fastcalc):
    """Who never waits loses no time with either, which leaves the price: at 0 s, not below it."""
    asked = ("a=speed=50,price=9,accuracy=1", "b=speed=20,price=8,accuracy=0.9", "--notes")
    text = words(fastcalc(*asked).out)
    assert "the waiting time after which the user does something else is 0 s" in text
    assert "below 0 " not in text
    free = ("a=speed=50,price=0,accuracy=1", "b=speed=20,price=0,accuracy=1", "--objective", "cost")
    assert "a's price is above $0 per million output tokens" in words(fastcalc(*free).out)


def test_stated_speeds_are_level_only_where_they_are_equal():
    """No interval stands around a number that is given: 0.3% sooner is sooner."""
    given = {"a": {"speed": 100.0, "price": 9.0}, "b": {"speed": 100.3, "price": 10.0}}
    choice = Choice([Contender(name, {**own, "accuracy": 0.9}) for name, own in given.items()], {})
    sentence = verdict(choice, decision_rows.rows(choice))
    assert sentence.startswith("b is fastest")
    assert "80%" not in sentence
    assert choice.winner.name == "b"


def test_a_mix_of_computed_options_has_their_range():
    """Half the steps at 40 and half at 60 tokens/s, each within 1.25, are 48 within 1.25."""
    parts = [computed("a", 40.0, 8.0, (32.0, 50.0)), computed("b", 60.0, 9.0, (48.0, 75.0))]
    mix = Contender("both", {"share": 0.5}, routes=("a", "b"))
    choice = Choice([*parts, mix, Contender("c", {"speed": 50.0, "price": 20.0})], {})
    time = choice.ranged_value(mix)
    assert 1000.0 / np.array(time) == pytest.approx([48.0, 60.0, 38.4])


def test_no_mix_fits_a_gap(fastcalc):
    """One call of a mix goes to one option: no gap is filled by both."""
    asked = ("a=speed=0.4", "b=speed=0.5", "both=to=a,else=b,share=0.5", "--window-ms", "9000")
    answer = json.loads(fastcalc(*asked, "--format", "json").out)
    assert {row["option"]: row["wins"] for row in answer["records"]} == {"a": False, "b": True}
    drawn = fastcalc(*asked, "--map", "tokens=1..9,a.speed=0.1..0.4", "--format", "json").out
    assert {point["winner"] for point in json.loads(drawn)["records"]} == {"b"}


@pytest.mark.parametrize(
    "options",
    [
        thorough(("a=model=glm-4.7,on=h200-sxm,batch=32", "b=model=glm-4.7,on=b200,batch=32")),
        ("a=model=glm-4.7,on=h200-sxm,batch=32", "b=speed=40,price=9"),
    ],
)
def test_of_level_computed_options_one_wins_everywhere(fastcalc, options):
    text = words(fastcalc(*options).out)
    assert "a and b are tied within their 80% ranges" in text
    assert "a costs" in text
    answer = json.loads(fastcalc(*options, "--format", "json").out)
    assert {row["option"]: row["wins"] for row in answer["records"]} == {"a": True, "b": False}
    assert (answer["objective"], answer["decided_by"]) == ("time", "cost")
    assert {flip["winner"] for flip in answer["break_even"]} == {"b"}
    assert not re.search(r"\ba wins", text)
    drawn = fastcalc(*options, "--map", "tools=0..30,b.accuracy=0.99..1", "--format", "json").out
    assert {point["winner"] for point in json.loads(drawn)["records"]} == {"a"}


@pytest.mark.thorough
def test_of_level_options_the_one_with_a_price_wins_and_says_so(fastcalc):
    asked = ("a=speed=65", "b=speed=65,price=25", "c=speed=13")
    text = words(fastcalc(*asked).out)
    assert "b and a both take 15.4 s per successful run; b costs $936/month; " in text
    assert "a has no known price and may be cheaper; c takes 5.00 times as long" in text
    answer = json.loads(fastcalc(*asked, "--format", "json").out)
    assert [row["wins"] for row in answer["records"]] == [False, True, False]
    neither = words(fastcalc("a=speed=65", "b=speed=65").out)
    assert "; the unknown price of a and b would decide. " in neither


def test_a_cost_has_the_same_range_in_every_command():
    """A million tokens of an option cost what a row of a comparison says, at both ends."""
    solved = outcome("glm-4.7", "h200-sxm", batch=(32,))
    (record,) = compare_records([solved])
    row = TableRow(record, solved)
    ends = float(row.speed.low), float(row.speed.high)
    option = computed("a", float(row.speed.expected), row.price, ends)
    ranged = Choice([option], {"tokens": 1e6}).ranged_value(option, objective="cost")
    assert list(ranged) == pytest.approx(list(row.cost))
    by_hand = [row.price * float(row.speed.expected) / end for end in ends]
    assert list(cost_range(row.price, row.speed)[1:]) == pytest.approx(by_hand[::-1])


def test_only_options_without_an_accuracy_are_said_to_count_as_right(fastcalc):
    a, b = "a=speed=65,price=1,accuracy=0.9", "b=speed=65,price=2"
    assert "No accuracy is given for b, so every answer" in words(fastcalc(a, b).out)
    assert "no accuracy" not in fastcalc(a, f"{b},accuracy=0.8").out
