"""Fast modes: every trick is a point that compare prints, or a reason why there is none."""

import csv
import io
import itertools
import json
import math
import re
import shlex
from dataclasses import replace

import numpy as np
import pytest

from fastcalc.catalogue.store import Catalogue
from fastcalc.core.outcome import solve
from fastcalc.core.scenario import Scenario, Sharding, engine_for
from fastcalc.core.traffic.traffic import Traffic
from fastcalc.errors import InputError
from fastcalc.features.fastmode.lighter_passes import PUBLISHED, narrower, needed_drafts
from fastcalc.features.fastmode.option import TRICKS
from fastcalc.features.fastmode.smaller_models import family_of, fewer_layers, smaller_models
from fastcalc.features.fastmode.solve import fastmode, start_at_speed
from fastcalc.features.fastmode.start import Base, with_model
from fastcalc.grid.space import Space
from tests.helpers import fastmode_once, run_once, thorough, words
from tests.strategies import scaled

ENTRIES = Catalogue()
TODAY = ("llama-3.1-8b", "--on", "h100-sxm", "--batch", "32")
"""What most ask about, at the speed-up that stands where none is given."""


@pytest.fixture
def fastcalc(capsys, monkeypatch):
    def call(*args, columns=100):
        monkeypatch.setenv("COLUMNS", str(columns))
        return run_once(*args, capsys=capsys, monkeypatch=monkeypatch)

    return call


def serving(model="gpt-oss-120b", hardware="h100-sxm", batch=32, **changes) -> Scenario:
    chip = ENTRIES.hardware(hardware)
    engine, borrowed = engine_for(ENTRIES, chip)
    traffic = Traffic(1000.0, 1000.0, 1500.0)
    made = Scenario(
        chip, ENTRIES.model(model), engine, (batch,), traffic, engine_is_borrowed=borrowed
    )
    return replace(made, **changes)


def faster(scenario: Scenario, speedup: float, smaller=None):
    today = scenario
    return fastmode_once(today, speedup * float(solve(today).estimate.speed[0]), ENTRIES, smaller)


@pytest.fixture(scope="module")
def answers():
    """Of 2 and 2.5 the command is asked, too."""
    others = np.linspace(4.0, 50.0, scaled(1) - 1)
    return [faster(serving("llama-3.1-8b"), speedup) for speedup in (1.0, 2.0, 2.5, *others)]


def records(ran):
    document = json.loads(ran.out)
    assert document["schema"] == "fastcalc/1"
    return document["records"]


def test_every_trick_is_there_in_order(answers):
    for answer in answers:
        kinds = list(dict.fromkeys(one.trick for one in answer.options))
        assert kinds == [kind for kind in TRICKS if kind in kinds]
        assert set(TRICKS) - set(kinds) <= {"newer-hardware", "other-hardware"}


def test_each_option_is_a_point_that_fits_and_reaches_or_a_reason(answers):
    for answer in answers:
        for option in answer.options:
            if option.outcome is None:
                assert option.why_not
                continue
            assert option.why_not is None
            estimate = option.outcome.estimate
            assert bool(estimate.fits[0])
            assert float(estimate.speed[0]) >= answer.speed * (1 - 1e-9)
            assert float(estimate.bound[0]) >= answer.speed * (1 - 1e-9)


def test_a_larger_speedup_never_costs_less_on_the_same_trick(answers):
    for slow, fast in itertools.pairwise(answers):
        for kind in TRICKS:
            cheap, dear = (
                [one.usd for one in answer.options if one.trick == kind and one.usd is not None]
                for answer in (slow, fast)
            )
            if dear:
                assert min(cheap) <= min(dear) * (1 + 1e-9), kind
        before = {(one.trick, one.change): one.usd for one in slow.options if one.usd}
        for one in fast.options:
            if one.usd and one.trick in ("newer-hardware", "other-hardware", "fewer-bits"):
                assert before[one.trick, one.change] <= one.usd * (1 + 1e-9)


def test_the_same_speed_is_today(answers):
    """Nothing has to change for a speed-up of one."""
    smaller = answers[0].options[0]
    assert smaller.trick == "smaller-batch"
    assert smaller.outcome.scenario.batches == (32,)


