"""Number formats by their names, and formats by group of matrices, against counts by hand."""

import pytest

from fastcalc.catalogue.formats import cache_name, format_mix, mixed_format, number_format
from fastcalc.catalogue.weight_formats import weight_formats, weight_name, weight_names
from fastcalc.errors import InputError
from tests.helpers import every


@every(
    "typed,name",
    [
        *((name, name) for name in ("q3_k_m", "q2_k", "tq1_0", "exl3-3.5bpw", "int4-g64", "nvfp4")),
        ("AWQ", "awq-int4-g128"),
        ("gptq", "gptq-int4-g128"),
        ("w4a16", "gptq-int4-g128"),
        ("w8a8", "int8-w8a8"),
        ("fp8-block", "fp8"),
        ("Q4_K_M", "q4_k_m"),
        ("6.5bpw", "6.5bpw"),
        ("exl2-4bpw", "exl2-4.0bpw"),
        ("mxfp4-experts-q8_0", "mxfp4-experts-q8_0"),
        ("experts=nvfp4,attention=fp8", "experts=nvfp4+attention=fp8"),
        ("bf16+mlp=w4a16", "bf16+ffn=gptq-int4-g128"),
    ],
)
def test_names_that_people_type(typed, name):
    assert weight_name(typed) == name
    assert weight_name(name) == name


@every(
    "typed,name",
    [("fp8_e4m3", "fp8"), ("fp8_e5m2", "fp8"), ("auto", None), ("q8_0", "q8_0"), ("Q4_0", "q4_0")],
)
def test_names_of_caches(typed, name):
    assert cache_name(typed) == name


@every(
    "typed,sentence",
    [
        ("exl3", "has many sizes; write its bits: exl3-4.0bpw"),
        ("q9", "is not a weight format that fastcalc knows"),
        ("router=fp8", "'router' is not a group of matrices; known: attention, ffn, experts"),
        ("atention=fp8", "did you mean 'attention'?"),
        ("bf16+nvfp4", "'nvfp4' is a second format without a group of matrices; write one format"),
        ("ffn=60%fp8", "'60%fp8' is not a weight format"),
        ("ffn=60%fp8/30%bf16", "write a share of each, which make 100%"),
        ("99bpw", "is not a weight format"),
    ],
)
def test_a_wrong_name_says_what_to_write(typed, sentence):
    with pytest.raises(InputError, match=sentence.replace("?", r"\?").replace(".", r"\.")):
        weight_name(typed)


def test_groups_join_the_format_before_them_in_a_list():
    assert weight_names(["fp8", "ffn=nvfp4", "bf16"]) == ["fp8+ffn=nvfp4", "bf16"]


def test_groups_without_a_format_of_their_own_have_the_base():
    """Head and embedding stay at 16 bits, but in files that quantize everything."""
    mixed = weight_formats("nvfp4+attention=fp8")
    of = {group: mixed.of(group).id for group in ("attention", "ffn", "experts", "head", "vision")}
    assert of == {
        "attention": "fp8",
        "ffn": "nvfp4",
        "experts": "nvfp4",
        "head": "bf16",
        "vision": "bf16",
    }
    assert weight_formats("q8_0").of("head").id == "q8_0"
    q4_0 = weight_formats("q4_0")
    assert (q4_0.of("head").id, q4_0.of("embedding").id) == ("q6_k", "q4_0")
    own = weight_formats("bf16+experts=mxfp4")
    assert weight_formats("head=fp8", own).text == "bf16+experts=mxfp4+head=fp8"


def test_a_mix_has_the_bits_of_its_shares():
    mix = format_mix("60%fp8/40%bf16")
    assert mix.bits == pytest.approx(0.6 * (8 + 32 / 128**2) + 0.4 * 16)
    nested = mixed_format([(mix, 1.0), (number_format("bf16"), 1.0)])
    assert nested.id == "70%bf16/30%fp8"
    assert mixed_format([(number_format("fp8"), 2.0), (number_format("fp8"), 1.0)]).id == "fp8"


@every(
    "name,bytes_of_group,group",
    [
        ("int4-g128", 64 + 2, 128),  # compressed-tensors: a 16-bit scale
        ("int4-g128-zp", 64 + 2 + 0.5, 128),  # AWQ and GPTQ: and a zero of 4 bits
        ("int8-g32-zp", 32 + 2 + 1, 32),
        ("int3-g64", 24 + 2, 64),
    ],
)
def test_integers_with_a_scale_for_a_group(name, bytes_of_group, group):
    assert number_format(name).bits == 8 * bytes_of_group / group


def test_layers_of_a_mixture_without_its_tables():
    """Q2_K of Llama 3.1 8B has 3.1593 bits; with a head of 6.5625 and an embedding of 2.625."""
    table, whole = 128_256 * 4096, 6_979_588_096 + 2 * 128_256 * 4096
    layers = (3.1593 * whole - (6.5625 + 2.625) * table) / 6_979_588_096
    assert weight_formats("q2_k").of("ffn").bits == pytest.approx(layers)
    assert weight_formats("q2_k").of("embedding").bits == 2.625
