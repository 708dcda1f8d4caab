"""Answers as files: the format by the ending, workbooks, Parquet, and SARIF for checks."""

import csv
import io
import json

import pytest

from fastcalc.features.dictionary import COMMANDS
from fastcalc.kit.answer.sheets import to_parquet, to_xlsx
from tests.helpers import run_once, sweep


@pytest.fixture
def share(capsys, monkeypatch):
    """Run a command, or say again what it did for another ending."""
    return lambda *args: run_once(*args, capsys=capsys, monkeypatch=monkeypatch)


COMPARE = "compare llama-3.1-8b --on h100-sxm --chips 1 --batch 1,100000"


@pytest.fixture
def run(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    return lambda *args: run_once(*args, capsys=capsys, monkeypatch=monkeypatch)


@pytest.mark.parametrize(
    ("ending", "name"), [("csv", "csv"), ("json", "json"), ("md", "markdown"), ("CSV", "csv")]
)
@pytest.mark.parametrize(
    "command", [COMPARE, "plan llama-3.1-8b --on h100-sxm", "frontier llama-3.1-8b --on h100-sxm"]
)
def test_the_ending_says_the_format(run, tmp_path, command, ending, name):
    assert run(*command.split(), "-o", f"answer.{ending}").out == ""
    assert (tmp_path / f"answer.{ending}").read_text() == run(
        *command.split(), "--format", name
    ).out


@pytest.mark.parametrize("file", ["answer", "answer.txt", "answer.TXT"])
def test_without_an_ending_it_is_the_table(run, tmp_path, file):
    run(*COMPARE.split(), "-o", file)
    assert (
        (tmp_path / file).read_text()
        == run(*COMPARE.split()).out
        == run(*COMPARE.split(), "-o", "-").out
    )


def test_a_format_that_is_named_wins(run, tmp_path):
    run(*COMPARE.split(), "-o", "answer.md", "--format", "json")
    assert len(json.loads((tmp_path / "answer.md").read_text())["records"]) == 2


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (
            "compare -o answer.docx",
            "ends in none of .csv, .json, .md, .html, .xlsx, .parquet or .txt",
        ),
        ("check -o answer.csv", "ends in none of .json, .sarif or .txt"),
        ("sweep -o answer.md", "ends in none of .csv, .json, .parquet or .txt"),
        ("compare --format xlsx", "xlsx cannot go to standard output: give -o FILE.xlsx"),
        ("sweep --format parquet", "parquet cannot go to standard output: give -o FILE.parquet"),
    ],
)
def test_other_endings_are_refused(run, tmp_path, args, sentence):
    ran = run(*args.split())
    assert (ran.code, ran.out, list(tmp_path.iterdir())) == (2, "", [])
    assert sentence in " ".join(ran.err.split())


