"""Whatever field of a request moves a number of a record leaves a trace in what the records rest on.

A trace is a change of the JSON's assumptions, or of the key of the records that repeats the field.
Each field of each request is changed alone.
"""

import json
from functools import cache
from pathlib import Path

import pytest

import fastcalc as fc
from fastcalc.features import COMMANDS, request_of
from fastcalc.kit.request.fields import declared
from fastcalc.library.functions import parameters
from tests.helpers import ROOT, SLOW_COMMANDS, thorough
from tests.rule_examples import put

EXAMPLES = ROOT / "docs" / "examples"
TRACE, RUNS, SLOW, RESULTS = (
    str(EXAMPLES / name)
    for name in ("my-trace.jsonl", "my-runs.csv", "my-slow-runs.csv", "my-results.json")
)

SMALL = {"on": "h100-sxm", "prompt": 4000}
ASKED = {
    "compare": {"models": "llama-3.1-8b", **SMALL, "batch": "8"},
    "fit": {"models": "llama-3.1-8b", **SMALL, "batch": "8"},
    "sweep": {"models": "llama-3.1-8b", **SMALL, "batch": "8"},
    "frontier": {"model": "llama-3.1-8b", **SMALL, "max_chips": 2},
    "sensitivity": {"model": "llama-3.1-8b", **SMALL, "batch": "8"},
    "fastmode": {"model": "llama-3.1-8b", **SMALL, "batch": "8", "smaller": "none"},
    "caches": {"model": "llama-3.1-8b", "on": "h100-sxm", "traffic": TRACE, "batch": "8"},
    "plan": {"model": "llama-3.1-8b", **SMALL, "rate": "10/s", "max_chips": 16},
    "decide": {"options": ["a=speed=65,price=25", "b=model=llama-3.1-8b,on=h100-sxm"]},
    "infer": {"points": 4096},
    "validate": {"path": RESULTS},
    "diagnose": {"path": SLOW},
    "list": {"entries": "hardware"},
    "diff": {"left": "h100-sxm", "right": "h200-sxm"},
}
"""What each command is asked before a field is changed: a small request, answered in no time."""

WITHOUT_RECORDS = {
    **dict.fromkeys(("plot", "report"), "draw what compare, fit and others answer"),
    **dict.fromkeys(("show", "new", "import", "schema"), "write an entry or a file to fill in"),
    "measure": "advises runs; its speeds and ranges are those of compare",
    "calibrate": "writes an engine",
    "claims": "has the assumptions of each claim in its record",
    "check": "says what is wrong in a file",
}

ONLY_SHOWN = {
    *("out", "format", "notes", "wide", "anyway", "everything", "explain", "top", "emit"),
    *(
        "map",
        "baseline",
        "max_worse",
        "max_median_factor",
        "sensitivity",
        "entries",
        "with_",
        "cost",
    ),
}
"""Fields that say what is shown, not what numbers rest on."""

NOT_TRIED = {"plugins": "needs an installed package", "points": "says how many are drawn"}

ON_A_HOST = {"models": "llama-3.1-70b", "model": "llama-3.1-70b", "on": "rtx-4090", "batch": "1"}
ON_A_HOST |= {"host": "ddr5-2ch", "weights": "int4", "prompt": 1000, "rate": None}
PEOPLE = {"rate": None, "users": 200, "think": "20s"}

BESIDES = {
    **dict.fromkeys(
        ("host", "host_use", "place", "place_for", "n_gpu_layers"), ON_A_HOST | {"max_chips": None}
    ),
    "n_cpu_moe": ON_A_HOST | {"models": "gpt-oss-20b", "model": "gpt-oss-20b", "weights": None},
    **dict.fromkeys(("users", "think", "active_fraction", "peak_multiplier"), PEOPLE),
    **{field: {"price_basis": "tco"} for field in ("years", "electricity")},
    **{field: {"accuracy": 0.8, "steps": 3, "best_of": 3} for field in ("retries", "judge")},
    **{field: {"accuracy": 0.8, "best_of": 2} for field in ("best_of", "serial")},
    **{field: {"accuracy": 0.8} for field in ("repair_seconds", "check_seconds")},
    **{field: {"rate": None} for field in ("budget", "power")},
    "curve": {"batch": None},
    "draft_model": {"speculate": "0.8x3"},
    "traffic": {"prompt": None},
    "like": {"models": "qwen3-8b", "model": "qwen3-8b"},
    "prefix_tier": {"prefix_hit": 0.5, "host": "ddr5-2ch"},
    "ep": {"models": "gpt-oss-20b", "model": "gpt-oss-20b", "tp": 2},
    "users": PEOPLE | {"batch": None},
    "from_speed": {"batch": None},
    "requests_per_active_user_per_min": PEOPLE
    | {"think": None, "requests_per_active_user_per_min": 3},
    "percentile": {"ttft": "300ms"},
    "language_model_only": {"models": "gemma-3-27b", "model": "gemma-3-27b"},
    "cached": {"options": ["c=speed=65,price=25,input-price=5,cached-price=1"], "prompt": 5000},
    "look_away": {"come_back": 20, "hour": 60, "tool_seconds": 30},
    "come_back": {"look_away": 5, "hour": 60, "tool_seconds": 30},
}
"""What a command is asked besides, so that the field has something to act on."""

