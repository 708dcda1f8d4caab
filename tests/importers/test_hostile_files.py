"""Files that others wrote, as they must not be: a sentence with the place, and no long wait."""

import json
import os
import threading
import time

import pytest

import fastcalc as fc
from fastcalc.errors import InputError
from fastcalc.evidence.earlier import factors_in
from fastcalc.features.measure import validate
from fastcalc.importers.start_log import _LINES, read_start
from fastcalc.importers.traces import read_trace
from fastcalc.importers.workloads import read_workload
from tests.helpers import ROOT, every, run

AZURE = "TIMESTAMP,ContextTokens,GeneratedTokens\n"
TIME = "2023-11-16 18:15:46"
BIG = "9" * 5000
DEEP = "[" * 100_000


def refusal(read, path, content):
    """Return the sentence that a file is refused with, which begins with the file's name."""
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InputError) as refused:
        read(path)
    sentence = str(refused.value)
    assert sentence.startswith(str(path))
    assert len(sentence) < len(str(path)) + 300
    return sentence.removeprefix(str(path))


@every(
    "row,said",
    [
        ("NaT,1000,200", ":2:1: 'NaT,1000,200' is not a time"),
        ("today,1000,200", ":2:1: 'today"),
        ("2023-13-16 18:15:46,1000,200", ":2:1: "),
        (f"{TIME},nan,200", ":2:1: "),
        (f"{TIME},1e400,200", ":2:1: "),
        (f"{TIME},1_000,200", ":2:1: "),
        (f"{TIME},\uff11\uff12,200", ":2:1: "),
        (f"{TIME},{BIG},200", ":2:1: "),
        (f"{TIME},1.5,200", ":2:1: "),
        (f"{TIME},-1,200", ":2:1: "),
        (TIME, ":2:1: "),
        ("x" * 140_000 + ",1,1", ":2:1: a cell of more than 100,000 letters"),
        ("x" * 2_000_000 + ",1,1", ":2:1: a line of more than"),
        (f"{TIME},10\r00,200", ":2:23: the line end here differs from the others"),
        (f'{TIME},"1000,200', ":2:21: the quote that opens here is never closed"),
        (f'{TIME},1"0"00,200', ":2:"),
    ],
)
def test_a_row_of_a_recording_is_refused_with_its_place(row, said, tmp_path):
    assert refusal(read_trace, tmp_path / "a.csv", AZURE + row + "\n").startswith(said)


@every("content", [b"\xff\xfeT\0", b"\xff", DEEP.encode(), b"\0" * 5000, BIG.encode()])
def test_what_is_no_recording_is_refused(content, tmp_path):
    for name in ("a.csv", "a.jsonl"):
        assert refusal(read_trace, tmp_path / name, content).startswith(":1:")


@every(
    "line",
    [
        f'{{"input_length": {BIG}, "output_length": 1}}',
        f'{{"input_length": 1, "output_length": 1, "timestamp": {BIG}}}',
        '{"input_length": 1, "output_length": 1, "timestamp": Infinity}',
        '{"input_length": 1, "output_length": 1, "timestamp": "NaT"}',
        f'{{"input_length": 1, "output_length": 1, "hash_ids": [{BIG}]}}',
        f'{{"input_length": 1, "output_length": 1, "hash_ids": {DEEP}}}',
        '{"input_length": 1, "output_length": 1}\r{"input_length": 1, "output_length": 1}',
    ],
)
def test_a_line_of_a_recording_is_refused_with_its_place(line, tmp_path):
    assert refusal(read_trace, tmp_path / "a.jsonl", line).startswith(":1:")


