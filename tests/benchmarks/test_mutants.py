"""Mutants are what was meant, and what tests say of them is told truly."""

import textwrap
from collections import defaultdict
from types import SimpleNamespace

import pytest

from benchmarks.mutants import covering
from benchmarks.mutants.__main__ import (
    EQUIVALENT,
    SURVIVORS,
    Kept,
    _chosen,
    reasons_in,
    sampled_files,
)
from benchmarks.mutants.covering import Covering
from benchmarks.mutants.generated import Mutant, mutants_of, sample
from benchmarks.mutants.page import page
from benchmarks.mutants.running import NoVerdictError, Verdict, verdict_on
from tests.helpers import ROOT, every, thorough

FILES = ["fastcalc/formulas/waiting.py", "fastcalc/formulas/network.py"]
EXPRESSIONS = [
    ("a < b", {"(a <= b)", "(a >= b)"}),
    ("a == b", {"(a != b)"}),
    ("a in b", {"(a not in b)"}),
    ("a is b", {"(a is not b)"}),
    ("a + b", {"(a - b)"}),
    ("a / b", {"(a * b)"}),
    ("'text' + a", set()),
    ("f'{a + 1} chips'", set()),
    ("3", {"(3 + 1)", "(3 - 1)", "(3 * 2)"}),
    ("0", {"(0 + 1)", "(0 - 1)"}),
    ("True", {"False"}),
    ("not a", {"(a)"}),
    ("-a", {"(a)"}),
    ("a and b", {"(a or b)", "(a)", "(b)"}),
    ("a if b else c", {"(a)", "(c)"}),
    ("min(a, b)", {"max"}),
    ("np.maximum(a, b)", {"np.minimum"}),
    ("a[b:c]", {""}),
    ("[a for b in c if d]", {"True"}),
    ("zip(a, b, strict=True)", set()),
    ("f(a, strict=True)", {"False"}),
    ("lru_cache(maxsize=64)(f)", set()),
]
STATEMENTS = [
    ("return a", {"return None"}),
    ("return None", set()),
    ("if a:\n    pass", {"(not (a))"}),
    ("if TYPE_CHECKING:\n    import a", set()),
    ("f(a)", {"pass"}),
    ("a += b", {"pass"}),
    ("a[b] = c", {"pass"}),
    ("raise ValueError(a + 1)", {"pass"}),
    ("while a:\n    break", {"(not (a))", "continue"}),
    ("assert a < b", set()),
    ('"""A text of 3 words."""', set()),
    ("a: Literal[3] = b", set()),
    ("def g(a: 'b' = c) -> d[3]:\n    '''Return.'''", set()),
    ("@d(3)\nclass G:\n    '''G.'''", set()),
    ("__all__ = [a + b]", set()),
]


def after(tree, text):
    (tree / "module.py").write_text(text)
    return {mutant.after for mutant in mutants_of(tree, "module.py")}


@every("expression,expected", EXPRESSIONS)
def test_an_expression_is_made_wrong_in_each_way(tmp_path, expression, expected):
    assert after(tmp_path, f"a = {expression}\n") == expected


@every("statement,expected", STATEMENTS)
def test_a_statement_is_made_wrong_in_each_way(tmp_path, statement, expected):
    text = textwrap.indent(statement, "    ")
    assert after(tmp_path, f"def f():\n{text}\n") == expected


def test_a_mutant_replaces_its_place_alone(tmp_path):
    (tmp_path / "module.py").write_text("class C:\n    é = 'é', 2 * (1 + 2)\n")
    mutants = mutants_of(tmp_path, "module.py")
    texts = {mutant.key: mutant.text(tmp_path) for mutant in mutants}
    head = "class C:\n    é = 'é', "
    assert texts["module.py C: 1 + 2 -> (1 - 2)"] == f"{head}2 * ((1 - 2))\n"
    assert texts["module.py C: 2 -> (2 + 1)"] == f"{head}(2 + 1) * (1 + 2)\n"
    assert texts["module.py C: 2 -> (2 + 1) (#2)"] == f"{head}2 * (1 + (2 + 1))\n"


def test_the_sample_is_of_a_seed_and_stays_where_other_code_moves():
    mutants = [one for file in FILES for one in mutants_of(ROOT, file)]
    first, second = (sample(mutants, 20, seed, ROOT) for seed in (1, 2))
    assert len({(mutant.file, mutant.start) for mutant in first}) == 20
    assert first == sample(mutants[::-1], 20, 1, ROOT) != second
    left = [mutant for mutant in mutants if mutant.file != first[0].file]
    keys = [mutant.key for mutant in first if mutant.file != first[0].file]
    assert [mutant.key for mutant in sample(left, 20, 1, ROOT)][: len(keys)] == keys


