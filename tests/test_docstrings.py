"""Examples in docstrings give what they show."""

import doctest
import importlib

import pytest

from tests.helpers import ROOT

MODULES = [
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for path in sorted((ROOT / "fastcalc").rglob("*.py"))
    if ">>> " in path.read_text("utf-8")
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_a_module(name):
    module = importlib.import_module(name)
    ran = doctest.testmod(module)
    assert ran.failed == 0
