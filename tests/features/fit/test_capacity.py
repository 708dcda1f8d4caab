"""The longest context and the most users, held against fit at the answer and one beyond it."""

import json
from dataclasses import replace

import numpy as np
import pytest

import fastcalc
from fastcalc.core.chip.tier import OWN_MEMORY
from fastcalc.core.outcome import locate
from fastcalc.core.placement.cache_size import cache_size
from fastcalc.core.placement.layout import LayoutError
from fastcalc.core.placement.practice import copies_run_by_people
from fastcalc.core.scenario import Scenario, Sharding
from fastcalc.core.traffic.traffic import Traffic
from fastcalc.features.fit.chart import context as context_chart
from fastcalc.features.fit.solve import solve_for
from fastcalc.formulas.cache_size import cached_tokens, whole_blocks
from tests import made_up
from tests.features.fit.test_starts import ENTRIES, GIB, STARTS, gib, located
from tests.helpers import run

CASES = 120


@pytest.fixture
def fastcalc_run(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    return lambda *words: run(*words, capsys=capsys, monkeypatch=monkeypatch)


def random_scenario(random):
    """Return a workload on chips that nobody sells, which may hold it or not."""
    capacity = random.uniform(0.5, 4.0)
    memory = [{"name": "M", "capacity": f"{capacity:.3f} GB", "bandwidth": "1 TB/s"}]
    ranges = {"below": 1.0 + random.random(), "above": 1.0 + random.random(), "basis": "made up"}
    engine = made_up.engine(
        runtime_memory=f"{random.uniform(0.0, 0.6):.3f} GB",
        max_sequences=int(random.integers(4, 400)),
        memory_fraction=random.uniform(0.5, 1.0),
    ).changed(ranges={"reserve": ranges})
    model = made_up.minimal(
        total_parameters=int(random.integers(1, 900)) * 1_000_000,
        kv_bytes_per_token=float(random.integers(500, 50_000)),
        layers=8,
        max_context=int(random.integers(3000, 400_000)),
    )
    shardings = [
        Sharding(),
        Sharding(pp=2),
        Sharding(pp=2, dp=2),
        Sharding(chips=1),
        Sharding(dp=3),
    ]
    longest = float(random.choice([0, 2500, 20_000]))
    output = float(random.integers(1, 1200))
    return Scenario(
        hardware=made_up.chip(memory=memory),
        model=model,
        engine=engine,
        batches=(int(random.integers(1, 40)),),
        traffic=Traffic(1000.0, output, 1000.0 + output / 2.0),
        sharding=shardings[random.integers(len(shardings))],
        memory=replace(OWN_MEMORY, longest=longest),
    )


def of_tokens(scenario, tokens):
    """Return the traffic of a scenario with requests that are so long."""
    prompt = tokens - scenario.traffic.output
    return replace(scenario.traffic, prompt=prompt, context=prompt)


def on_its_chips(location):
    """Return the scenario on each layout that it may take on the chips that it was placed on."""
    layouts = [location.placement.layout]
    if not location.scenario.sharding.names_ranks:
        layouts = [*copies_run_by_people(location.site, layouts[0].chips)] or layouts
    return [
        replace(location.scenario, sharding=Sharding(None, cut.tp, cut.pp, cut.ep, cut.dp))
        for cut in layouts
    ]


def is_held(layouts, verdicts, **changes):
    """Return whether any of some layouts holds a batch or a length that its engine takes, too."""
    limit = layouts[0].engine.parameters.max_sequences.si
    changed = [replace(layout, **changes) for layout in layouts]
    return any(
        locate(one).verdict in verdicts and min(one.batches) <= limit * one.sharding.dp
        for one in changed
    )


@pytest.mark.thorough
@pytest.mark.parametrize("verdict", ["certain", "edge"])
def test_no_more_users_fit_and_no_longer_context_than_what_is_solved_for(verdict):
    """Random cases: fit holds the answer and not one more, unless model or engine takes no more."""
    random, answers = np.random.default_rng(27), []
    fitting = {"certain": ("fits",), "edge": ("fits", "edge")}[verdict]
    for _ in range(CASES):
        location = locate(random_scenario(random))
        scenario, layouts = location.scenario, on_its_chips(location)
        solution = solve_for("users", location)
        users = getattr(solution, verdict)
        if users:
            assert is_held(layouts, fitting, batches=(users,))
        assert not is_held(layouts, fitting, batches=(users + 1,))
        if solution.certain:
            # The layout that is printed holds what is printed.
            assert solution.location.placement.max_batch >= solution.certain
            assert solution.location.max_batch == solution.certain
        answers.append(users)
        solution = solve_for("context", location)
        tokens = getattr(solution, verdict)
        if tokens:
            assert is_held(layouts, fitting, traffic=of_tokens(scenario, tokens))
        takes = min(scenario.model.max_context, scenario.memory.longest or np.inf)
        beyond = max(tokens, scenario.traffic.output) + 1
        if tokens < takes and beyond <= takes:
            assert not is_held(layouts, fitting, traffic=of_tokens(scenario, beyond))
        answers.append(tokens)
    assert sum(answer > 0 for answer in answers) > CASES  # of twice as many, most hold something
    assert sum(answer == 0 for answer in answers) > CASES / 8


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("model", "flags"),
    [
        ("llama-3.1-70b", {"on": "h100-sxm", "chips": 4}),
        ("gemma-3-27b", {"on": "h100-sxm", "tp": 2, "kv": "fp8"}),  # windows
        ("deepseek-r1", {"on": "h200-sxm", "tp": 8}),  # latent attention, experts
        ("qwen3-next-80b-a3b", {"on": "b200", "tp": 2}),  # linear attention
        ("gpt-oss-120b", {"on": "h100-sxm", "tp": 2, "max_num_seqs": 64, "max_model_len": 40_000}),
        ("llama-3.1-8b", {"on": "wse-3", "chips": 2}),
        ("gpt-oss-120b", {"on": "rtx-4090", "host": "ddr5-2ch", "chips": 1}),
    ],
)
def test_fit_agrees_with_what_it_solves_for(model, flags):
    (solved,) = fastcalc.fit(model, solve="users", prompt=3000, output=500, **flags)
    most = solved["solution"]
    assert (solved["batch"], solved["fit_verdict"]) == (most, "fits")
    (beyond,) = fastcalc.fit(model, users=most + 1, prompt=3000, output=500, **flags)
    assert solved["solution_limited_by"] == "engine" or beyond["fit_verdict"] != "fits"
    (solved,) = fastcalc.fit(model, solve="context", users=7, output=500, **flags)
    prompt = solved["solution"] - 500
    assert (solved["batch"], solved["prompt_tokens"], solved["fit_verdict"]) == (7, prompt, "fits")
    if solved["solution_limited_by"] == "memory":
        (beyond,) = fastcalc.fit(model, users=7, prompt=prompt + 1, output=500, **flags)
        assert beyond["fit_verdict"] != "fits"
    else:
        by = {"model": ENTRIES.model(model).max_context, "engine": flags.get("max_model_len")}
        assert solved["solution"] == by[solved["solution_limited_by"]]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("model", "flags", "needs_length"),
    [
        # An indexer, whose buffer has 40 keys per token of the longest sequence.
        ("glm-5.2", {"on": "h200-sxm", "tp": 8, "pp": 2}, True),
        ("glm-5.2", {"on": "h200-sxm", "chips": 16}, True),
        ("deepseek-v3.2", {"on": "h200-sxm", "chips": 8}, False),
        ("llama-3.1-70b", {"on": "h100-sxm", "chips": 4}, False),
        ("qwen3-32b", {"on": "l40s", "chips": 2}, False),
    ],
)
def test_the_longest_context_fits_with_it_as_the_maximum_length(model, flags, needs_length):
    (solved,) = fastcalc.fit(model, solve="context", **flags)
    longest, model_length = solved["solution"], ENTRIES.model(model).max_context
    assert solved["fit_verdict"] == "fits"

    def verdict(length, **limits):
        return fastcalc.fit(model, prompt=length - 1000, **flags, **limits)[0]["fit_verdict"]

    assert verdict(longest, max_model_len=longest) == "fits"
    assert (verdict(longest) != "fits") == needs_length
    if (longer := int(1.01 * longest)) <= model_length:
        assert verdict(longer, max_model_len=longer) != "fits"


