"""The CSV of measured points: what is read, and the sentence for all that is not."""

import csv
import io
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastcalc.catalogue.store import Catalogue
from fastcalc.errors import InputError
from fastcalc.evidence import text_files
from fastcalc.evidence.deployments import PointDeployments, UnpredictableError
from fastcalc.evidence.point import COLUMNS, COUNTS, METRICS, NUMBERS
from fastcalc.evidence.points import MOST_FAULTS, Point, points_in, read_points
from fastcalc.importers import any_file

HEADER = ",".join(COLUMNS)
ROW = {
    "id": "mine-001", "source": "own", "url": "", "date": "2026-11", "hardware": "h100-sxm",
    "chips": "8", "model": "llama-3.1-70b", "engine": "vllm", "weights": "fp8", "kv": "bf16",
    "tp": "4", "ep": "", "pp": "1", "dp": "2", "concurrency": "16", "prompt": "1000",
    "output": "500.5", "metric": "tokens_per_s_total", "value": "812.25", "tokens_per_pass": "1",
    "measured_by": "us", "notes": "kind=e2e_concurrency; static batch; requests 64",
}  # fmt: skip


def line(**cells: str) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerow({**ROW, **cells}.values())
    return out.getvalue().removesuffix("\n")


def read(*lines: str):
    return points_in("p.csv", "\n".join(lines).split("\n"))


def sentences(*lines: str) -> list[str]:
    return read(*lines).sentences()


def point(**cells: str) -> Point:
    (one,) = read(HEADER, line(**cells)).demand()
    return one


def test_a_row_is_a_point():
    one = point()
    assert (one.chips, one.tp, one.ep, one.pp, one.dp, one.concurrency) == (8, 4, None, 1, 2, 16)
    assert (one.prompt, one.output, one.value, one.tokens_per_pass) == (1000.0, 500.5, 812.25, 1.0)
    assert (one.hardware, one.engine, one.url, one.line) == ("h100-sxm", "vllm", "", 2)


def test_the_notes_speak_to_a_program():
    one = point()
    assert (one.kind, one.requests, one.is_static) == ("e2e_concurrency", 64, True)
    other = point(notes="kind=decode; power cap; mean context 4,989.5, live traffic; requests")
    assert (other.kind, other.mean_context) == ("decode", 4989.5)
    assert other.requests is None
    assert not other.is_static
    assert point(notes="so mean context is N/2; kind=late").kind is None
    assert point(notes="mean context N/2").mean_context is None


@pytest.mark.parametrize(
    ("notes", "memory"),
    [
        ("kind=decode; host=desktop; use=stream;place= experts=host ;x", ("desktop", "stream", "experts=host")),
        ("kind=decode; host=dram=64GiB@80GB/s,link=32GB/s", ("dram=64GiB@80GB/s,link=32GB/s", None, None)),
        ("kind=decode; the host=desktop of the rack", (None, None, None)),
    ],
)  # fmt: skip
def test_the_notes_name_a_host_and_what_lives_there(notes, memory):
    one = point(notes=notes)
    assert one.memory == memory
    assert one.is_offloaded == (memory[0] is not None)


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("gptfast-001", "gptfast"),
        ("a-b-7", "a-b"),
        ("first", "own"),
        ("x-1b", "own"),
        ("-1", "own"),
    ],
)
def test_points_of_one_source_share_a_key(name, key):
    assert point(id=name).source_key == key


@pytest.mark.parametrize("metric", METRICS)
def test_times_are_reported_from_rates(metric):
    assert point(metric=metric).is_time == (metric in {"ttft_s", "tpot_s"})


def test_columns_come_in_any_order():
    names = sorted(COLUMNS)
    (one,) = read(",".join(names), ",".join(f'"{ROW[name]}"' for name in names)).demand()
    assert one == point()


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends_blank_lines_and_a_byte_order_mark_do_not_matter(tmp_path, end):
    path = tmp_path / "p.csv"
    lines = [HEADER, "", line(), "   ", ",,,", line(id="mine-002"), "", ""]
    path.write_bytes(b"\xef\xbb\xbf" + end.join(lines).encode())
    found = read_points(path)
    assert [one.line for one in found.demand()] == [3, 6]


def test_lengths_are_means_and_may_be_longer_than_there_are_chips():
    """A prompt of two and a half million tokens and a half is one; so many chips are not."""
    one = point(prompt="2500000.5", output="0")
    assert (one.prompt, one.output) == (2_500_000.5, 0)


