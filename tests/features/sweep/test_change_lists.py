"""A sweep over numbers of files holds what each what-if alone gives."""

import re

import pytest

import fastcalc as fc
from fastcalc.kit.request.change_lists import listed_values
from tests.helpers import thorough


def test_every_point_is_that_of_the_what_ifs_alone():
    lists = {"memory.HBM3.bandwidth": ["2 TB/s", "4 TB/s"], "blocks[0].count": "16..32+16"}
    swept = fc.sweep("llama-3.1-8b", on="h100-sxm", batch=8, set=lists)
    assert swept.keys[-2:] == ("memory.HBM3.bandwidth_bytes_per_s", "blocks[0].count")
    assert swept["memory.HBM3.bandwidth_bytes_per_s"].tolist() == [2e12, 2e12, 4e12, 4e12]
    assert swept["blocks[0].count"].tolist() == [16, 32, 16, 32]
    speeds = []
    for bandwidth in ("2 TB/s", "4 TB/s"):
        for layers in (16, 32):
            what_ifs = {"memory.HBM3.bandwidth": bandwidth, "blocks[0].count": layers}
            alone = fc.compare("llama-3.1-8b", on="h100-sxm", batch=8, set=what_ifs)
            speeds.append(alone[0]["tokens_per_s_per_user"])
    assert swept["tokens_per_s_per_user"].tolist() == pytest.approx(speeds, rel=1e-11)


def test_a_chip_without_the_place_is_computed_once():
    swept = fc.sweep(
        "llama-3.1-8b", on="wse-3,h100-sxm", batch=1, set=["memory.SRAM.bandwidth=1PB/s,2PB/s"]
    )
    assert swept["hardware"].tolist() == ["wse-3", "h100-sxm", "wse-3"]
    values = [record["memory.SRAM.bandwidth_bytes_per_s"] for record in swept]
    assert values == [1e15, None, 2e15]


def test_words_are_swept_as_they_are():
    swept = fc.sweep("llama-3.1-8b", on="wse-3", batch=1, set=["execution=sequential,spatial"])
    assert swept["execution"].tolist() == ["sequential", "spatial"]


def test_ranges_may_leave_units_to_their_last_number_or_mix_them():
    assert listed_values("40..100GB+30") == ["40 GB", "70 GB", "100 GB"]
    assert listed_values("500 GB..1TB+0.25TB") == ["500 GB", "750 GB", "1000 GB"]
    assert listed_values("5us..20usx2,1ms") == ["5 us", "10 us", "20 us", "1ms"]
    assert listed_values("0.1..0.3+0.1") == ["0.1", "0.2", "0.3"]


@pytest.mark.parametrize(
    ("what_if", "sentence"),
    [
        ("cores=9..1", "runs downwards"),
        ("cores=1..9x1", "goes nowhere"),
        ("memory.SRAM.capacity=0GB..9GBx2", "goes nowhere"),
        ("memory.SRAM.capacity=1GB..9us", "has the units GB and us"),
        ("cores=3,000", "can be read two ways"),
        thorough("cores=1..100000", "of which at most 10,000"),
        ("corse=1,2", "did you mean 'cores'?"),
        ("cores", "is not PATH=VALUE"),
        (
            "cores=64,128,peak.bf16=5PFLOP/s,9PFLOP/s",
            "set 'peak.bf16=5PFLOP/s' appears in the list of",
        ),
    ],
)
def test_what_is_no_list_is_refused_in_a_sentence(what_if, sentence):
    with pytest.raises(fc.InputError, match=re.escape(sentence)):
        fc.sweep("llama-3.1-8b", on="h100-sxm", batch=1, set=[what_if])


def test_other_commands_say_who_takes_several_values():
    with pytest.raises(fc.InputError, match="several values are for 'fastcalc sweep'"):
        fc.compare("llama-3.1-8b", on="h100-sxm", set={"cores": "64,128"})
    with pytest.raises(fc.InputError, match="set cores has 2 values"):
        fc.compare("llama-3.1-8b", on="h100-sxm", set={"cores": [64, 128]})


def test_a_list_of_nothing_stays_as_it_is_typed():
    assert [listed_values(text) for text in ("", ",", "a", "2,1,2", "1..3")] == [
        [""], [","], ["a"], ["2", "1"], ["1", "2", "3"]
    ]  # fmt: skip