def test_a_longest_context_states_the_maximum_length_to_start_with(fastcalc_run):
    flags = ("--on", "h200-sxm", "--tp", "8", "--pp", "2")
    assert fastcalc_run("fit", "glm-5.2", *flags, "--max-model-len", "460000").code == 0
    text = " ".join(fastcalc_run("fit", "glm-5.2", *flags, "--solve", "context").out.split())
    longest = text.split(" tokens on 16 h200-sxm.")[0].split()[-1].replace(",", "")
    assert int(longest) >= 460_000
    assert f"tokens on 16 h200-sxm need --max-model-len {longest}" in text
    assert f"--max-model-len {longest}" in text.partition("next: fastcalc compare")[2]


def test_a_tight_fit_of_long_prompts_names_the_length_that_starts(fastcalc_run):
    """470,000 tokens and 1,000 of output, where vLLM's default is the model's 1,048,576."""
    flags = ("fit", "glm-5.2", "--on", "h200-sxm", "--chips", "16", "--prompt", "470000")
    tight = " ".join(fastcalc_run(*flags).out.split())
    changes = tight.partition("; vllm starts with ")[2]
    length = int(changes.partition("--max-model-len ")[2].split(",")[0])
    assert length >= 470_000 + 1_000
    assert "fits at batch 1" in fastcalc_run(*flags, "--max-model-len", str(length)).out


