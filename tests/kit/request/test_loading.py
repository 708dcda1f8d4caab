"""Scenarios that a request names: of each model on each chip, as many as memory keeps."""

import pytest

from fastcalc.errors import InputError
from fastcalc.features.compare.request import Compare
from fastcalc.kit.request import loading


def test_points_are_of_each_model_on_each_chip_at_each_batch(monkeypatch):
    """Two models on three chips at ten batches are 60."""
    request = Compare(
        models=["llama-3.1-8b", "phi-4"], on="h100-sxm,h200-sxm,l40s", batch="1..10+1"
    )
    monkeypatch.setattr(loading, "MOST_POINTS", 60)
    assert len(loading.scenarios(request, [])) == 6
    monkeypatch.setattr(loading, "MOST_POINTS", 59)
    with pytest.raises(InputError, match=r"^60 points \(models x chips x batches\) exceed 59"):
        loading.scenarios(request, [])


@pytest.mark.parametrize(
    ("limits", "example"),
    [({"max_num_seqs": 0}, "256"), ({"gpu_memory_utilization": 1.5}, "0.9")],
)
def test_a_limit_of_an_engine_that_is_none_has_an_example(limits, example):
    with pytest.raises(InputError, match=rf"; write for example {example}$"):
        loading.scenarios(Compare(on="h100-sxm", **limits), [])
