"""The library: the same answers as the command line, as records, arrays and files."""

import ast
import doctest
import inspect
import json
import re
import subprocess
import sys
from functools import partial

import numpy as np
import pytest

import fastcalc as fc
from fastcalc.features import COMMANDS, request_of
from fastcalc.kit.request.fields import declared
from fastcalc.library import functions
from fastcalc.library.answer_table import MOST_ROWS
from fastcalc.library.functions import FUNCTIONS, parameters, request
from tests.helpers import ROOT, answer_once, every, nodes, run_once, sweep, thorough


@pytest.fixture(autouse=True)
def share_answers(monkeypatch):
    """Several tests look at the same answer."""
    monkeypatch.setattr(functions, "answer_to", answer_once)


@pytest.fixture
def run(capsys, monkeypatch):
    return lambda *args: run_once(*args, capsys=capsys, monkeypatch=monkeypatch)


@pytest.mark.parametrize("command", FUNCTIONS)
def test_a_value_of_another_type_is_refused_by_the_arguments_name(command):
    """Of every argument; a truth is no number, though Python counts with it."""
    positional, by_name = parameters(request_of(command))
    kinds = {
        name: str(one.annotation.__origin__) for name, one in declared(request_of(command)).items()
    }
    for name in (*positional, *by_name):
        for wrong in (1, "yes") if "bool" in kinds[name] else (True, b"8", 1j, [True], object()):
            with pytest.raises(fc.InputError, match=f"^{name} (takes|is) .*, not "):
                request(command, **dict.fromkeys(positional, "h100-sxm") | {name: wrong})


@pytest.mark.thorough
def test_the_page_runs():
    results = doctest.testfile(
        str(ROOT / "docs" / "library.md"), module_relative=False, optionflags=doctest.ELLIPSIS
    )
    assert results.attempted > 10
    assert results.failed == 0


CASES = {
    "compare llama-3.1-8b --on h100-sxm,wse-3 --batch 1,8 --price h100-sxm=2": lambda: fc.compare(
        "llama-3.1-8b", on=["h100-sxm", "wse-3"], batch=[1, 8], price={"h100-sxm": 2}
    ),
    "fit deepseek-r1 --on h200-sxm": lambda: fc.fit("deepseek-r1", on="h200-sxm"),
    "plan llama-3.1-8b --on h100-sxm --tpot 10ms --prompt 8k": lambda: fc.plan(
        "llama-3.1-8b", on="h100-sxm", tpot="10ms", prompt="8k"
    ),
    "frontier llama-3.1-8b --on h100-sxm --max-chips 4": lambda: fc.frontier(
        "llama-3.1-8b", on="h100-sxm", max_chips=4
    ),
    "fastmode llama-3.1-8b --on h100-sxm --batch 32 --smaller none": lambda: fc.fastmode(
        "llama-3.1-8b", on="h100-sxm", batch=32, smaller="none"
    ),
    "list hardware": lambda: fc.list("hardware"),
    "diff h100-sxm h200-sxm": lambda: fc.diff("h100-sxm", "h200-sxm"),
    "sweep llama-3.1-8b --on h100-sxm --batch 1,100000 --tp 1,2": lambda: fc.sweep(
        "llama-3.1-8b", on="h100-sxm", batch=[1, 100_000], tp=[1, 2]
    ),
}


@pytest.mark.thorough
@pytest.mark.parametrize("command", CASES)
def test_records_are_those_of_the_command_line(run, command):
    printed = json.loads(run(*command.split(), "--format", "json").out)["records"]
    for record, expected in zip(CASES[command]().records, printed, strict=True):
        # Of a sentence that names a flag Python names the argument.
        worded = [key for key, cell in expected.items() if "--" in str(cell)]
        assert {**record, **dict.fromkeys(worded)} == {**expected, **dict.fromkeys(worded)}


