"""Warnings of a model's configuration, which stand first on every page that is asked of it."""

import json

import pytest

from fastcalc.features import COMMANDS
from tests.helpers import every, run

WARNING = "model_type 'brand_new' is unsupported"

UNKNOWN = {
    "model_type": "brand_new", "architectures": ["BrandNewForCausalLM"], "hidden_size": 1024,
    "intermediate_size": 4096, "num_hidden_layers": 8, "num_attention_heads": 8,
    "num_key_value_heads": 4, "vocab_size": 32000, "torch_dtype": "bfloat16",
}  # fmt: skip
"""A family that nobody has published."""

RUN = {
    "request_rate": "inf", "max_concurrency": 4, "completed": 40, "duration": 50.0,
    "total_input_tokens": 40_000, "total_output_tokens": 4_040, "output_throughput": 80.0,
    "mean_ttft_ms": 100.0, "mean_tpot_ms": 10.0,
}  # fmt: skip
TRACE = [
    {"timestamp_s": k, "input_length": 512, "output_length": 9, "hash_ids": [k % 3]}
    for k in range(9)
]
ON = ("--on", "h100-sxm")
SERVER = ("--hardware", "h100-sxm", "--tp", "1")

ASKED = {
    "compare": ("MODEL", *ON),
    "fit": ("MODEL", *ON),
    "fastmode": ("MODEL", *ON),
    "sensitivity": ("MODEL", *ON),
    "decide": ("a=model=MODEL,on=h100-sxm", "b=speed=65,price=25"),
    "caches": ("MODEL", *ON, "--traffic", "TRACE"),
    "plan": ("MODEL", *ON, "--rate", "2/s", "--tpot", "50ms"),
    "frontier": ("MODEL", *ON),
    "sweep": ("MODEL", *ON),
    "plot": ("frontier", "MODEL", *ON),
    "report": ("MODEL", *ON, "-o", "OUT"),
    "validate": ("RUN", *SERVER, "--model", "MODEL"),
    "calibrate": ("RUN", *SERVER, "--model", "MODEL"),
    "diagnose": ("RUN", *SERVER, "--model", "MODEL"),
    "measure": ("MODEL", *ON),
    "show": ("MODEL",),
    "diff": ("MODEL", "llama-3-8b"),
    "import": ("MODEL",),
}
DATA = ("sweep", "calibrate", "import", "plot", "report")
"""What these write are records, a file or a picture: the warning goes to standard error."""

WITHOUT = {"infer", "claims", "list", "check", "new", "schema"}
"""Commands that take no model, or refuse a configuration as `check` does."""


@pytest.fixture
def files(tmp_path):
    lines = {
        "MODEL": json.dumps(UNKNOWN),
        "RUN": json.dumps(RUN),
        "TRACE": "\n".join(map(json.dumps, TRACE)),
    }
    names = {"MODEL": "m.json", "RUN": "run.json", "TRACE": "t.jsonl", "OUT": "out.html"}
    for key, text in lines.items():
        (tmp_path / names[key]).write_text(text)
    return {key: str(tmp_path / name) for key, name in names.items()}


def test_every_command_that_takes_a_model_is_asked():
    assert set(ASKED) | WITHOUT == set(COMMANDS)
    assert not WITHOUT & set(ASKED)


@pytest.mark.thorough
@every("command", sorted(ASKED))
def test_a_warning_is_the_first_thing_that_a_command_says(command, files, capsys, monkeypatch):
    words = list(ASKED[command])
    for key, path in files.items():
        words = [word.replace(key, path) for word in words]
    ran = run(command, *words, capsys=capsys, monkeypatch=monkeypatch)
    assert ran.code == 0, ran.err
    if command in DATA:
        assert f"Warning: {WARNING}" in ran.err
        return
    assert f"m: Warning: {WARNING}" in " ".join(ran.out.splitlines()[:4])
    assert WARNING not in ran.err


def test_a_page_to_send_begins_with_the_warning(files, capsys, monkeypatch):
    for command in ("compare", "fit"):
        words = (command, files["MODEL"], *ON, "-o", files["OUT"])
        assert run(*words, capsys=capsys, monkeypatch=monkeypatch).code == 0
        with open(files["OUT"], encoding="utf-8") as page:
            text = page.read()
        assert text.count("is unsupported") == 1
        assert text.index("is unsupported") < text.index("<table")