def test_whatever_computes_is_sampled():
    """All packages but the library; of the kit, what reads requests."""
    packages = {path.parent.name for path in (ROOT / "fastcalc").glob("*/__init__.py")}
    by_package = defaultdict(list)
    for file in sampled_files():
        by_package[file.split("/")[1]].append(file)
    sampled = {
        name for name, files in by_package.items() if any(mutants_of(ROOT, f) for f in files)
    }
    assert packages - sampled == {"library"}


def test_a_sample_may_be_of_some_files():
    mutants = [one for file in FILES for one in mutants_of(ROOT, file)]
    options = SimpleNamespace(only=["waiting.py", "no file"], size=None, seed=1)
    named = [one for one in mutants if one.file == FILES[0]]
    assert _chosen(mutants, options) == named
    options.size = 7
    assert _chosen(mutants, options) == sample(named, 7, 1, ROOT)
    options.only = None
    assert _chosen(mutants, options) == sample(mutants, 7, 1, ROOT)


def test_names_of_mutants_are_given_once():
    """However alike two places are; and those that change no answer say why."""
    for file in FILES:
        mutants = mutants_of(ROOT, file)
        assert len({mutant.key for mutant in mutants}) == len(mutants) > 10
    assert all(reasons_in(EQUIVALENT).values())
    assert all(reasons_in(SURVIVORS).values())


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """A package of two functions, and tests of which some see nothing; byte code is kept."""
    tree = tmp_path_factory.mktemp("copy") / "tree"
    (tree / "small").mkdir(parents=True)
    (tree / "small" / "__init__.py").touch()
    text = "def add(one, other):\n    while one > 9:\n        one -= 10\n    return one + other\n"
    (tree / "small" / "sums.py").write_text(text)
    (tree / "tests").mkdir()
    test = "from small.sums import add\n\ndef test_{}():\n    assert add({}) == 3\n"
    for name, numbers in {
        "sum": "1, 2",
        "blind": "3, 0",
        "tens": "11, 2",
        "broken": "1, 1",
    }.items():
        (tree / "tests" / f"test_{name}.py").write_text(test.format(name, numbers))
    return tree


@pytest.mark.parametrize(
    ("change", "tests", "word", "by"),
    [
        ("one + other -> (one - other)", ("blind", "sum"), "killed", "test_sum"),
        thorough("one + other -> (one - other)", ("blind",), "survived", ""),
        thorough("one + other -> (one - other)", ("broken", "blind"), "survived", ""),
        thorough("one + other -> (one - other)", ("broken", "sum"), "killed", "test_sum"),
        thorough("one -= 10 -> pass", ("tens",), "endless", ""),
    ],
)
def test_a_mutant_is_killed_where_a_test_fails(tree, change, tests, word, by, monkeypatch):
    before = (tree / "small/sums.py").read_text()
    # What ends may take 20 s of its processor, however loaded; what does not is stopped after 0.2 s.
    seconds = -0.98 if word == "endless" else 1.0
    names = {f"tests/test_{name}.py::test_{name}": seconds for name in tests}
    mutant = next(one for one in mutants_of(tree, "small/sums.py") if change in one.key)
    verdict = verdict_on(mutant, tree, names)
    assert verdict.word == word
    assert by in verdict.by
    assert verdict.is_killed == (word != "survived")
    assert (tree / "small/sums.py").read_text() == before


@pytest.mark.thorough
def test_tests_that_are_not_there_say_nothing(tree):
    mutant = mutants_of(tree, "small/sums.py")[0]
    with pytest.raises(NoVerdictError, match="exit code 5"):
        verdict_on(mutant, tree, {"tests/test_sum.py::test_product": 1.0})


def test_tests_of_all_folders_are_measured_but_those_that_need_a_browser(tmp_path):
    for name in (
        "test_a.py",
        "core/test_b.py",
        "core/model/test_c.py",
        "browser/test_d.py",
        "x.py",
    ):
        (tmp_path / "tests" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "tests" / name).touch()
    found = [f"tests/{name}" for name in ("core/model/test_c.py", "core/test_b.py", "test_a.py")]
    assert covering.test_files(tmp_path) == found