@pytest.mark.thorough
@pytest.mark.parametrize("unknown", ["users", "context"])
def test_quantized_weights_are_named_where_nothing_is_solved_for(unknown, fastcalc_run):
    """141 GB of weights at 16 bits exceed one H100; at 4.5 bits, 40 GB do not."""
    request = ("fit", "llama-3.3-70b", "--on", "h100-sxm", "--chips", "1")
    plain, solved = fastcalc_run(*request), fastcalc_run(*request, "--solve", unknown)
    assert solved.code == 1
    assert "quantized weights of 39.8 GB fit on 1 chip: --weights awq-int4-g128" in solved.out
    following = [ran.out.partition("next: fastcalc ")[2] for ran in (plain, solved)]
    assert following[0] == following[1]
    assert "--chips 1" in following[1]


def test_what_is_solved_for_starts():
    """Windows of 52 layers: vLLM's check at its start counts a chunk of a prompt in each."""
    asked = {"on": "h100-sxm", "chips": 1}
    (solved,) = fastcalc.fit("gemma-3-27b", solve="context", **asked)
    longest = solved["solution"]
    assert solved["solution_limited_by"] == "engine"
    verdicts = [
        fastcalc.fit("gemma-3-27b", prompt=tokens - 1000, output=1000, **asked)[0]["fit_verdict"]
        for tokens in (longest, longest + 1)
    ]
    assert verdicts == ["fits", "edge"]
    (users,) = fastcalc.fit("gemma-3-27b", solve="users", prompt=100_000, output=1000, **asked)
    assert (users["solution"], users["solution_at_edge"]) == (0, 1)


def test_memory_of_a_record_by_hand():
    """Llama 3.1 8B in bf16: 8.03 billion parameters, and 128 KiB of cache for each of 3,500 tokens.

    vLLM stores 128 sines and cosines at 16 bits for each of 131,072 positions.
    """
    (record,) = fastcalc.fit("llama-3.1-8b", on="h100-sxm", prompt=3000, output=500, batch=4)
    of_one = 3500 * 128 * 1024 / 1e9
    assert record["kv_gb_per_sequence"] == pytest.approx(of_one)
    assert record["kv_gb"] == pytest.approx(4 * of_one)
    assert record["weights_gb"] == pytest.approx(16.06, abs=0.01)
    used = record["weights_gb"] + record["kv_gb"] + 131_072 * 128 * 2 / 1e9
    assert record["usable_gb_per_chip"] == pytest.approx(used / record["memory_used_fraction"])


def test_the_context_by_hand():
    """1 GB less 0.2 GB of weights: four users have 0.2 GB each, 20,000 tokens of 10 kB."""
    model = made_up.minimal(
        total_parameters=100_000_000, kv_bytes_per_token=10_000, max_context=10**6
    )
    scenario = Scenario(
        hardware=made_up.chip(),
        model=model,
        engine=made_up.engine(),
        batches=(4,),
        traffic=Traffic(100.0, 100.0, 150.0),
    )
    solution = solve_for("context", locate(scenario))
    assert (solution.certain, solution.edge, solution.limited_by) == (20_000, 20_000, "memory")
    assert solution.location.scenario.traffic.prompt == 19_900
    assert solve_for("users", locate(scenario)).certain == 400
    (line,) = context_chart([replace(scenario, batches=(1, 4, 8, 8001))]).panels[0].series
    assert line.x.tolist() == [1, 4, 8, 8001]
    assert line.y.tolist() == [80_000, 20_000, 10_000, 9]


@pytest.mark.thorough
def test_what_was_solved_for_is_drawn_unless_another_chart_is_named():
    pytest.importorskip("matplotlib")
    fitted, solved = (
        fastcalc.fit("llama-3.1-8b", on="h100-sxm", **asked) for asked in ({}, {"solve": "users"})
    )
    users = "users (concurrent sequences)"
    for table, kind, is_of_users in (
        (fitted, None, False),
        (fitted, "context", True),
        (solved, None, True),
        (solved, "memory", False),
    ):
        assert (table.plot(kind).axes[0].get_xlabel() == users) == is_of_users