COLUMN = {
    name: sum(len(cell) + 1 for cell in list(ROW.values())[:place]) + 1
    for place, name in enumerate(ROW)
}
"""Where a cell begins: the cells before it, a comma after each, counted from 1."""


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        ({"value": "fast"}, "value is 'fast', not a number; write only the number"),
        ({"value": "1,234.5"}, "value is '1,234.5', not a number; write 1234.5"),
        ({"value": "3,5"}, "value is '3,5', not a number; write a decimal point"),
        ({"value": "0"}, "value is 0; a measured value is above 0"),
        ({"value": "-3"}, "value is -3; a measured value is above 0"),
        ({"value": "nan"}, "value is 'nan', not a number"),
        ({"value": "inf"}, "value is 'inf', not a number"),
        ({"value": "1e999"}, "value is '1e999', not a number"),
        ({"value": "1_0"}, "value is '1_0', not a number"),
        ({"value": "\u0663"}, "value is '\u0663', not a number"),
        ({"value": ""}, "value is empty"),
        ({"prompt": "-1"}, "prompt is -1; a length is 0 or more tokens"),
        ({"output": "many"}, "output is 'many', not a number; leave the cell empty"),
        ({"concurrency": "2.5"}, "concurrency is '2.5'; write a whole number"),
        ({"concurrency": "16.0"}, "concurrency is '16.0'; write 16"),
        ({"concurrency": "0"}, "concurrency is '0'; it is 1 or more"),
        ({"concurrency": "9" * 5000}, f"concurrency is '{'9' * 57}...'"),
        ({"ep": "-2"}, "ep is '-2'; it is 1 or more"),
        ({"tokens_per_pass": "0.5"}, "tokens_per_pass is 0.5; a step yields at least 1 token"),
        ({"metric": "tokens_per_s"}, "no metric is called 'tokens_per_s'; did you mean 'tokens_per_s_"),
        ({"metric": "TPOT_S"}, "did you mean 'tpot_s'?"),
        ({"metric": "watts"}, "no metric is called 'watts'; it is one of tokens_per_s_per_user"),
        ({"id": ""}, "id is empty"),
        ({"hardware": " "}, "hardware is empty; 'fastcalc list hardware'"),
        ({"model": ""}, "model is empty"),
        ({"chips": "16"}, "chips is 16 but tp 4 x pp 1 x dp 2 is 8"),
        ({"value": "1\n2"}, "value is '1\\n2', not a number"),
    ],
)  # fmt: skip
def test_a_wrong_cell_is_said_with_its_place(cells, said):
    (name,) = cells
    (sentence,) = sentences(HEADER, line(**cells), line(id="mine-002"))
    assert sentence.startswith(f"p.csv:2:{COLUMN[name]}: "), sentence
    assert said in sentence


def test_all_faults_of_all_rows_are_said_in_order():
    found = read(HEADER, line(value="x", chips="y"), line(id="mine-002"), line(metric="z", id=""))
    assert [(fault.line, fault.column) for fault in found.faults] == [
        (2, COLUMN["chips"]),
        (2, COLUMN["value"]),
        (4, 1),
        (4, COLUMN["metric"] - len(ROW["id"])),
    ]
    assert [one.id for one in found.points] == ["mine-002"]
    with pytest.raises(InputError, match=r"(?s)p\.csv:2.*p\.csv:4"):
        found.demand()


def test_faults_beyond_what_people_read_are_counted():
    found = read(HEADER, *(line(id=f"a-{row}", value="0") for row in range(MOST_FAULTS + 1234)))
    assert len(found.faults) == MOST_FAULTS
    assert found.sentences()[-1] == "p.csv: and 1,234 more"


def test_columns_that_a_source_does_not_state_may_be_left_out():
    found = read("model,hardware,value,metric", "qwen3-8b,l40s,20,tpot_s", "qwen3-8b,l40s,x,tpot_s")
    (one,) = found.points
    full = dict.fromkeys(ROW, "") | {"id": "row-2", "model": "qwen3-8b", "hardware": "l40s"}
    (same,) = read(HEADER, line(**full | {"value": "20", "metric": "tpot_s"})).points
    assert one == same
    assert found.sentences() == [
        "p.csv:3:15: value is 'x', not a number; write only the number, in the unit that the metric names"
    ]