def test_what_an_import_executes_is_seen_by_the_tests_of_the_lines_that_name_it(tmp_path):
    """The test that imports the file first executes its first line, and says nothing of it."""
    (tmp_path / "sums.py").write_text(
        "STEP = 2\nTWICE = 2 * STEP\ndef add(a):\n    return a + TWICE\ndef zero():\n    return 0\n"
    )
    imports, adds, zeros = "tests/test_a.py::a", "tests/test_b.py::adds", "tests/test_c.py::zeros"
    lines = {1: [imports], 2: [imports], 3: [imports], 4: [adds], 5: [imports], 6: [zeros, adds]}
    tests = Covering(tmp_path, {"sums.py": lines}, {imports: 0.1, adds: 0.2, zeros: 0.3})
    seen = {one.key: [*tests.tests(one)] for one in mutants_of(tmp_path, "sums.py")}
    assert seen["sums.py -: 2 -> (2 + 1)"] == [adds]
    assert seen["sums.py -: 2 -> (2 + 1) (#2)"] == [adds]
    assert seen["sums.py add: a + TWICE -> (a - TWICE)"] == [adds]
    assert seen["sums.py zero: return 0 -> return None"] == [adds, zeros]


def test_the_lambda_and_the_module_of_a_name_are_those_of_the_mutant(tmp_path):
    """A lambda is executed where it is called; a name of another file is another variable."""
    (tmp_path / "a.py").write_text("LIMIT = 2\nTWICE = [\n    lambda x: x * 3,\n]\n")
    (tmp_path / "b.py").write_text("from a import LIMIT\ndef within(x):\n    return x < LIMIT\n")
    (tmp_path / "c.py").write_text("LIMIT = 5\ndef beyond(x):\n    return x > LIMIT\n")
    lines = {
        "a.py": {3: ["tests/test_a.py::calls"]},
        "b.py": {3: ["tests/test_b.py::within"]},
        "c.py": {3: ["tests/test_c.py::beyond"]},
    }
    tests = Covering(tmp_path, lines, {one: 0.1 for of in lines.values() for one in of[3]})
    seen = {one.key: [*tests.tests(one)] for one in mutants_of(tmp_path, "a.py")}
    assert seen["a.py -: x * 3 -> (x / 3)"] == ["tests/test_a.py::calls"]
    assert seen["a.py -: 2 -> (2 + 1)"] == ["tests/test_b.py::within"]


def test_one_case_of_each_test_runs_before_further_ones():
    found = covering.first_cases_first(["a[1]", "a[2]", "b", "a[3]", "c[x[1]]", "c[y]"])
    assert found == ["a[1]", "b", "c[x[1]]", "a[2]", "c[y]", "a[3]"]


def mutant(before, after):
    return Mutant("small/core/sums.py", "add", "arithmetic", before, after, 0, 0, 1, (1, 1))


def test_an_interrupted_run_goes_on_and_new_tests_meet_what_survived(tmp_path):
    sums, products = mutant("a + b", "(a - b)"), mutant("a * b", "(a / b)")
    killed, survived = Verdict(sums, "killed", 1.0, "test_sum"), Verdict(products, "survived", 2.0)
    kept = Kept(tmp_path / "verdicts", "first")
    assert kept.verdict(sums) is None
    kept.add(killed)
    kept.add(survived)
    again, changed = (Kept(tmp_path / "verdicts", version) for version in ("first", "second"))
    assert (again.verdict(sums), again.verdict(products)) == (killed, survived)
    assert (changed.verdict(sums), changed.verdict(products)) == (killed, None)


def test_the_page_has_the_score_the_survivors_and_the_reasons():
    sums, products = mutant("a + b", "(a - b)"), mutant("a * b", "(a / b)")
    verdicts = [Verdict(sums, "killed", 1.0), Verdict(products, "survived", 1.0)]
    equivalent = {mutant("a or 0", "(a)"): "Never 0."}
    text = page(verdicts, equivalent, {}, seed=7, population=1234)
    assert "sample of 3 of 1,234 such mutants, seed 7;\n1 of them" in text
    assert "**1 of 2 killed (50.0%).**" in text
    assert "| core | 2 | 1 |" in text
    assert "- `small/core/sums.py`, `add`: `a * b` becomes `(a / b)`\n" in text
    assert "`a or 0` becomes" not in text
    known = page(verdicts, equivalent, {products.key: "No price is 0."}, seed=7, population=1234)
    assert "`a * b` becomes `(a / b)`. No price is 0.\n" in known
