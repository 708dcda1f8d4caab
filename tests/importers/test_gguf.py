"""GGUF headers, written here byte by byte, against counts by hand."""

import struct

import pytest

from fastcalc.catalogue.store import Catalogue
from fastcalc.core.model.workload import workload
from fastcalc.errors import InputError
from fastcalc.importers.gguf import read_header
from fastcalc.importers.huggingface import import_model
from tests.helpers import every

U32, TEXT, ARRAY = 4, 8, 9
F32, F16, Q4_K, Q6_K, Q8_0 = 0, 1, 12, 14, 8
WIDTH, HEADS, KV, SIZE, NETWORK, ROWS, LAYERS = 512, 8, 2, 64, 1536, 1000, 4


def text(words: str) -> bytes:
    return struct.pack("<Q", len(words)) + words.encode()


def value(of) -> bytes:
    if isinstance(of, int):
        return struct.pack("<II", U32, of)
    if isinstance(of, str):
        return struct.pack("<I", TEXT) + text(of)
    inner, form = (TEXT, text) if isinstance(of[0], str) else (U32, lambda n: struct.pack("<I", n))
    return struct.pack("<IIQ", ARRAY, inner, len(of)) + b"".join(map(form, of))


def header(pairs: dict, tensors: list, version: int = 3) -> bytes:
    parts = [b"GGUF", struct.pack("<IQQ", version, len(tensors), len(pairs))]
    parts += [text(key) + value(of) for key, of in pairs.items()]
    for name, shape, kind in tensors:
        parts.append(text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, kind, 0))
    return b"".join(parts)


PAIRS = {
    "general.architecture": "llama",
    "general.name": "Tiny",
    "llama.block_count": LAYERS,
    "llama.embedding_length": WIDTH,
    "llama.feed_forward_length": NETWORK,
    "llama.attention.head_count": HEADS,
    "llama.attention.head_count_kv": [KV] * LAYERS,
    "llama.attention.key_length": SIZE,
    "llama.context_length": 4096,
    "tokenizer.ggml.tokens": [f"t{n}" for n in range(ROWS)],
    "tokenizer.ggml.token_type": [1] * 5000,
}


def layer(n: int) -> list:
    return [
        (f"blk.{n}.attn_q.weight", [WIDTH, HEADS * SIZE], Q4_K),
        (f"blk.{n}.attn_k.weight", [WIDTH, KV * SIZE], Q4_K),
        (f"blk.{n}.attn_v.weight", [WIDTH, KV * SIZE], Q6_K),
        (f"blk.{n}.attn_output.weight", [HEADS * SIZE, WIDTH], Q4_K),
        *(
            (f"blk.{n}.ffn_{name}.weight", [WIDTH, NETWORK], Q4_K)
            for name in ("gate", "up", "down")
        ),
        *((f"blk.{n}.{name}_norm.weight", [WIDTH], F32) for name in ("attn", "ffn")),
    ]


ENDS = [
    ("token_embd.weight", [WIDTH, ROWS], Q4_K),
    ("output.weight", [WIDTH, ROWS], Q6_K),
    ("output_norm.weight", [WIDTH], F32),
]
TENSORS = [*ENDS, *(tensor for n in range(LAYERS) for tensor in layer(n))]


@pytest.fixture
def write(tmp_path):
    def written(data: bytes, name: str = "tiny-Q4_K_M.gguf"):
        file = tmp_path / name
        file.write_bytes(data)
        return file

    return written


def test_a_file_is_counted_tensor_by_tensor(write):
    model = Catalogue().model(str(write(header(PAIRS, TENSORS))))
    work = workload(model)
    queries, keys, networks = WIDTH * HEADS * SIZE, WIDTH * KV * SIZE, 3 * WIDTH * NETWORK
    parameters = LAYERS * (2 * queries + 2 * keys + networks + 2 * WIDTH) + 2 * WIDTH * ROWS + WIDTH
    assert work.total_parameters == parameters
    at_four, at_six = 4.5 / 8, 6.5625 / 8
    stored = (
        LAYERS * ((2 * queries + keys + networks) * at_four + keys * at_six)
        + WIDTH * ROWS * (at_four + at_six)
        + (2 * LAYERS + 1) * WIDTH * 2
    )
    assert work.weight_bytes == pytest.approx(stored, rel=1e-4)
    assert (model.id, model.max_context, model.kv_format) == ("tiny-q4_k_m", 4096, "fp16")
    assert model.blocks[0].attention.cached_heads == KV
    assert model.own_formats.of("head").id == "q6_k"