@pytest.mark.parametrize(
    "command", [one for one in CASES if not one.startswith(("sweep", "fastmode"))]
)
def test_a_table_prints_as_the_command_does(run, command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    page = str(CASES[command]()).partition("\n- ")[0].partition("\nnext: ")[0]
    assert len(page) > 200
    assert run(*command.split()).out.startswith(page)


def test_functions_take_what_commands_take():
    for name in fc.__all__:
        if name not in COMMANDS:
            continue
        function = getattr(fc, name)
        signature = inspect.signature(function)
        assert function.__name__ == name
        assert ("out" in signature.parameters) == (
            name == "plot"
        )  # a table is saved, a picture not
        documented = [
            line.split(" : ")[0] for line in function.__doc__.splitlines() if " : " in line
        ]
        assert set(signature.parameters) <= set(documented)


def test_a_deployment_has_the_numbers_of_compare():
    server = fc.deployment("deepseek-r1", on="h200-sxm", tp=8, weights="fp8")
    table = fc.compare(
        "deepseek-r1", on="h200-sxm", tp=8, weights="fp8", batch=[1, 64], prompt=4000, output=500
    )
    point = server.at([1, 64], prompt=4000, output=500)
    for key, values in (
        ("tokens_per_s_per_user", point.speed),
        ("tokens_per_s_per_user_bound", point.bound),
        ("tokens_per_s_per_user_low", point.low),
        ("ttft_ms", point.ttft * 1e3),
    ):
        assert values == pytest.approx(table[key], rel=1e-11)
    assert point.placement.max_batch == table[0]["max_batch"]
    usual = fc.compare("deepseek-r1", on="h200-sxm", tp=8, weights="fp8", batch=8)
    assert server.at(8).speed == pytest.approx(usual["tokens_per_s_per_user"], rel=1e-11)


def test_columns_are_arrays_with_nan_where_nothing_fits():
    table = fc.compare("llama-3.1-8b", on="h100-sxm", batch=[1, 100_000], chips=1)
    swept = fc.sweep("llama-3.1-8b", on="h100-sxm", batch=[1, 100_000], chips=1)
    for one in (table, swept):
        assert np.isfinite(one["tokens_per_s_per_user"]).tolist() == [True, False]
        assert one["limiter"][1] == "capacity"
    for one in (table, swept):
        with pytest.raises(KeyError, match="did you mean tpot_ms"):
            one["tpot"]


MY_CHIP = {
    "id": "mine",
    "name": "Mine",
    "vendor": "me",
    "kind": "gpu",
    "scope": "one card",
    "memory": [{"name": "HBM", "capacity": "80 GB", "bandwidth": "2 TB/s"}],
    "peak": {"bf16": "1 PFLOP/s"},
    "price": {"cloud": "3 USD/h"},
}
"""A chip of the keys that a file has."""


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("by_object", "by_name"),
    [
        (
            lambda model, chip, engine: fc.compare(model, on=[chip, "h200-sxm"], engine=engine),
            lambda: fc.compare("llama-3.1-8b", on=["h100-sxm", "h200-sxm"], engine="sglang"),
        ),
        (
            lambda model, chip, engine: fc.sweep(model, "qwen3-8b", on=chip, engine=[engine]),
            lambda: fc.sweep("llama-3.1-8b", "qwen3-8b", on="h100-sxm", engine="sglang"),
        ),
        (
            lambda model, chip, engine: fc.plan(model, on=(chip,), engine=engine, rate=20),
            lambda: fc.plan("llama-3.1-8b", on="h100-sxm", engine="sglang", rate="20/s"),
        ),
        (
            lambda model, chip, _: fc.frontier(model, on=chip, max_chips=2),
            lambda: fc.frontier("llama-3.1-8b", on="h100-sxm", max_chips=2),
        ),
        (
            lambda model, chip, _: fc.fastmode(model, on=chip, batch=32, smaller="none"),
            lambda: fc.fastmode("llama-3.1-8b", on="h100-sxm", batch=32, smaller="none"),
        ),
        (
            lambda _, chip, __: fc.diff(chip, "h200-sxm"),
            lambda: fc.diff("h100-sxm", "h200-sxm"),
        ),
        (
            lambda model, chip, _: fc.fit(model, on=chip, host=fc.hardware("ddr5-2ch")),
            lambda: fc.fit("llama-3.1-8b", on="h100-sxm", host="ddr5-2ch"),
        ),
        (
            lambda _, chip, __: fc.infer(
                on=[chip, "b200"], speeds=[65, 170], prices=(25, 150), points=5000
            ),
            lambda: fc.infer(on="h100-sxm,b200", points=5000),
        ),
    ],
)
def test_an_object_answers_as_its_name_does(by_object, by_name):
    entries = fc.model("llama-3.1-8b"), fc.hardware("h100-sxm"), fc.engine("sglang")
    table = by_object(*entries)
    assert table.records == by_name().records
    assert str(table) == str(by_name())  # what is to type next names it


