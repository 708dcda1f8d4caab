"""``fastcalc measure --url`` against a local server that streams tokens at known rates."""

import signal
import subprocess
import sys
import time

import pytest

import fastcalc as fc
from fastcalc.errors import InputError
from tests.features.benchmark.stand_in import StandIn
from tests.helpers import ROOT

pytest.importorskip("httpx")

ASKED = {"on": "h100-sxm", "batch": "4", "prompt": 60, "output": 10}


def measured(server, tmp_path, **changes):
    file = tmp_path / "measured.csv"
    return fc.measure("qwen3-8b", **ASKED | {"url": server.url, "results": file} | changes), file


@pytest.mark.thorough
def test_times_are_those_of_the_server(tmp_path):
    """TTFT 50 ms, TPOT 10 ms: at concurrency c, c answers of 10 tokens take 50 + 9 x 10 ms.

    A loaded machine sleeps longer, never shorter.
    """
    with StandIn(ttft=0.05, tpot=0.01) as server:
        table, file = measured(server, tmp_path)
    for record in table:
        assert 50.0 <= record["measured_ttft_ms"] < 1000.0
        assert 9.0 <= record["measured_tpot_ms"] < 200.0
        most = record["concurrency"] * 10 / 0.14
        assert 0.05 * most < record["measured_tokens_per_s_total"] <= most
    rows = file.read_text().splitlines()
    assert len(rows) == 1 + 3 * len(table)
    assert all(",h100-sxm,1,qwen3-8b,vllm,bf16,bf16,1," in row for row in rows[1:])


@pytest.mark.thorough
def test_requests_are_bounded_unlike_and_of_the_length_that_was_asked_for(tmp_path):
    """Two tokens a word: 60 tokens are 30 words. One request counts tokens, one warms up."""
    with StandIn() as server:
        table, file = measured(server, tmp_path, runs=1)
        streamed = [body for body in server.seen if body.get("stream")]
    (record,) = table
    assert len(streamed) == record["requests"] + 1
    assert {len(body["prompt"].split()) for body in streamed} == {30}
    assert len({body["prompt"] for body in streamed}) == len(streamed)
    assert {body["max_tokens"] for body in streamed[1:]} == {10}
    assert ",60.0,10.0," in file.read_text()
    assert not any(body["prompt"] in file.read_text() for body in streamed)


@pytest.mark.thorough
def test_results_are_added_to_a_file_and_read_by_every_command(tmp_path):
    with StandIn(ttft=0.06, tpot=0.009) as server:
        first, file = measured(server, tmp_path, runs=1)
        before = file.read_text()
        measured(server, tmp_path, runs=1)
    assert file.read_text().startswith(before)
    ids = [row.split(",")[0] for row in file.read_text().splitlines()[1:]]
    assert ids == [f"measured-{number:03d}" for number in range(1, 7)]
    assert len(fc.validate(file)) == 6
    assert fc.compare("qwen3-8b", like=file, **ASKED).found
    assert (
        first.details["batches"][0]["tokens_per_s_per_user_now"]
        < (first.details["batches"][0]["tokens_per_s_per_user_before"])
    )


@pytest.mark.thorough
def test_rows_of_a_model_named_as_on_a_hub_are_read_again(tmp_path):
    """They once had that name, with which every command skipped them."""
    file = tmp_path / "measured.csv"
    with StandIn(tpot=0.009) as server:
        table = fc.measure("Qwen/Qwen3-8B", **ASKED | {"url": server.url, "results": file})
    assert len(fc.validate(file)) == 3 * len(table)
    assert table.details["batches"][0]["tokens_per_s_per_user_now"] < 120.0  # 111 measured


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        ("one piece", "in one piece: without streaming"),
        ("not streamed", "does not stream its answers"),
        ("no usage", "does not say how many tokens a prompt has"),
        ("breaks off", "broke off"),
        ("error 500", r"refused a request \(HTTP 500\): out of memory"),
        ("no JSON", "streamed invalid JSON"),
        ("no tokens", "answered without a token"),
        ("unknown model", r"does not serve 'Qwen/Qwen3-8B' \(HTTP 404\): The model does not exist"),
        ("key", "asks for a key"),
    ],
)
def test_every_failure_is_a_sentence(fault, sentence, tmp_path):
    with StandIn(fault=fault) as server, pytest.raises(InputError, match=sentence) as caught:
        measured(server, tmp_path)
    assert "nothing was measured" in caught.value.sentence
    assert not (tmp_path / "measured.csv").exists()