def test_a_tied_head_and_parts(write):
    """Without output.weight the head is the embedding; parts are read together."""
    half = len(ENDS) + len(layer(0))
    tied = [tensor for tensor in TENSORS if tensor[0] != "output.weight"]
    write(header(PAIRS, tied[:half]), "tiny-00001-of-00002.gguf")
    write(header({"split.no": 1}, tied[half:]), "tiny-00002-of-00002.gguf")
    first = write(header(PAIRS, tied[:half]), "tiny-00001-of-00002.gguf")
    whole = import_model(first)
    assert whole.model.tied_embeddings
    assert not [remark for remark in whole.remarks if remark.startswith("Warning")]
    (first.parent / "tiny-00002-of-00002.gguf").unlink()
    with pytest.raises(InputError, match=r"tiny-00002-of-00002\.gguf is missing"):
        import_model(first)


def test_tensors_that_the_reading_misses_are_warned_of(write):
    more = [*TENSORS, ("blk.0.unheard_of.weight", [WIDTH, 4 * NETWORK], Q4_K)]
    remarks = import_model(write(header(PAIRS, more))).model.notes
    assert any(remark.startswith("Warning: the file's tensors have") for remark in remarks)


def test_latent_attention_by_hand(write):
    """Keys of 192 numbers are 128 and 64 that rotate; one layer is dense, two have experts."""
    sizes = {
        "block_count": 3,
        "embedding_length": WIDTH,
        "feed_forward_length": NETWORK,
        "context_length": 4096,
        "attention.head_count": HEADS,
        "attention.head_count_kv": 1,
        "attention.key_length": 576,
        "attention.value_length": 512,
        "attention.key_length_mla": 192,
        "attention.value_length_mla": 128,
        "attention.q_lora_rank": 256,
        "attention.kv_lora_rank": 512,
        "rope.dimension_count": 64,
        "expert_count": 16,
        "expert_used_count": 2,
        "expert_feed_forward_length": 96,
        "expert_shared_count": 1,
        "leading_dense_block_count": 1,
    }
    pairs = {"general.architecture": "deepseek2", "tokenizer.ggml.tokens": ["t"] * ROWS}
    pairs |= {f"deepseek2.{key}": size for key, size in sizes.items()}
    dense, routed = import_model(write(header(pairs, ENDS))).model.blocks
    for block in (dense, routed):
        latent = block.attention
        ranks = latent.heads, latent.q_rank, latent.kv_rank
        assert ranks == (HEADS, 256, 512)
        assert (latent.nope_dim, latent.rope_dim, latent.value_dim) == (128, 64, 128)
    assert (dense.count, dense.ffn.width, routed.count) == (1, NETWORK, 2)
    experts = routed.ffn.experts, routed.ffn.active_experts, routed.ffn.width
    assert (*experts, routed.ffn.shared_width) == (16, 2, 96, 96)


def test_layers_with_a_recurrent_state_by_hand(write):
    """Of four layers the last has attention; 1,024 numbers are 16 heads of 64."""
    sizes = {
        "block_count": 4,
        "embedding_length": WIDTH,
        "context_length": 4096,
        "attention.head_count": HEADS,
        "attention.head_count_kv": 2,
        "attention.key_length": 128,
        "expert_count": 16,
        "expert_used_count": 2,
        "expert_feed_forward_length": 96,
        "expert_shared_feed_forward_length": 192,
        "ssm.inner_size": 1024,
        "ssm.time_step_rank": 16,
        "ssm.group_count": 4,
        "ssm.state_size": 32,
        "ssm.conv_kernel": 4,
        "full_attention_interval": 4,
    }
    pairs = {"general.architecture": "qwen3next", "tokenizer.ggml.tokens": ["t"] * ROWS}
    pairs |= {f"qwen3next.{key}": size for key, size in sizes.items()}
    linear, full = import_model(write(header(pairs, ENDS))).model.blocks
    heads = linear.attention.key_heads, linear.attention.value_heads
    dims = linear.attention.key_dim, linear.attention.value_dim, linear.attention.conv_kernel
    assert (linear.count, heads, dims) == (3, (4, 16), (32, 64, 4))
    attention = full.attention
    assert (attention.heads, attention.kv_heads, attention.head_dim) == (HEADS, 2, 128)
    assert (full.ffn.experts, full.ffn.active_experts, full.ffn.shared_width) == (16, 2, 192)