def test_values_of_python_mean_what_their_text_does():
    typed = request("compare", "llama-3.1-8b", batch=range(1, 4), price={"h100-sxm": 2})
    assert (typed.batch, typed.price) == ((1, 2, 3), {"h100-sxm": 2.0})
    for values, text in (
        ({"batch": np.array([1, 8])}, {"batch": "1,8"}),
        ({"speculate": 2.5}, {"speculate": "2.5"}),
        ({"place": {"weights": "HBM3"}}, {"place": "weights=HBM3"}),
        ({"price": {"h100-sxm": 2}}, {"price": ["h100-sxm=2"]}),
        ({"set": {"price.purchase": "30000 USD"}}, {"set": "price.purchase=30000 USD"}),
        ({"prompt": np.int64(8000), "prefix_hit": 0.5}, {"prompt": "8k", "prefix_hit": "50%"}),
        (
            {"host": {"dram": "256GiB@300GB/s", "link": "64GB/s"}},
            {"host": "dram=256GiB@300GB/s,link=64GB/s"},
        ),
    ):
        by_value, by_text = (
            fc.compare("llama-3.1-8b", on="h100-sxm", **given) for given in (values, text)
        )
        assert by_value.records == by_text.records


def test_a_chip_made_in_python_is_read_as_its_file(tmp_path):
    """Twice the bandwidth is at most twice the speed; and the chip that is changed stays."""
    file = tmp_path / "mine.yaml"
    file.write_text(json.dumps(MY_CHIP))
    chip = fc.hardware(MY_CHIP)
    assert chip == fc.hardware(file)
    memory = [{"name": "HBM", "capacity": "80 GB", "bandwidth": "4 TB/s"}]
    changes = {"id": "faster", "memory": memory}
    faster = chip.changed(**changes)
    assert faster == fc.hardware(MY_CHIP | changes)
    assert (chip.id, faster.memory[0].bandwidth.si) == ("mine", 4e12)
    extended = fc.hardware({"id": "faster", "extends": "h100-sxm", "scope": "one"})
    assert extended.memory == fc.hardware("h100-sxm").memory
    slow, fast = fc.compare("llama-3.1-8b", on=[chip, faster], batch=1)["tokens_per_s_per_user"]
    assert 1.0 < fast / slow < 2.0


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (lambda: fc.hardware({"id": "mine"}), "hardware in Python: 'name' is missing"),
        (lambda: fc.hardware(MY_CHIP | {"memori": 1}), "unknown key 'memori'"),
        (lambda: fc.model({"extends": "nothing", "id": "mine"}), "no model is called 'nothing'"),
        (lambda: fc.hardware("h100-sxm").changed(memory="lots"), "^memory: "),
        (lambda: fc.compare(fc.hardware("h100-sxm")), "^models takes .*, not .* Hardware"),
        (lambda: fc.compare("glm-4.7", on=fc.model("glm-4.7")), "^on takes .*, not .* Model"),
        (lambda: fc.compare("glm-4.7", on=[fc.engine("vllm")]), "^on takes .*, not .* Engine"),
        (
            lambda: fc.plan("glm-4.7", tpot=0.025),
            "^tpot takes text, not .* float; write for example tpot='25ms'$",
        ),
        (lambda: fc.compare("glm-4.7", chips=1j), "^chips takes a whole number, not .* complex"),
        (lambda: fc.compare("glm-4.7", on=[]), "names nothing"),
        (lambda: fc.compare("glm-4.7", batch=[]), "names no number"),
        (lambda: fc.compare("glm-4.7", batch=np.array(8.5)), "^batch takes"),
    ],
)
def test_a_wrong_object_is_refused_in_a_sentence(wrong, sentence):
    with pytest.raises(fc.InputError, match=sentence):
        wrong()


@pytest.mark.parametrize("command", CASES)
def test_a_slice_is_a_table_of_some_rows(command, tmp_path):
    table = CASES[command]()
    part = table[1:3]
    assert isinstance(part, fc.Table)
    assert part.records == table.records[1:3]
    assert (part.keys, part.notes, part.assumptions) == (table.keys, table.notes, table.assumptions)
    assert len(str(part).splitlines()) >= len(part)
    part.save(tmp_path / "part.csv")
    assert len((tmp_path / "part.csv").read_text().splitlines()) == 1 + len(part)


@pytest.mark.parametrize("command", CASES)
def test_assumptions_are_those_of_a_json_document(command, tmp_path):
    table = CASES[command]()
    if not command.startswith("sweep"):  # which a table computes anew
        table.save(tmp_path / "table.json")
        document = json.loads((tmp_path / "table.json").read_text())
        assert document["assumptions"] == table.assumptions == table.premises
    # Requests that arrive are a premise of one class, and what is served of any demand.
    shared = set(table.details) & {*table.assumptions, "assumptions"}
    assert shared <= {"requests_per_s"}
    if command.startswith(("compare", "plan", "frontier", "fastmode", "sweep")):
        assert table.assumptions["prices"]["h100-sxm"]["basis"] in ("given", "cloud")
    premise, stated = next(iter(table.assumptions["settings"].items()))
    assert premise in ("model", "entries")
    assert command.split()[1] in str(stated)