# -- what vLLM prints -------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        name
        for name, row in STARTS.items()
        if row["tokens"] and row["available_gib"] and "prefixes cached" not in row["note"]
    ],
)
def test_tokens_and_concurrency_are_those_of_a_start_with_as_much_memory(name):
    """Within half a percent, as bytes are printed to a hundredth of a GiB."""
    row, placement = STARTS[name], located(STARTS[name]).placement
    length = float(row["max_model_len"])
    blocks = float(whole_blocks(tokens=length, block=16))
    tokens = cached_tokens(
        available=gib(row, "available") * GIB,
        sequence=placement.cache_on_chip(blocks),
        tokens=blocks,
        block=16,
    )
    assert float(tokens) == pytest.approx(float(row["tokens"]), rel=0.005)


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("tokenkaki-qwen3-8b-a100-40gb", 0.005),
        ("kaggle-qwen3-8b-awq-t4-eager", 0.04),
        # Of a multimodal model, which kept less than half of what is expected.
        ("llmd-mistral-small-3.2-24b", 0.11),
    ],
)
def test_tokens_of_a_start_from_its_command_alone(name, error):
    size = cache_size(located(STARTS[name]).placement)
    assert size.tokens == pytest.approx(float(STARTS[name]["tokens"]), rel=error)


def test_the_lines_that_vllm_prints(capsys, monkeypatch):
    """1,024 sequences of Llama 3.1 8B leave 51.4 GiB of an H100, and a token takes 128 KiB."""
    flags = ("--on", "h100-sxm", "--max-model-len", "16000", "--solve", "users",
             "--engine", "vllm-0.16")  # fmt: skip
    ran = run("fit", "llama-3.1-8b", *flags, capsys=capsys, monkeypatch=monkeypatch)
    text = " ".join(ran.out.split())
    (record,) = fastcalc.fit(
        "llama-3.1-8b", on="h100-sxm", max_model_len=16_000, engine="vllm-0.16"
    )
    tokens = record["kv_cache_tokens"]
    assert tokens == pytest.approx(51.38 * 2**30 / 131_072, rel=0.005)
    assert tokens % 16 == 0
    assert f"'GPU KV cache size: {tokens:,} tokens'" in text
    assert f"'Maximum concurrency for 16,000 tokens per request: {tokens / 16_000:.2f}x'" in text


# -- as a command -----------------------------------------------------------------------


def test_a_table_over_formats_and_chips():
    table = fastcalc.fit(
        "llama-3.1-70b", on=["h100-sxm", "mi300x"], weights=["bf16", "fp8"], kv=["bf16", "fp8"],
        chips=4, solve="context", users=8,
    )  # fmt: skip
    keys = [(row["weight_format"], row["kv_format"], row["hardware"]) for row in table]
    assert len(set(keys)) == len(keys) == 8
    longest = dict(zip(keys, (row["solution"] for row in table), strict=True))
    wide, narrow = (longest["bf16", cache, "h100-sxm"] for cache in ("bf16", "fp8"))
    assert narrow == pytest.approx(2 * wide, abs=2)  # a token takes half as much
    assert longest["fp8", "bf16", "h100-sxm"] > wide
    assert longest["bf16", "bf16", "mi300x"] == 131_072


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (("--solve", "contexts"), "did you mean 'context'?"),
        (("--solve", "users", "--users", "3"), "--solve users finds their number: remove --users"),
        (("--solve", "users", "--batch", "3"), "--solve users finds their number: remove --batch"),
        (
            ("--solve", "context", "--context", "9"),
            "--solve context computes the context: remove --context",
        ),
        (("--users", "3", "--batch", "2"), "--users and --batch are the same here"),
        (("--users", "0"), "--users '0' is not a whole number"),
    ],
)
def test_what_cannot_be_solved_is_refused(flags, sentence, capsys, monkeypatch):
    ran = run("fit", "llama-3.1-8b", *flags, capsys=capsys, monkeypatch=monkeypatch)
    assert ran.code == 2
    assert sentence in ran.err


def test_nothing_that_fits_is_an_answer_of_no(capsys, monkeypatch):
    flags = ("--on", "h100-sxm", "--chips", "1", "--solve", "users", "--format", "json")
    ran = run("fit", "llama-3.1-405b", *flags, capsys=capsys, monkeypatch=monkeypatch)
    (record,) = json.loads(ran.out)["records"]
    assert ran.code == 1
    assert (record["solution"], record["solution_at_edge"], record["fits"]) == (0, 0, False)