@pytest.mark.thorough
def test_a_workbook_holds_numbers_units_and_the_dates_of_prices(run, tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    run(*COMPARE.split(), "-o", "answer.xlsx")
    book = openpyxl.load_workbook(tmp_path / "answer.xlsx")
    header, first, second = book["records"].iter_rows(values_only=True)
    plain = json.loads(run(*COMPARE.split(), "--format", "json").out)
    assert list(header) == list(plain["records"][0])
    speed = header.index("tokens_per_s_per_user")
    assert first[speed] == plain["records"][0]["tokens_per_s_per_user"]
    assert second[speed] is None  # 100,000 sequences do not fit
    about = {row[0]: row[1:] for row in book["about"].iter_rows(values_only=True) if row[0]}
    assert about["tpot_ms"][0] == "ms"
    prices = plain["assumptions"]["prices"]["h100-sxm"]
    assert about["assumptions prices h100-sxm date"][1] == prices["date"]
    content = (tmp_path / "answer.xlsx").read_bytes()
    run(*COMPARE.split(), "-o", "answer.xlsx")
    assert (tmp_path / "answer.xlsx").read_bytes() == content


def test_a_workbook_shows_few_digits_and_keeps_all(run, tmp_path):
    """Three significant ones as in a table, whole numbers in full; the value has twelve."""
    openpyxl = pytest.importorskip("openpyxl")
    run(*COMPARE.split(), "-o", "answer.xlsx")
    record = json.loads(run(*COMPARE.split(), "--format", "json").out)["records"][0]
    sheet = openpyxl.load_workbook(tmp_path / "answer.xlsx")["records"]
    for name, cell in zip(*list(sheet.iter_rows())[:2], strict=True):
        value = record[name.value]
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            continue
        assert cell.value == value
        if isinstance(value, int):
            assert cell.number_format == "#,##0"
            continue
        places = len(cell.number_format.partition(".")[2])
        shown = float(f"{value:.{places}f}")
        assert shown == pytest.approx(value, rel=5e-3)
        assert len(f"{value:.{places}f}".replace(".", "").lstrip("0")) <= max(
            3, len(f"{value:.0f}")
        )
        width = sheet.column_dimensions[cell.column_letter].width
        assert width < max(len(name.value) + 4, 14)  # the reader says 13 of a group of columns


def test_no_cell_of_a_workbook_is_a_formula(run, tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    name = "'=HYPERLINK(\"http://x\")'"
    (tmp_path / "mine.yaml").write_text(
        "id: mine\nname: Mine\nvendor: Me\nkind: gpu\nscope: one card\n"
        f"memory:\n  - {{name: {name}, capacity: 64 GB, bandwidth: 2 TB/s}}\n"
        "peak: {bf16: 500 TFLOP/s}\n"
    )
    run("compare", "llama-3.1-8b", "--on", "mine.yaml", "-o", "answer.xlsx")
    cells = openpyxl.load_workbook(tmp_path / "answer.xlsx")["records"]
    kinds = {cell.data_type for row in cells.iter_rows() for cell in row}
    assert "f" not in kinds
    assert any("HYPERLINK" in str(cell.value) for row in cells.iter_rows() for cell in row)


def test_parquet_has_types_and_premises(run, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    run(*COMPARE.split(), "-o", "answer.parquet")
    table = parquet.read_table(tmp_path / "answer.parquet")
    plain = json.loads(run(*COMPARE.split(), "--format", "json").out)
    assert table.to_pylist() == plain["records"]
    assert str(table.schema.field("batch").type) == "int64"
    assert "assumptions" in json.loads(table.schema.metadata[b"fastcalc"])


def test_a_csv_has_no_line_but_header_and_records(run, tmp_path):
    run(*COMPARE.split(), "-o", "answer.csv")
    rows = list(csv.reader(io.StringIO((tmp_path / "answer.csv").read_text())))
    assert rows[0] == [column.key for column in COMMANDS["compare, frontier, sweep"]]
    assert len(rows) == 3


def test_sarif_places_each_fault(run, tmp_path):
    """Columns and lines are those of the YAML below, counted by hand."""
    (tmp_path / "chip.yaml").write_text("id: chip\nname: C\nvendr: V\nkind: gpu\n")
    ran = run("check", "chip.yaml", "-o", "found.sarif")
    assert ran.code == 1
    document = json.loads((tmp_path / "found.sarif").read_text())
    (one,) = document["runs"]
    wrong = next(each for each in one["results"] if "vendr" in each["message"]["text"])
    place = wrong["locations"][0]["physicalLocation"]
    assert (document["version"], wrong["ruleId"], wrong["level"]) == ("2.1.0", "ST015", "error")
    assert place["artifactLocation"]["uri"] == "chip.yaml"
    assert place["region"] == {"startLine": 3, "startColumn": 1}
    assert {each["ruleId"] for each in one["results"]} == {
        rule["id"] for rule in one["tool"]["driver"]["rules"]
    }


COMMANDS_OF_RECORDS = (
    COMPARE,
    "fit llama-3.1-8b --on h100-sxm",
    "plan llama-3.1-8b --on h100-sxm --max-chips 2",
    "fastmode llama-3.1-8b --on h100-sxm --batch 32 --smaller none",
    "frontier llama-3.1-8b --on h100-sxm --max-chips 2",
    "decide --on h100-sxm",
    "validate points.csv",
    "claims --only agent",
    "list hardware",
    "list models",
    "list engines",
    "diff h100-sxm h200-sxm",
    "diff llama-3.1-8b deepseek-r1",
    "sweep llama-3.1-8b --on h100-sxm --chips 1 --batch 1,100000",
)


def rows_of(file, records):
    """Return the rows of a file, without its header."""
    ending = file.suffix
    if ending == ".json":
        return json.loads(file.read_text())[records]
    if ending == ".csv":
        return list(csv.DictReader(io.StringIO(file.read_text())))
    if ending == ".md":
        return [line for line in file.read_text().splitlines() if line.startswith("|")][2:]
    if ending == ".xlsx":
        book = pytest.importorskip("openpyxl").load_workbook(file)
        return list(book["records"].iter_rows(values_only=True))[1:]
    return pytest.importorskip("pyarrow.parquet").read_table(file).to_pylist()


def test_parquet_keeps_hidden_letters_which_a_sheet_shows():
    parquet, openpyxl = map(pytest.importorskip, ("pyarrow.parquet", "openpyxl"))
    pytest.importorskip("xlsxwriter")
    records = [{"model": "soft\xadhyphen\u200d", "placement": "a\udc80"}]
    (kept,) = parquet.read_table(io.BytesIO(to_parquet(records, records[0], {}))).to_pylist()
    assert kept == {"model": "soft\xadhyphen\u200d", "placement": "a?"}
    book = openpyxl.load_workbook(io.BytesIO(to_xlsx(records, records[0], {})))
    assert book["records"]["A2"].value == r"soft\u00adhyphen\u200d"


@pytest.mark.thorough
@pytest.mark.parametrize("ending", ["csv", "json", "md", "xlsx", "parquet"])
@pytest.mark.parametrize(
    "command",
    sweep(COMMANDS_OF_RECORDS, lambda asked: asked.startswith(("fastmode", "sensitivity"))),
)
def test_every_answer_goes_to_every_format_it_has(run, share, tmp_path, command, ending):
    for needed in {"xlsx": ("xlsxwriter", "openpyxl"), "parquet": ("pyarrow",)}.get(ending, ()):
        pytest.importorskip(needed)
    (tmp_path / "points.csv").write_text(
        "id,source,url,date,hardware,chips,model,engine,weights,kv,tp,ep,pp,dp,concurrency,prompt,"
        "output,metric,value,tokens_per_pass,measured_by,notes\n"
        "a-1,A,,2025-01,h100-sxm,1,llama-3.1-8b,vllm,bf16,bf16,1,1,1,1,1,1000,100,"
        "tokens_per_s_per_user,150,1,vendor,kind=decode\n"
        "a-2,A,,2025-01,h100-sxm,1,llama-3.1-8b,vllm,bf16,bf16,1,1,1,1,8,1000,100,"
        "tokens_per_s_per_user,140,1,vendor,kind=decode\n"
    )
    name, *_ = command.split()
    ran = run(*command.split(), "-o", f"answer.{ending}")
    if name == "sweep" and ending in ("md", "xlsx"):
        sentence = " ".join(ran.err.split())
        assert ran.code == 2
        assert "ends in none of .csv, .json, .parquet or .txt" in sentence
        return
    assert (ran.code, ran.out) == (0, "")
    document = json.loads(share(*command.split(), "--format", "json").out)
    records = "points" if name == "validate" else "records"
    rows = rows_of(tmp_path / f"answer.{ending}", records)
    # Markdown has scores of groups, not points, and a conclusion of a claim in a row of its own.
    if ending != "md" or name not in ("validate", "claims"):
        assert len(rows) == len(document[records])
    assert rows