def test_a_file_of_json_says_which_version_wrote_it(tmp_path):
    for command in (
        "compare llama-3.1-8b --on h100-sxm,wse-3 --batch 1,8 --price h100-sxm=2",
        "sweep llama-3.1-8b --on h100-sxm --batch 1,100000 --tp 1,2",
    ):
        CASES[command]().save(tmp_path / "table.json")
        assert json.loads((tmp_path / "table.json").read_text())["version"] == fc.__version__


def test_a_notebook_gets_the_headline_and_the_key_of_the_page():
    table = fc.fit("llama-3.1-8b", on="h100-sxm")
    page, html = " ".join(str(table).split()), table._repr_html_()
    headline = html.partition("<caption>")[2].partition("</caption>")[0]
    assert page.startswith(headline)
    assert " ".join(table.headline.split()) == headline
    assert "<p>key: largest batch: most sequences that fit with full prompt" in html


def test_a_notebook_gets_no_million_rows():
    html = fc.sweep("llama-3.1-8b", on="h100-sxm", batch=range(1, 301))._repr_html_()
    assert html.count("<tr>") == 1 + MOST_ROWS
    assert f"the first {MOST_ROWS} rows" in html


def test_a_notebook_gets_a_table_without_markup_of_names(tmp_path):
    (tmp_path / "mine.yaml").write_text(
        "id: mine\nname: <b>Mine</b>\nvendor: Me\nkind: gpu\nscope: one card\n"
        "memory:\n  - {name: HBM, capacity: 64 GB, bandwidth: 2 TB/s}\npeak: {bf16: 500 TFLOP/s}\n"
    )
    page = fc.list("hardware", hardware_dir=tmp_path)._repr_html_()
    assert page.startswith("<table>")
    assert "<b>" not in page


def test_a_column_by_itself_is_that_of_the_records():
    """Where records were made before, it is taken from them."""
    for key in ("tokens_per_s_per_user", "fits", "placement", "warnings", "min_chips", "ttft_ms"):
        table = fc.compare("llama-3.1-8b", on="h100-sxm,apple-m1", batch=[1, 100_000])
        alone, computed = table[key].tolist(), "records" in vars(table)
        assert not computed
        assert [one[key] for one in table.records] == [
            None if isinstance(one, float) and np.isnan(one) else one for one in alone
        ]
        assert repr(table[key].tolist()) == repr(alone)


def test_a_column_has_a_value_a_row():
    table = fc.compare("llama-3.1-8b", on="h100-sxm", host="ddr5-2ch")
    assert any(isinstance(one, list) for one in table[0].values())
    assert {key: table[key].shape for key in table.keys} == dict.fromkeys(table.keys, (4,))


def test_frames():
    pandas = pytest.importorskip("pandas")
    frame = fc.compare("llama-3.1-8b", on="h100-sxm").to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame["batch"]) == [1, 8, 32, 128]
    assert len(frame[frame.fits]) == 4
    assert frame.attrs["units"]["tpot_ms"] == "ms"


def test_without_pandas_a_frame_is_refused_in_a_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(fc.InputError, match="pip install pandas"):
        fc.compare("llama-3.1-8b", on="h100-sxm").to_pandas()


def test_a_deployment_names_itself_where_an_argument_is_wrong():
    with pytest.raises(TypeError, match=r"^deployment\(\).*'bach'"):
        fc.deployment("llama-3.1-8b", on="h100-sxm", bach=1)


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        (lambda: fc.compare("llama-3.1-8b", bach=1), TypeError),
        (lambda: fc.plan(), TypeError),
        (lambda: fc.diff("a", "b", "c"), TypeError),
        (lambda: fc.compare("llama-3.1-8b", batch=0), fc.InputError),
        (lambda: fc.compare("llama-3.1-8b", tp="two"), fc.InputError),
        (lambda: fc.compare("llama-3.1-8b", batch=10**5000), fc.InputError),
        (lambda: fc.decide(accuracy=10**400), fc.InputError),
        (
            lambda: fc.sweep("llama-3.1-8b", batch=range(1, 9000), prompt=range(1, 9000)),
            fc.InputError,
        ),
        (lambda: fc.compare("llama-3.1-8b", on="h100-sxm").save("x.docx"), fc.InputError),
        (lambda: fc.deployment("llama-3.1-8b", on="h100-sxm,h200-sxm"), fc.InputError),
        (lambda: fc.deployment("deepseek-r1", on="h100-sxm", chips=1), fc.InputError),
        (lambda: fc.deployment("llama-3.1-8b", on="h100-sxm").at(1, prompt=-1), fc.InputError),
        (lambda: fc.nothing, AttributeError),
    ],
)
def test_a_wrong_request_raises(wrong, error):
    with pytest.raises(error):
        wrong()