def test_an_id_is_given_once():
    (sentence,) = sentences(HEADER, line(), line())
    assert sentence.startswith("p.csv:3:1: id 'mine-001' is already used on line 2")


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([], "p.csv:1:1: the file is empty; its first line must be id,source,"),
        (["", "  "], "p.csv:1:1: the file is empty"),
        ([HEADER.replace(",metric", "")], "p.csv:1:1: 1 column is missing: metric; add them"),
        (["id,hardware"], "3 columns are missing: model, metric, value; add them"),
        ([HEADER.replace("hardware", "hardwere")], "p.csv:1:20: no column is called 'hardwere'; did you mean 'hardware'?"),
        ([HEADER + ",colour"], f"p.csv:1:{len(HEADER) + 2}: no column is called 'colour'; take it out"),
        ([HEADER + ",id"], "column 'id' appears twice, at 1 and 23"),
        ([HEADER.replace(",", ";")], "p.csv:1:1: cells are separated by semicolons here"),
        ([HEADER.replace(",", "\t")], "p.csv:1:1: cells are separated by tabs here"),
        ([line()], "p.csv:1:1: the header is missing; the file begins with id,source,"),
        (["build_commit,n_prompt,n_gen,avg_ts"], "run it with '-o json'"),
    ],
)  # fmt: skip
def test_a_wrong_header_is_the_one_fault(lines, said):
    (sentence,) = sentences(*lines)
    assert said in sentence


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("mine-002,own", "p.csv:3:13: the row has 2 cells, the header 22; the cells from 'url' on"),
        (line(notes="").removesuffix('""') + "a,b", "the row has 23 cells, the header 22; put a cell"),
        ('mine-002,"own,x', "p.csv:3:10: the quote that opens here is never closed"),
        ("mine-002," + "x" * 200_000, "p.csv:3:1: a cell of more than 100,000 letters"),
        ("mine-002,own\rmine-003", "p.csv:3:13: the line end here differs from the others"),
        ('mine-002,"own"x,y', "p.csv:3:10: a quote within a cell"),
        ('mine-002,"own\n' + line(id="mine-003") + '\n",x', "p.csv:3:10: the row has 3 cells"),
    ],
)  # fmt: skip
def test_a_torn_row_is_said_and_the_rest_read(row, said):
    found = read(HEADER, line(), row)
    assert [one.id for one in found.points] == ["mine-001"]
    assert len(found.faults) == 1
    assert said in found.sentences()[0]


def test_a_cell_may_hold_lines_of_its_own():
    text = 'kind=decode; first\nsecond, "quoted"'
    found = read(HEADER, line(notes=text), line(id="mine-002"))
    assert [(one.notes, one.line) for one in found.demand()] == [(text, 2), (ROW["notes"], 4)]


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (HEADER.encode() + b"\nmine-\xe9", ":2:6: byte 0xe9 is not UTF-8; save the file as UTF-8"),
        (HEADER.encode("utf-16"), ":1:1: the file is UTF-16; save the file as UTF-8"),
    ],
)
def test_what_is_no_text_is_a_fault(tmp_path, raw, said):
    path = tmp_path / "p.csv"
    path.write_bytes(raw)
    assert read_points(path).sentences() == [f"{path}{said}"]


def test_a_file_that_cannot_be_read_is_refused(tmp_path):
    for path in (tmp_path, tmp_path / "none.csv", tmp_path / "a\0b"):
        with pytest.raises(InputError, match="cannot be read"):
            read_points(path)


def test_lines_come_from_a_file_one_after_another(tmp_path, monkeypatch):
    """A file of any size is read; a line that has no end is not."""
    path = tmp_path / "p.csv"
    path.write_text("\n".join([HEADER, *(line(id=f"own-{n}") for n in range(300))]))
    monkeypatch.setattr(text_files, "MAX_BYTES", 1000)
    assert len(read_points(path).demand()) == 300
    path.write_text(f"{HEADER}\n{line()}\n" + "x" * 1_000_001)
    (fault,) = read_points(path).sentences()
    assert fault.startswith(f"{path}:3:1: a line of more than 1,000,000 characters")


def test_faults_beyond_those_that_are_kept_are_counted():
    found = read(HEADER, *(line(value="fast") for _ in range(1500)))
    assert (len(found.faults), found.unlisted) == (MOST_FAULTS, 1500 * 2 - 1 - MOST_FAULTS)


