"""Every refusal of a file names it, and the line and column of what is wrong in it.

150 cases here; ``FASTCALC_FUZZ=20000 pytest tests/test_places.py`` for more.
"""

import csv
import io
import json
import os
import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from fastcalc.catalogue.folders import shipped_folder
from fastcalc.catalogue.store import Catalogue
from fastcalc.errors import InputError
from fastcalc.features.claims.judge import judge
from fastcalc.features.claims.run import read_claims
from fastcalc.features.measure.validate import of_file
from fastcalc.importers.huggingface import import_model
from fastcalc.importers.json_records import json_marks
from tests.helpers import ROOT, run
from tests.strategies import scaled

CASES = int(os.environ.get("FASTCALC_FUZZ", scaled(150)))
ODD: list[object] = [
    *(None, True, "", "x", "x" * 5000, [], {}, [None], -1, 0, 1.5, 3, 10**30, 1e-320, 1e308, 1e400),
    *(
        "nan",
        "0 GB",
        "1e-320 s",
        "80 GiB",
        "1e400 B",
        "\x1b[31m",
        "hopper",
        "=1+1",
        "a,b",
        "'",
        '"',
    ),
]

CLAIMS = """\
articles: {one: {title: An article}}
claims:
  - id: "1"
    claim: A wafer is large.
    articles: [one]
    check:
      test: square-inches
      inputs: {area: {entry: hardware/wse-3, field: area}}
      expected: 72
      tolerance: 0.05
    reason: The sheet says so.
  - id: "2"
    claim: It costs six times as much.
    articles: [one]
    check: {test: ratio, inputs: {over: [30, 150], under: [5, 25]}, expected: 6, unit: x}
    reason: Both prices rise six times.
"""


def judged(path: Path) -> None:
    book, document = read_claims(path)
    judge(Catalogue(), book.claims, document)


def read_yaml(text: str) -> object:
    return yaml.load(text, yaml.CSafeLoader)


def write_yaml(data: object) -> str:
    return yaml.dump(data, Dumper=yaml.CSafeDumper, allow_unicode=True, sort_keys=False)


def write_json(data: object) -> str:
    return json.dumps(data, indent=1)


def read_csv(text: str) -> object:
    return list(csv.reader(io.StringIO(text)))


def write_csv(data: object) -> str:
    stream = io.StringIO()
    for row in data if isinstance(data, list) else [[str(data)]]:
        csv.writer(stream).writerow(row if isinstance(row, list) else [str(row)])
    return stream.getvalue()


RUNS = {"hardware": "h100-sxm", "model": "llama-3.1-8b", "tp": "1", "weights": "bf16"}
SEEDS: dict[str, tuple[str, str, Callable, Callable, Callable]] = {
    "hardware": (
        "chip.yaml", (shipped_folder("hardware") / "h100-sxm.yaml").read_text(), read_yaml, write_yaml,
        lambda path: Catalogue().hardware(str(path)),
    ),
    "model": (
        "model.yaml", (shipped_folder("models") / "deepseek-r1.yaml").read_text(), read_yaml, write_yaml,
        lambda path: Catalogue().model(str(path)),
    ),
    "engine": (
        "engine.yaml", (shipped_folder("engines") / "llama-cpp.yaml").read_text(), read_yaml, write_yaml,
        lambda path: Catalogue().engine(str(path)),
    ),
    "configuration": (
        "config.json", (ROOT / "tests/configs/gemma-3-27b-it.json").read_text(), json.loads,
        write_json, import_model,
    ),
    "experts": (
        "config.json", (ROOT / "tests/configs/deepseek-v3.json").read_text(), json.loads,
        write_json, import_model,
    ),
    "points": (
        "points.csv", "\n".join((ROOT / "evidence/measured.csv").read_text().split("\n")[:4]),
        read_csv, write_csv, lambda path: of_file(Catalogue(), path, {}),
    ),
    "vllm": (
        "run.json", (ROOT / "tests/measured/vllm-closed.json").read_text(), json.loads, write_json,
        lambda path: of_file(Catalogue(), path, RUNS),
    ),
    "llama-bench": (
        "bench.json", (ROOT / "tests/measured/llama-bench.json").read_text(), json.loads,
        write_json, lambda path: of_file(Catalogue(), path, {"hardware": "rtx-4090"}),
    ),
    "claims": ("claims.yaml", CLAIMS, read_yaml, write_yaml, judged),
}  # fmt: skip


