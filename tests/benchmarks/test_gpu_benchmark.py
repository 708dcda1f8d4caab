"""The benchmark of decode steps: its rows without a chip or PyTorch, and, where there is PyTorch, a run."""

import csv
import io
import sys
from datetime import date

import pytest

from benchmarks.gpu_decode.__main__ import main, run
from benchmarks.gpu_decode.chip import guess, hardware_id
from benchmarks.gpu_decode.points import Decode, Timing, points_csv
from benchmarks.gpu_decode.reach import COLUMNS, Reached, decode_table, micro_csv, micro_table
from benchmarks.gpu_decode.shape import shape_named
from fastcalc.errors import InputError

HEADER = (
    "id,source,url,date,hardware,chips,model,engine,weights,kv,tp,ep,pp,dp,concurrency,prompt,"
    "output,metric,value,tokens_per_pass,measured_by,notes"
)
DAY = date(2026, 11, 21)
GIB = 2.0**30


def step(**changed) -> Decode:
    given = {
        "hardware": "h100-sxm",
        "model": "llama-3.1-8b",
        "batch": 8,
        "context": 1024,
        "timing": Timing((0.007, 0.005, 0.006), 9),
        "how": ("CUDA graph", "torch 2.13.0"),
    }
    return Decode(**(given | changed))


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_a_row_is_a_measured_point():
    text = points_csv([step()], DAY)
    assert text.splitlines()[0] == HEADER
    (row,) = rows(text)
    assert row["id"] == "torch-graph-h100-sxm-llama-3.1-8b-b8-c1024"
    assert (row["hardware"], row["model"], row["engine"]) == (
        "h100-sxm",
        "llama-3.1-8b",
        "torch-graph",
    )
    assert (row["weights"], row["kv"], row["metric"]) == ("bf16", "bf16", "tpot_s")
    assert [row[key] for key in ("chips", "tp", "ep", "pp", "dp", "tokens_per_pass")] == ["1"] * 6
    assert (float(row["value"]), int(row["concurrency"])) == (0.006, 8)  # the median of three
    assert row["date"] == "2026-11-21"
    assert row["url"] == ""


@pytest.mark.parametrize("context", [2, 3, 1024, 8192])
def test_prompt_and_half_the_output_are_the_context(context):
    (row,) = rows(points_csv([step(context=context)], DAY))
    assert int(row["prompt"]) + int(row["output"]) / 2 == context
    assert int(row["prompt"]) >= 1


def test_the_notes_say_the_kind_first_then_context_and_spread():
    (row,) = rows(points_csv([step()], DAY))
    notes = row["notes"].split("; ")
    assert notes[:2] == ["kind=decode", "mean context 1024"]
    assert notes[2] == "median of 3 repetitions of 9 runs, 5 to 7 ms"
    assert notes[3:] == ["CUDA graph", "torch 2.13.0"]


def test_ids_differ_by_size():
    several = [step(batch=batch, context=context) for batch in (1, 2) for context in (64, 128)]
    assert len({row["id"] for row in rows(points_csv(several, DAY))}) == 4


@pytest.mark.parametrize("seconds", [(), (0.0,), (-1.0,), (float("nan"),), (0.1, float("inf"))])
def test_times_that_no_clock_gives_are_refused(seconds):
    with pytest.raises(InputError):
        Timing(seconds, 1)


@pytest.mark.parametrize(
    "changed", [{"batch": 0}, {"batch": -1}, {"context": 1}, {"hardware": ""}, {"model": ""}]
)
def test_points_of_nothing_are_refused(changed):
    with pytest.raises(InputError):
        step(**changed)