def test_the_batch_is_the_largest_that_reaches(answers):
    for answer in answers:
        point = answer.options[0].outcome
        if point is None:
            continue
        batch = point.scenario.batches[0]
        one_more = replace(
            point.scenario,
            batches=(batch + 1,),
            sharding=Sharding.of(point.placement.layout),
        )
        assert float(solve(one_more).estimate.speed[0]) < answer.speed


def test_identity_on_fixed_hardware(answers):
    """Cost multiple x speed-up = batch ratio, whatever the engine or the model."""
    for answer in answers:
        point, today = answer.options[0].outcome, answer.today
        if point is None:
            continue
        cost = point.usd[1][0] / today.usd[1][0]
        speed = point.estimate.speed[0] / today.estimate.speed[0]
        ratio = today.scenario.batches[0] / point.scenario.batches[0]
        assert cost * speed == pytest.approx(ratio, rel=1e-12)


@pytest.mark.thorough
def test_every_row_is_the_row_that_compare_prints(fastcalc):
    ran = fastcalc("fastmode", *TODAY, "--format", "json")
    assert ran.code == 0
    rows = records(ran)
    today = rows[0]
    checked = 0
    for row in rows:
        if row["compare"] is None:
            assert row["cannot"]
            continue
        (again,) = records(fastcalc(*shlex.split(row["compare"])[1:], "--format", "json"))
        marks = {  # ratios are its own
            name: [key for key in row[name] if key in again]
            for name in ("undetermined", "low_confidence")
        }
        assert again == {key: row[key] for key in again} | marks
        if row["cost_multiple"] is not None:
            ratio = row["usd_per_mtok_output"] / today["usd_per_mtok_output"]
            assert row["cost_multiple"] == float(f"{ratio:.12g}")
        checked += 1
    assert checked > 10


@pytest.mark.thorough
def test_the_command_holds_prices_engines_formats_and_folders(fastcalc, tmp_path):
    flags = ["--price", "h100-sxm=2.5", "--price-basis", "tco", "--utilization", "0.5"]
    flags += ["--engine", "ideal", "--weights", "fp8", "--kv", "fp8", "--prefix-hit", "0.5"]
    flags += ["--hardware-dir", str(tmp_path), "--prompt", "700", "--output", "300"]
    ran = fastcalc("fastmode", "llama-3.1-8b", "--on", "h100-sxm", *flags, "--format", "json")
    row = records(ran)[0]
    (again,) = records(fastcalc(*shlex.split(row["compare"])[1:], "--format", "json"))
    assert again == {key: row[key] for key in again}
    assert row["kv_format"] == "fp8"
    assert row["usd_per_hour"] == 2.5
    # Half of the hours paid for are idle: those in use cost twice as much.
    output = 2 * 2.5 / (3600 * row["tokens_per_s_total"]) * 1e6
    assert row["usd_per_mtok_output"] == pytest.approx(output)


@pytest.mark.parametrize(
    "args",
    [
        thorough(("glm-4.7", "--on", "h200-sxm", "--from-speed", "60", "--to-speed", "170",
         "--smaller", "none")),
        thorough(("spark-120b", "--on", "gb200", "--from-speed", "65", "--to-speed", "1000")),
        thorough(("frontier-1t", "--on", "gb200", "--chips", "72", "--speedup", "2.5", "--smaller", "none")),
        ("llama-3.1-8b", "--on", "wse-3", "--batch", "4", "--speedup", "1.2", "--smaller", "none"),
    ],
)  # fmt: skip
def test_the_systems_of_the_articles_have_an_answer(fastcalc, args):
    ran = fastcalc("fastmode", *args, "--format", "json")
    assert ran.code in (0, 1), ran.err
    rows = records(ran)
    assert rows[0]["trick"] == "today"
    assert ran.code == (0 if any(row["reaches"] for row in rows) else 1)


