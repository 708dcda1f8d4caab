"""Predictions like a deployment of the user's own: by hand on made-up chips, then as a user would."""

import csv
import json
import re
import shlex
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import fastcalc as fc
from fastcalc.catalogue.schema.own_rows import OwnDeployment
from fastcalc.catalogue.store import Catalogue
from fastcalc.core.estimate import evaluate
from fastcalc.core.own_rows import DEPLOYMENTS, EVERYWHERE, LEFT, LENGTH, ROWS, interpolated
from fastcalc.core.timeline import prefill, served_run
from fastcalc.core.traffic.traffic import Speculation, Traffic
from fastcalc.errors import InputError
from fastcalc.evidence.own_rows import MOST_ROWS
from fastcalc.evidence.point import COLUMNS
from fastcalc.kit.answer.own_rows import chart
from fastcalc.kit.request import like
from tests import made_up
from tests.helpers import run

TRAFFIC = Traffic(1000.0, 1000.0, 1500.0)


def deployment(*rows, **changes):
    """Rows of the made-up model as (batch, context, decode share, measured over expected time)."""
    return OwnDeployment.model_validate(
        {
            "hardware": "made-up-chip",
            "model": "made-up-model",
            "weights": "bf16",
            "kv": "bf16",
            "chips": 1,
            "file": "runs.csv",
            "rows": [
                {"batch": batch, "context": context, "prompt": 1000, "decode_share": share,
                 "slower": slower}
                for batch, context, share, slower in rows
            ],
            **changes,
        }
    )  # fmt: skip


def estimate(*deployments, batch=8.0, traffic=TRAFFIC):
    engine = made_up.CLOCK.model_copy(update={"own_deployments": list(deployments)})
    placement = made_up.placed(made_up.minimal(), on=made_up.clocked(), under=engine)
    return evaluate(placement, batch=batch, traffic=traffic)


def by_hand(rows, batch):
    """Predict a pass that decodes, context 1,500: each pair of spreads in turn, then their mixture.

    Return the logarithm of how many times as long it takes, and its variance over that without rows.
    """
    batches, logs = (np.log([row[place] for row in rows]) for place in (0, 3))
    at = np.append(batches, np.log(batch))
    reach = np.sqrt(3.0) * np.abs(at[:, None] - at) / LENGTH
    alike = EVERYWHERE + (1.0 - EVERYWHERE) * (1.0 + reach) * np.exp(-reach)
    cases = []
    for deployment_error, (place, row_error) in product(DEPLOYMENTS, enumerate(ROWS)):
        joint = deployment_error**2 * alike + row_error**2 * np.eye(len(at))
        among, across = joint[:-1, :-1], joint[-1, :-1]
        density = np.exp(-0.5 * logs @ np.linalg.solve(among, logs)) / np.sqrt(np.linalg.det(among))
        mean = across @ np.linalg.solve(among, logs)
        variance = joint[-1, -1] - across @ np.linalg.solve(among, across)
        cases.append((0.5**place, density, mean, variance, joint[-1, -1]))
    prior, density, mean, variance, before = np.array(cases).T
    chance = prior * density / (prior @ density)
    middle = chance @ mean
    spread = chance @ (variance + (mean - middle) ** 2)
    return middle, spread / (prior @ before / prior.sum())


@pytest.mark.parametrize("batch", [8.0, 20.0, 8e12])
@pytest.mark.parametrize(
    "rows",
    [[(8, 1500, 1.0, 2.0)], [(8, 1500, 1.0, 1.3), (9, 1500, 1.0, 0.7), (64, 1500, 1.0, 1.1)]],
)
def test_rows_say_what_each_spread_says_by_its_likelihood(rows, batch):
    moved = np.log(estimate(deployment(*rows), batch=batch).tpot[0] / estimate(batch=batch).tpot[0])
    middle, unexplained = by_hand(rows, batch)
    assert moved == pytest.approx(middle)
    assert half_width(*rows, batch=batch) == pytest.approx(LEFT + (1.0 - LEFT) * unexplained)


def half_width(*rows, **changes):
    """Return the half-width of the range with rows over that without."""
    return half_width_of(deployment(*rows), **changes)