def test_what_is_reached_by_hand():
    """4 GB moved in 2 s, 1 s and 4 s: 2 GB/s, from 1 to 4."""
    copied = Reached("copy", "2 GB", Timing((2.0, 1.0, 4.0), 1), 4e9, "B/s")
    (row,) = rows(micro_csv([copied], DAY, "h100-sxm", "NVIDIA H100 80GB HBM3"))
    assert tuple(row) == COLUMNS
    assert [float(row[key]) for key in ("value", "low", "high")] == [2e9, 1e9, 4e9]
    assert micro_table([copied]).splitlines()[1].split() == "copy 2 GB 2 1 4 GB/s".split()
    launched = Reached("kernel", "chain", Timing((2e-6,), 1), None, "s")
    assert micro_table([launched]).splitlines()[1].split() == "kernel chain 2 2 2 us".split()


def test_the_table_of_steps_by_hand():
    """A step of 6 ms at batch 8: 167 tokens/s a user, 1,333 together."""
    line = decode_table([step()]).splitlines()[1]
    assert line.split() == "llama-3.1-8b 1,024 8 6 5 7 166.7 1333".split()


@pytest.mark.parametrize("name", ["llama-3.1-8b", "qwen3-30b-a3b", "qwen3-32b"])
def test_a_network_has_the_weights_of_its_checkpoint(name, catalogue):
    published = catalogue.model(name).published.checkpoint
    assert shape_named(name).parameters == published.si


def test_the_cache_by_hand():
    """Llama 3.1 8B: 32 layers x 8 heads x 128 x 2 x 2 bytes = 131,072 a token, 128,256 words."""
    shape = shape_named("llama-3.1-8b")
    assert shape.step_bytes(2, 1024) == 2 * 1024 * 131_072 + 2 * 2 * 128_256 * 2
    assert not shape.routed
    assert shape_named("tiny-moe").routed


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("deepseek-r1", "no plain attention"),
        ("gpt-oss-20b", "window"),
        ("qwen2.5-7b", "qkv_bias"),
        ("gemma-3-4b", "norm"),
        ("nemotron-h-56b", "no plain attention"),
        ("lama-3.1-8b", "llama-3.1-8b"),
    ],
)
def test_models_that_cannot_be_built_are_refused(name, why):
    with pytest.raises(InputError, match=why):
        shape_named(name)


# Names as drivers write them, with the memory that they show. [GiB]
DEVICES = [
    ("NVIDIA H100 80GB HBM3", 79.1, "h100-sxm"),
    ("NVIDIA H100 PCIe", 79.1, "h100-pcie"),
    ("NVIDIA H100 NVL", 93.1, "h100-nvl"),
    ("NVIDIA H200", 139.8, "h200-sxm"),
    ("NVIDIA A100-SXM4-80GB", 79.3, "a100-sxm-80gb"),
    ("NVIDIA A100-SXM4-40GB", 39.4, "a100-sxm-40gb"),
    ("NVIDIA A100 80GB PCIe", 79.3, "a100-pcie-80gb"),
    ("NVIDIA GeForce RTX 4090", 23.6, "rtx-4090"),
    ("NVIDIA L40S", 44.4, "l40s"),
    ("NVIDIA RTX PRO 6000 Blackwell Workstation Edition", 95.0, "rtx-pro-6000"),
    ("NVIDIA H100 80GB HBM3", 9.8, None),  # a slice of one
    ("NVIDIA H200 NVL", 139.8, "h200-nvl"),  # another board than the H200 SXM
    ("NVIDIA GeForce RTX 4090 Laptop GPU", 15.6, None),
    ("NVIDIA GeForce RTX 4090 D", 23.6, "rtx-4090-d"),
    ("Tesla P4", 7.4, None),
    ("", 80.0, None),
]


@pytest.mark.parametrize(("device", "memory", "chip"), DEVICES)
def test_a_device_is_guessed_where_it_is_sure(device, memory, chip, catalogue):
    assert guess(device, memory * GIB, catalogue) == chip


