"""The list of wrong lines applies to the code that there is, and its script tells killed from not."""

import re

import pytest

from benchmarks.code_mutants import (
    LIST,
    ROOT,
    Mutant,
    Verdict,
    WrongRowError,
    mutants_of,
    page,
    verdict_on,
)
from tests.helpers import every

MUTANTS = mutants_of(LIST)
SUM = Mutant(
    name="sum",
    file="small/sums.py",
    code="one + other",
    becomes="one - other",
    wrong="A sum is no difference.",
    tests=("tests/test_sums.py",),
)


def changed(**changes):
    return Mutant(**{**SUM.__dict__, **changes})


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """A package of one function, and a test that calls it with a zero; byte code is kept."""
    tree = tmp_path_factory.mktemp("copy") / "tree"
    (tree / "small").mkdir(parents=True)
    (tree / "small" / "__init__.py").touch()
    (tree / "small" / "sums.py").write_text("def add(one, other):\n    return one + other\n")
    (tree / "tests").mkdir()
    test = "from small.sums import add\n\ndef test_sum():\n    assert add({}) == 3\n"
    (tree / "tests" / "test_sums.py").write_text(test.format("1, 2"))
    (tree / "tests" / "test_blind.py").write_text(test.format("3, 0"))
    return tree


@pytest.mark.parametrize(
    ("mutant", "word"),
    [
        (SUM, "killed"),
        (changed(tests=("tests/test_blind.py",)), "survived"),
    ],
)
def test_a_mutant_is_killed_where_a_test_fails(tree, mutant, word):
    before = (tree / mutant.file).read_text()
    verdict = verdict_on(mutant, tree, mutant.tests, 60.0)
    assert verdict.word == word
    assert verdict.is_killed == (word != "survived")
    assert (tree / mutant.file).read_text() == before


def test_an_endless_test_is_a_killed_mutant(tree):
    mutant = changed(code="    return", becomes="    import time\n    time.sleep(60)\n    return")
    assert verdict_on(mutant, tree, mutant.tests, 1.0).word == "timeout"


@pytest.mark.parametrize(
    ("mutant", "said"),
    [
        (changed(code="one * other"), "holds 0 times"),
        (changed(code="one"), "holds 2 times"),
        (changed(becomes=SUM.code), "holds 1 times"),
        (changed(file="small/products.py"), "holds 0 times"),
        (changed(becomes="one +"), "SyntaxError"),
        (changed(tests=("tests/test_products.py",)), "no verdict, exit code 4"),
    ],
)
def test_a_row_that_cannot_say_anything_is_an_error(tree, mutant, said):
    with pytest.raises(WrongRowError, match=said):
        verdict_on(mutant, tree, mutant.tests, 60.0)


@every("mutant", MUTANTS)
def test_every_row_of_the_list_applies(mutant):
    compile(mutant.text(ROOT), mutant.file, "exec")
    for test in mutant.tests:
        file, _, name = test.partition("::")
        assert re.search(rf"^def {name or 'test_'}", (ROOT / file).read_text(), re.M), test


def test_names_are_given_once(tmp_path):
    row = "- {name: a, file: f, code: c, becomes: d, wrong: w, tests: []}\n"
    (tmp_path / "list.yaml").write_text(row + row)
    with pytest.raises(WrongRowError, match="names given twice: a"):
        mutants_of(tmp_path / "list.yaml")


def test_the_page_has_the_score_and_the_survivors():
    lucky = changed(name="lucky", survives="Both are the same.")
    text = page([Verdict(SUM, "killed", 1.0), Verdict(lucky, "survived", 1.0)])
    assert "**1 of 2 killed (50%).**" in text
    assert "| `small/sums.py` | 2 | 1 |" in text
    assert "**lucky** (`small/sums.py`): `one + other` becomes `one - other`. Both are" in text