def half_width_of(measured_deployment, batch=8.0, traffic=TRAFFIC):
    ranges = {"unseen": {"below": 2.0, "above": 2.0, "basis": "stated here"}}
    engine = made_up.CLOCK.changed(ranges=ranges)
    measured = engine.model_copy(update={"own_deployments": [measured_deployment]})
    placement = made_up.placed(made_up.minimal(), on=made_up.clocked(), under=measured)
    point = evaluate(placement, batch=batch, traffic=traffic)
    return np.log2(point.speed[0] / point.low[0])


def test_rows_that_contradict_each_other_narrow_little_and_move_little():
    """30% slower and 30% faster at nearly the same point: neither is the deployment."""
    agree = (8, 1500, 1.0, 1.3), (9, 1500, 1.0, 1.3)
    contradict = (8, 1500, 1.0, 1.3), (9, 1500, 1.0, 1.0 / 1.3)
    assert half_width(*agree) < 0.3
    assert 0.7 < half_width(*contradict) < 1.5
    moved = np.log(estimate(deployment(*contradict)).tpot[0] / estimate().tpot[0])
    assert abs(moved) < 0.2 * np.log(1.3)


def test_what_is_known_of_a_plain_pass_narrows_half_of_a_pass_with_drafts():
    """The other half is the drafts', which only rows with drafts say something of."""
    row = (8, 1500, 1.0, 1.0)
    drafting = Traffic(1000.0, 1000.0, 1500.0, speculation=Speculation(2.0, 3.0))
    plain, with_drafts = half_width(row), half_width(row, traffic=drafting)
    assert plain < 0.3
    assert with_drafts > LEFT + (1.0 - LEFT) * 0.5
    own = {"batch": 8, "context": 1500, "prompt": 1000, "decode_share": 1.0, "slower": 1.0}
    drafted = deployment(rows=[own | {"drafted": 3}])
    assert half_width_of(drafted, traffic=drafting) == pytest.approx(plain)


def test_midway_between_two_rows_their_mean_counts():
    """Halfway in the logarithm both weigh the same: errors that cancel move nothing."""
    rows = deployment((1, 1500, 1.0, 1.5), (64, 1500, 1.0, 1 / 1.5))
    assert estimate(rows).tpot[0] == pytest.approx(estimate().tpot[0])
    assert estimate(rows, batch=1.0).tpot[0] > 1.3 * estimate(batch=1.0).tpot[0]


def test_a_row_of_decoding_says_nothing_of_prompts_nor_the_other_way_round():
    decoding, prompts = deployment((8, 1500, 1.0, 2.0)), deployment((8, 1500, 0.0, 2.0))
    plain = estimate()
    first_token = prefill(plain.passes).seconds
    assert prefill(estimate(decoding).passes).seconds == pytest.approx(first_token)
    assert estimate(prompts).tpot[0] == pytest.approx(plain.tpot[0])
    assert prefill(estimate(prompts).passes).seconds > 1.8 * first_token


def test_a_served_run_is_its_passes_each_as_measured():
    """Decode passes move by the one row, what prompts add by the other, and no third number."""
    rows = deployment((8, 1500, 1.0, 1.5), (8, 1500, 0.0, 3.0))
    plain, moved = estimate(), estimate(rows)
    decode = 1000.0 * plain.tpot[0]
    added = served_run(plain.passes).seconds - decode
    slower = [moved.tpot[0] / plain.tpot[0]]
    slower.append(prefill(moved.passes).seconds / prefill(plain.passes).seconds)
    assert 1.3 < slower[0] < 1.5 < 2.5 < slower[1] < 3.0
    assert served_run(moved.passes).seconds == pytest.approx(decode * slower[0] + added * slower[1])


def test_the_bound_caps_what_rows_say():
    absurd = estimate(deployment((8, 1500, 1.0, 1e-6)))
    assert absurd.speed[0] == pytest.approx(absurd.bound[0])


@pytest.mark.parametrize(
    "elsewhere",
    [{"hardware": "other"}, {"model": "other"}, {"weights": "fp8"}, {"kv": "fp8"}, {"chips": 2},
     {"tp": 2}, {"dp": 4}],
)  # fmt: skip
def test_another_deployment_moves_nothing(elsewhere):
    slow = deployment((8, 1500, 1.0, 2.0), **elsewhere)
    assert estimate(slow).tpot[0] == estimate().tpot[0]