@pytest.mark.thorough
def test_both_batches_are_solved_for(fastcalc):
    args = ("gpt-oss-120b", "--on", "h100-sxm", "--from-speed", "65", "--to-speed", "130")
    rows = records(fastcalc("fastmode", *args, "--smaller", "none", "--format", "json"))
    today, smaller = rows[0], rows[1]
    assert today["tokens_per_s_per_user"] >= 65
    assert smaller["tokens_per_s_per_user"] >= 130
    for row, speed in ((today, 65), (smaller, 130)):
        command = shlex.split(row["compare"])
        place = command.index("--batch") + 1
        command[place] = str(row["batch"] + row["dp"])  # one more on each replica
        (again,) = records(fastcalc(*command[1:], "--format", "json"))
        is_slower = (again["tokens_per_s_per_user"] or 0.0) < speed
        assert is_slower or again["batch"] > again["max_batch"]


@pytest.mark.thorough
def test_a_speed_above_every_bound_is_refused_with_the_bound(fastcalc):
    table = fastcalc("fastmode", *TODAY, "--to-speed", "1e8", "--wide")
    assert table.code == 1
    assert "not enough: hardware bound" in words(table.out)
    assert "Nothing in the catalogue reaches 100,000,000 tokens/s" in words(table.out)


def test_no_start_is_one_sentence_and_a_no(fastcalc):
    ran = fastcalc("fastmode", "gpt-oss-120b", "--on", "h100-sxm", "--from-speed", "1e8")
    assert ran.code == 1
    assert ran.out == ""
    assert "no batch of gpt-oss-120b on h100-sxm" in ran.err


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (("--batch", "4", "--from-speed", "65"), "--batch and --from-speed both set"),
        (("--speedup", "2", "--to-speed", "65"), "--speedup and --to-speed both set"),
        (("--speedup", "0"), "--speedup 0 is not a number from 1e-12"),
        (("--speedup", "nan"), "--speedup 'nan' is not a number"),
        (("--to-speed", "-3"), "--to-speed -3 is not"),
        (("--batch", "1,2"), "names several batches"),
        (("--batch", "many"), "batch 'many' is not a whole number"),
        (
            ("--on", "h100-sxm,gb200"),
            "fastmode starts from the one in use now: write for example --on ",
        ),
        (("--on", "all"), "fastmode starts from the one in use now: write for example --on "),
        (("--batch", "100000", "--chips", "2"), "does not fit 2 h100-sxm chips, which fit at most"),
        (("--price", "nothing=3"), "no hardware is called 'nothing'"),
        (("--format", "xml"), "--format 'xml' is unknown"),
        (("--weights", "fp9"), "is not a weight format"),
    ],
)
def test_a_wrong_request_gets_one_sentence(fastcalc, args, sentence):
    ran = fastcalc("fastmode", "gpt-oss-120b", "--on", "h100-sxm", *args)
    assert ran.code == 2
    assert sentence in ran.err
    assert ran.err.count("\n") == 1
    assert ran.out == ""


FIRST_KEYS = (
    "trick change reaches cannot speedup cost_multiple cost_multiple_total batch_ratio "
    "low_end_reaches hardware model engine chips"
).split()


@pytest.mark.thorough
def test_records_hold_the_trick_then_the_keys_of_compare(fastcalc):
    rows = records(fastcalc("fastmode", *TODAY, "--format", "json"))
    keys = list(rows[0])
    assert keys[: len(FIRST_KEYS)] == FIRST_KEYS
    assert all(list(row) == keys for row in rows)
    (compared,) = records(fastcalc("compare", *TODAY, "--format", "json"))
    ratios = [
        *("speedup_low", "speedup_high", "changes_answers"),
        *("cost_multiple_low", "cost_multiple_high"),
    ]
    at = keys.index(ratios[0])  # before the keys of prices, which came later
    assert keys[at : at + len(ratios)] == ratios
    assert [key for key in keys[9:] if key not in (*ratios, "compare")] == list(compared)
    for row in rows:
        if row["cannot"]:
            assert row["tokens_per_s_per_user"] is row["usd_per_mtok_output"] is None
            assert row["reaches"] is False