def test_the_stub_is_of_these_flags(monkeypatch):
    """Run docs/stub.py if this fails."""
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    import stub

    assert stub.stub() == (ROOT / "fastcalc" / "__init__.pyi").read_text()


def test_the_import_is_light():
    """Neither numpy nor typer is loaded before something is computed."""
    code = "import sys, fastcalc; print([m for m in ('numpy', 'typer', 'pydantic') if m in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


@pytest.mark.parametrize("batch", [0, -1, np.nan, np.inf, None, "a", {1}, 10**400, [1, 0]])
def test_a_batch_of_a_deployment_is_a_number_of_sequences(batch):
    server = fc.deployment("llama-3.1-8b", on="h100-sxm")
    with pytest.raises(fc.InputError, match="batch"):
        server.at(batch)


@pytest.mark.parametrize("length", ["8k", np.nan, np.inf, -1, [1, 2]])
def test_a_length_of_a_deployment_is_a_number_of_tokens(length):
    server = fc.deployment("llama-3.1-8b", on="h100-sxm")
    with pytest.raises(fc.InputError, match=r"lengths|tokens"):
        server.at(1, prompt=length)


def test_a_deployment_is_for_one_batch():
    with pytest.raises(fc.InputError, match="one batch"):
        fc.deployment("llama-3.1-8b", on="h100-sxm", batch=[1, 2])


def required(name):
    """Return what a function cannot do without."""
    needed = dict.fromkeys(
        ("fit", "plan", "caches", "fastmode", "frontier", "sensitivity"), ("llama-3.1-8b",)
    )
    return {**needed, "list": ("hosts",), "plot": ("speed",), "diff": ("h100-sxm", "h200-sxm")}.get(
        name, ()
    )


@pytest.mark.parametrize("name", [one for one in fc.__all__ if one in COMMANDS])
def test_none_is_not_given(name):
    names = required(name)
    left_out = dict.fromkeys(parameters(request_of(name))[1])
    assert request(name, *names, **left_out) == request(name, *names)


def test_none_for_what_is_needed_is_refused():
    with pytest.raises(TypeError, match="needs model"):
        fc.plan(None)
    assert fc.deployment("llama-3.1-8b", on="h100-sxm", batch=None).chips == 1


def test_truths_and_counts_are_no_floats():
    compared = fc.compare("llama-3.1-8b", on="h100-sxm", batch=[1, 100_000], chips=1)
    swept = fc.sweep("llama-3.1-8b", on="h100-sxm", batch=[1, 100_000], chips=1)
    for table in (compared, swept):
        assert table["fits"].dtype == bool
        assert table["fits"].tolist() == [True, False]
        for key in ("chips", "batch", "max_batch"):
            assert table[key].dtype == int
        assert table["tpot_ms"].dtype == float


def test_nothing_goes_to_a_stream(tmp_path, capfd):
    (tmp_path / "bad.yaml").write_text("id: bad\nextends: bad\n")
    listed = fc.list("hardware", hardware_dir=tmp_path)
    assert "circle" in listed.notes[0]
    answers = [
        listed,
        fc.fit("deepseek-r1", on="h100-sxm", chips=8),
        fc.sweep("llama-3.1-8b", on="h100-sxm", batch=[1, 100_000], chips=1),
        fc.compare("llama-3.1-8b", on="h100-sxm,a10", place="weights=HBM3"),
    ]
    assert answers[3].notes[0].endswith("it is skipped.")
    for number, one in enumerate(answers):
        one.save(tmp_path / f"{number}.csv")
        str(one)
    assert capfd.readouterr() == ("", "")


def test_a_caption_says_what_lives_on_how_many_chips():
    """0.92 of 79.18 GiB is 78.2 GB, of which vLLM keeps 4.8 for itself: 73.4 GB are usable."""
    open_ranks = str(fc.fit("llama-3.1-70b", on="h100-sxm", chips=8))
    open_ranks = " ".join(open_ranks.split())
    assert "of their layouts, tp 8 has the highest throughput" in open_ranks
    assert " on 8 chips with 73.4 GB usable each" in open_ranks
    wafer = " ".join(str(fc.fit("llama-3.1-8b", on="wse-3", chips=1)).split())
    assert "their layouts" not in wafer
    assert " on a chip with " in wafer