def test_each_row_by_the_others_is_what_these_alone_predict():
    rows = [(1, 1500, 1.0, 1.1), (8, 800, 0.9, 1.4), (64, 3000, 0.7, 0.9)]
    _, alone = interpolated(deployment(*rows))
    others = estimate(deployment(*rows[1:]), batch=1.0).tpot[0] / estimate(batch=1.0).tpot[0]
    assert alone[0][0] == pytest.approx(others)


# As a user would: rows in a file.

ASKED = ("compare", "llama-3.1-70b", "--on", "h100-sxm", "--prompt", "1000", "--output", "1000")
MEASURED = {
    "source": "mine", "hardware": "h100-sxm", "chips": "4", "model": "llama-3.1-70b",
    "engine": "vllm", "tp": "4", "concurrency": "8", "prompt": "1000", "output": "1000",
    "metric": "tpot_s", "value": "0.03", "notes": "kind=decode",
}  # fmt: skip


@pytest.fixture(name="fastcalc")
def in_process(capsys, monkeypatch):
    """Run a command in this process."""
    return lambda *words: run(*words, capsys=capsys, monkeypatch=monkeypatch)


def runs(tmp_path, *rows):
    """Write a file of rows of Llama 3.1 70B on four H100, each as changes of its columns."""
    file = Path(tmp_path) / "runs.csv"
    with file.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, COLUMNS, restval="")
        writer.writeheader()
        for index, changes in enumerate(rows or ({},), 1):
            writer.writerow({"id": f"own-{index:03}"} | MEASURED | changes)
    return str(file)


def records(fastcalc, *words):
    answer = fastcalc(*words, "--format", "json")
    assert answer.code == 0, answer.err
    return json.loads(answer.out)["records"]


def test_compare_takes_the_layout_of_the_rows_and_what_they_measured(tmp_path, fastcalc):
    file = runs(tmp_path)
    (alone,) = records(fastcalc, *ASKED, "--batch", "8", "--tp", "4")
    (like,) = records(fastcalc, *ASKED, "--batch", "8", "--like", file)
    assert (like["chips"], like["tp"]) == (4, 4)
    moved, _ = by_hand([(8, 1500, 1.0, 30.0 / alone["tpot_ms"])], 8)
    assert like["tpot_ms"] == pytest.approx(alone["tpot_ms"] * np.exp(moved), rel=1e-4)
    ends = [f"tokens_per_s_per_user_{end}" for end in ("low", "high")]
    low, high = (like[end] / like["tokens_per_s_per_user"] for end in ends)
    assert low > alone[ends[0]] / alone["tokens_per_s_per_user"]
    assert high < alone[ends[1]] / alone["tokens_per_s_per_user"]
    assert "corrected by 1 row of runs.csv" in " ".join(like["warnings"])


def test_another_chip_of_the_table_is_unchanged_and_says_so(tmp_path, fastcalc):
    words = ("compare", "llama-3.1-70b", "--batch", "8")
    (alone,) = records(fastcalc, *words, "--on", "b200")
    _, compared = records(fastcalc, *words, "--on", "h100-sxm,b200", "--like", runs(tmp_path))
    assert compared["tpot_ms"] == alone["tpot_ms"]
    assert "runs.csv has no measurement of it" in " ".join(compared["warnings"])


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"hardware": "b200"}, "of another chip (b200)"),
        ({"model": "llama-3.1-8b"}, "of another model (llama-3.1-8b)"),
        ({"weights": "fp8"}, "of fp8 weights: add --weights fp8"),
        ({"kv": "fp8"}, "of a fp8 cache: add --kv fp8"),
        ({"engine": "sglang"}, "measured with sglang, not "),
        ({"notes": "kind=decode; host=ddr5-2ch"}, "part of the model was on a host"),
    ],
)
def test_rows_of_others_are_left_aside_and_alone_they_are_an_error(
    tmp_path, fastcalc, changes, reason
):
    compared = fastcalc(*ASKED, "--like", runs(tmp_path, {}, changes))
    assert compared.code == 0
    assert f"runs.csv: 1 row is skipped: {reason}" in compared.err
    alone = fastcalc(*ASKED, "--like", runs(tmp_path, changes))
    assert alone.code == 2
    assert reason in alone.err


