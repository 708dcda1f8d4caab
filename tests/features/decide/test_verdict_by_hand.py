"""Verdicts of decisions with made-up times and costs."""

from math import inf, nan
from types import SimpleNamespace

from fastcalc.features.decide import verdict as say
from fastcalc.features.decide.choice import BreakEven
from tests.helpers import every


def option(name, *, routes=None, model=None, accuracy=None):
    return SimpleNamespace(
        name=name,
        routes=routes,
        model=model,
        numbers={} if accuracy is None else {"accuracy": accuracy},
    )


def row(name, value=1.0, *, accuracy=1.0, steps=1.0, retries=0.0, repair=None, stated=None, **of):
    offered = {"accuracy": accuracy, "retries": retries, "input_price": of.pop("input_price", 0.0)}
    return SimpleNamespace(
        option=option(name, accuracy=stated, **{key: of[key] for key in ("routes", "model") if key in of}),
        value=value, offered=offered.__getitem__,
        terms=SimpleNamespace(
            steps=steps, repair=repair, cached_price=of.get("cached_price"), cached=of.get("cached", 0.0),
            prompt=of.get("prompt", 0.0),
        ),
    )  # fmt: skip


def decision(
    rows, *, objective="time", winner="first", level=(), decided_by=None, other=None, months=None
):
    """The value of each option by the objective, and by the one that decides between equals."""
    by_name = {one.option.name: one for one in rows}
    other = other or {}

    def value(asked, *, objective=objective):
        return other[asked.name] if objective != decision_.objective else by_name[asked.name].value

    def prospect(asked):
        month, usd = (months or {}).get(asked.name, (by_name[asked.name].value, 0.0))
        return SimpleNamespace(month=month, month_usd=usd)

    decision_ = SimpleNamespace(
        objective=objective, value=value, prospect=prospect,
        winner=rows[0].option if winner == "first" else None,
        level=[by_name[name].option for name in level or [rows[0].option.name]], decided_by=decided_by or objective,
    )  # fmt: skip
    return decision_


def led(rows, **changes):
    return say._leader(decision(rows, **changes), rows)


FAST, SLOW = row("fast", 10.0), row("slow", 25.0)


@every(
    "rows,changes,sentence",
    [
        ([FAST, SLOW], {}, "fast is fastest, at 10.0 s per successful run; slow takes 2.50 times as long."),
        ([FAST, SLOW, row("slower", 100.0)], {}, "fast is fastest, at 10.0 s per successful run; slow takes 2.50 times as long, slower 10.0 times."),
        ([FAST], {}, "fast is fastest, at 10.0 s per successful run."),
        ([row("a", 0.5), row("b", 1.0)], {"objective": "cost"}, "a is cheapest, at $0.50 per successful run; b costs 2.00 times as much."),
        ([row("a", 0.5), row("b", 1.0)], {"objective": "total"}, "a is cheapest, at $0.50 per successful run, the user's time included; b costs 2.00 times as much."),
        # What never succeeds, or what is compared with nothing, has no ratio.
        ([FAST, row("never", inf)], {}, "fast is fastest, at 10.0 s per successful run; never cannot be compared."),
        ([row("a", 0.0), row("b", 1.0)], {"objective": "cost"}, "a is cheapest, at $0 per successful run; b cannot be compared."),
        ([FAST], {"winner": None}, "No option ever succeeds."),
        ([FAST], {"winner": None, "objective": "cost"}, "No option has both a price and a run that ever succeeds."),
        ([row("a", -1999.9999999999), row("b", -1500.7)], {"objective": "window"}, "Tokens that fit the window: a 2,000, b 1,500."),
    ],
)  # fmt: skip
def test_who_wins_and_by_how_much(rows, changes, sentence):
    assert led(rows, **changes).replace("$0.0 ", "$0 ").replace("$0.00 ", "$0 ") == sentence


TIED = [row("a", 10.0), row("b", 10.0)]


@every(
    "rows,changes,sentence",
    [
        (TIED, {"decided_by": "cost", "other": {"a": 0.5, "b": 1.5}}, "a and b both take 10.0 s per successful run; a costs $0.50 per successful run, b $1.50."),
        (TIED, {"decided_by": "cost", "other": {"a": 0.5, "b": 0.5}}, "a and b both take 10.0 s per successful run, and cost $0.50 per successful run."),
        (TIED, {"decided_by": "cost", "other": {"a": 0.5, "b": nan}, "months": {"a": (9.0, 200.0)}}, "a and b both take 10.0 s per successful run; a costs $200/month; b has no known price and may be cheaper."),
        (TIED, {"decided_by": "cost", "other": {"a": nan, "b": nan}}, "a and b both take 10.0 s per successful run; the unknown price of a and b would decide."),
        # Options that do as much in a month are compared by its price.
        (TIED, {"decided_by": "cost", "other": {"a": 0.5, "b": 1.5}, "months": {"a": (9.0, 200.0), "b": (9.0, 300.0)}}, "a and b both take 10.0 s per successful run; a costs $200/month, b $300."),
        ([row("a", 10.0), row("b", 11.0)], {"decided_by": "cost", "other": {"a": 0.5, "b": 1.5}}, "a and b are tied within their 80% ranges: a 10.0 s and b 11.0 s per successful run; a costs $0.50 per successful run, b $1.50."),
    ],
)  # fmt: skip
def test_equals_are_told_with_what_decides_between_them(rows, changes, sentence):
    months = changes.pop("months", None) or {"a": (9.0, 0.0), "b": (8.0, 0.0)}
    assert led(rows, level="ab", months=months, **changes) == sentence