def test_the_chip_that_rows_name_is_the_one_that_ran(catalogue):
    def ask(given, device="NVIDIA H100 80GB HBM3", memory=79.1, is_cpu=False):
        return hardware_id(given, device, memory * GIB, is_cpu=is_cpu, catalogue=catalogue)

    assert ask(None) == ask("h100") == "h100-sxm"
    assert ask(None, "x86_64", is_cpu=True) == "cpu"
    with pytest.raises(InputError, match="--hardware ID"):
        ask(None, "NVIDIA Mystery")
    with pytest.raises(InputError, match="80 GiB"):
        ask("h100-sxm", "NVIDIA H200", 139.8)
    with pytest.raises(InputError, match="a CPU"):
        ask("h100-sxm", "x86_64", is_cpu=True)
    with pytest.raises(InputError, match="no hardware"):
        ask("h1000")


@pytest.mark.parametrize(
    ("flags", "why"),
    [
        ("--batches 0", "--batches '0'"),
        ("--contexts 1", "2 tokens"),
        ("--contexts many", "--contexts 'many'"),
        ("--repeat 0", "--repeat '0'"),
        ("--shape nothing-like-it", "no model"),
        ("-o /nowhere/at/all.csv", "folder"),
        ("--micro .", "folder"),
    ],
)
def test_wrong_requests_are_refused_before_anything_runs(flags, why):
    with pytest.raises(InputError, match=why):
        run(["--device", "cpu", *flags.split()])