def test_a_plan_and_a_sweep_move_the_measured_layout_alone(tmp_path, fastcalc):
    file = runs(tmp_path, {"value": "0.06"})
    words = ("sweep", "llama-3.1-70b", "--on", "h100-sxm", "--tp", "4,8", "--batch", "8")
    plain, moved = (records(fastcalc, *words, *extra) for extra in ((), ("--like", file)))
    assert moved[0]["tpot_ms"] > 2.0 * plain[0]["tpot_ms"]
    assert moved[1]["tpot_ms"] == plain[1]["tpot_ms"]
    words = ("plan", "llama-3.1-70b", "--on", "h100-sxm", "--weights", "bf16", "--max-chips", "4")
    plain, moved = (records(fastcalc, *words, *extra) for extra in ((), ("--like", file)))
    assert moved[0]["usd_per_mtok_total"] > plain[0]["usd_per_mtok_total"]


def test_a_second_file_is_refused_and_a_folder_takes_both(tmp_path, fastcalc):
    """The first was dropped without a word."""
    file = runs(tmp_path)
    for first, second in (
        (("--like", file), ("--like", file)),
        (("--like", file), (f"--like={file}",)),
    ):
        refused = fastcalc(*ASKED, *first, *second)
        assert refused.code == 2
        said = " ".join(refused.err.split())
        assert (
            "--like takes one file, but is given 2: Your measurements, a file or a folder" in said
        )
    twice = fastcalc("list", "engines", "-o", "a.txt", "--out", "b.txt")
    assert "-o takes one file, but is given 2" in twice.err
    assert fastcalc(*ASKED, "--batch", "8", "--like", str(tmp_path)).code == 0


def test_python_takes_a_path(tmp_path):
    import fastcalc as fc

    table = fc.compare("llama-3.1-70b", on="h100-sxm", batch=8, like=runs(tmp_path))
    assert list(table["tp"]) == [4]


def test_of_many_rows_as_many_are_kept_as_say_something(tmp_path, fastcalc):
    many = [{"concurrency": str(1 + i)} for i in range(2 * MOST_ROWS)]
    (record,) = records(fastcalc, *ASKED, "--batch", "8", "--like", runs(tmp_path, *many))
    assert f"corrected by {MOST_ROWS} rows" in " ".join(record["warnings"])


@pytest.mark.thorough
def test_a_result_that_names_no_chip_is_of_the_one_that_is_asked_about(tmp_path, fastcalc):
    result = {
        "duration": 10.0, "completed": 100, "total_input_tokens": 100_000,
        "total_output_tokens": 100_000, "max_concurrency": 8, "num_prompts": 100,
        "request_rate": "inf", "median_tpot_ms": 30.0, "backend": "vllm",
        "model_id": "meta-llama/Llama-3.1-70B-Instruct",
    }  # fmt: skip
    file = tmp_path / "result.json"
    file.write_text(json.dumps(result))
    (record,) = records(fastcalc, *ASKED, "--batch", "8", "--tp", "4", "--like", str(file))
    assert "result.json" in " ".join(record["warnings"])
    refused = fastcalc("compare", "llama-3.1-70b", "--like", str(file))
    assert refused.code == 2
    assert "give --on" in refused.err
    for search in ("plan", "frontier"):
        searched = fastcalc(search, "llama-3.1-70b", "--on", "h100-sxm", "--like", str(file))
        assert "give --engine our-engine.yaml in place of --like" in searched.err
    for rows in (file, tmp_path):
        compared = fastcalc(*ASKED, "--batch", "8", "--tp", "4", "--like", str(rows)).out
        *_, command = compared.split("next: fastcalc ")
        kept = command.replace("our-engine.yaml", str(tmp_path / "our-engine.yaml"))
        assert fastcalc(*shlex.split(kept)).code == 0


@pytest.mark.parametrize("count", [1, 3])
def test_an_engine_file_carries_rows_and_gives_the_same_numbers(tmp_path, fastcalc, count):
    """Few rows move no value of the engine, and need no scipy."""
    rows = [{"concurrency": str(4**place), "value": f"0.0{3 + place}"} for place in range(count)]
    file, target = runs(tmp_path, *rows), tmp_path / "mine.yaml"
    fitted = fastcalc("calibrate", file, "-o", str(target))
    assert fitted.code == 0
    assert f"runs.csv: {count} measurement" in fitted.out
    assert "use it as it is" not in fitted.out + fitted.err
    assert "\nparameters:" not in target.read_text()
    assert fastcalc("check", "--strict", str(target)).code == 0
    words = (*ASKED, "--tp", "4", "--batch", "1,8,64")
    like = records(fastcalc, *words, "--like", file)
    mine = records(fastcalc, *words, "--engine", str(target))
    assert [{**record, "engine": "vllm"} for record in mine] == like