def test_the_range_of_a_speedup_is_that_of_independent_ranges(fastcalc):
    """Squares of deviations in the logarithm add up, written out from the records' own ranges."""
    today, *rows = records(fastcalc("fastmode", *TODAY, "--format", "json"))
    assert today["speedup_low"] is today["speedup_high"] is None
    reached = [row for row in rows if row["reaches"]]
    assert reached
    speed, low, high = (
        [one[f"tokens_per_s_per_user{end}"] for one in (today, *reached)]
        for end in ("", "_low", "_high")
    )
    for place, row in enumerate(reached, 1):
        down = math.hypot(math.log(speed[place] / low[place]), math.log(high[0] / speed[0]))
        up = math.hypot(math.log(high[place] / speed[place]), math.log(speed[0] / low[0]))
        ratio = speed[place] / speed[0]
        assert row["speedup_low"] == pytest.approx(ratio * math.exp(-down))
        assert row["speedup_high"] == pytest.approx(ratio * math.exp(up))


def test_csv_holds_the_same_records(fastcalc):
    as_json = records(fastcalc("fastmode", *TODAY, "--format", "json"))
    rows = list(csv.DictReader(io.StringIO(fastcalc("fastmode", *TODAY, "--format", "csv").out)))
    assert [list(row) for row in rows] == [list(record) for record in as_json]
    for row, record in zip(rows, as_json, strict=True):
        for key, value in record.items():
            if value is None:
                assert row[key] == ""
            elif isinstance(value, (int, float)) and not isinstance(value, bool):
                assert float(row[key]) == value


def test_where_verifying_takes_too_long_no_acceptance_will_do():
    """At the bound of a large batch a verified draft costs a row, so only one kept draft pays."""
    scenario = serving("deepseek-r1", "gb200", 930, sharding=Sharding(chips=72))
    scenario = replace(
        scenario, engine=ENTRIES.engine("ideal"), traffic=Traffic(1000.0, 1000.0, 64_000.0)
    )
    today = solve(scenario)
    base = Base(today, 2.5 * float(today.estimate.speed[0]), ENTRIES)
    _, tokens, acceptance = needed_drafts(base)
    assert np.isnan(tokens).any()
    assert np.isnan(acceptance[np.isnan(tokens)]).all()


def test_json_says_what_speculation_and_smaller_shapes_would_need(fastcalc):
    document = json.loads(fastcalc("fastmode", *TODAY, "--format", "json").out)
    assert document["target"]["speedup"] == pytest.approx(2.5)
    needed = document["speculation_at_todays_batch"]
    assert [one["drafts"] for one in needed] == list(range(1, 9))
    for one in needed:
        tokens, accepted = one["tokens_per_pass_needed"], one["acceptance_needed"]
        if accepted is None:
            assert tokens is None or tokens > one["drafts"] + 1
        else:
            assert 0 < accepted < 1
            series = sum(accepted**place for place in range(one["drafts"] + 1))
            assert series == pytest.approx(tokens)
    assert "assumptions" in document


def test_markdown_has_every_option(fastcalc):
    lines = fastcalc("fastmode", *TODAY, "--format", "markdown").out.splitlines()
    rows = records(fastcalc("fastmode", *TODAY, "--format", "json"))
    assert len(lines) == len(rows) + 2
    assert len({line.count("|") for line in lines}) == 1


@pytest.mark.parametrize("columns", [60, 140])
def test_the_table_stays_inside_the_terminal(fastcalc, columns):
    ran = fastcalc("fastmode", *TODAY, "--wide", columns=columns)
    assert ran.code == 0
    for line in ran.out.splitlines():
        assert len(line) <= max(columns, 80) or line.startswith("next: "), line
        assert line == line.rstrip()


def test_the_table_shows_a_few_and_all_if_asked(fastcalc):
    few = fastcalc("fastmode", *TODAY, "--wide").out
    every = fastcalc("fastmode", *TODAY, "--all").out
    assert "--all shows them" in words(few)
    assert "--all shows them" not in words(every)
    assert every.count("newer hardware") > few.count("newer hardware")
    for promised in (
        "today's batch / (its batch x its speed-up) times as much",
        "low end of the 80% range",
        "next:",
    ):
        assert promised in words(few)


