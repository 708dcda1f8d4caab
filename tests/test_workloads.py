"""Workload files and traces: what they hold, and a sentence with its place for what is wrong."""

import json

import numpy as np
import pytest

from fastcalc.catalogue.folders import shipped_folder
from fastcalc.errors import InputError
from fastcalc.importers.traces import read_trace
from fastcalc.importers.workloads import lengths_of, read_workload
from tests.helpers import every, run

CHAT = (
    "{id: chat, rate_fraction: 1.0, input_distribution: 1000, output_distribution: 300, ttft: 1s}"
)


def workload(tmp_path, *clients, head="aggregate_rate: 20"):
    path = tmp_path / "w.yaml"
    lines = [head, "clients:", *(f"  - {client}" for client in clients)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_a_client_is_a_class(tmp_path):
    asked = read_workload(workload(tmp_path, CHAT))
    (chat,) = asked.classes
    assert (asked.rate, chat.name, chat.share, chat.prompt, chat.output) == (
        20,
        "chat",
        1,
        1000,
        300,
    )
    assert (chat.ttft, chat.tpot, chat.prefix_hit) == (1.0, float("inf"), 0.0)


@every(
    "distribution,mean,longest",
    [
        ("{type: constant, params: {value: 800}}", 800, 800),
        ("{type: empirical, params: {'100': 0.5, '300': 0.5}}", 200, 300),
        ("{type: gaussian, params: {mean: 500, std_dev: 50, min: 400, max: 600}}", 500, 600),
        ("{type: exponential, params: {mean: 500, max: 1000000}}", 500, 5000),
        ("{type: lognormal, params: {mean: 500, std_dev: 500}}", 500, 10_000),
    ],
)
def test_lengths_are_distributions(tmp_path, distribution, mean, longest):
    client = CHAT.replace("input_distribution: 1000", f"input_distribution: {distribution}")
    (chat,) = read_workload(workload(tmp_path, client)).classes
    assert chat.prompt == pytest.approx(mean, rel=5e-3)
    assert chat.lengths.prompt.max() <= longest * 1.0001
    assert chat.lengths.share.sum() == pytest.approx(1.0)


HALF = CHAT.replace("1.0,", "0.5,")


@every(
    "clients,place,sentence",
    [
        ([HALF], "3:3", "their rate_fraction sum to 0.5, not to 1"),
        ([HALF, HALF], "3:3", "'chat' is the id of two of them"),
        ([CHAT.replace(", ttft: 1s", "")], "3:5", "'chat' has no limit; give it ttft: 1s"),
        ([CHAT.replace("ttft", "ttfft")], "3:88", "unknown key 'ttfft'"),
        ([CHAT.replace("1.0", "yes")], "3:31", "'yes' is a boolean to some YAML readers"),
        ([CHAT.replace("1000", "-5")], "3:", "out of range"),
        ([CHAT.replace("1000", "{type: gamma, params: {}}")], "3:", "known: "),
        ([CHAT.replace("1000", "{type: lognormal, params: {mean: 5}}")], "3:", "need std_dev"),
        ([CHAT.replace("input_distribution: 1000, ", "")], "3:5", "'chat' has no lengths"),
        ([CHAT.replace("ttft: 1s", "ttft: 1")], "3:", "has no unit"),
        ([CHAT.replace("1s", "1s, arrival: {process: gamma}")], "3:", "need cv"),
        (
            [CHAT.replace("1000", "{type: empirical, params: {a: 1.0}}")],
            "3:",
            "'a' is not a length",
        ),
    ],
)
def test_what_is_wrong_has_its_place(tmp_path, clients, place, sentence):
    path = workload(tmp_path, *clients)
    with pytest.raises(InputError) as refused:
        read_workload(path)
    assert str(refused.value).startswith(f"{path}:{place}")
    assert sentence in str(refused.value)


def test_who_does_not_wait_needs_no_limit(tmp_path):
    client = CHAT.replace("ttft: 1s", "slo_class: batch")
    assert read_workload(workload(tmp_path, client)).classes[0].ttft == float("inf")


@every("text,sentence", [("", "the file is empty; a workload"), ("- a\n", "a list; a workload")])
def test_a_file_without_clients_is_shown_one(tmp_path, text, sentence):
    path = tmp_path / "w.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=sentence):
        read_workload(path)


MOONCAKE = '{"timestamp": %d, "input_length": %d, "output_length": %d, "hash_ids": [1, 2]}\n'


def trace(tmp_path, text, name="t.jsonl"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def test_a_trace_of_mooncake_has_a_rate_and_lengths(tmp_path):
    """Three requests in two seconds: one a second between the first and the last."""
    lines = MOONCAKE % (1000, 700, 10) + MOONCAKE % (0, 600, 20) + MOONCAKE % (2000, 800, 30)
    read = read_trace(trace(tmp_path, lines))
    assert read.rate == 1.0
    assert read.prompt.tolist() == [600, 700, 800]
    assert read.arrival.tolist() == [0.0, 1.0, 2.0]
    assert (read.blocks.tolist(), read.ends.tolist()) == ([1, 2] * 3, [2, 4, 6])
    asked = read_workload(trace(tmp_path, lines), ttft=1.0)
    assert (asked.rate, asked.classes[0].prompt, asked.classes[0].output) == (1.0, 700, 20)


def test_turns_of_a_session_come_after_their_delay(tmp_path):
    turns = [
        {"session_id": "a", "timestamp": 0, "input_length": 5, "output_length": 1},
        {"session_id": "a", "delay": 4000, "input_length": 9, "output_length": 1},
    ]
    read = read_trace(trace(tmp_path, "\n".join(map(json.dumps, turns))))
    assert read.arrival.tolist() == [0.0, 4.0]
    turns = [{key: turn[key] for key in ("input_length", "output_length")} for turn in turns]
    assert read_trace(trace(tmp_path, "\n".join(map(json.dumps, turns)))).rate is None


def test_azures_csv_is_a_trace(tmp_path):
    text = (
        "TIMESTAMP,ContextTokens,GeneratedTokens\n"
        "2023-11-16 18:15:46.6805900,374,44\n2023-11-16 18:15:48.6805900,396,109\n"
    )
    read = read_trace(trace(tmp_path, text, "azure.csv"))
    assert (read.rate, read.prompt.tolist(), read.output.tolist()) == (0.5, [374, 396], [44, 109])


@every(
    "text,place,sentence",
    [
        ("", "", "holds no request"),
        ("\n\n", "", "holds no request"),
        ('{"input_length": 5}\n', ":1:1", "output_length is missing"),
        ('{"input_length": "5", "output_length": 1}\n', ":1:2", "input_length is not a whole"),
        ('{"input_length": 5, "output_length": NaN}\n', ":1:21", "output_length is not a whole"),
        ('{"input_length": 5, "output_length": 1e308}\n', ":1:21", "output_length is not a whole"),
        ('{"a": 1}\n{"input', ":1:1", "input_length is missing"),
        ("[1]\n", ":1:1", "not a mapping"),
        ("{\n", ":1:", "not a line of JSON"),
        ('{"timestamp": "x", "input_length": 5, "output_length": 1}\n', ":1:2", "milliseconds"),
    ],
)
def test_what_is_no_request_has_its_line(tmp_path, text, place, sentence):
    path = trace(tmp_path, text)
    with pytest.raises(InputError) as refused:
        read_trace(path)
    assert str(refused.value).startswith(f"{path}{place}")
    assert sentence in str(refused.value)


@every(
    "text,sentence",
    [
        ("", "the first line is not"),
        ("TIMESTAMP,ContextTokens,GeneratedTokens\nx,1\n", "not a time and two whole"),
        ("TIMESTAMP,ContextTokens,GeneratedTokens\nnever,1,2\n", ":2:1: 'never,1,2' is not a time"),
        ("TIMESTAMP,ContextTokens,GeneratedTokens\n", "for example 2023-11-16 18:15:46,1000,200"),
    ],
)
def test_what_is_no_csv_of_azure_is_said(tmp_path, text, sentence):
    with pytest.raises(InputError, match=sentence):
        read_trace(trace(tmp_path, text, "a.csv"))


def test_other_files_are_refused(tmp_path):
    (tmp_path / "b.jsonl").write_bytes(b"\xff\xfe\x00")
    for name, sentence in (
        ("", "is a folder"),
        ("no.jsonl", "cannot be read"),
        ("b.jsonl", "UTF-8"),
    ):
        with pytest.raises(InputError, match=sentence):
            read_trace(tmp_path / name)


def test_a_few_lengths_stand_for_a_trace(tmp_path):
    """The means are those of all requests, and the longest prompt is not averaged away."""
    dice = np.random.default_rng(1)
    lines = "".join(
        MOONCAKE % (1000 * place, prompt, output)
        for place, (prompt, output) in enumerate(dice.integers(1, 5000, (3000, 2)).tolist())
    )
    read = read_trace(trace(tmp_path, lines))
    lengths = lengths_of(read)
    assert len(lengths.share) < 200
    assert lengths.mean(lengths.prompt) == pytest.approx(read.prompt.mean())
    assert lengths.mean(lengths.output) == pytest.approx(read.output.mean())
    assert lengths.prompt.max() > np.quantile(read.prompt, 0.999)


def planned(fixtures, path, *words):
    """Return what `plan` does with classes on one kind of chip."""
    return run("plan", "llama-3.1-70b", "--traffic", path, "--on", "h100-sxm", *words, **fixtures)


@pytest.fixture
def fixtures(capsys, monkeypatch):
    return {"capsys": capsys, "monkeypatch": monkeypatch}


def test_a_plan_says_what_each_class_gets(fixtures):
    ran = planned(
        fixtures,
        shipped_folder("evidence").parent / "docs/examples/my-mix.yaml",
        "--format",
        "json",
    )
    document = json.loads(ran.out)
    assert ran.code == 0
    assert [served["class"] for served in document["classes"]] == ["chat", "code", "documents"]
    for served in document["classes"]:
        assert served["ttft_ms"] <= served["ttft_limit_ms"]
        assert served["tpot_ms"] <= served["tpot_limit_ms"]
    chips = sum(record["chips_total"] for record in document["records"])
    assert chips == document["sharing"]["cheapest"]["chips"]
    assert chips <= min(sharing["chips"] for sharing in document["sharing"].values())


@every(
    "client,words,sentence",
    [
        (CHAT, ["--max-chips", "1"], "all classes together would with --max-chips"),
        (CHAT.replace("1s", "1s, model: nobody"), [], "nobody"),
        (CHAT.replace("1000,", "900000,"), [], "prompt + output of 'chat' = 900,300 tokens"),
    ],
)
def test_why_there_is_no_plan_names_the_class(tmp_path, fixtures, client, words, sentence):
    ran = planned(fixtures, workload(tmp_path, client), *words)
    assert ran.code in (1, 2)
    assert sentence in ran.err


def test_a_file_without_a_rate_asks_for_one(tmp_path, fixtures):
    ran = planned(fixtures, workload(tmp_path, CHAT, head="version: '2'"))
    assert ran.code == 2
    assert "says no rate; write aggregate_rate: 20, or give --rate 20/s or --people 500" in ran.err


def test_classes_of_two_models_are_named_and_share_no_replicas(tmp_path, fixtures):
    half = CHAT.replace("1.0", "0.5")
    other = half.replace("id: chat", "id: small, model: llama-3.1-8b")
    shown = planned(fixtures, workload(tmp_path, half, other)).out
    title, _, under = shown.partition("\n\n")
    assert " for llama-3.1-70b and llama-3.1-8b, " in " ".join(title.split())
    assert under.count("llama-3.1-8b") == 1  # of the two rows of pools
    assert "all classes on the same replicas" not in shown
    assert "\nPrice per chip-hour: h100-sxm $2.95 (on-demand, Nebius eu-north1, 2026, " in shown