def test_validate_with_that_engine_is_nearer(tmp_path, fastcalc):
    file, target = runs(tmp_path, {"value": "0.03"}), tmp_path / "mine.yaml"
    fastcalc("calibrate", file, "-o", str(target))
    before, after = (
        json.loads(fastcalc("validate", file, "--format", "json", *words).out)["points"][0][
            "factor"
        ]
        for words in ((), ("--engine", str(target)))
    )
    moved, _ = by_hand([(8, 1500, 1.0, 1.0 / before)], 8)
    assert np.log(after) == pytest.approx(np.log(before) + moved, rel=1e-3)


def test_a_page_says_what_was_off_and_how_it_is_now(tmp_path, fastcalc):
    """One row, 1.3 times as slow as expected."""
    (alone,) = records(fastcalc, *ASKED, "--tp", "4", "--batch", "8")
    value = alone["tpot_ms"] / 1e3
    rows = [{"value": f"{1.3 * value:.6f}"}]
    shown = fastcalc(*ASKED, "--batch", "8", "--like", runs(tmp_path, *rows))
    assert re.search(r"own-001 +decode TPOT +8 +1,500 +1\.30 +- +\[ +\| +o +\]", shown.out)
    moved, _ = by_hand([(8, 1500, 1.0, 1.3)], 8)
    assert re.search(rf"decode +1 +1\.30 +- +{np.exp(-moved):.2f} +0", shown.out)


def test_layouts_of_one_table_are_named_in_their_notes(tmp_path, fastcalc):
    words = ("sweep", "llama-3.1-70b", "--on", "h100-sxm", "--tp", "4,8", "--batch", "8")
    four, eight = records(fastcalc, *words, "--like", runs(tmp_path))
    assert "h100-sxm, 4 chips, tp 4: speeds and ranges are corrected by 1 row" in str(
        four["warnings"]
    )
    assert "runs.csv has measurements for 4 chips, tp 4; other layouts are unchanged" in str(
        eight["warnings"]
    )
    both = runs(tmp_path, {}, {"chips": "8", "tp": "8"})
    (four,) = records(fastcalc, *ASKED, "--tp", "4", "--batch", "8", "--like", both)
    assert "measurements for 8 chips, tp 8 are not used" in str(four["warnings"])


def test_a_misspelt_chip_of_rows_is_blamed_on_the_chip(tmp_path, fastcalc):
    refused = fastcalc(*ASKED, "--like", runs(tmp_path, {"hardware": "h100-smx"}))
    assert refused.code == 2
    assert "vllm" not in refused.err
    assert "'h100-smx'; did you mean h100" in refused.err


def test_rows_fit_a_screen_and_a_chart_before_and_after(tmp_path, fastcalc, monkeypatch):
    """Two rows, each 1.3 times as slow as expected: each is moved by the other alone."""
    plain = records(fastcalc, *ASKED, "--tp", "4", "--batch", "8,64")
    slow = [{"concurrency": f"{row['batch']}", "value": f"{1.3e-3 * row['tpot_ms']:.6f}"}
            for row in plain]  # fmt: skip
    file = runs(tmp_path, *slow)
    monkeypatch.setenv("COLUMNS", "80")
    page = fastcalc("calibrate", file, "-o", str(tmp_path / "mine.yaml"))
    assert len(page.out.splitlines()) <= 24
    moved, _ = by_hand([(8, 1500, 1.0, 1.3)], 64)
    drawn = chart([deployment(*((r["batch"], 1500, 1.0, 1.3) for r in plain))], "vllm")
    before, after, _ = drawn.panels[0].series
    assert before.y.tolist() == pytest.approx([1.3, 1.3])
    assert after.y.tolist() == pytest.approx([1.3 * np.exp(-moved)] * 2)
    assert fastcalc("plot", "calibrate", file).code == 0


@pytest.mark.parametrize(
    ("text", "sentence"),
    [("", "is empty"), ("id,source\n", "columns are missing"), ("\0\1", "1:1")],
)
def test_a_file_that_holds_no_rows_is_refused_in_a_sentence(tmp_path, fastcalc, text, sentence):
    file = tmp_path / "runs.csv"
    file.write_text(text)
    answer = fastcalc(*ASKED, "--like", str(file))
    assert answer.code == 2
    assert sentence in answer.err
    assert fastcalc(*ASKED, "--like", str(tmp_path)).code == 2