def test_three_equals_are_all():
    rows = [*TIED, row("c", 10.0), row("d", 20.0)]
    said = led(
        rows,
        level="abc",
        decided_by="cost",
        other=dict.fromkeys("abcd", 0.5),
        months={name: (one, 0.0) for one, name in enumerate("abcd")},
    )
    assert said.startswith("a, b and c all take 10.0 s ")
    assert said.endswith("; d takes 2.00 times as long.")


@every(
    "rows,objective,sentence",
    [
        ([row("a"), row("b")], "time", None),
        ([row("a", accuracy=0.9)], "time", None),  # one step: noticed at its end in any case
        ([row("a", accuracy=0.9, steps=2.0)], "window", None),
        ([row("a", accuracy=0.9, steps=2.0)], "time", "Assumed: failures are noticed at the end; the run is repeated ("),
        ([row("a", accuracy=0.9, steps=2.0, repair=60.0)], "time", "Assumed: failures are noticed at the end; a user repairs the run ("),
        ([row("a", accuracy=0.9, steps=2.0, retries=3.0)], "time", "Assumed: a failed step is noticed at once and repeated, up to 3 times ("),
        ([row("a", accuracy=0.9, steps=2.0, retries=3.0), row("b")], "time", "Assumed: options with retries notice a failed step at once, and the others at the end of a run."),
        # Two models without an accuracy may fail, too.
        ([row("a", steps=2.0, model="m"), row("b", model="n")], "time", "Assumed: failures are noticed at the end; the run is repeated ("),
        ([row("a", steps=2.0, model="m"), row("b", model="m")], "time", None),
        ([row("a", steps=2.0, model="m"), row("b", model="n", stated=1.0)], "time", None),
    ],
)  # fmt: skip
def test_when_failures_are_noticed(rows, objective, sentence):
    said = say.failures(decision(rows, objective=objective), rows)
    assert [text.startswith(sentence or "?") for text in said] == [True] * (sentence is not None)


@every(
    "changes,is_named",
    [
        ({"cached": 0.5, "prompt": 1000.0, "input_price": 3.0}, True),
        ({"cached": 0.0, "prompt": 1000.0, "input_price": 3.0}, False),
        ({"cached": 0.5, "prompt": 0.0, "input_price": 3.0}, False),
        ({"cached": 0.5, "prompt": 1000.0, "input_price": 0.0}, False),
        ({"cached": 0.5, "prompt": 1000.0, "input_price": 3.0, "cached_price": 1.0}, False),
        ({"cached": 0.5, "prompt": 1000.0, "input_price": 3.0, "model": "m"}, False),
        ({"cached": 0.5, "prompt": 1000.0, "input_price": 3.0, "routes": ("b", "c")}, False),
    ],
)
def test_cached_input_without_a_price_of_its_own(changes, is_named):
    said = say.cached_at_full_price([row("a", **changes), row("b")])
    assert [text.startswith("cached input of a is billed ") for text in said] == [True] * is_named


@every(
    "flips,end",
    [
        ([], ""),
        ([("fast.accuracy", 0.7, "slow", False)], " slow ranks first if fast's accuracy is below 70.0% while its own is 100%."),
        ([("fast.accuracy", 0.7, "slow", True)], ""),
        ([("slow.accuracy", 0.7, "slow", False)], ""),
        ([("fast.accuracy", 0.99999, "slow", False)], ""),
    ],
)  # fmt: skip
def test_at_equal_accuracy_the_break_even_is_told(flips, end):
    rows = [row("fast", 10.0, model="m"), row("slow", 25.0, model="n")]
    turns = [
        BreakEven(name, 1.0, value, winner, is_above) for name, value, winner, is_above in flips
    ]
    said = say.verdict(decision(rows), rows, turns)
    assert said == f"At equal accuracy {led(rows)}{end}"
    same = [row("fast", 10.0, model="m"), row("slow", 25.0, model="m")]
    assert say.verdict(decision(same), same, turns) == led(same)