def test_without_pytorch_one_sentence_and_exit_code_2(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.setattr(sys, "argv", ["gpu_decode"])
    with pytest.raises(SystemExit) as left:
        main()
    said = capsys.readouterr()
    assert left.value.code == 2
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert "pip install torch" in said.err


@pytest.fixture
def torch():
    return pytest.importorskip("torch")


def test_without_a_gpu_one_sentence(torch, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(InputError, match="--device cpu"):
        run([])


def test_an_old_pytorch_is_reported(torch, monkeypatch):
    monkeypatch.setattr(torch, "__version__", "2.1.0a0+git")
    with pytest.raises(InputError, match="too old"):
        run(["--device", "cpu"])


def test_a_run_on_the_cpu(torch, tmp_path, monkeypatch, capsys):
    from benchmarks.gpu_decode import clock

    monkeypatch.setattr(clock, "_REPETITION", 0.002)
    points, micro = tmp_path / "points.csv", tmp_path / "micro.csv"
    words = f"--device cpu --batches 1,3 --contexts 16,64 --repeat 2 -o {points} --micro {micro}"
    assert run(words.split()) == 0
    found = rows(points.read_text())
    assert points.read_text().splitlines()[0] == HEADER
    assert [(row["model"], row["concurrency"]) for row in found[::2]] == [
        ("tiny-dense", "1"),
        ("tiny-dense", "1"),
        ("tiny-moe", "1"),
        ("tiny-moe", "1"),
    ]
    for row in found:
        assert 0 < float(row["value"]) < 10
        assert "without CUDA graph" in row["notes"]
        assert "attention: " in row["notes"]
        assert ("experts: " in row["notes"]) == (row["model"] == "tiny-moe")
    whats = {row["what"] for row in rows(micro.read_text())}
    assert len(whats) == 4
    assert "tok/s user" in capsys.readouterr().out


def test_what_does_not_fit_is_reported_and_left_out(torch, monkeypatch, capsys):
    from benchmarks.gpu_decode import clock, decode

    monkeypatch.setattr(clock, "_REPETITION", 0.002)
    need = shape_named("tiny-dense").weight_bytes()
    monkeypatch.setattr(decode, "free_bytes", lambda _device: 1.1 * need)
    with pytest.raises(InputError, match="no step fits"):
        run("--device cpu --batches 64 --contexts 1024,8192 --repeat 1".split())
    said = capsys.readouterr().err.splitlines()
    assert [line.split(":")[0] for line in said] == [
        "tiny-dense, batch 64, context 1,024 left out",
        "tiny-dense, batch 64, context 8,192 left out",
        "tiny-moe left out",
    ]


@pytest.mark.parametrize("name", ["tiny-dense", "tiny-moe"])
def test_the_network_is_all_there_and_every_layer_its_own(torch, name):
    from benchmarks.gpu_decode.network import Network

    shape = shape_named(name)
    network = Network(shape, torch.device("cpu"))
    tensors = [one for group in (network.outer, *network.layers) for one in group.values()]
    assert sum(one.numel() for one in tensors) == shape.parameters
    assert len({one.data_ptr() for one in tensors}) == len(tensors)
    assert {one.dtype for one in tensors} == {torch.bfloat16}


@pytest.mark.parametrize("name", ["tiny-dense", "tiny-moe"])
def test_a_step_writes_the_cache_and_the_next_tokens(torch, name):
    from benchmarks.gpu_decode.network import Network, Step

    one = Step(Network(shape_named(name), torch.device("cpu")), 5, 33)
    before = [(keys.clone(), values.clone()) for keys, values in one.caches]
    tokens = one()
    assert tokens is one.tokens
    assert tokens.shape == (5,)
    assert 0 <= int(tokens.min()) <= int(tokens.max()) < 512
    for old, new in zip(before, one.caches, strict=True):
        for was, now in zip(old, new, strict=True):
            assert now.isfinite().all()
            assert torch.equal(was[:, :, :-1], now[:, :, :-1])
            assert not torch.equal(was[:, :, -1], now[:, :, -1])


def test_attention_is_the_softmax_over_the_whole_cache(torch):
    """Head by head, by its definition: softmax(q k / sqrt(d)) v, four heads to a cached one."""
    from benchmarks.gpu_decode.network import attend

    query, keys, values = torch.randn(2, 8, 16), *torch.randn(2, 2, 2, 10, 16)
    got = attend(query, keys, values).view(2, 8, 16)
    for sequence in range(2):
        for head in range(8):
            cached = keys[sequence, head // 4], values[sequence, head // 4]
            odds = (cached[0] @ query[sequence, head] / 16**0.5).softmax(0)
            torch.testing.assert_close(got[sequence, head], odds @ cached[1])


def test_both_ways_to_run_experts_give_the_same(torch):
    """And they give what one token after another gives, expert by expert."""
    from benchmarks.gpu_decode.network import EXPERTS, Routing, random_tensors

    layer, cpu = shape_named("tiny-moe").layers[0], torch.device("cpu")
    weights = random_tensors(layer.tensors(64), cpu)
    routing = Routing.draw(layer, 7, cpu)
    assert all(len(set(row.tolist())) == 2 for row in routing.experts)
    hidden = torch.randn(7, 64).bfloat16()
    shares = torch.rand(7, 2).bfloat16()
    wanted = torch.zeros(7, 64)
    for token in range(7):
        for place in range(2):
            expert = int(routing.experts[token, place])
            gate, up = (weights["gate_up"][expert].float() @ hidden[token].float()).chunk(2)
            inner = torch.sigmoid(gate) * gate * up
            wanted[token] += shares[token, place] * (weights["down"][expert].float() @ inner)
    for way in EXPERTS.values():
        got = way(hidden, weights, shares, routing).float()
        torch.testing.assert_close(got, wanted, rtol=0.05, atol=0.02)


def test_a_rotation_keeps_lengths_and_turns_the_first_pair_by_the_position(torch):
    from benchmarks.gpu_decode.pointwise import rotated, rotation

    cosines, sines = rotation(8, 3, torch.device("cpu"), torch.float32)
    heads = torch.zeros(1, 1, 8)
    heads[..., 0] = 1.0
    turned = rotated(heads, cosines, sines)[0, 0]
    assert float(turned[0]) == pytest.approx(-0.9899925)  # cos 3 rad
    assert float(turned[4]) == pytest.approx(0.1411200)  # sin 3 rad
    assert float(turned.norm()) == pytest.approx(1.0)