@pytest.mark.parametrize(
    "changes",
    [{"value": "1e18"}, {"value": "1e-12"}, {"concurrency": "100000", "value": "1e9"},
     {"prompt": "", "output": ""}, {"notes": "kind=decode; mean context 0"}],
)  # fmt: skip
def test_an_absurd_row_is_no_traceback(tmp_path, fastcalc, changes):
    answer = fastcalc(*ASKED, "--like", runs(tmp_path, changes))
    assert answer.code in (0, 2)
    assert "Traceback" not in answer.err


@pytest.mark.thorough
def test_many_chips_without_rows_are_one_note(tmp_path, fastcalc):
    words = ("compare", "llama-3.1-70b", "--batch", "8", "--on", "nvidia")
    notes = fastcalc(*words, "--like", runs(tmp_path), "--format", "csv").err
    assert notes.count("runs.csv has no measurement of these") == 1
    assert re.search(r"\d+ chips: runs.csv has no", notes)


def test_rows_above_the_bound_move_nothing(tmp_path):
    """A time per token in the wrong unit is beyond any chip: 0.1 ms where 16 GB are read a token."""
    head = ",".join(COLUMNS)
    row = "{id},A,,2026-10,h100-sxm,1,qwen3-8b,vllm,bf16,bf16,1,1,1,1,1,1000,100,tpot_s,{seconds},1,vendor,kind=decode"
    path = tmp_path / "runs.csv"
    path.write_text(f"{head}\n{row.format(id='a-1', seconds=0.0001)}\n")
    with pytest.raises(InputError, match="are the chip and the units right"):
        fc.compare("qwen3-8b", on="h100-sxm", like=path)
    right = row.format(id="a-2", seconds=0.008)
    path.write_text(f"{head}\n{right}\n")
    alone = fc.compare("qwen3-8b", on="h100-sxm", like=path)[0]
    path.write_text(f"{head}\n{row.format(id='a-1', seconds=0.0001)}\n{right}\n")
    both = fc.compare("qwen3-8b", on="h100-sxm", like=path)[0]
    assert both["tpot_ms"] == alone["tpot_ms"]


# What contradicts the prediction.


def warnings_of(tmp_path, fastcalc, *words, **changes):
    (record,) = records(fastcalc, *ASKED, "--batch", "8", *words, "--like", runs(tmp_path, changes))
    return " ".join(record["warnings"])


def test_rows_say_how_many_they_are_of_when_and_what_they_changed(tmp_path, fastcalc):
    (alone,) = records(fastcalc, *ASKED, "--batch", "8", "--tp", "4")
    (like,) = records(
        fastcalc, *ASKED, "--batch", "8", "--like", runs(tmp_path, {"date": "2026-09"})
    )
    moved = like["tokens_per_s_per_user"] / alone["tokens_per_s_per_user"]
    said = " ".join(like["warnings"])
    assert (
        f"measured up to 2026-09. For this row, the speed changes by a factor of {moved:.2f} and"
        in said
    )
    assert "measured up to" not in warnings_of(tmp_path, fastcalc)


def test_old_rows_are_to_be_measured_again(tmp_path, fastcalc):
    date = Catalogue().engine("vllm").date[:7]
    year, month = int(date[:4]), date[5:]
    assert "24 months older" in warnings_of(tmp_path, fastcalc, date=f"{year - 2}-{month}-01")
    assert "older" not in warnings_of(tmp_path, fastcalc, date=date)


def test_speculated_rows_and_plain_predictions_do_not_agree(tmp_path, fastcalc):
    drafted = {"tokens_per_pass": "2.5"}
    assert "1 of 1 rows of runs.csv used speculative decoding" in warnings_of(
        tmp_path, fastcalc, **drafted
    )
    with_drafts = ("--speculate", "2.5")
    assert "no row of runs.csv used speculative decoding" in warnings_of(
        tmp_path, fastcalc, *with_drafts
    )
    agreed = warnings_of(tmp_path, fastcalc, *with_drafts, **drafted)
    assert "speculative" not in agreed


