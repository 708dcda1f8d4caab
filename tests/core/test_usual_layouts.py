"""Layouts that users run: all of them are tried, up to sixteen stages."""

import pytest

from fastcalc.core.placement.legal import LegalLayouts
from fastcalc.core.placement.practice import run_by_people, usual_layouts
from tests.helpers import outcome

CASES = [
    ("llama-3.1-70b", "h100-sxm"),
    ("llama-3.1-70b", "rtx-4090"),
    ("qwen3-30b-a3b", "h100-sxm"),
    ("deepseek-v3.2", "gb200"),
]


@pytest.mark.parametrize(("model", "chip"), CASES)
def test_usual_layouts_are_those_of_every_number_of_chips(model, chip):
    """Groups of a domain at most, sixteen stages at most: more chips have no usual layout."""
    legal = outcome(model, chip, weights="fp8" if chip == "h100-sxm" else None).site
    assert isinstance(legal, LegalLayouts)
    domain = legal.usual_domain // legal.machine.ranks
    every = run_by_people(legal, *range(1, domain * 17 + 1))
    found = usual_layouts(legal)
    assert set(found) == set(every)
    assert len(found) == len(set(found))
    assert [layout.chips for layout in found] == sorted(layout.chips for layout in found)


def test_a_deep_model_has_up_to_sixteen_stages():
    """Llama 3.1 70B has 80 layers, which sixteen stages of five divide evenly."""
    legal = outcome("llama-3.1-70b", "h100-sxm").site
    assert max(layout.pp for layout in usual_layouts(legal)) == 16
    assert max(layout.chips for layout in usual_layouts(legal)) == 16 * legal.usual_domain