def test_lone_carriage_returns_may_end_the_lines_of_a_recording(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(f"\ufeff{AZURE}{TIME},1000,200\n{TIME},1,2\n".replace("\n", "\r").encode())
    assert read_trace(path).prompt.tolist() == [1000, 1]


def test_times_of_a_recording_may_name_their_zone(tmp_path):
    """Ten seconds by the clock, and two hours of zones between them."""
    path = tmp_path / "a.csv"
    path.write_text(f"{AZURE}{TIME}+00:00,10,1\n2023-11-16 20:15:56.00+02:00,20,1\n")
    assert read_trace(path).arrival.tolist() == [0.0, 10.0]


@every("apart,is_refused", [(1e-15, True), (1e-4, True), (1e-2, False), (9e16, True)])
def test_a_recording_arrives_at_a_rate_that_there_is(apart, is_refused, tmp_path):
    """At 0.0001 ms from one to the next there are ten million requests a second."""
    path = tmp_path / "a.jsonl"
    request = {"input_length": 10, "output_length": 1}
    path.write_text(
        "".join(json.dumps(request | {"timestamp_ms": k * apart}) + "\n" for k in range(5))
    )
    if not is_refused:
        assert read_trace(path).rate == pytest.approx(1e3 / apart)
        return
    with pytest.raises(InputError, match="out of range"):
        read_trace(path)


@every(
    "kind,params,said",
    [
        ("lognormal", "mean: 5000, std_dev: 10, max: 10", "mean 5000 is above max 10"),
        ("gaussian", "mean: 5, std_dev: 10, min: 100", "mean 5 is below min 100"),
        ("exponential", "mean: 5000, min: 1, max: 4999", "mean 5000 is above max 4999"),
        ("lognormal", "mean: 1.0e+400, std_dev: 10", "finite"),
        ("lognormal", "mean: .nan, std_dev: 10", "number"),
        ("empirical", "'\u00b2': 1.0", "is not a length"),
        ("empirical", f"'{'9' * 400}': 1.0", "is not a length"),
        ("constant", f"value: {'9' * 4400}", "number"),
    ],
)
def test_lengths_that_cannot_be_are_refused(kind, params, said, tmp_path):
    text = (
        "clients:\n- {id: a, rate_fraction: 1.0, ttft: 1s, output_distribution: 3,\n"
        f"   input_distribution: {{type: {kind}, params: {{{params}}}}}}}\n"
    )
    sentence = refusal(read_workload, tmp_path / "w.yaml", text)
    assert sentence.startswith(":3:")
    assert said in sentence


def test_an_aggregate_rate_is_one_that_there_is(tmp_path):
    client = "{id: a, rate_fraction: 1.0, ttft: 1s, output_distribution: 3, input_distribution: 3}"
    text = f"aggregate_rate: 2000000\nclients:\n- {client}\n"
    assert refusal(read_workload, tmp_path / "w.yaml", text).startswith(":1:17: aggregate_rate")


@every(
    "content,said",
    [
        ("id,factor\nx" + "y" * 140_000 + ",1.2\n", ":2:1: a cell of more than 100,000 letters"),
        ("id,factor\nx\ry,1.2\n", ":2:2: the line end here differs from the others"),
        ('id,factor\nx,"1.2\n', ":2:3: the quote that opens here is never closed"),
        ("id,factor\nx,NaT\n", ":2:3: factor 'NaT' is not a number from 1"),
        ("id,factor\nx,1e400\n", ":2:3: factor '1e400'"),
        (f"id,factor\nx,{BIG}\n", ":2:3: factor '999"),
        ("id,factor\nx,\uff12\n", ":2:3: factor"),
        ("id,factor\nx\n", ":2:2: factor ''"),
        ("id,factor\nx,0.5\n", ":2:3: factor '0.5'"),
        ("", ":1:1: has no columns id and factor"),
        ("id,other\n", ":1:1: has no columns id and factor"),
        (b"\xff\xfei\0", ":1:1: the file is UTF-16"),
        (b"id,factor\nx\0\xff,1.2\n", ":2:3: byte 0xff is not UTF-8"),
    ],
)
def test_what_an_earlier_version_wrote_is_refused_with_its_place(content, said, tmp_path):
    assert refusal(factors_in, tmp_path / "b.csv", content).startswith(said)


def test_a_baseline_is_refused_before_anything_is_predicted(tmp_path, monkeypatch):
    monkeypatch.setattr(validate, "validate_shipped", None)
    path = tmp_path / "b.csv"
    path.write_text("id,other\n")
    with pytest.raises(InputError, match="has no columns id and factor"):
        fc.validate(baseline=path)


def test_an_earlier_version_may_have_written_lone_carriage_returns(tmp_path):
    path = tmp_path / "b.csv"
    path.write_bytes(b"\xef\xbb\xbfid,factor\rx,1.25\r")
    assert factors_in(path) == {"x": 1.25}


VLLM = "INFO [utils.py:233] non-default args: {'model': 'Qwen/Qwen3-8B'}\n"
NO_NUMBERS = (",", "1.2.3", "1e400", BIG, "\uff11\uff12", "1_000", "1,5", "1e300")


@every("number", NO_NUMBERS)
def test_a_number_that_no_server_logs_is_refused_with_its_place(number, tmp_path):
    path = tmp_path / "s.log"
    for line, column in (
        (f"GPU KV cache size: {number} tokens", 20),
        (f"Available KV cache memory: {number} GiB", 28),
        (f"model weights take {number}GiB;", 20),
        (f"max_total_num_tokens={number}, chunked_prefill_size=8192", 22),
        (f"# GPU blocks: {number}, # CPU blocks: 512", 15),
        (f"Maximum concurrency for 4,000 tokens per request: {number}x", 51),
    ):
        sentence = refusal(read_start, path, f"{VLLM}{line}\n")
        assert sentence.startswith(f":2:{column}: '")


@every(
    "settings,said",
    [
        ("gpu_memory_utilization=1.2.3", "gpu_memory_utilization '1.2.3' is not a number"),
        (f"tensor_parallel_size={BIG}", "tensor_parallel_size '999"),
        ("tensor_parallel_size=1e400", "tensor_parallel_size '1e400'"),
        ("max_model_len=1.5", "max_model_len '1.5'"),
        ("block_size=1e300", "block_size '1e300'"),
        ("max_num_seqs=\uff11\uff12", "max_num_seqs"),
    ],
)
def test_a_setting_that_no_server_has_is_refused_with_its_place(settings, said, tmp_path):
    text = (
        f"non-default args: {{}}\nargs: Namespace({settings})\n# GPU blocks: 100, # CPU blocks: 5\n"
    )
    sentence = refusal(read_start, tmp_path / "s.log", text)
    assert sentence.startswith(f":2:17: {said}")


def test_a_word_or_a_sign_leaves_a_setting_open(tmp_path):
    path = tmp_path / "s.log"
    path.write_text(f"{VLLM}args: Namespace(max_model_len=-1, block_size=None, version=v{BIG})\n")
    start = read_start(path)
    assert start.number("max_model_len") is None
    assert not start.is_early


@pytest.mark.thorough
@every("words", sorted({words for words, *_ in _LINES} | {"model='", "model    ", "'", "["}))
def test_a_long_line_of_a_log_takes_time_in_proportion(words, tmp_path):
    """200 kB of what begins a pattern: in a quadratic one that takes minutes."""
    path = tmp_path / "s.log"
    path.write_text(VLLM + words * (200_000 // len(words)) + "\n")
    start = time.process_time()
    read_start(path)
    assert time.process_time() - start < 20.0


def test_a_pipe_may_be_looked_at_twice(tmp_path, capsys, monkeypatch):
    """As `--like <(...)` has it: its kind is asked for, then its rows, then with what was missing."""
    result = (ROOT / "tests" / "measured" / "vllm-closed.json").read_bytes()
    pipe = tmp_path / "runs.json"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(result,), daemon=True)
    writer.start()
    words = ["compare", "llama-3.1-8b", "--on", "h100-sxm", "--tp", "1", "--like", str(pipe)]
    ran = run(*words, capsys=capsys, monkeypatch=monkeypatch)
    writer.join(5.0)
    (tmp_path / "file.json").write_bytes(result)
    words[-1] = str(tmp_path / "file.json")
    as_file = run(*words, capsys=capsys, monkeypatch=monkeypatch)
    assert ran.code == as_file.code
    assert ran.err.replace(str(pipe), "") == as_file.err.replace(words[-1], "")