def test_rows_far_from_what_is_expected_are_questioned(tmp_path, fastcalc):
    (alone,) = records(fastcalc, *ASKED, "--batch", "8", "--tp", "4")
    seconds = alone["tpot_ms"] / 1e3
    fast = warnings_of(tmp_path, fastcalc, value=f"{seconds / 1.6}")
    assert "at least 1.6 times as fast" in fast
    assert "are its weights quantized further" in fast
    slow = warnings_of(tmp_path, fastcalc, value=f"{seconds * 2}")
    assert "fastcalc diagnose runs.csv" in slow
    usual = warnings_of(tmp_path, fastcalc, value=f"{seconds * 1.2}")
    assert "half the rows" not in usual


@pytest.mark.parametrize(("chips", "names"), [("abcd", "a, b, c, d"), ("abcde", "5 chips")])
def test_up_to_four_chips_without_rows_are_named(monkeypatch, chips, names):
    monkeypatch.setattr(like, "_of", lambda _: [SimpleNamespace(hardware="measured")])
    compared = [SimpleNamespace(hardware=SimpleNamespace(id=chip)) for chip in chips]
    (note,) = like.Like(Path("runs.csv"), {}, ()).notes(compared)
    assert note.startswith(f"{names}: runs.csv has no measurement of these")


def test_a_second_calibration_extends_the_first_in_the_same_folder(tmp_path, fastcalc):
    file = runs(tmp_path)
    first, second = tmp_path / "first.yaml", tmp_path / "second.yaml"
    assert fastcalc("calibrate", file, "-o", str(first)).code == 0
    elsewhere = tmp_path / "elsewhere" / "second.yaml"
    elsewhere.parent.mkdir()
    refused = fastcalc("calibrate", file, "--engine", str(first), "-o", str(elsewhere))
    assert refused.code == 2
    said = " ".join(refused.err.split())
    assert f"'extends: first' in this file would not find {first}; write both to one" in said
    assert f"folder: -o {second}" in said
    assert not elsewhere.exists()
    assert fastcalc("calibrate", file, "--engine", str(first), "-o", str(second)).code == 0
    assert 'name: "vLLM, fitted on runs.csv, runs.csv"' in second.read_text()
    assert fastcalc("check", "--strict", str(second)).code == 0


@pytest.mark.parametrize(
    ("stem", "name", "hint"),
    [
        ("mine", "first", "rename {path} to first.yaml, which is its id"),
        ("vllm", "vllm", "change the id of {path}, because the catalogue has a vllm, too"),
    ],
)
def test_an_engine_that_its_id_does_not_find_is_not_extended(tmp_path, fastcalc, stem, name, hint):
    path = tmp_path / f"{stem}.yaml"
    path.write_text(f"id: {name}\nextends: vllm-0.19\n")
    words = ("--engine", str(path), "-o", str(tmp_path / "second.yaml"))
    refused = fastcalc("calibrate", runs(tmp_path), *words)
    assert refused.code == 2
    assert hint.format(path=path) in " ".join(refused.err.split())


def test_a_calibration_of_a_release_with_a_variant_is_an_engine_that_loads(tmp_path, fastcalc):
    target = tmp_path / "mine.yaml"
    words = ("--engine", "vllm-0.19+eager", "-o", str(target))
    assert fastcalc("calibrate", runs(tmp_path), *words).code == 0
    assert "\nextends: vllm-0.19+eager\n" in target.read_text()
    assert fastcalc("check", "--strict", str(target)).code == 0
    assert fastcalc(*ASKED, "--batch", "8", "--tp", "4", "--engine", str(target)).code == 0


def test_rows_of_a_program_apply_to_its_releases_and_variants_with_a_note(tmp_path, fastcalc):
    """Not the reverse, and not to another program that extends it, as MLX extends llama.cpp."""
    file = runs(tmp_path, {"engine": "vllm"}, {"engine": "eager", "concurrency": "16"})
    for engine in ("eager", "vllm-0.19+eager"):
        compared = fastcalc(*ASKED, "--like", file, "--engine", engine)
        assert compared.code == 0
        said = " ".join(compared.err.split())
        assert f"1 row was measured with vllm, which {engine} extends" in said
        assert "skipped" not in said
    compared = fastcalc(*ASKED, "--like", file, "--engine", "vllm")
    said = " ".join(compared.err.split())
    assert "1 row is skipped: measured with eager, not vllm" in said
    assert "extends" not in said
    file = runs(tmp_path, {"engine": "llama-cpp"})
    refused = fastcalc(*ASKED, "--like", file, "--engine", "mlx")
    assert refused.code == 2
    assert "measured with llama-cpp, not mlx" in refused.err