@pytest.mark.thorough
def test_a_solved_context_is_drawn(tmp_path, capsys, monkeypatch):
    flags = ("--on", "h100-sxm,gb200", "-o", str(tmp_path / "context.svg"))
    ran = run("plot", "context", "llama-3.1-70b", *flags, capsys=capsys, monkeypatch=monkeypatch)
    assert ran.code == 0
    drawn = (tmp_path / "context.svg").read_text()
    assert "4 x h100-sxm" in drawn
    assert "1 x gb200" in drawn


def test_the_projector_of_a_gguf_repository_has_16_bits():
    """Gemma 3 27B: 423,060,336 parameters of its encoder, whatever the format of the model."""
    asked = {"on": "rtx-3090", "engine": "llama-cpp", "weights": "q4_k_m", "max_model_len": 8192}
    (alone,) = fastcalc.fit("gemma-3-27b", **asked)
    (loaded,) = fastcalc.fit("gemma-3-27b", **asked, set=["parameters.loads_encoders=1"])
    rooms = [record["available_kv_gb_per_chip"] for record in (alone, loaded)]
    assert rooms[0] - rooms[1] == pytest.approx(0.846, abs=0.001)


HYBRID_AND_WINDOWED = {
    # (model, chip, chips): the settings
    ("qwen3.5-27b", "h100-sxm", 1): {"max_num_seqs": 1024},  # 316 blocks of states
    ("qwen3.5-27b", "h100-sxm", 2): {},
    ("granite-4.0-h-small", "h100-sxm", 1): {"max_num_seqs": 300},
    ("gemma-4-31b", "h100-sxm", 1): {"max_num_batched_tokens": 32_768},
    ("gemma-3-27b", "h100-sxm", 1): {"prompt": 100_000},
    ("llama-3.1-8b", "dgx-spark", 1): {"gpu_memory_utilization": 0.99},
}


@pytest.mark.thorough
@pytest.mark.parametrize(("deployment", "settings"), HYBRID_AND_WINDOWED.items())
def test_what_does_not_start_fits_in_no_command(deployment, settings):
    """The same server is asked for in four commands, and each holds it or none."""
    model, chip, chips = deployment
    asked = {"on": chip, "batch": 1, "chips": chips} | settings
    (fit,) = fastcalc.fit(model, **asked)
    (compared,) = fastcalc.compare(model, **asked)
    (swept,) = fastcalc.sweep(model, **asked)
    for record in (compared, swept):
        assert (record["fit_verdict"], record["fits"], record["max_batch"]) == (
            fit["fit_verdict"], fit["fits"], fit["max_batch"],
        )  # fmt: skip
    is_certain = fit["fit_verdict"] == "fits"
    assert is_certain == (fit["max_batch"] >= 1)
    searched = {"on": chip, "max_chips": chips, "by": "chip", "weights": "bf16", "kv": "bf16"}
    try:
        plans = fastcalc.plan(model, rate="0.001/s", **searched | settings)
    except LayoutError:
        plans = []
    assert is_certain == (len(plans) > 0)


def test_a_default_limit_of_sequences_refuses_no_batch_that_fits():
    """The 1,024 sequences of vLLM have too few blocks of states; 278 do, and the batch is 16."""
    asked = {"on": "h100-sxm", "batch": 16, "chips": 1}
    (fit,) = fastcalc.fit("qwen3.5-27b", **asked)
    (compared,) = fastcalc.compare("qwen3.5-27b", **asked)
    (lowered,) = fastcalc.fit("qwen3.5-27b", **asked, max_num_seqs=278)
    assert (fit["fits"], lowered["fits"], compared["fits"]) == (False, True, True)
    assert any("max_num_seqs" in note for note in compared["warnings"])


@pytest.mark.parametrize("chips", [(), ("--chips", "1")])
def test_a_server_that_does_not_start_is_not_said_to_lack_memory(chips, fastcalc_run):
    """55 GB on one H100 of 80 GB, and 1,024 sequences have too few blocks of states."""
    asked = ("qwen3.5-27b", "--on", "h100-sxm", "--batch", "1", "--max-num-seqs", "1024", *chips)
    reason = "one chip has enough memory, but vllm does not start there"
    command = ("measure", "--notes") if chips else ("compare", "--wide")
    ran = fastcalc_run(command[0], *asked, command[1])
    assert reason in ran.out + ran.err
