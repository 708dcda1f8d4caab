"""Workload files and traces: what they hold, and a sentence with its place for what is wrong."""

import gzip
import json
import re
from io import BufferedReader, BytesIO

import numpy as np
import pytest

from fastcalc.catalogue.folders import shipped_folder
from fastcalc.errors import InputError
from fastcalc.importers import trace_fields
from fastcalc.importers.trace_fields import (
    UNIT_WORDS,
    arrival_field,
    arrivals_words,
    fields_of,
    unit_of,
)
from fastcalc.importers.traces import _json_requests, read_trace
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
        ([CHAT.replace("1.0,", "0.9985,")], "3:3", "their rate_fraction sum to 0.9985, not to 1"),
        (
            [CHAT.replace("1000", "{type: empirical, params: {1000: 0.9985}}")],
            "3:",
            "shares of empirical lengths sum to 0.9985, not to 1",
        ),
        (
            [CHAT.replace("1000", "{type: lognormal, params: {mean: 0.5, std_dev: 1}}")],
            "3:",
            "mean",
        ),
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


@every(
    "client",
    [
        CHAT.replace("1.0,", "0.9995,"),
        CHAT.replace("1000", "{type: empirical, params: {1000: 0.5, 500: 0.4995}}"),
        CHAT.replace("1000", "{type: lognormal, params: {mean: 1.5, std_dev: 1}}"),
    ],
)
def test_shares_are_rounded_and_lengths_at_least_a_token(tmp_path, client):
    (found,) = read_workload(workload(tmp_path, client)).classes
    assert found.ttft == 1.0


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
    (note,) = read.reading
    assert "TIMESTAMP read as dates (Azure trace format)" in note