@pytest.mark.thorough
def test_a_users_price_turns_a_machine_without_one_into_a_row(fastcalc):
    rows = records(fastcalc("fastmode", *TODAY, "--format", "json"))
    free = next(row for row in rows if row["hardware"] == "sn40l")
    assert free["cost_multiple"] is None
    flags = ("--price", "sn40l=4", "--smaller", "none", "--format", "json")
    priced = next(
        row for row in records(fastcalc("fastmode", *TODAY, *flags)) if row["hardware"] == "sn40l"
    )
    assert priced["usd_per_hour"] == 4 * priced["chips"]
    assert priced["cost_multiple"] > 0


def test_only_formats_that_the_chip_computes_in_are_offered():
    found = {name for name, _ in narrower(Space(serving("llama-3.1-8b")).scenario)}
    assert found == {"fp8", "kv fp8", "fp8, kv fp8"}, "Hopper has no 4-bit rate"
    assert not list(narrower(serving("llama-3.1-8b", "a100-sxm-80gb"))), "nor Ampere an 8-bit one"


def test_drafts_cost_verification(answers):
    """More tokens a pass than the speed asks: verifying takes longer, too."""
    found = next(one for one in answers[2].options if one.trick == "speculation")
    if found.outcome is not None:
        kept = found.outcome.scenario.traffic.speculation
        assert PUBLISHED[int(kept.drafted)] == kept.tokens_per_pass


def test_families_by_the_letters_they_begin_with():
    assert family_of("qwen3.5-397b-a17b") == family_of("qwen2.5-7b") == "qwen"
    assert family_of("deepseek-r1") != family_of("glm-4.7")


def test_smaller_models_have_fewer_active_parameters(answers):
    base = Base(answers[2].today, answers[2].speed, ENTRIES)
    active = base.today.placement.work.active_parameters
    sizes = [
        one.outcome.placement.work.active_parameters
        for one in smaller_models(base)
        if one.outcome is not None
    ]
    assert all(size < active for size in sizes)
    assert sizes == sorted(sizes, reverse=True)


def test_models_of_the_family_are_no_older_and_no_larger():
    """Llama 4 Maverick has fewer active parameters than Llama 3.1 70B, and 401 billion in all."""
    base = Base(solve(serving("llama-3.1-70b", "h100-sxm", batch=8)), 100.0, ENTRIES)
    family = ["llama-3.3-nemotron-super-49b", "llama-3.1-8b", "llama-3.2-3b", "llama-3.2-1b"]
    assert [model.id for model in base.smaller] == family
    named = replace(base, models=["llama-4-maverick", "llama-2-13b"])
    assert [model.id for model in named.smaller] == ["llama-4-maverick", "llama-2-13b"]


@pytest.mark.parametrize(
    ("model", "chip", "smaller"),
    [
        ("llama-3.1-405b", "h200-sxm", "llama-33b"),  # tp 8, and 52 heads
        ("qwen3-235b-a22b", "b200", "qwen2.5-0.5b"),  # tp 4, and 14 heads
        ("qwen3.5-397b-a17b", "h200-sxm", "qwen3-8b"),  # ep 8, and no experts
        ("deepseek-r1", "trn2", "deepseek-v2-lite"),  # tp 32, and 16 heads
    ],
)
def test_no_model_is_tried_on_a_layout_that_it_cannot_have(model, chip, smaller):
    base = Base(solve(serving(model, chip, batch=8)), 100.0, ENTRIES, models=[smaller])
    space = Space(with_model(base.scenario, *base.smaller))
    for layout in base.deployments(space):
        space.site.check(layout)
    assert not space.site.allows(base.layout)


@pytest.mark.thorough
def test_a_model_with_an_odd_number_of_heads_has_an_answer(fastcalc):
    """Eight ranks do not divide the 52 heads of llama-33b; four do."""
    asked = ("fastmode", "llama-3.1-405b", "--on", "h200-sxm", "--smaller", "llama-33b")
    (odd,) = (
        row for row in records(fastcalc(*asked, "--format", "json")) if row["change"] == "llama-33b"
    )
    assert odd["tp"] in (1, 2, 4)