@pytest.mark.thorough
def test_a_server_that_hangs_ends_with_the_minutes(tmp_path):
    with StandIn(fault="hangs") as server, pytest.raises(InputError, match="did not end within"):
        measured(server, tmp_path, minutes=0.01)


@pytest.mark.thorough
def test_a_client_that_is_too_slow_says_so(tmp_path, monkeypatch):
    """Here any client is: the limit is none of its time."""
    monkeypatch.setattr("fastcalc.features.benchmark.answer.MOST_BUSY", 0.0)
    monkeypatch.setattr("fastcalc.features.benchmark.server_runs.MOST_BUSY", 0.0)
    with StandIn() as server:
        table, file = measured(server, tmp_path, runs=1)
    assert any("the server may be faster than measured" in note for note in table.notes)
    assert "client busy" in file.read_text()


@pytest.mark.thorough
def test_a_key_is_sent_where_there_is_one(tmp_path, monkeypatch):
    monkeypatch.setenv("FASTCALC_API_KEY", "sesame")
    with StandIn(fault="key") as server:
        assert measured(server, tmp_path, runs=1)[0].found


def test_nobody_listens(tmp_path):
    with StandIn() as server:
        url = server.url
    with pytest.raises(InputError, match="cannot be reached"):
        fc.measure("qwen3-8b", **ASKED, url=url, results=tmp_path / "measured.csv")


@pytest.mark.thorough
def test_the_model_is_found_among_several_and_another_is_refused(tmp_path):
    with StandIn(model="other,Qwen/Qwen3-8B") as server:
        assert measured(server, tmp_path, runs=1)[0].found
    other = StandIn(model="meta-llama/Llama-3.1-8B-Instruct")
    with other as server, pytest.raises(InputError, match=r"serves llama-3\.1-8b"):
        measured(server, tmp_path)
    with StandIn(model="a,b") as server, pytest.raises(InputError, match="serves a and b, none"):
        measured(server, tmp_path)
    with StandIn(model="my-fine-tune") as server:
        assert measured(server, tmp_path, runs=1)[0].found


@pytest.mark.thorough
def test_a_chip_of_the_users_own_is_measured_under_its_file(tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT / "docs" / "examples")
    with StandIn(tpot=0.009) as server:
        table, file = measured(server, tmp_path, on="my-chip.yaml", runs=1)
    assert ",my-chip.yaml,1,qwen3-8b," in file.read_text()
    (row,) = table.details["batches"]
    assert row["tokens_per_s_per_user_now"] != row["tokens_per_s_per_user_before"]


def test_a_folder_that_is_missing_is_noticed_before_any_run(tmp_path):
    with StandIn() as server, pytest.raises(InputError, match="there is no folder"):
        measured(server, tmp_path, results=tmp_path / "no" / "measured.csv")
    assert not server.seen


def test_a_file_of_something_else_is_not_written_to(tmp_path):
    file = tmp_path / "measured.csv"
    file.write_text("a,b\n1,2\n")
    with StandIn() as server, pytest.raises(InputError):
        measured(server, tmp_path)
    assert file.read_text() == "a,b\n1,2\n"


@pytest.mark.thorough
def test_an_interrupt_keeps_what_was_measured(tmp_path):
    """Ctrl-C in the second of two runs."""
    with StandIn(ttft=0.02, tpot=0.01) as server:  # a second for each answer
        words = [sys.executable, "-m", "fastcalc", "measure", "qwen3-8b", "--url", server.url]
        words += ["--on", "h100-sxm", "--batch", "4,64", "--prompt", "60", "--output", "100"]
        with subprocess.Popen(
            words,
            cwd=tmp_path,
            stderr=subprocess.PIPE,
            text=True,
            # A shell's background jobs ignore interrupts, and so would what they start.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        ) as process:
            end = time.monotonic() + 30
            while not (tmp_path / "measured.csv").exists() and time.monotonic() < end:
                time.sleep(0.01)
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "interrupted; 1 of 2 runs kept in measured.csv" in said
    assert "Traceback" not in said