def test_the_price_of_output_is_of_decode_alone():
    """Chip-hours over decode tokens, however long the prompts; the total has both."""
    table = fc.compare("llama-3.1-70b", on="h100-sxm", batch=8, prompt=30_000, output=100)
    (one,) = table
    sentences = table.assumptions["rates"].replace(", ", "; ").split("; ")
    assert "tokens_per_s_* and usd_per_mtok_output cover decode only" in sentences
    assert "per million output tokens, decode only" in " ".join(str(table).split())
    output = one["usd_per_hour"] / (3600 * one["tokens_per_s_total"]) * 1e6
    assert one["usd_per_mtok_output"] == pytest.approx(output)
    both = 30_000 * one["usd_per_mtok_input"] + 100 * output
    assert one["usd_per_mtok_total"] == pytest.approx(both / 30_100)


NAMES = {
    *(name for command in COMMANDS for name in declared(request_of(command))),
    *("all", "help"),
}
FLAG = re.compile(
    rf"--(?<![\w-]--)(?:{'|'.join(NAMES).replace('_', '-')})(?![\w-])"  # from '--', found fast
)
"""What the command line calls a field."""

OF_OTHERS = re.compile(r"vllm bench serve[^'\"]*--save-result")
"""Commands of other programs."""

WRITES_COMMANDS = (
    *("cli", "mentions.py", "kit/request/groups.py", "kit/answer/commands.py"),
    *("features/plan/servers", "features/benchmark/tools.py"),
    "importers/start_log.py",
)
"""Where flags may stand: the command line, names and examples of requests, commands to copy, those
of engines among them."""


def strings_of(file):
    """Return the strings of a file but for those that stand alone, which are docstrings."""
    alone = {id(node.value) for node in nodes(file) if isinstance(node, ast.Expr)}
    for node in nodes(file):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in alone:
            yield node.value


@pytest.mark.thorough
def test_no_sentence_below_the_command_line_names_a_flag():
    package = ROOT / "fastcalc"
    for file in sorted(package.rglob("*.py")):
        is_request = file.name == "request.py"
        if is_request or str(file.relative_to(package)).startswith(WRITES_COMMANDS):
            continue
        for text in strings_of(file):
            assert not FLAG.search(OF_OTHERS.sub("", text)), f"{file.name}: {text}"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_help_of_a_function_names_no_flag(name):
    assert not FLAG.search(FUNCTIONS[name].__doc__)


ANSWERS = {
    **CASES,
    "no price": lambda: fc.compare("llama-3.1-8b", on="apple-m1,h100-sxm", explain=True),
    "drafts": lambda: fc.compare("glm-4.7", on="h200-sxm,wse-3", speculate="2.5", tp=8),
    "host": lambda: fc.compare("llama-3.1-8b", on="h100-sxm", host="dram=1TB@1TB/s,link=64GB/s"),
    "defaults": lambda: fc.compare(
        "llama-3.1-8b", on=fc.hardware({key: MY_CHIP[key] for key in MY_CHIP if key != "price"})
    ),
    "no place": lambda: fc.fit("deepseek-r1", on="h100-sxm", chips=1),
    "busy": lambda: fc.plan("llama-3.1-8b", on="h100-sxm", ttft="1s", rate="20/s"),
    "no plan": lambda: fc.plan("llama-3.1-8b", on="h100-sxm", tpot="1us", max_chips=2),
    "no price of a plan": lambda: fc.plan("llama-3.1-8b", on="apple-m1,h100-sxm", objective="usd"),
    "unknown power": lambda: fc.plan("llama-3.1-8b", on="sn40l,h100-sxm", objective="watts"),
    "slow start": lambda: fc.fastmode("llama-3.1-8b", on="h100-sxm", from_speed=1, smaller="none"),
    "curve": lambda: fc.fastmode("llama-3.1-8b", on="h100-sxm", curve=True),
    "short frontier": lambda: fc.frontier("llama-3.1-8b", on="h100-sxm,apple-m1", max_chips=2),
    "decide": lambda: fc.decide("opus", "opus-fast", accuracy=0.9, steps=10),
    "map": lambda: fc.decide("opus", "opus-fast", map="tools=0..30,accuracy=0.5..1"),
    "infer": lambda: fc.infer(points=5000),
    "claim": lambda: fc.claims(explain=30),
    "validate": fc.validate,
    "engines": lambda: fc.list("engines"),
    "a list of a sweep": lambda: fc.sweep("llama-3.1-8b", on="h100-sxm", tp=[1, 3], batch=[1, 9]),
}
"""Answers that say something of what to give."""


