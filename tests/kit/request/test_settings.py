"""What a request sets, stated once: in headings, among assumptions, and in commands."""

import pytest

from fastcalc.features import request_of
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