CHANGES = {
    "models": "qwen3-8b",
    "model": "qwen3-8b",
    "on": "h200-sxm",
    "engine": "sglang",
    "prompt": 6000,
    "output": 500,
    "context": 9000,
    "batch": "4",
    "users": "4",
    "solve": "context",
    "speculate": "2.5",
    "draft_model": "qwen3-0.6b",
    "weights": "fp8",
    "kv": "fp8",
    "chips": 2,
    "tp": 2,
    "pp": 2,
    "ep": 2,
    "dp": 2,
    "host": "epyc-9005-12ch",
    "host_use": "stream",
    "n_gpu_layers": 40,
    "n_cpu_moe": 10,
    "place": "kv=host",
    "place_for": "decode",
    "gpu_memory_utilization": 0.5,
    "max_model_len": 9000,
    "max_num_seqs": 4,
    "language_model_only": True,
    "max_num_batched_tokens": 512,
    "prefix_hit": 0.5,
    "prefix_tier": "host",
    "like": RUNS,
    "log": str(EXAMPLES / "my-server.log"),
    "price": {"h100-sxm": 1.23},
    "price_basis": "tco",
    "offer": "spot",
    "years": 2,
    "electricity": 0.5,
    "utilization": 0.5,
    "set": {"h100-sxm:memory.HBM3.bandwidth": "2 TB/s"},
    "smaller": "family",
    "curve": True,
    "from_speed": 60,
    "speedup": 1.5,
    "to_speed": 200,
    "target": "300",
    "max_chips": 1,
    "traffic": str(EXAMPLES / "my-mix.yaml"),
    "sizes": "512GB",
    "ttft": "2s",
    "percentile": 90,
    "tpot": "9ms",
    "min_speed": 120,
    "rate": "20/s",
    "think": "5s",
    "requests_per_active_user_per_min": 6,
    "active_fraction": 0.5,
    "peak_multiplier": 2,
    "own": {"h100-sxm": 8},
    "budget": 5000,
    "power": "5kW",
    "api": "0.6/0.15/2.4",
    "grid": 400,
    "by": "chip",
    "objective": "watts",
    "confidence": 90,
    "load": 0.5,
    "prompts_on": "h200-sxm",
    "options": ["a=speed=30,price=25"],
    "steps": 5,
    "accuracy": 0.8,
    "tokens": 400,
    "cached": 0.5,
    "tool_seconds": 3,
    "retries": 2,
    "best_of": 3,
    "judge": "majority",
    "serial": True,
    "round_trip_ms": 200,
    "window_ms": 20_000,
    "check_seconds": 60,
    "repair_seconds": 60,
    "sessions": 3,
    "look_away": 5,
    "come_back": 20,
    "hour": 60,
    "hours": 40,
    "speeds": "50,170",
    "prices": "25,100",
    "tolerance": 0.3,
    "path": RUNS,
    "left": "a100-sxm-80gb",
    "right": "b200",
    "kind": "wafer",
    "vendor": "amd",
}
"""A value of each field that moves a number."""

CHANGES_OF = {
    ("caches", "model"): "llama-3.1-70b",
    ("caches", "max_model_len"): 130_000,
    ("decide", "objective"): "cost",
    ("infer", "offer"): "on-demand",
    ("infer", "on"): "h200-sxm",
    ("diagnose", "path"): RESULTS,
}
"""The same for one command, where the value above is none for it."""

CHANGED_FILES = {
    "hardware_dir": ("hardware/h100-sxm.yaml", "value: 3.35 TB/s", "value: 2.5 TB/s"),
    "models_dir": ("models/llama-3.1-8b.yaml", "count: 32", "count: 16"),
    "engines_dir": (
        "engines/vllm.yaml",
        "decode_layer_floor: {value: [0-9.]+ us",
        "decode_layer_floor: {value: 30 us",
    ),
}
"""What one number of a shipped file is in a folder of the user's own."""

CANNOT = {
    "validate": "hardware chips ep",
    "diagnose": "hardware model weights kv chips tp pp ep dp",
    "caches": "like",
}
"""Fields that the files asked about settle themselves."""