def test_a_shape_with_fewer_layers_reaches_it_and_one_more_does_not():
    today = solve(serving("llama-3.1-8b", batch=16))
    speed = 2 * float(today.estimate.speed[0])
    found = fewer_layers(Base(today, speed, ENTRIES))
    model = today.scenario.model
    (block,) = model.blocks
    for layers, reaches in ((found.layers, True), (found.layers + 1, False)):
        cut = model.model_copy(update={"blocks": [block.model_copy(update={"count": layers})]})
        solved = solve(
            replace(today.scenario, model=cut, sharding=Sharding.of(today.placement.layout))
        )
        assert bool(solved.estimate.speed[0] >= speed) is reaches


def test_a_shape_with_fewer_layers_than_stages_reaches_nothing():
    """Of 80 layers in four stages at least four are left, and they take over 50 us each."""
    today = solve(serving("llama-3.1-70b", batch=8, sharding=Sharding(tp=2, pp=4)))
    assert fewer_layers(Base(today, 20_000.0, ENTRIES)) is None


@pytest.mark.thorough
def test_closed_models_with_nothing_but_totals_have_answers_too(tmp_path):
    path = tmp_path / "closed.yaml"
    path.write_text(
        "id: closed\nname: Closed\nweight_format: fp8\ntotal_parameters: 400000000000\n"
        "active_parameters: 20000000000\nlayers: 60\nkv_bytes_per_token: 70000\n"
    )
    chip = ENTRIES.hardware("h200-sxm")
    today = Scenario(
        chip, ENTRIES.model(str(path)), engine_for(ENTRIES, chip)[0], (8,),
        Traffic(1000.0, 1000.0, 1500.0), sharding=Sharding(chips=8),
    )  # fmt: skip
    answer = faster(today, 1.5, smaller=[])
    assert answer.fewer_layers is not None
    assert answer.fewer_layers.active_parameters < 20e9
    assert answer.thinner_layers is None


def test_a_start_at_a_speed_is_the_largest_batch_there():
    asked = serving("llama-3.1-8b")
    start = start_at_speed(asked, 65.0)
    more = replace(start, batches=(start.batches[0] + 1,))
    assert float(solve(start).estimate.speed[0]) >= 65.0 > float(solve(more).estimate.speed[0])
    assert start_at_speed(asked, 1e9) is None


def test_a_batch_that_does_not_fit_is_refused():
    with pytest.raises(InputError, match="does not fit"):
        fastmode(serving(batch=10**6, sharding=Sharding(chips=1)), 10.0, ENTRIES)


def test_needed_tokens_rise_with_the_speed(answers):
    for slow, fast in itertools.pairwise(answers):
        assert np.all(fast.tokens >= slow.tokens * (1 - 1e-9))


@pytest.mark.thorough
def test_the_first_screen_answers_and_names_what_cannot_be(fastcalc):
    asked = ("fastmode", "gpt-oss-120b", "--on", "h100-sxm", "--batch", "32")
    ran = fastcalc(*asked)
    lines, text = ran.out.splitlines(), words(ran.out)
    rows = records(fastcalc(*asked, "--format", "json"))
    tried = [one for one in rows if one["trick"] in TRICKS]
    missed = {TRICKS[one["trick"]] for one in tried} - {
        TRICKS[one["trick"]] for one in tried if one["cannot"] is None
    }
    assert len(lines) <= 38  # of which one is for a row that the headline names, and three wrap
    for one in missed:
        assert (
            one
            in text.partition("- Techniques that are not fast enough alone: ")[2].partition(
                "; --wide"
            )[0]
        )
    noted = words(fastcalc(*asked, "--notes").out)
    assert re.search(r"Factors of [a-z ]+: 2\.5\d?x = ", noted)
    passes = re.findall(r"([\d.]+) ms for ([\d.]+|one) tokens? of each user", text)
    served = re.findall(r"([\d,]+) users on [^,]+, together ([\d,.]+) tokens/s", text)
    for (time, tokens), both in zip(passes, served, strict=True):
        users, total = (float(one.replace(",", "")) for one in both)
        yielded = 1.0 if tokens == "one" else float(tokens)
        assert total == pytest.approx(users * yielded * 1e3 / float(time), rel=0.01)
    wide = fastcalc("fastmode", *TODAY, columns=160).out.splitlines()
    names = tuple(f"{name} " for name in TRICKS.values())
    stars = [line.endswith("*") for line in wide if line.startswith(names)]
    assert len(stars) > 5
    assert stars == sorted(stars)  # rows that keep the answers come first
    assert lines[-1].startswith("next: fastcalc report gpt-oss-120b --on h100-sxm")
    assert len(fastcalc("fastmode", *TODAY, "--notes").out.splitlines()) > len(lines)


