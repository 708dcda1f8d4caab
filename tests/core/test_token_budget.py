"""A token budget of a step also limits its sequences, where decode tokens count towards it.

vLLM clamps its default in vllm/engine/arg_utils.py, ``self.max_num_seqs = min(self.max_num_seqs,
self.max_num_batched_tokens)``, and refuses more in vllm/config/scheduler.py, ``max_num_batched_tokens
(512) must be greater than or equal to max_num_seqs (1024)``. llama.cpp's server makes room for
``max(n_batch, n_parallel)`` tokens; SGLang's ``chunked_prefill_size`` cuts prompts alone.
"""

import pytest

import fastcalc
from fastcalc.catalogue.schema.engines import Parameters
from fastcalc.catalogue.store import Catalogue
from fastcalc.core.outcome import locate
from fastcalc.kit.answer.why_so_many import engine_limit
from fastcalc.mentions import option
from tests.helpers import every, outcome

SETTINGS = {"on": "l40s", "chips": 4, "tp": 4, "weights": "awq-int4-g128", "batch": [16, 17]}


def fitting(**settings):
    rows = fastcalc.compare("qwen3-32b", **{**SETTINGS, **settings}).records
    return [row["batch"] for row in rows if row["tpot_ms"] is not None]


@every(
    "engine,taken",
    [
        ("vllm", [16]),
        ("vllm-0.25", [16]),
        ("tensorrt-llm", [16, 17]),
        ("sglang", [16, 17]),
        ("llama-cpp", [16, 17]),
    ],
)
def test_a_sequence_takes_a_token_of_the_budget(engine, taken):
    weights = "q4_k_m" if engine == "llama-cpp" else SETTINGS["weights"]
    assert fitting(engine=engine, weights=weights, max_num_batched_tokens=16) == taken


def test_a_budget_leaves_a_smaller_limit_of_sequences_alone():
    assert fitting(engine="vllm", max_num_batched_tokens=17, max_num_seqs=16) == [16]
    assert fitting(engine="vllm", max_num_batched_tokens=17) == [16, 17]


def test_more_sequences_than_tokens_do_not_start():
    said = "max_num_batched_tokens 16 is less than max_num_seqs 64.*vllm does not start"
    with pytest.raises(fastcalc.InputError, match=said):
        fitting(engine="vllm", max_num_batched_tokens=16, max_num_seqs=64)


def test_the_budget_is_named_as_what_limits_the_batch():
    budget = {"prompt_chunk": 16.0}
    engine = Catalogue().engine("vllm").limited(Parameters.model_validate(budget))
    said = engine_limit(locate(outcome("qwen3-8b", "l40s", engine=engine).scenario))
    assert "at most 16 sequences" in said
    assert said.endswith(f"{option('max_num_batched_tokens')} changes that")