SLOW = ("slow start", "curve", "busy")


@pytest.mark.thorough
@pytest.mark.parametrize(
    "name", sweep(ANSWERS, lambda name: name in SLOW or name.startswith("fastmode"))
)
def test_nothing_that_python_shows_names_a_flag(name, tmp_path):
    table = ANSWERS[name]()
    shown = [
        str(table),
        table._repr_html_(),
        *table.notes,
        str(table.assumptions),
        str(table.details),
    ]
    shown += map(str, table.records)
    for ending in ("csv", "json") if len(table) < 500 else ():
        table.save(tmp_path / f"table.{ending}")
        shown.append((tmp_path / f"table.{ending}").read_text())
    for text in shown:
        text = OF_OTHERS.sub("", text)
        assert not FLAG.search(text), FLAG.search(text)
        assert not re.search("[\ue000-\ue003]", text)


def wrong_requests():
    """Yield calls whose arguments are refused, for one reason each."""
    compare = partial(fc.compare, "llama-3.1-70b", on="h100-sxm")
    for wrong in (
        *({"batch": text} for text in ("0", "3,000", "8..1", "1..100000+1", [0], [])),
        *({"tp": 3}, {"tp": 12}, {"pp": 200}, {"ep": 2}, {"chips": 2, "tp": 3}, {"tp": 0}),
        *({"prompt": "1,000"}, {"prompt": 0}, {"context": 10**9 + 1}, {"prefix_hit": 2.0}),
        *({"speculate": text} for text in ("x", 0.5, "2x3", "9/3", "0.5x0.5")),
        *({"host_use": "compute"}, {"host": "dram=1"}, {"host": "h100-sxm"}, {"place": "x=y"}),
        *({"place": "kv=LPDDR"}, {"prefix_tier": "LPDDR", "prefix_hit": 0.5}, {"place_for": "x"}),
        *({"host": "ddr5-2ch", "host_use": "x"}, {"weights": ""}, {"kv": "x"}, {"engine": "x"}),
        *({"price": {"wse-3": 1}}, {"price": ["x"]}, {"price": {"h100-sxm": 0}}),
        *({"price_basis": "x"}, {"utilization": 2.0}, {"set": "x=1"}, {"set": "id=1"}),
        *({"set": "memory.SRAM.capacity=1GB"}, {"set": "x"}, {"set": {"memory.HBM3.capacity": 1}}),
    ):
        yield partial(compare, **wrong)
    for on in ("nvidia,-nvidia", "zz*", "nvidea", "ddr5-2ch", "vllm", "llama-3.1-8b", ""):
        yield partial(fc.compare, "llama-3.1-8b", on=on)
    yield partial(fc.compare, "opus")
    yield partial(fc.compare, "llama-3.1-70b", on="wse-3", tp=2, chips=3)
    for wrong in (
        *({"tpot": "25"}, {"rate": "x"}, {"percentile": 99}, {"percentile": 20, "ttft": "1s"}),
        *({"weights": "fp4"}, {"objective": "x"}, {"top": 0}, {"max_chips": 0}, {"load": 2.0}),
    ):
        yield partial(fc.plan, "llama-3.1-70b", on="h100-sxm", **wrong)
    for wrong in (
        *({"batch": 8, "from_speed": 20}, {"batch": [8, 9]}, {"speedup": 2, "to_speed": 20}),
        *({"curve": True, "tp": 2}, {"smaller": "x"}, {"on": "all"}, {"on": "h100-sxm,b200"}),
        *({"chips": 1, "batch": 100_000}, {"cost": 0}),
    ):
        yield partial(fc.fastmode, "llama-3.1-8b", **wrong)
    for wrong in ({"speeds": "65"}, {"speeds": "2,1"}, {"on": "apple-m1"}, {"tolerance": 2.0}):
        yield partial(fc.infer, **wrong)
    for wrong in (
        *({"map": "x"}, {"map": "tools=0..30"}, {"map": "tools=3..1,accuracy=0..1"}),
        *({"objective": "total"}, {"objective": "x"}, {"window_ms": 100, "objective": "time"}),
        *({"judge": "x"}, {"judge": 2.0}, {"hours": 0}, {"accuracy": 2.0}, {"utilization": 2.0}),
    ):
        yield partial(fc.decide, "opus", "opus-fast", **wrong)
    yield partial(fc.frontier, "llama-3.1-8b", on="h100-sxm", max_chips=0)
    yield partial(fc.validate, max_median_factor=0.5)
    yield partial(fc.claims, only="x")
    yield lambda: fc.list("hardware").save("table.docx")
    yield lambda: fc.list("hardware").save("/")