@every(
    "data,sentence",
    [
        (b"", "unexpected end of file at byte 4"),
        (b"GGML" + b"\0" * 64, "it does not begin with 'GGUF'"),
        (header(PAIRS, TENSORS, version=1), "version 1 is not supported"),
        (header(PAIRS, TENSORS)[:300], "unexpected end of file"),
        (b"GGUF" + struct.pack("<IQQ", 3, 1, 2**60), "keys, more than 10,000,"),
        (b"GGUF" + struct.pack("<IQQ", 3, 2**60, 1), "tensors, more than 200,000,"),
        (b"GGUF" + struct.pack("<IQQQ", 3, 1, 1, 2**62), "bytes of text, more than"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + text("a") + struct.pack("<I", 99), "unknown type 99"),
        (header(PAIRS | {"general.architecture": "rwkv7"}, TENSORS), "architecture 'rwkv7'"),
        (header(PAIRS, [*TENSORS, ("blk.0.attn_q.weight", [8, 8], 77)]), "has the unsupported type 77"),
        (header(PAIRS | {"llama.feed_forward_length": [1, 2, 3, 4]}, TENSORS), "layers differ in"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_said(data, sentence, tmp_path_factory):
    file = tmp_path_factory.mktemp("gguf") / "x.gguf"
    file.write_bytes(data)
    with pytest.raises(InputError, match=sentence):
        import_model(file)


def test_only_the_header_is_read(write):
    """Data that follow may be of any size: 64 zeros here stand for gigabytes."""
    assert read_header(write(header(PAIRS, TENSORS) + b"\0" * 64)).vocabulary == ROWS


BLOCKS = {
    0: (4, 1), 1: (2, 1), 2: (18, 32), 3: (20, 32), 6: (22, 32), 7: (24, 32), 8: (34, 32),
    10: (84, 256), 11: (110, 256), 12: (144, 256), 13: (176, 256), 14: (210, 256), 16: (66, 256),
    17: (74, 256), 18: (98, 256), 19: (50, 256), 20: (18, 32), 21: (110, 256), 22: (82, 256),
    23: (136, 256), 29: (56, 256), 30: (2, 1), 34: (54, 256), 35: (66, 256), 39: (17, 32),
    40: (36, 64),
}  # fmt: skip
"""Bytes and numbers of a block of each type of ggml (ggml-common.h)."""


@every("kind", range(48))
def test_each_type_of_tensors_has_the_bytes_of_its_blocks(kind, tmp_path_factory):
    file = tmp_path_factory.mktemp("gguf") / "x.gguf"
    file.write_bytes(header({}, [("blk.0.attn_q.weight", [512, 256], kind)]))
    if kind not in BLOCKS:  # types of whole files, of integers, or withdrawn
        with pytest.raises(InputError, match=f"has the unsupported type {kind}; give the model's"):
            read_header(file)
        return
    size, numbers = BLOCKS[kind]
    (stored,) = read_header(file).stored.values()
    assert stored.bytes == pytest.approx(size / numbers, rel=2e-3)


@every(
    "kind,form,number",
    [
        (0, "B", 200), (1, "b", -100), (2, "H", 60_000), (3, "h", -30_000), (4, "I", 2**32 - 1),
        (5, "i", -(2**31)), (6, "f", 0.5), (7, "?", True), (10, "Q", 2**64 - 1),
        (11, "q", -(2**63)), (12, "d", 0.1),
    ],
)  # fmt: skip
def test_each_type_of_values(kind, form, number, tmp_path_factory):
    """By their numbers in gguf.md; short arrays are kept and long ones passed over."""
    file = tmp_path_factory.mktemp("gguf") / "x.gguf"
    packed = struct.pack(f"<{form}", number)

    def array(count):
        return struct.pack("<IIQ", ARRAY, kind, count) + packed * count

    values = {"one": struct.pack("<I", kind) + packed, "few": array(4096), "many": array(4097)}
    parts = [b"GGUF", struct.pack("<IQQ", 3, 0, len(values))]
    file.write_bytes(b"".join([*parts, *(text(key) + each for key, each in values.items())]))
    pairs = read_header(file).pairs
    assert pairs == {"one": number, "few": [number] * 4096, "many": None}
    assert type(pairs["one"]) is type(number)


def test_long_texts_and_lists_of_texts_are_cut(write):
    pairs = read_header(write(header({"text": "a" * 5000, "texts": ["b"] * 5000}, []))).pairs
    assert pairs["text"] == "a" * 4096
    assert pairs["texts"] == ["b"] * 4096


@every(
    "data,is_read",
    [
        (struct.pack("<IQQ", 3, 200_001, 0), False),
        (struct.pack("<IQQ", 3, 0, 10_001), False),
        (struct.pack("<IQQ", 2, 0, 0), True),
        (struct.pack("<IQQ", 4, 0, 0), False),
        (struct.pack("<IQQ", 3, 0, 1) + text("a") + struct.pack("<IQ", TEXT, 4_000_001), False),
        (struct.pack("<IQQ", 3, 0, 1) + text("a") + struct.pack("<IIQ", ARRAY, ARRAY, 1), False),
        (struct.pack("<IQQ", 3, 1, 0) + text("a") + struct.pack("<I8QIQ", 8, *[1] * 8, 0, 0), True),
        (
            struct.pack("<IQQ", 3, 1, 0) + text("a") + struct.pack("<I9QIQ", 9, *[1] * 9, 0, 0),
            False,
        ),
    ],
)
def test_limits_of_a_header(data, is_read, tmp_path_factory):
    file = tmp_path_factory.mktemp("gguf") / "x.gguf"
    file.write_bytes(b"GGUF" + data)
    if is_read:
        assert read_header(file).pairs == {}
        return
    with pytest.raises(InputError, match=r"at byte [0-9,]+ of the GGUF header"):
        read_header(file)
    with pytest.raises(InputError, match=r"more than|version 4|array of arrays|9 dimensions"):
        read_header(file)


@every(
    "name,group",
    [
        *[(f"blk.0.{name}.weight", "attention") for name in (
            "attn_q", "attn_k", "attn_v", "attn_qkv", "attn_output", "attn_gate", "attn_q_a",
            "attn_q_b", "attn_kv_a_mqa", "attn_kv_b", "attn_k_b", "attn_v_b", "ssm_in", "ssm_out",
            "ssm_ba", "ssm_alpha", "ssm_beta", "ssm_x", "ssm_dt", "shortconv_in", "shortconv_out",
            "indexer.attn_k",
        )],
        *[(f"blk.0.ffn_{name}.weight", "ffn") for name in ("gate", "up", "down")],
        *[(f"blk.0.ffn_{name}.weight", "experts") for name in (
            "gate_exps", "up_exps", "down_exps", "gate_up_exps", "gate_chexps",
        )],
        *[(f"blk.0.ffn_{name}_shexp.weight", "shared_experts") for name in ("gate", "up", "down")],
        ("output.weight", "head"),
        ("token_embd.weight", "embedding"),
        ("blk.0.attn_norm.weight", None),
        ("rope_freqs.weight", None),
    ],
)  # fmt: skip
def test_what_each_tensor_is_of(name, group, tmp_path_factory):
    file = tmp_path_factory.mktemp("gguf") / "x.gguf"
    file.write_bytes(header({}, [(name, [4, 8], F16), ("blk.1.attn_q.bias", [8], F32)]))
    read = read_header(file)
    assert read.sizes == ({group: 32.0} if group else {})
    assert read.parameters == 40.0
    assert read.vocabulary == (8 if name == "token_embd.weight" else None)
