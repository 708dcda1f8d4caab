"""``fastcalc validate`` of a server with speculative decoding, whose file does not state it."""

import pytest

import fastcalc as fc
from fastcalc.errors import InputError

SERVER = {"weights": "fp8", "tp": 4, "chips": 4}
DRAFTS = {"speculate": "2.95/3", "draft_model": "llama-3.2-1b"}
HEADER = "hardware,chips,tp,weights,model,engine,concurrency,prompt,output,metric,value"
ROW = "h100-sxm,4,4,fp8,llama-3.1-70b,vllm,1,1000,500,tpot_s,0.008"


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "runs.csv"
    path.write_text(f"{HEADER}\n{ROW}\n")
    return path


@pytest.mark.parametrize("drafts", [{}, {"speculate": "2.95/3"}, DRAFTS])
def test_it_predicts_what_compare_predicts(file, drafts):
    asked = {"on": "h100-sxm", "engine": "vllm", "prompt": 1000, "output": 500}
    compared = fc.compare("llama-3.1-70b", **asked, **SERVER, **drafts).records[0]
    predicted = fc.validate(file, **drafts).records[0]
    assert 1e3 * predicted["expected"] == pytest.approx(compared["tpot_ms"], rel=1e-6)


def test_the_shipped_evidence_states_its_own_drafts():
    with pytest.raises(InputError, match="give a file"):
        fc.validate(**DRAFTS)