NAMES = st.text(st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"]), max_size=20)
NOTES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r"), max_size=20)
COUNT = st.none() | st.integers(1, 1_000_000)
LENGTH = st.none() | st.just(0.0) | st.floats(1e-12, 1e9)


@st.composite
def points(draw):
    cells = {name: draw(NAMES).strip() for name in COLUMNS if name not in NUMBERS}
    cells["notes"] = draw(NOTES).strip()
    cells |= {name: draw(COUNT) for name in COUNTS}
    cells |= {
        "prompt": draw(LENGTH),
        "output": draw(LENGTH),
        "metric": draw(st.sampled_from(METRICS)),
    }
    cells["value"] = draw(st.floats(1e-12, 1e18))
    cells["tokens_per_pass"] = draw(st.none() | st.floats(1, 100))
    cells |= {name: cells[name] or "some" for name in ("hardware", "model")}
    ranks = [cells[name] for name in ("tp", "pp", "dp")]
    if cells["chips"] and all(ranks):
        cells["chips"] = None
    return cells


@pytest.mark.thorough
@given(st.lists(points(), max_size=4))
def test_points_come_back_as_they_were_written(many):
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(COLUMNS)
    for number, cells in enumerate(many):
        cells["id"] = f"p-{number}"
        writer.writerow("" if cell is None else cell for cell in (cells[name] for name in COLUMNS))
    found = points_in("p.csv", out.getvalue().split("\n"))
    assert found.sentences() == []
    assert [{name: getattr(one, name) for name in COLUMNS} for one in found.points] == many


PIECES = st.sampled_from([HEADER, line(), "\n", ",", '"', "\r", "\0", "mine-001", "1e5", "\u2028"])


@given(st.binary(max_size=200))
def test_any_bytes_are_points_or_faults(tmp_path_factory, raw):
    path = tmp_path_factory.getbasetemp() / "any.csv"
    path.write_bytes(raw)
    assert read_points(path).faults or not raw.strip()


@pytest.mark.thorough
@given(st.lists(PIECES | st.text(max_size=5), max_size=12).map("".join))
def test_any_text_is_points_or_faults(text):
    found = points_in("p.csv", f"{HEADER}\n{text}".split("\n"))
    for sentence in found.sentences():
        assert sentence.isprintable()


def test_reading_a_csv_loads_neither_numpy_nor_pydantic():
    code = "import sys, fastcalc.evidence.points; print({'numpy', 'pydantic', 'yaml'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


@pytest.mark.parametrize(
    ("hardware", "chips", "tp", "said"),
    [
        ("h100-sxm", 4, 4, None),
        ("h100-sxm", 4, 8, "chips is 4 but tp 8 x pp 1 x dp 1 is 8"),
        ("inferentia-2", 12, 24, None),  # two cores a chip
        ("inferentia-2", 12, 36, "chips is 12, of 2 ranks each, but tp 36 x pp 1 x dp 1 is 36"),
        ("trainium-2", 1, 4, None),
        ("trainium-2", 1, 2, "chips is 1, of 4 ranks each, but tp 2 x pp 1 x dp 1 is 2"),
    ],
)
def test_ranks_fit_the_chips_or_the_cores_of_that_chip(tmp_path, hardware, chips, tp, said):
    cells = line(hardware=hardware, chips=str(chips), tp=str(tp), pp="1", dp="1")
    path = tmp_path / "mine.csv"
    path.write_text(f"{HEADER}\n{cells}\n")
    sentences = any_file.read(path, catalogue=Catalogue()).sentences()
    assert len(sentences) == (said is not None)
    if said:
        column = cells.index(f",{chips},") + 2
        assert sentences[0].startswith(f"{path}:2:{column}: {said}")


@pytest.mark.parametrize(
    ("model", "weights", "expected"),
    [
        ("Qwen/Qwen3-8B", "", ("qwen3-8b", "")),
        ("Qwen/Qwen3-8B-FP8", "", ("qwen3-8b", "fp8")),
        ("Qwen/Qwen3-8B", "int8", ("qwen3-8b", "int8")),
        ("Qwen/Qwen3-8B-GPTQ-Int4", "", ("qwen3-8b", "gptq-int4-g128")),
        ("nobody/Such-8B", "", ("nobody/Such-8B", "")),
        ("qwen3-8b", "", ("qwen3-8b", "")),
    ],
)
def test_a_row_may_call_its_model_as_a_hub_does(tmp_path, model, weights, expected):
    path = tmp_path / "mine.csv"
    path.write_text(f"{HEADER}\n{line(model=model, weights=weights)}\n")
    for source in (path, tmp_path):
        (point,) = any_file.read(source, catalogue=Catalogue()).demand()
        assert (point.model, point.weights) == expected


def test_a_row_of_a_repository_whose_format_is_not_clear_is_skipped(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text(f"{HEADER}\n{line(model='mine/Qwen3-8B-int4', weights='')}\n")
    read = any_file.read(path, catalogue=Catalogue())
    (skipped,) = read.skipped
    assert (read.points, skipped.line) == ([], 2)
    assert "'mine/Qwen3-8B-int4' is not clear from its name: give it in" in skipped.reason


def test_a_row_may_call_its_chip_as_its_driver_does(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text(f"{HEADER}\n{line(hardware='NVIDIA H100 80GB HBM3')}\n")
    (point,) = any_file.read(path, catalogue=Catalogue()).demand()
    assert point.hardware == "h100-sxm"


def test_ranks_of_a_chip_that_no_file_describes_are_left_to_the_prediction():
    assert not points_in("p.csv", [HEADER, line(chips="4", tp="8", pp="1", dp="1")]).faults
    cells = line(hardware="h100-sxm", chips="4", tp="8", pp="1", dp="1")
    (point,) = points_in("p.csv", [HEADER, cells]).points
    with pytest.raises(UnpredictableError, match="4 chips are not tp 8 x pp 1 x dp 1"):
        PointDeployments(Catalogue()).of(point).placements(1.0)