def headline_of(text):
    """What a screen says before today's point and the table."""
    return text.partition(" Today ")[0]


LARGE = ("fastmode", "llama-3.1-70b", "--batch", "64")


@pytest.mark.thorough
def test_another_model_leads_only_where_it_is_named(fastcalc):
    """With none allowed the first sentence is the same; one that is named may be the cheapest."""
    every, kept, named = (
        fastcalc(*LARGE, *more).out
        for more in ((), ("--smaller", "none"), ("--smaller", "llama-3.2-1b"))
    )
    begun, only, other = (headline_of(words(out)) for out in (every, kept, named))
    assert begun == only
    assert "llama-3.2-1b" not in begun
    assert "llama-3.2-1b" in other
    assert only.count(" with ") <= 2  # on these chips, and on another machine
    assert "other model" not in words(kept).partition("Too slow alone: ")[2].partition(";")[0]
    assert "four techniques" not in words(kept).partition("Too slow alone: ")[2].partition(";")[0]


@pytest.mark.thorough
@pytest.mark.parametrize("more", [("--smaller", "none"), ("--wide",), ()][: scaled(2)])
def test_the_first_sentence_names_a_row_of_its_table_that_keeps_the_answers(fastcalc, more):
    """Its trick, its change and its cost stand in one row, which has no star."""
    for asked in (("glm-4.7", "--on", "h100-sxm", "--batch", "16", "--speedup", "15"), LARGE[1:]):
        text = words(fastcalc("fastmode", *asked, *more, columns=140).out)
        rows = records(fastcalc("fastmode", *asked, *more, "--format", "json"))
        table = text.partition(" today ")[2].partition(" - key: ")[0]
        today, *others = rows
        kept = [row for row in others if row["reaches"] and not row["changes_answers"]]
        kept = [row for row in kept if row["cost_multiple"] is not None]
        begun = headline_of(text)
        ways = re.findall(
            r"(?:(tokens/s per user \(\S+\))|On other chips|reach it): ([\w.+ -]+?)(?: \(([^()]*)\))?,? "
            r"(?:at )?([0-9.,]+)x(?: today's cost)? \((?:80% range )?([0-9.,]+) to ([0-9.,]+)\)",
            begun,
        )
        assert ways, begun
        for on, name, change, cost, low, high in ways:
            alike = [row for row in kept if (row["hardware"] == today["hardware"]) == bool(on)]
            # The cheapest of all rows on these chips, or on any other.
            lead = min(alike, key=lambda row: row["cost_multiple"])
            assert lead["change"] in (name, change)
            assert float(low) < lead["cost_multiple"] < float(high)
            assert f" {cost}x" in table
            assert lead["change"] in table


@pytest.mark.thorough
def test_the_headline_gives_these_chips_first_and_names_both_prices(fastcalc):
    """What other sellers ask for communication stands behind what the same chips do."""
    asked = ("glm-4.7", "--on", "h200-sxm", "--speedup", "2", "--smaller", "none")
    begun = headline_of(words(fastcalc("fastmode", *asked).out))
    same, other = re.split(r"\. On other chips: ", begun)
    assert re.match(
        r"Cheapest on h200-sxm for [\d.]+ tokens/s per user \(2\.00x\): 4 draft tokens, at ", same
    )
    priced = "On-demand price per chip-hour: h200-sxm $3.50 (Nebius, 2026), "
    assert f"{priced}mi355x $2.59 (Vultr, 2026-09-26)" in other
    given = ("--price", "mi355x=2.5", "--price", "h200-sxm=3.5")
    paid = headline_of(words(fastcalc("fastmode", *asked, *given).out))
    assert "rice per chip-hour: h200-sxm $3.50 (given), mi355x $2.50 (given)" in paid


