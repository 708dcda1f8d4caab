"""A run against a server: its times from a few replies, its prompts, and its name."""

import random
from pathlib import Path
from types import SimpleNamespace

import pytest

from fastcalc.features.benchmark import server_runs as page
from fastcalc.features.benchmark.endpoint import Reply
from fastcalc.features.benchmark.server_runs import BenchmarkedServer
from tests.helpers import every, read_or_refusal


def reply(first, last, output, *, chunks=None, prompt=100):
    return Reply(first=first, last=last, output=output, chunks=chunks or output, prompt=prompt)


def served(replies, *, seconds=10.0, tokens=50.0):
    run = SimpleNamespace(concurrency=2)
    return page._served_run(SimpleNamespace(model="a/b"), run, replies, seconds, tokens)


def test_times_of_a_run():
    """First tokens after 1, 2 and 3 s; 4 gaps in 2 s, 1 in 1 s, and none of a single token."""
    found = served([reply(1.0, 3.0, 5, chunks=3), reply(2.0, 3.0, 2), reply(3.0, 3.0, 1)])
    assert (found.completed, found.seconds, found.names) == (3, 10.0, ("a/b",))
    assert (found.ttft.mean, found.ttft.median) == (2.0, 2.0)
    assert found.tpot.mean == pytest.approx((0.5 + 1.0) / 2)
    # Chunks of several tokens: two gaps of 1 s each, and one of 1 s.
    assert found.between_chunks.mean == pytest.approx(1.0)
    assert found.request.mean == 3.0
    assert (found.rate, found.output) == (0.8, 8 / 3)
    assert found.arrivals.limit == 2


def test_prompts_that_the_server_does_not_count_are_as_long_as_they_were_meant():
    found = served([reply(1.0, 2.0, 2), reply(1.0, 2.0, 2, prompt=None)])
    assert found.prompt == 75.0
    one = served([reply(1.0, 1.0, 1)])
    assert (one.tpot.mean, one.between_chunks.mean) == (None, None)


def test_a_prompt_is_of_random_numbers_of_four_digits():
    words = page._prompt(random.Random(1), 500).split(" ")
    assert len(words) == 500
    assert all(len(word) == 4 and word.isdecimal() for word in words)
    assert len(set(words)) > 400
    assert page._prompt(random.Random(2), 500).split(" ") != words


@every("count,said", [(0, "; nothing was measured"), (1, "; 1 of 3 runs kept in r.csv")])
def test_what_was_kept_of_runs_that_ended_early(count, said):
    assert page._so_far([None] * count, [None] * 3, Path("r.csv")) == said


def server(monkeypatch, ids):
    monkeypatch.setattr(page, "model_id", lambda name, _: ids.get(name))
    return BenchmarkedServer(SimpleNamespace(name="org/mine", url="http://u"), "m", "e", {}, None)


@pytest.mark.parametrize(
    ("names", "ids", "found"),
    [
        (["x", "org/mine"], {}, "org/mine"),
        (["x", "y"], {"y": "m"}, "y"),
        # A single name that is unknown may be the model; one of another model is not.
        (["x"], {}, "x"),
        (["x"], {"x": "n"}, "http://u serves n ('x'), not m"),
        (["x", "y"], {}, "http://u serves x and y, none of it m"),
    ],
)
def test_the_model_is_found_among_the_served_names(names, ids, found, monkeypatch):
    assert read_or_refusal(server(monkeypatch, ids).name_among, names) == found


def test_rows_before_are_those_of_this_version(tmp_path, monkeypatch):
    monkeypatch.setattr(page, "read", lambda *_, **__: SimpleNamespace(demand=lambda: None))
    header = page.csv_line(page.COLUMNS)
    assert page._rows_before(tmp_path / "new.csv", None) == header
    file = tmp_path / "r.csv"
    for text, kept in (
        (header, header),
        (f"{header}a", f"{header}a\n"),
        (f"\ufeff{header}a\n", f"{header}a\n"),
    ):
        file.write_text(text)
        assert page._rows_before(file, None) == kept
    file.write_text("other,columns\n")
    assert "is not a CSV of measurements" in read_or_refusal(page._rows_before, file, None)
    assert "there is no folder" in read_or_refusal(
        page._rows_before, tmp_path / "no" / "r.csv", None
    )


def test_rows_are_numbered_after_those_before(tmp_path, monkeypatch):
    written = []
    monkeypatch.setattr(page, "_rows_before", lambda *_: "header\nrow\n")
    monkeypatch.setattr(
        page, "replace", lambda point, **changes: SimpleNamespace(**vars(point) | changes)
    )
    monkeypatch.setattr(page.output, "write_data", lambda data, *_, **__: written.append(data))
    point = SimpleNamespace(**dict.fromkeys(page.COLUMNS, ""))
    page._add(tmp_path / "mine.csv", [point, point], None)
    lines = written[0].decode().splitlines()
    assert lines[:2] == ["header", "row"]
    assert [line.split(",")[0] for line in lines[2:]] == ["mine-002", "mine-003"]