IDLE = {
    "compare": "place_for max_model_len",
    "fit": "place_for prefix_hit prefix_tier set hardware_dir engines_dir",
    "sweep": "place_for max_model_len",
    "frontier": "place_for max_model_len",
    "sensitivity": "max_model_len",
    "fastmode": "place_for max_model_len",
    "caches": "max_model_len language_model_only utilization",
    "plan": "place_for max_model_len",
    "decide": "budget objective on gpu_memory_utilization max_model_len max_num_seqs "
    "max_num_batched_tokens language_model_only",
    "diagnose": "speculate",  # the file states the tokens of each pass
    "infer": "offer models_dir engines_dir",
    "validate": "model tp pp dp models_dir",
    "list": "models_dir engines_dir",
    "diff": "models_dir engines_dir",
}
"""Fields that move no number of what is asked here."""

ECHOED = {
    "models": "model",
    "on": "hardware",
    "weights": "weight_format",
    "kv": "kv_format",
    "users": "batch",
    "prompt": "prompt_tokens",
    "output": "output_tokens",
    "context": "context_tokens",
    "speculate": "speculation_tokens_per_pass",
    "options": "option",
    "tokens": "tokens_per_step",
    "tool_seconds": "tool_s_per_step",
}
"""Keys of records that repeat a field, where they are not called as it is."""


def fields_of(command):
    """Return the fields of a request that numbers may rest on."""
    return [
        name
        for name in declared(request_of(command))
        if name not in (*ONLY_SHOWN, *NOT_TRIED, *CANNOT.get(command, "").split())
    ]


def answer(command, changes):
    """Return the records of an answer, and what they rest on."""
    asked = {key: value for key, value in (ASKED[command] | changes).items() if value is not None}
    positional, _ = parameters(request_of(command))
    given = [asked.pop(name) for name in positional if name in asked]
    names = [name for each in given for name in (each if isinstance(each, list) else [each])]
    table = getattr(fc, command)(*names, **asked)
    return table.records, table.assumptions


@cache
def answer_before(command, besides):
    return answer(command, json.loads(besides))


def numbers(value):
    """Yield the numbers of records, in order."""
    if isinstance(value, (dict, list)):
        for part in value.values() if isinstance(value, dict) else value:
            yield from numbers(part)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield value


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """A folder of the user's own for each kind, with one number of a shipped file changed."""
    paths = {}
    for field, (file, pattern, new) in CHANGED_FILES.items():
        paths[field] = str(tmp_path_factory.mktemp(field))
        text = put((ROOT / file).read_text(), (pattern, new))
        Path(paths[field], Path(file).name).write_text(text)
    shorter = tmp_path_factory.mktemp("traffic") / "shorter.jsonl"
    lines = Path(TRACE).read_text().splitlines(keepends=True)
    shorter.write_text("".join(lines[: len(lines) // 2]))
    return {**paths, ("caches", "traffic"): str(shorter)}


def changed(command, field, value):
    """Return whether a field moves a number of the records, and whether a trace of it is left."""
    taken = {name for names in parameters(request_of(command)) for name in names}
    besides = {name: each for name, each in BESIDES.get(field, {}).items() if name in taken}
    before, rested_on = answer_before(command, json.dumps(besides))
    after, rests_on = answer(command, besides | {field: value})
    key = ECHOED.get(field, field)
    is_echoed = all(key in record for record in (*before, *after)) and (
        [record[key] for record in before] != [record[key] for record in after]
    )
    is_moved = list(numbers(before)) != list(numbers(after))
    return is_moved, is_echoed or rested_on != rests_on


def cases():
    """Yield each field of each request; by default at the first command that has it, if quick."""
    tried = set()
    for command in ASKED:
        for field in fields_of(command):
            is_quick = field not in tried and command not in (*SLOW_COMMANDS, "diagnose")
            tried.add(field)
            yield (pytest.param if is_quick else thorough)(command, field, id=f"{command}-{field}")


@pytest.mark.thorough
@pytest.mark.parametrize(("command", "field"), [*cases()])
def test_what_moves_a_number_leaves_a_trace(command, field, folders, without_regret):
    value = folders.get((command, field)) or folders.get(field)
    value = value or CHANGES_OF.get((command, field), CHANGES.get(field))
    is_moved, is_traced = changed(command, field, value)
    assert is_moved != (field in IDLE.get(command, "").split()), "IDLE says which fields move none"
    assert is_traced or not is_moved, f"{field} moves a number of {command}"


def test_every_field_of_every_request_is_tried():
    assert ASKED.keys() | WITHOUT_RECORDS.keys() == COMMANDS.keys()
    for command in ASKED:
        fields = set(fields_of(command))
        assert fields <= CHANGES.keys() | CHANGED_FILES.keys(), command
        assert {*IDLE.get(command, "").split()} <= fields
    idle = {
        field
        for field in CHANGES
        if all(
            field in IDLE.get(command, "").split()
            for command in ASKED
            if field in fields_of(command)
        )
    }
    assert not idle, "a value that moves no number anywhere tries nothing"