def places(value: object, path: tuple = ()) -> list[tuple]:
    steps = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value if isinstance(value, list) else [])
    )
    return [one for step, inner in steps for one in [(*path, step), *places(inner, (*path, step))]]


def mutated(kind: str, choose: random.Random) -> str:
    """Return a file with a value, a key or a few letters changed."""
    _, text, reader, writer, _ = SEEDS[kind]
    if choose.random() < 0.3:
        start = choose.randrange(len(text))
        end = min(start + choose.choice([0, 1, 1, 5, 40, len(text)]), len(text))
        return (
            text[:start]
            + choose.choice(["", "", ":", "{", "]", '"', "\t", "\x00", ",", "- a"])
            + text[end:]
        )
    data = reader(text)
    for _ in range(choose.choice([1, 1, 1, 2, 3])):
        *way, step = choose.choice(places(data))
        inner = data
        for one in way:
            inner = inner[one]
        change = choose.choice(["value", "value", "value", "drop", "rename"])
        if change == "value":
            inner[step] = choose.choice(ODD)
        elif change == "rename" and isinstance(inner, dict):
            inner[choose.choice([str(step) + "x", "x" * 5000, ""])] = inner.pop(step)
        else:
            del inner[step]
        if not places(data):
            break
    return writer(data)


def refusals(cases: int, folder: Path, seed: int = 11) -> list[tuple[str, str, str]]:
    """Return kind, file and sentence of every refusal among some mutations."""
    choose, found = random.Random(seed), []
    for case in range(cases):
        kind = list(SEEDS)[case % len(SEEDS)]
        name, *_, load = SEEDS[kind]
        path = folder / name
        path.write_bytes(mutated(kind, choose).encode("utf-8", "surrogatepass"))
        try:
            load(path)
        except InputError as error:
            found.append((kind, str(path), str(error)))
    return found


@pytest.mark.thorough
def test_every_refusal_names_the_file_the_line_and_the_column(tmp_path):
    found = refusals(CASES, tmp_path)
    assert len(found) > CASES / 3
    for _, file, sentence in found:
        for line in sentence.splitlines():
            assert re.match(rf"{re.escape(file)}(:[1-9]\d*:[1-9]\d*: |: and [\d,]+ more$)", line), (
                line
            )
            assert len(line) < 1200


def test_places_in_json():
    """Counted by hand."""
    text = '[{"a": 1},\n {"b c": [true, {"d": "x]"}],\n  "e": null}]'
    marks = json_marks(text)
    assert marks[()] == (1, 1)
    assert marks[0, "a"] == (1, 8)
    assert marks[1,] == (2, 2)
    assert marks[1, "b c", 1, "d"] == (2, 23)
    assert marks[1, "e"] == (3, 8)
    assert json_marks(text, text.index("\n"))["e",] == (3, 8)


CONFIG = """\
{
  "model_type": "gemma3",
  "text_config": {
    "hidden_size": 512,
    "num_attention_heads": 8,
    "head_dim": 64,
    "num_hidden_layers": "four"
  }
}
"""


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("", "", "7:26: num_hidden_layers should be a number, not the text 'four'"),
        (
            '"four"',
            "4",
            "3:18: too little information to count the model: intermediate_size is missing",
        ),
        ('"gemma3"', "3", "2:17: model_type should be text, not 3"),
        ('"four"', "1e400", "7:26: num_hidden_layers should be a whole number, not inf"),
        ('"head_dim": 64', '"hidden_act": 64', "7:26: num_hidden_layers"),
    ],
)
def test_a_field_of_a_configuration_is_named_with_its_place(old, new, said, tmp_path):
    path = tmp_path / "config.json"
    path.write_text(CONFIG.replace(old, new))
    with pytest.raises(InputError) as error:
        import_model(path)
    assert str(error.value).startswith(f"{path}:{said}")