@every(
    "text,place,sentence",
    [
        ("", "", "contains no request"),
        ("\n\n", "", "contains no request"),
        ('{"input_length": 5}\n', ":1:1", "output_length is missing"),
        ('{"input_length": "5", "output_length": 1}\n', ":1:2", "input_length is not a whole"),
        ('{"input_length": 5, "output_length": NaN}\n', ":1:21", "output_length is not a whole"),
        ('{"input_length": 5, "output_length": 1e308}\n', ":1:21", "output_length is not a whole"),
        ('{"a": 1}\n{"input', ":1:1", "input_length is missing; the line has a"),
        ("{}", ":1:1", "input_length is missing; the line has no key"),
        ("[1]\n", ":1:1", "not a mapping"),
        ("{\n", ":1:", "not a line of JSON"),
        (
            '{"timestamp": "x", "input_length": 5, "output_length": 1}\n',
            ":1:2",
            "timestamp is not a number",
        ),
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
        ("", ":1:1: the file is empty; write TIMESTAMP,ContextTokens,GeneratedTokens"),
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


@pytest.mark.thorough
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


@pytest.mark.thorough
@every(
    "client,words,sentence",
    [
        (CHAT, ["--max-chips", "1"], "one would meet them with --max-chips"),
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
    assert "says no rate; write aggregate_rate: 20, or give --rate 20/s or --users 500" in ran.err


@pytest.mark.thorough
def test_classes_of_two_models_are_named_and_share_no_replicas(tmp_path, fixtures):
    half = CHAT.replace("1.0", "0.5")
    other = half.replace("id: chat", "id: small, model: llama-3.1-8b")
    shown = planned(fixtures, workload(tmp_path, half, other)).out
    title, _, under = shown.partition("\n\n")
    assert " llama-3.1-70b and llama-3.1-8b: " in " ".join(title.split())
    assert under.count("llama-3.1-8b") == 1  # of the two rows of pools
    assert "One pool for all classes" not in shown
    assert "\nOn-demand price per chip-hour: h100-sxm $2.95 (Nebius, 2026)" in shown


def lines_of(*requests):
    """Return requests as lines of JSON, of 5 and 3 tokens unless they say."""
    return "\n".join(
        json.dumps({"input_length": 5, "output_length": 3} | request) for request in requests
    )


def test_requests_out_of_order_keep_their_own_lengths_and_blocks(tmp_path):
    """Arrivals of 3, 1, 2 and 1 s, with two, none, three and one block of 512 tokens."""
    read = read_trace(
        trace(
            tmp_path,
            lines_of(
                {"timestamp": 3000, "input_length": 1024, "output_length": 9, "hash_ids": [7, 8]},
                {"timestamp": 1000, "input_length": 100, "output_length": 6},
                {"timestamp": 2000, "input_length": 1025, "output_length": 8, "hash_ids": [4, 5, 6]},
                {"timestamp": 1000, "input_length": 1, "output_length": 7, "hash_ids": [3]},
            ),
        )
    )  # fmt: skip
    assert read.arrival.tolist() == [0.0, 0.0, 1.0, 2.0]
    assert read.prompt.tolist() == [100, 1, 1025, 1024]
    assert read.output.tolist() == [6, 7, 8, 9]
    assert (read.blocks.tolist(), read.ends.tolist()) == ([3, 4, 5, 6, 7, 8], [0, 1, 4, 6])
    assert (read.block, read.rate) == (512, 1.5)


def test_lines_without_text_are_passed_over(tmp_path):
    lines = lines_of({"timestamp": 0}, {"timestamp": 1000}, {"timestamp": 3000}).split("\n")
    text = "\ufeff" + "\n\n  \n".join(lines) + "\n\n"
    assert read_trace(trace(tmp_path, text)).arrival.tolist() == [0.0, 1.0, 3.0]


@every(
    "arrivals,rate",
    [
        ([0], None),
        ([5, 5], None),
        ([0, 500], 2.0),
        ([5000, 4000], 1.0),
        ([1000, 1000, 2000], 2.0),
        ([0, 1000, 2000, 3000, 4000], 1.0),
    ],
)
def test_a_rate_is_of_the_requests_after_the_first(tmp_path, arrivals, rate):
    lines = lines_of(*({"timestamp": stamp} for stamp in arrivals))
    read = read_trace(trace(tmp_path, lines))
    assert read.rate == rate
    assert (read.blocks.tolist(), read.ends.tolist()) == ([], []), "no prompt names a block"


@every(
    "arrivals,seconds,milliseconds",
    [([1000, 1001, 1003], "0.667", "667"), ([7003, 7001, 7000], "0.667", "667"), ([0, 1], "1", "1,000")],
)  # fmt: skip
def test_arrivals_in_an_unclear_unit_have_a_rate_in_either(
    tmp_path, arrivals, seconds, milliseconds
):
    """Two requests after the first in 3 s or in 3 ms."""
    lines = lines_of(*({"timestamp": stamp} for stamp in arrivals))
    with pytest.raises(InputError) as error:
        read_trace(trace(tmp_path, lines))
    assert str(error.value).endswith(
        f"the unit of timestamp is not clear: {seconds} requests/s if it is seconds, {milliseconds} "
        "if it is milliseconds; rename it timestamp_s or timestamp_ms"
    )


@every(
    "prompts,block",
    [
        # Blocks of each prompt, rounded up: 40 tokens are three of 16, two of 32, one of 64.
        ({40: 3}, 16),
        ({40: 2}, 32),
        ({65: 2, 64: 1}, 64),
        ({129: 2}, 128),
        ({257: 2}, 256),
        ({33: 2}, 32),
        ({513: 2}, 512),
        ({512: 1}, 512),
        ({1025: 2}, 1024),
        ({40: 3, 100: 0}, 16),
        ({40: 3, 100: 1}, None),
        ({40: 4}, None),
        ({40: 0}, None),
    ],
)
def test_the_size_of_a_block_is_what_makes_as_many_of_each_prompt(tmp_path, prompts, block):
    lines = lines_of(
        *(
            {"input_length": prompt, "hash_ids": list(range(count))}
            for prompt, count in prompts.items()
        )
    )
    assert read_trace(trace(tmp_path, lines)).block == block


@every(
    "requests,arrivals",
    [
        # A turn comes so long after the one before it in its session, which others do not move.
        (
            [
                {"session_id": 1, "timestamp": 1000},
                {"session_id": "1", "timestamp": 4000},
                {"session_id": 1, "delay": 500},
                {"session_id": "1", "delay": 250},
                {"session_id": 1, "delay": 1000},
                {"session_id": 1, "timestamp": 6000, "delay": 9000},
            ],
            [0.0, 0.5, 1.5, 3.0, 3.25, 5.0],
        ),
        # Without either, or before any turn, nothing says when; one such is enough.
        ([{"session_id": 1, "delay": 500}], []),
        ([{}, {"timestamp": 0}], []),
        # A request of no session that has no time is left out where the others have one.
        ([{"timestamp": 0}, {}, {"timestamp": 4000}], [0.0, 4.0]),
        ([{"timestamp": 0}, {"delay": 5}, {"timestamp": 4000}], [0.0, 4.0]),
        ([{"session_id": 1, "timestamp": 0}, {"session_id": 1}], []),
    ],
)
def test_when_requests_arrive(tmp_path, requests, arrivals):
    assert read_trace(trace(tmp_path, lines_of(*requests))).arrival.tolist() == arrivals


@every(
    "request,lengths",
    [
        ({}, (5, 3)),
        ({"input_length": 7.0, "output_length": 2.0}, (7, 2)),
        # What is empty is a token, as every model begins with one.
        ({"input_length": 0, "output_length": 0.0}, (1, 1)),
        ({"input_length": 1, "output_length": 1}, (1, 1)),
        ({"input_length": 1_000_000_000}, (1_000_000_000, 3)),
    ],
)
def test_lengths_are_whole_tokens(tmp_path, request, lengths):
    read = read_trace(trace(tmp_path, lines_of(request)))
    assert (read.prompt[0], read.output[0]) == lengths


@every(
    "request,sentence",
    [
        ({"input_length": 5.5}, ":1:2: input_length is not a whole number of tokens up to"),
        ({"input_length": -1}, ":1:2: input_length is not a whole number of tokens up to"),
        ({"input_length": True}, ":1:2: input_length is not a whole number of tokens"),
        ({"output_length": 1_000_000_001}, ":1:21: output_length is not a whole number of tokens"),
        ({"timestamp": True}, ": timestamp is not a number"),
        ({"timestamp": 1e19}, ": timestamp is not a number"),
        ({"timestamp": -1e19}, ": timestamp is not a number"),
        ({"timestamp": 0, "hash_ids": [1.5]}, ": hash_ids is not a list of whole numbers"),
        ({"timestamp": 0, "hash_ids": [2**63]}, ": hash_ids is not a list of whole numbers"),
    ],
)
def test_a_field_of_a_request_that_is_none_has_its_place(tmp_path, request, sentence):
    path = trace(tmp_path, lines_of(request))
    with pytest.raises(InputError) as refused:
        read_trace(path)
    assert str(refused.value).startswith(str(path))
    assert sentence in str(refused.value)


def test_a_turn_of_no_delay_comes_at_once_and_a_wrong_one_is_refused(tmp_path):
    first = {"session_id": 1, "timestamp": 1000}
    read = read_trace(trace(tmp_path, lines_of(first, {"session_id": 1, "delay": 0})))
    assert read.arrival.tolist() == [0.0, 0.0]
    with pytest.raises(InputError, match=r":2:.*: delay is not a number"):
        read_trace(trace(tmp_path, lines_of(first, {"session_id": 1, "delay": "soon"})))


# Units: published formats by their documentation, the rest by what their digits can be.
_SPACED = [0.072, 0.135, 1.5, 20.166]  # 3 gaps in 20.094 s
_FOURTH = {"chat_id": 7}


@every(
    "fields,rate",
    [
        # Bailian: "timestamp": 61.114, // Seconds; Mooncake and AIPerf: milliseconds.
        ([_FOURTH | {"timestamp": t} for t in _SPACED], 3 / 20.094),
        ([_FOURTH | {"timestamp": t} for t in (0, 1, 3)], 2 / 3),
        ([{"session_id": k, "timestamp": t} for k, t in enumerate((0.5, 250.25, 1000.5))], 2.0),
        ([{"timestamp": 1000 * t} for t in (0, 1, 3)], 2 / 3),
        ([{"timestamp_ms": t} for t in _SPACED], 3e3 / 20.094),
        ([{"timestamp_s": t} for t in (0, 1, 3)], 2 / 3),
        ([{"timestamp_ns": 10**18 - 10**9 + t} for t in (0, 10**9)], 1.0),
        # As milliseconds 150 requests/s, with three decimals: seconds.
        ([{"timestamp": t} for t in (0.0, 6.5, 13.333)], 2 / 13.333),
        # As milliseconds no more than 100 requests/s: whole ones are.
        ([{"timestamp": t} for t in (0, 10, 20)], 100.0),
    ],
)
def test_the_unit_of_arrivals_is_read(tmp_path, fields, rate):
    assert read_trace(trace(tmp_path, lines_of(*fields))).rate == pytest.approx(rate)


@every(
    "stamps,in_seconds",
    [
        ((0, 1, 2), "1"),
        ((0, 9, 19), "0.105"),
        ((0.0, 100.5, 1000.5), "0.002"),
        ((0.0, 0.12345), "8.1"),
    ],
)
def test_a_unit_that_is_not_clear_is_asked_for(tmp_path, stamps, in_seconds):
    path = trace(tmp_path, lines_of(*({"timestamp": stamp} for stamp in stamps)))
    with pytest.raises(InputError) as refused:
        read_trace(path)
    words = f"{path}: the unit of timestamp is not clear: {in_seconds}"
    assert str(refused.value).startswith(words)
    assert str(refused.value).endswith("rename it timestamp_s or timestamp_ms")


_BURST = "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type"
_BURST_NEW = _BURST.replace("Timestamp,", "Timestamp,Session ID,Elapsed time,")


@every(
    "header,rows,lengths,rate",
    [
        (_BURST, ["5,ChatGPT,472,18,490,API log", "45,GPT-4,10,20,30,API log"], (472, 18), 1 / 40),
        (_BURST_NEW, ["5,,1.5,GPT-4,7,8,15,x", "6.5,a,2,GPT-4,10,20,30,x"], (7, 8), 1 / 1.5),
        (
            "arrived_at,num_prefill_tokens,num_decode_tokens",
            ["0.0,374,44", "4.0,3,9"],
            (374, 44),
            0.25,
        ),
        (
            "request_id,request_type,application_id,arrival_timestamp,batch_size,prompt_size,token_size",
            ["0,2,0,0.5,1,374,44", "1,2,0,2.5,1,3,9"],
            (374, 44),
            0.5,
        ),
        (
            "TIMESTAMP,NumImages,ContextTokens,GeneratedTokens",
            ["2024-10-15 00:00:00.000001+00:00,1,374,44", "2024-10-15 00:00:04.000001+00:00,0,3,9"],
            (374, 44),
            0.25,
        ),
        (
            "num_prefill_tokens,num_decode_tokens,pd_ratio",
            ["374,44,8.5", "3,9,0.3"],
            (374, 44),
            None,
        ),
    ],
)
def test_published_tables_are_traces(tmp_path, header, rows, lengths, rate):
    text = "\r\n".join((header, *rows, ""))
    read = read_trace(trace(tmp_path, text, "a.csv"))
    assert (read.prompt[0], read.output[0]) == lengths
    assert read.rate == (rate and pytest.approx(rate))
    packed = tmp_path / "a.csv.gz"
    packed.write_bytes(gzip.compress(text.encode()))
    assert read_trace(packed).rate == read.rate


@every("cut", [10, 40, -9, -4])
def test_a_cut_archive_is_refused(tmp_path, cut):
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(f"{_BURST}\n5,GPT-4,7,8,15,API log\n".encode())[:cut])
    with pytest.raises(InputError, match="damaged or truncated gzip"):
        read_trace(path)


def test_odd_rows_and_failed_requests_are_left_out_and_counted(tmp_path):
    """Three answers in 20 s: one row has words for tokens, one request failed."""
    rows = ["0,m,9,8,17,x", "5,m,many,8,0,x", "7,m,9,0,9,x", "10,m,9,8,17,x", "20,m,9,8,17,x"]
    read = read_trace(trace(tmp_path, "\n".join((_BURST, *rows)), "a.csv"))
    assert (len(read.prompt), read.rate) == (3, pytest.approx(0.1))
    first, failed, odd = read.reading
    assert (
        first
        == "a.csv: 3 requests in 20 s, 0.1 per second (10 s apart on average); Timestamp read as seconds (BurstGPT trace format)"
    )
    assert failed == "a.csv: skipped 1 failed requests (Response tokens 0)"
    assert odd.startswith(f"{tmp_path / 'a.csv'}:3:1: '5,m,many,8,0,x' is not a time and two whole")
    assert odd.endswith("; skipped 1 such rows")
    lines = ['{"timestamp": 0, "input_length": 5, "output_length": 1}', "{", ""] * 2
    lines += ['{"timestamp": 1000, "input_length": 5, "output_length": 1}']
    read = read_trace(trace(tmp_path, "\n".join(lines)))
    assert len(read.prompt) == 3
    assert read.reading[1].endswith(
        "not a line of JSON; write one request per line; skipped 2 such rows"
    )


@pytest.mark.thorough
def test_commands_begin_with_what_a_trace_says(tmp_path, fixtures):
    bailian = [
        {"chat_id": k, "timestamp": k / 2, "input_length": 512, "hash_ids": list(range(32))}
        for k in range(41)
    ]
    path = trace(tmp_path, lines_of(*bailian))
    says = "t.jsonl: 41 requests in 20 s, 2 per second (0.5 s apart on average); timestamp read as seconds (Bailian trace format)"
    for command in (["plan", "--ttft", "2s"], ["caches"]):
        words = (command[0], "llama-3.1-8b", "--traffic", path, "--on", "h100-sxm", *command[1:])
        page = run(*words, **fixtures)
        assert (page.code, says in page.err) == (0, False)
        assert " ".join(page.out.split()).startswith(says)
        records = run(*words, "--format", "json", **fixtures)
        assert (records.code, f"fastcalc: note: {says}\n" in records.err) == (0, True)


def test_lines_of_azure_are_put_in_order_with_their_lengths(tmp_path):
    """Times with and without a zone; no token is one; spaces and empty lines say nothing."""
    read = read_trace(
        trace(
            tmp_path,
            "TIMESTAMP , ContextTokens,GeneratedTokens\n"
            "2024-05-10 00:00:02.500000+00:00,30,3\n"
            "2024-05-10 00:00:00,0,0\n\n"
            "2024-05-10 00:00:02.000000+00:00, 20,2\n",
            "azure.CSV",
        )
    )
    assert read.arrival.tolist() == [0.0, 2.0, 2.5]
    assert (read.prompt.tolist(), read.output.tolist()) == ([1, 20, 30], [1, 2, 3])
    assert read.rate == 0.8


@every("row", ["x,1,2", "2024-05-10 00:00:00,-1,2", "2024-05-10 00:00:00,1,-2",
               "2024-05-10 00:00:00,1.5,2", "2024-05-10 00:00:00,1,0.5", "2024-05-10 00:00:00,1",
               "2024-05-10 00:00:00,1000000001,2", "2024-05-10 00:00:00,1,1000000001",
               "20240510,1,2"])  # a day without separators is a number among dates # fmt: skip
def test_a_line_of_azure_that_is_none_has_its_line(tmp_path, row):
    good = "2024-05-10 00:00:00,1000000000,1"
    path = trace(tmp_path, f"TIMESTAMP,ContextTokens,GeneratedTokens\n{good}\n{row}\n", "a.csv")
    with pytest.raises(InputError, match=r"a\.csv:3:1: .* is not a time and two whole numbers"):
        read_trace(path)


@every(
    "distribution,mean,shortest,longest",
    [
        # Values and weights by hand.
        ("{type: constant, params: {value: 7}}", 7, 7, 7),
        ("{type: empirical, params: {'10': 0.75, '50': 0.25}}", 20, 10, 50),
        ("{type: gaussian, params: {mean: 500, std_dev: 0}}", 500, 500, 500),
        ("{type: lognormal, params: {mean: 500, std_dev: 0.0}}", 500, 500, 500),
        # All that is shorter is as long as the least, all that is longer as the most.
        ("{type: gaussian, params: {mean: 500, std_dev: 50, min: 500, max: 500}}", 500, 500, 500),
        ("{type: exponential, params: {mean: 500, min: 500, max: 500}}", 500, 500, 500),
    ],
)
def test_lengths_of_a_distribution_by_hand(tmp_path, distribution, mean, shortest, longest):
    client = CHAT.replace("output_distribution: 300", f"output_distribution: {distribution}")
    (chat,) = read_workload(workload(tmp_path, client)).classes
    assert chat.output == pytest.approx(mean)
    assert (chat.lengths.output.min(), chat.lengths.output.max()) == (shortest, longest)


def test_the_shortest_length_is_a_token_and_the_longest_what_is_stated(tmp_path):
    for params, shortest, longest in (
        ("mean: 3, std_dev: 50, max: 8", 1, 8),
        ("mean: 5, std_dev: 50, min: 0.25, max: 8", 1, 8),
        ("mean: 5, std_dev: 50, min: 2, max: 8", 2, 8),
    ):
        kind = f"{{type: gaussian, params: {{{params}}}}}"
        client = CHAT.replace("output_distribution: 300", f"output_distribution: {kind}")
        (chat,) = read_workload(workload(tmp_path, client)).classes
        assert (chat.lengths.output.min(), chat.lengths.output.max()) == (shortest, longest)


def test_classes_have_their_shares_limits_models_and_arrivals(tmp_path):
    """Shares of 0.25 and 0.75; a limit of its own comes before that of all."""
    first = CHAT.replace("1.0,", "0.25,").replace("1s}", "2s, prefix_hit: 0.5}")
    second = "{id: batch, rate_fraction: 0.75, input_distribution: 2000, output_distribution: 40, tpot: 50ms, model: small, arrival: {process: gamma, cv: 3}}"
    asked = read_workload(workload(tmp_path, first, second), ttft=9.0, tpot=0.1)
    one, other = asked.classes
    assert (one.share, one.ttft, one.tpot, one.prefix_hit) == (0.25, 2.0, 0.1, 0.5)
    assert (other.share, other.ttft, other.tpot, other.prefix_hit) == (0.75, 9.0, 0.05, 0.0)
    assert (other.prompt, other.output) == (2000, 40)
    assert (asked.models, asked.rate, asked.reuse) == ({"batch": "small"}, 20, None)
    assert one.variation == 1.0
    assert other.variation == 3.0


@every(
    "seconds,words",
    [
        (119.0, "119 s"), (120.0, "2 min"), (7199.0, "120 min"), (7200.0, "2 h"),
        (172_799.0, "48 h"), (172_800.0, "2 days"),
    ],
)  # fmt: skip
def test_a_span_is_told_in_the_largest_unit_that_it_has_twice(seconds, words):
    said = arrivals_words(1000, seconds, 0.27149)
    assert said == f"1,000 requests in {words}, 0.271 per second"


@every(
    "names,format_name",
    [
        ("timestamp input_length output_length chat_id", "Bailian"),
        ("timestamp input_length output_length parent_chat_id", "Bailian"),
        ("timestamp input_length output_length session_id", "AIPerf"),
        ("timestamp input_length output_length delay", "AIPerf"),
        ("timestamp input_length output_length", "Mooncake"),
        ("input_length output_length hash_ids", "Mooncake"),
        ("TIMESTAMP ContextTokens GeneratedTokens", "Azure"),
        ("Timestamp Model,Request tokens", None),
        ("arrived_at num_prefill_tokens num_decode_tokens", "Vidur"),
        ("arrival_timestamp prompt_size token_size", "Splitwise"),
        ("arrival_timestamp prompt_size", None),
    ],
)
def test_a_trace_is_told_by_its_fields(names, format_name):
    fields = fields_of(names.split())
    assert (fields and fields.format) == format_name


@every("field,seconds", [("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9)])
def test_a_field_may_end_with_its_unit(field, seconds):
    assert arrival_field(trace_fields.MOONCAKE, [f"timestamp_{field}"]) == (
        f"timestamp_{field}",
        seconds,
    )
    words = {"s": "", "ms": "milli", "us": "micro", "ns": "nano"}
    assert UNIT_WORDS[seconds] == f"{words[field]}seconds"
    assert arrival_field(trace_fields.MOONCAKE, ["timestamp"]) == ("timestamp", None)


@every(
    "stamps,unit",
    [
        # Whole numbers of at most 100 requests/s as milliseconds are; three decimals above it are seconds.
        ((0, 10, 20), 1e-3),
        ((0, 10, 19), None),
        ((0.0, 6.5, 20.0), None),
        ((0.0, 6.5, 19.5), 1.0),
        ((0.0, 6.5, 19.5005), None),
        # One moment, or one request, has no rate in any unit.
        ((7, 7), 1e-3),
        ((), 1e-3),
    ],
)
def test_the_unit_of_digits(stamps, unit):
    assert unit_of(np.array(stamps, dtype=float)) == unit


def test_popular_prefixes_are_the_first(tmp_path):
    """Of three, the second is half and the third a third as popular as the first: 6, 3 and 2 of 11."""
    chat = CHAT.replace("}", ", prefix_length: 64, prefixes: 3, popularity: 1}")
    shared = read_workload(workload(tmp_path, chat)).reuse
    np.testing.assert_allclose(shared.rates, [6 / 11, 3 / 11, 2 / 11])
    assert shared.sizes.tolist() == [64.0] * 3
    assert shared.prompt == 1000.0
    alike = CHAT.replace("}", ", prefix_length: 1000, prefixes: 2}")
    assert read_workload(workload(tmp_path, alike)).reuse.rates.tolist() == [0.5, 0.5]
    longer = CHAT.replace("}", ", prefix_length: 1001}")
    with pytest.raises(InputError, match="is longer than its shortest prompt, 1,000 tokens"):
        read_workload(workload(tmp_path, longer))
    assert read_workload(workload(tmp_path, CHAT)).reuse is None


def _endless(line: bytes):
    """A stream that repeats a line, as a device does, up to 40 MB."""
    return BufferedReader(BytesIO(line * (40_000_000 // len(line))))


@pytest.mark.parametrize(
    ("line", "says", "read"),
    [
        (bytes(1_000_000), "a line of more than 20 MB; write one request per line", 21_000_000),
        (b"\xea\n", "byte 0xea is not UTF-8; save the file as UTF-8", 100_000),
        (b"5\n", "not a mapping; a request has input_length", 100_000),
    ],
)
def test_a_stream_without_requests_is_refused_early(line, says, read):
    stream = _endless(line)
    with pytest.raises(InputError, match=f"zero:1:1: {re.escape(says)}"):
        _json_requests("zero", stream)
    assert stream.tell() <= read