@pytest.mark.thorough
@pytest.mark.parametrize("wrong", list(wrong_requests()))
def test_no_refusal_in_python_names_a_flag(wrong):
    with pytest.raises(fc.InputError) as refused:
        wrong()
    assert not FLAG.search(str(refused.value))
    assert not re.search("[\ue000-\ue003]", str(refused.value))


def test_a_refusal_names_the_argument_and_what_to_give_it():
    with pytest.raises(fc.InputError, match=r"^chips 2 is not tp x pp x dp = 3 x 1 x 1 = 3$"):
        fc.compare("llama-3.1-8b", on="h100-sxm", chips=2, tp=3)
    (note,) = (note for note in fc.compare("llama-3.1-8b", on="apple-m1").notes if "; set" in note)
    assert note.endswith("set one with price='apple-m1=USD'.")


@pytest.mark.parametrize("kind", ["speed", "frontier", "memory", thorough("tornado")])
def test_a_chart_is_drawn_as_the_command_draws_it(kind, tmp_path, run):
    pytest.importorskip("matplotlib")
    words = ("plot", kind, "llama-3.1-8b", "--on", "h100-sxm", "--max-chips", 2)
    assert run(*words, "-o", tmp_path / "typed.svg").code == 0
    figure = fc.plot(kind, "llama-3.1-8b", on="h100-sxm", max_chips=2, out=tmp_path / "called.svg")
    assert (tmp_path / "called.svg").read_bytes() == (tmp_path / "typed.svg").read_bytes()
    assert figure.texts


@pytest.mark.parametrize(
    ("arguments", "options", "error", "sentence"),
    [
        ((), {}, TypeError, "needs kind"),
        (("frontir",), {}, fc.InputError, "did you mean 'frontier'"),
        (("frontier", "qwen3-8b", "llama-3.1-8b"), {}, fc.InputError, "draws one model, not 2"),
        (("speed", "deepseek-r1"), {"on": "l4", "chips": 1}, fc.InputError, "675 GB does not fit"),
        (("speed",), {"out": "speed.abc"}, fc.InputError, "speed.abc"),
        (("speed",), {"width": 100}, fc.InputError, "width 100 is outside 2 to 40 inches"),
    ],
)
def test_what_cannot_be_drawn_is_a_sentence(arguments, options, error, sentence):
    with pytest.raises(error, match=sentence):
        fc.plot(*arguments, **options)


def test_an_error_shows_its_message_without_marks():
    with pytest.raises(fc.InputError) as caught:
        fc.compare("llama-3.1-8b", on="h100-sxm", tp=3)
    error = caught.value
    assert repr(error) == f"{type(error).__name__}({str(error)!r})"
    assert not any("\ue000" <= letter <= "\uf8ff" for letter in repr(error))


@every(
    "name,sentence",
    [
        ("x.foo", "table.save('x.foo') ends in none of .csv"),
        ("nowhere/x.csv", "table.save('nowhere/x.csv') cannot be written"),
    ],
)
def test_a_table_that_cannot_be_saved_names_the_call(name, sentence):
    table = fc.fit("qwen3-8b", on="h100-sxm")
    with pytest.raises(fc.InputError, match=re.escape(sentence)):
        table.save(name)


def test_models_may_be_one_list():
    names = ["llama-3.1-8b", "qwen3-8b"]
    tables = [fc.compare(*names, on="h100-sxm", batch=1), fc.compare(names, on="h100-sxm", batch=1)]
    assert [[row["model"] for row in table] for table in tables] == [names, names]
    with pytest.raises(fc.InputError, match="models takes text, a path, a model"):
        fc.compare([names], on="h100-sxm")


def test_a_warning_that_begins_with_an_engine_is_a_note_once():
    """The name of the engine is not capitalized, in warnings as on the page."""
    notes = fc.compare("qwen3.5-27b", on="h100-sxm", batch=16, chips=1).notes
    about = [note for note in notes if "max_num_seqs" in note]
    assert len(about) == 1
    assert about[0].startswith("vllm ")


@every("chips,said", [(1, "1 x h100-sxm"), (2, "2 x h100-sxm, tp 2")])
def test_a_notebook_shows_what_was_placed(chips, said):
    placed = fc.deployment("llama-3.1-8b", on="h100", chips=chips)
    assert repr(placed) == f"PlacedModel(llama-3.1-8b on {said})"