def test_a_quantization_of_its_own_file_is_named_there(tmp_path):
    config = json.loads((ROOT / "tests/configs/llama-3.1-8b.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(config))
    alongside = tmp_path / "hf_quant_config.json"
    alongside.write_text('{"quantization":\n  {"quant_algo": 8}}')
    with pytest.raises(InputError) as error:
        import_model(tmp_path)
    assert str(error.value).startswith(f"{alongside}:2:18: quant_algo should be text")


def test_an_engine_that_extends_nothing_known_is_named(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text("id: mine\nname: Mine\nextends: vlm\nfitted_on: nothing\n")
    with pytest.raises(InputError) as error:
        Catalogue().engine(str(path))
    assert str(error.value).startswith(f"{path}:3:10: no engine is called 'vlm'; did you mean vllm")


def test_a_claim_names_its_own_line_and_the_entry(tmp_path):
    path = tmp_path / "claims.yaml"
    path.write_text(CLAIMS.replace("field: area", "field: arena"))
    with pytest.raises(InputError) as error:
        judged(path)
    assert str(error.value) == f"{path}:8:22: hardware/wse-3 has no number 'arena'"


def test_points_that_cannot_be_predicted_name_the_first_row(tmp_path, fastcalc):
    head, row = (ROOT / "evidence/measured.csv").read_text().split("\n")[:2]
    path = tmp_path / "runs.csv"
    path.write_text(f"{head}\n{row.replace('llama-2-7b', 'lama-2-7')}\n")
    for command, sentence in (("validate", "nothing "), ("calibrate", "none of its rows ")):
        ran = fastcalc(command, path)
        assert ran.code == 2
        assert f"{path}:2:1: {sentence}" in ran.err


# -- sentences that misled ------------------------------------------------------------------


@pytest.fixture
def fastcalc(capsys, monkeypatch):
    return lambda *words: run(*words, capsys=capsys, monkeypatch=monkeypatch)


@pytest.fixture
def own(tmp_path) -> Path:
    """A folder with a chip in a file of another name."""
    text = (shipped_folder("hardware") / "h100-sxm.yaml").read_text()
    folder = tmp_path / "own"
    folder.mkdir()
    text = re.sub(r"(?m)^aliases:.*\n", "", text).replace("id: h100-sxm\n", "id: mychip\n")
    (folder / "foo.yaml").write_text(text)
    return folder


@pytest.mark.parametrize("name", ["mychip", "foo"])
def test_a_file_and_an_id_that_differ(name, own, fastcalc):
    ran = fastcalc("compare", "--on", name, "--hardware-dir", own)
    assert ran.code == 2
    assert f"{own}/foo.yaml:2:5: the file is called foo but its id is mychip" in ran.err
    assert "call it mychip.yaml, or write 'id: foo'" in ran.err


def test_a_broken_file_hides_no_other(own, fastcalc):
    (own / "foo.yaml").rename(own / "mychip.yaml")
    (own / "broken.yaml").write_text("id: broken\nname: [\n")
    os.mkfifo(own / "pipe.yaml")
    for form in ("table", "csv", "json", "markdown"):
        ran = fastcalc("list", "hardware", "--hardware-dir", own, "--format", form)
        assert ran.code == 1
        assert "mychip" in ran.out
        assert "h100-sxm" in ran.out
        assert ran.err.count("\n") == 1
        assert f"skipped: {own}/broken.yaml:3:1: not readable as YAML" in ran.err
    (own / "gone.yaml").symlink_to("nowhere.yaml")
    checked = fastcalc("check", own)
    assert checked.code == 1
    for name in ("pipe", "gone"):
        assert f"{own}/{name}.yaml: error ST001: neither a file nor a link to one" in checked.out
    assert fastcalc("compare", "--on", "mychp", "--hardware-dir", own).code == 2


def test_an_engine_is_not_read_as_a_model(fastcalc, tmp_path):
    path = tmp_path / "mine.yaml"
    text = (shipped_folder("engines") / "ideal.yaml").read_text()
    path.write_text(re.sub(r"(?m)^fitted_on:.*\n", "", text))
    assert f"{path}:2:1: 'fitted_on' is missing" in fastcalc("show", path).err
    said = f"{path}:2:1: this is a file of engines, not of models: it goes with --engine"
    assert said in fastcalc("compare", path).err
    chip = shipped_folder("hardware") / "l4.yaml"
    assert "not of models: it goes with --on" in fastcalc("compare", chip).err
    model = shipped_folder("models") / "llama-3-8b.yaml"
    assert "not of hardware: it goes with MODEL" in fastcalc("compare", "--on", model).err


def test_a_misspelled_key_of_a_what_if_is_not_a_second_one(fastcalc):
    """The file gives the bandwidth, which the what-if was to replace."""
    asked = ("compare", "--on", "h100-sxm", "--set", "memory.HBM3.bandwith=5TB/s")
    assert "unknown key 'bandwith' in memory[0]; did you mean 'bandwidth'?" in fastcalc(*asked).err


def test_damaged_json_is_not_a_csv(fastcalc, tmp_path):
    path = tmp_path / "run.json"
    path.write_text('"duration": 1,\n"completed": 2}')
    assert f"{path}:1:1: expected JSON objects" in fastcalc("validate", path).err
    path = path.rename(tmp_path / "run")
    path.write_text('duration": 1}')
    ran = fastcalc("validate", path, "--hardware", "h100-sxm")
    assert f"{path}:1:1: the header is missing" in ran.err


def test_a_path_with_commas(own, fastcalc):
    path = own / "my,chip,2.yaml"
    path.write_text((own / "foo.yaml").read_text().replace("id: mychip", "id: my"))
    ran = fastcalc("compare", "--on", f"a40, {own}/foo.yaml,{path}", "--format", "csv")
    assert ran.code == 0
    chips = [row["hardware"] for row in csv.DictReader(io.StringIO(ran.out))]
    assert list(dict.fromkeys(chips)) == ["a40", "mychip", "my"]


LONG = "n" * 5000


@pytest.mark.parametrize(
    "words",
    [
        ("compare", LONG), ("compare", "--on", LONG), ("compare", "--on", f"{LONG}.yaml"),
        ("compare", "--engine", LONG), ("compare", "--format", LONG), ("compare", f"--{LONG}"),
        ("compare", "--price", f"{LONG}=1"), ("compare", "--price", LONG), ("compare", "-o", LONG),
        ("compare", "--weights", LONG), ("compare", "--kv", LONG), ("compare", f"./{LONG}.json"),
        ("compare", "--hardware-dir", LONG), ("compare", "--speculate", LONG), (LONG,),
        ("compare", "--chips", LONG), ("compare", "--batch", LONG), ("compare", "--context", LONG),
        ("compare", "--batch", f"1..{LONG}"), ("show", LONG), ("show", f"{LONG}.yaml"),
        ("check", LONG), ("check", "--explain", LONG), ("claims", LONG), ("list", LONG),
        ("claims", "--explain", LONG), ("claims", "--only", LONG), ("import", LONG),
        ("validate", LONG), ("calibrate", LONG), ("new", "hardware", LONG), ("diff", LONG, LONG),
        ("schema", LONG), ("plan", "llama-3.1-8b", "--ttft", LONG), ("compare", "a/" * 2500),
        ("plan", "llama-3.1-8b", "--objective", LONG), ("decide", "--judge", LONG),
        ("decide", f"a=speed={LONG}"), ("decide", LONG),
        ("compare", "--format", "n " * 2500), ("show", "n " * 2500), ("compare", "n " * 120),
    ],
)  # fmt: skip
def test_a_name_of_5000_letters_is_cut(words, fastcalc):
    ran = fastcalc(*words)
    assert (ran.code, ran.out) == (2, "")
    assert len(ran.err) < 800
    assert "standard output" not in ran.err
