"""What a request sets, stated once: in headings, among assumptions, and in commands."""

from inspect import Parameter

import pytest

from fastcalc.features import COMMANDS, request_of
from fastcalc.features.compare.request import Compare
from fastcalc.features.frontier.request import Frontier
from fastcalc.features.plan.request import FindPlans
from fastcalc.kit.answer.commands import OF_A_POINT
from fastcalc.kit.answer.next_commands import again, follow_up, repeated
from fastcalc.kit.request.fields import (
    FieldSetting,
    by_premise,
    declared,
    phrases,
    premises,
    settings,
)
from fastcalc.kit.request.given import from_python
from fastcalc.mentions import as_flags
from tests.kit.request.test_settings_traced import ASKED, CHANGES, CHANGES_OF, ONLY_SHOWN

LIMITED = Compare(
    models=["llama-3.1-8b"],
    max_num_seqs=64,
    price=["h100-sxm=2"],
    place="experts=host,kv=HBM3",
    notes=True,
)


def test_settings_are_what_differs_from_the_defaults_by_premise():
    assert settings(Compare()) == []
    assert by_premise(settings(LIMITED)) == {
        "model": {"models": ["llama-3.1-8b"]},
        "memory": {"place": "experts=host,kv=HBM3"},
        "engine_limits": {"max_num_seqs": 64},
        "prices": {"price": ["h100-sxm=2"]},
    }


def test_words_of_a_metavar_are_completed_and_placeholders_are_not():
    assert FieldSetting("cloud|tco|RATE|a=b|Nvidia", "").completion("") == ["cloud", "tco"]
    assert FieldSetting("RATE", "").completion is None


def test_a_default_that_is_given_is_no_setting():
    assert settings(Compare(prompt=1000, price_basis="cloud", batch=Compare.batch)) == []


def test_python_and_the_command_line_state_the_same():
    of_python = Compare(
        models=["llama-3.1-8b"],
        max_num_seqs=64,
        price={"h100-sxm": 2.0},
        place={"experts": "host", "kv": "HBM3"},
    )
    assert by_premise(settings(of_python)) == by_premise(settings(LIMITED))
    assert phrases(settings(of_python)) == phrases(settings(LIMITED))


def test_a_heading_says_them_in_words_but_for_what_it_shows_itself():
    assert phrases(settings(LIMITED)) == [
        "placed experts in host, kv in HBM3",
        "at most 64 sequences per step",
        "h100-sxm at $2.00 per chip-hour",
    ]
    of_cache = settings(Compare(kv="fp8", context=9000))
    assert phrases(of_cache) == ["mean context 9,000", "KV cache fp8"]
    assert phrases(of_cache, without="kv") == ["mean context 9,000"]


def test_commands_repeat_them():
    assert as_flags(again(LIMITED)) == (
        "fastcalc compare llama-3.1-8b --place experts=host,kv=HBM3 --max-num-seqs 64 "
        "--price h100-sxm=2 --notes"
    )
    line = follow_up(LIMITED, Frontier, "llama-3.1-8b", "--on", "h100-sxm")
    assert as_flags(line).endswith(
        "--on h100-sxm --place experts=host,kv=HBM3 --max-num-seqs 64 --price h100-sxm=2"
    )
    assert as_flags(follow_up(LIMITED, FindPlans, "x", ending=["--max-num-seqs", "8"])) == (
        "fastcalc plan x --place experts=host,kv=HBM3 --price h100-sxm=2 --max-num-seqs 8"
    )
    of_point = ["--place", "experts=host,kv=HBM3", "--max-num-seqs", "64"]
    assert repeated(LIMITED, Compare, OF_A_POINT) == of_point


@pytest.mark.parametrize("command", ASKED)
def test_every_setting_reads_as_words_and_as_data(command):
    request = request_of(command)
    kept = premises(request)
    for field in declared(request):
        value = CHANGES_OF.get((command, field), CHANGES.get(field))
        if field in kept and value not in (None, getattr(request, field, None)):
            asked = {name: "x" for name in declared(request) if not hasattr(request, name)}
            (setting,) = (
                one
                for one in settings(request(**asked | {field: from_python(request, field, value)}))
                if one.name == field
            )
            assert "{" not in (setting.phrase or ""), field
            assert setting.words, field
            assert setting.data not in (None, []), field


def test_what_is_only_shown_is_no_setting():
    shown = ONLY_SHOWN - {"emit", "explain", "entries", "with_"}  # of some commands they are
    for command in ASKED:
        assert not shown & premises(request_of(command)).keys(), command


CHIPS = "h100-sxm,gb200,wse-3"
SHARED = {
    "prompt": 1000, "output": 1000, "prefix_hit": 0.0, "utilization": 1.0, "price_basis": "cloud",
    "place_for": "served", "max_chips": 72,
}  # fmt: skip
"""What commands assume of a number that nobody gives: a thousand tokens each way, nothing cached, on-demand prices."""
OWN = {
    "compare": {"batch": "1,8,32,128", "on": CHIPS},
    "report": {"batch": "1,8,32,128", "on": CHIPS},
    "measure": {"batch": "1,8,32,128", "on": "", "runs": 2, "minutes": 15.0},
    "fit": {"batch": "1", "on": CHIPS},
    "sensitivity": {"batch": "1", "on": "h100-sxm"},
    "caches": {"batch": "32", "on": "h100-sxm"},
    "sweep": {"batch": "1..256x2", "prompt": "1000", "output": "1000", "on": CHIPS},
    "plot": {"batch": "1..512x2", "on": CHIPS, "style": "light", "dpi": 150.0},
    "frontier": {"on": CHIPS, "place_for": "decode"},
    "fastmode": {"on": "h100-sxm", "place_for": "decode", "smaller": "family", "cost": 6.0},
    "infer": {
        "on": "h100-sxm,h200-sxm,b200,gb200", "speeds": "65,170", "prices": "25,150",
        "tolerance": 0.15, "points": 2**20,
    },
    "plan": {"on": "all", "by": "node", "objective": "usd", "top": 5},
    "decide": {
        "steps": 1, "accuracy": 1.0, "tokens": 1000, "cached": 0.0, "tool_seconds": 0.0,
        "retries": 0, "best_of": 1, "judge": "oracle", "round_trip_ms": 0.0, "check_seconds": 0.0,
        "sessions": 1, "come_back": 0.0, "hours": 160.0,
    },
}  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS)
def test_what_nobody_gives_is_usual_or_nothing(command):
    """A flag without a value is off; any other says nothing, or what the tables above have."""
    usual, own = SHARED | OWN.get(command, {}), {*OWN.get(command, {})}
    for name, field in declared(request_of(command)).items():
        if field.setting.metavar is None:
            assert field.default is False, name
        elif field.default not in (None, Parameter.empty):
            assert (name, field.default) == (name, usual[name])
            own.discard(name)
    assert not own