@pytest.mark.thorough
def test_the_smaller_model_shown_is_the_largest_that_reaches(fastcalc):
    out = fastcalc(*LARGE, "--smaller", "llama-3.2-1b,llama-3.1-8b").out
    row, *cheaper = [line for line in out.splitlines() if line.startswith("other model ")]
    assert row.endswith(" llama-3.1-8b")
    assert len(cheaper) <= 1  # what the headline names
    noted = words(fastcalc(*LARGE, "--smaller", "llama-3.2-1b,llama-3.1-8b", "--notes").out)
    assert "Other model: the largest smaller one, by active parameters." in noted


@pytest.mark.thorough
def test_notes_are_of_columns_on_the_screen_and_of_chips_that_miss_the_target(fastcalc):
    """No fastmode table has a TTFT, and a wafer and a newer GPU do reach the target."""
    asked = ("fastmode", "llama-3.1-70b", "--on", "h100")
    text = words(fastcalc(*asked).out)
    assert "TTFT" not in text
    assert "TTFT may be" in words(fastcalc(*asked, "--notes").out)
    missed = (
        text.partition("- Techniques that are not fast enough alone: ")[2]
        .partition("; --wide")[0]
        .split(", ")
    )
    table = text.partition(" today ")[2].partition(" - key: ")[0]
    assert "other hardware" in missed
    assert all(f" {name} " not in table for name in missed)


@pytest.mark.thorough
def test_a_cost_over_a_start_without_a_price_is_left_out(fastcalc):
    text = words(fastcalc("fastmode", "gpt-oss-120b", "--on", "groq-lpu", "--batch", "8").out)
    begun = headline_of(text)
    assert "without a known price" in begun or "x today's cost" not in begun


@pytest.mark.thorough
def test_a_lower_speed_has_a_larger_batch_and_one_user_is_one(fastcalc):
    asked = ("gpt-oss-120b", "--batch", "1", "--speedup", "0.5", "--smaller", "none")
    text = fastcalc("fastmode", *asked).out
    assert "gives one user" in words(text)
    assert any(line.startswith("larger batch ") for line in text.splitlines())
    assert "smaller batch" not in text


@pytest.mark.thorough
def test_a_start_that_memory_limits_says_which_speed_was_asked_for(fastcalc):
    """Four H100 hold 204 users of Llama 3.1 70B, who get more than 20 tokens/s; eight hold more."""
    request = ["fastmode", "llama-3.1-70b", "--to-speed", "40", "--smaller", "none", "--from-speed"]
    text = words(fastcalc(*request, "20").out)
    assert re.search(
        r"each of 204 users 2\d\.\d tokens/s \(20.0 asked, but no larger batch fits\)", text
    )
    assert "Cheapest on h100-sxm for 40.0 tokens/s per user (" in text
    held = json.loads(
        fastcalc("fit", "llama-3.1-70b", "--on", "h100-sxm", "--chips", "4", "--format", "json").out
    )
    assert held["records"][0]["max_batch"] == 204
    note = "instead of 20.0, because the largest batch on four h100-sxm is 204"
    assert note in words(fastcalc(*request, "20", "--notes").out)
    assert "but no larger batch" not in words(
        fastcalc(*request, "20", "--chips", "8", "--notes").out
    )


@pytest.mark.thorough
def test_what_is_tried_is_said_where_more_chips_would_be_cheaper(fastcalc):
    """64 MI355X cost less than the 72 GB300 of a row: other chips are tried up to eight, it says."""
    speed = ["--on", "h200-sxm", "--batch", "256", "--speedup", "2.5", "--smaller", "none"]
    text = words(fastcalc("fastmode", "deepseek-r1", *speed, "--notes").out)
    assert "cheapest option with its technique" in text
    assert "evaluated: h200-sxm: up to 64; other chips: today's number (8)," in text
    rows = json.loads(fastcalc("fastmode", "deepseek-r1", *speed, "--format", "json").out)[
        "records"
    ]
    assert {row["chips"] for row in rows if row["hardware"] == "mi355x"} == {8}
