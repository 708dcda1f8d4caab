"""Chips by pattern, vendor, `rentable` and `all`, and chips left out, against the files themselves."""

import re
from pathlib import Path

import pytest

from fastcalc.catalogue.selection import named, selected, single_names
from fastcalc.catalogue.store import Catalogue
from fastcalc.errors import InputError
from tests.helpers import loaded

FILES = [loaded(path.read_text("utf-8")) for path in Path("hardware").glob("*.yaml")]
CHIPS = sorted((chip for chip in FILES if chip["kind"] != "host"), key=lambda chip: chip["id"])


def ids(is_kept):
    return [chip["id"] for chip in CHIPS if is_kept(chip)]


def rented(chip):
    price = chip.get("price", {})
    terms = [offer.get("terms", "on-demand") for offer in price.get("offers", [])]
    return "cloud" in price or bool({"on-demand", "survey", "estimate", "marketplace"} & {*terms})


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["all"], [chip["id"] for chip in CHIPS]),
        (["ALL"], [chip["id"] for chip in CHIPS]),
        (["nvidia"], ids(lambda chip: chip["vendor"] == "NVIDIA")),
        (["d-matrix"], ["d-matrix-corsair"]),
        (["mi3*"], ids(lambda chip: chip["id"].startswith("mi3"))),
        (["*-sxm"], ids(lambda chip: chip["id"].endswith("-sxm"))),
        (["rentable"], ids(rented)),
        (["all", "-gaudi*"], ids(lambda chip: not chip["id"].startswith("gaudi"))),
        (["-gaudi*"], ids(lambda chip: not chip["id"].startswith("gaudi"))),
        (["-l4", "nvidia"], ids(lambda chip: chip["vendor"] == "NVIDIA" and chip["id"] != "l4")),
        (
            ["nvidia", "-rentable"],
            ids(lambda chip: chip["vendor"] == "NVIDIA" and not rented(chip)),
        ),
        # In the order of the names, each once; an alias is the name of one chip.
        (["wse-3", "h100", "h100-sxm"], ["wse-3", "h100-sxm"]),
        (["wse-3", "cerebras"], ["wse-3", *ids(
            lambda chip: chip["vendor"] == "Cerebras" and chip["id"] != "wse-3"
        )]),
    ],
)  # fmt: skip
def test_names_select_what_files_say(names, expected):
    assert expected
    assert [chip.id for chip in selected(Catalogue(), names)] == expected


@pytest.mark.parametrize(
    ("names", "sentence"),
    [
        (["nvidea"], "did you mean the vendor nvidia?"),
        (["h100-smx"], "did you mean h100-sxm"),
        (["zz*"], "no chip has such a name"),
        (["nvidia", "-l44"], "no hardware is called 'l44'"),
        (["h100-sxm", "-nvidia"], "leaves no chip"),
        (["-"], "no hardware is called '-'"),
    ],
)
def test_names_that_select_nothing_are_refused(names, sentence):
    with pytest.raises(InputError, match=re.escape(sentence)):
        selected(Catalogue(), names)


def test_a_host_is_selected_by_name_alone():
    """`epyc*` are hosts, whose memory chips use: a pattern has none of them."""
    with pytest.raises(InputError, match="no chip has such a name"):
        selected(Catalogue(), ["epyc-*"])
    assert selected(Catalogue(), ["ddr5-2ch"])[0].kind == "host"


def test_single_names_are_those_of_one_chip():
    names = single_names(Catalogue(), ["h100", "nvidia", "-l4", "mi3*", "hardware/l4.yaml"])
    assert names == {"h100-sxm": "h100", "l4": "hardware/l4.yaml"}


def test_chips_are_named_alone_or_by_a_pattern_and_not_in_a_group():
    names = ["h100-sxm", "rtx-409?", "b200*", "-b200-pcie", "apple"]
    found = named(Catalogue(), names)
    assert {"h100-sxm", "rtx-4090", "b200"} <= found
    assert not [name for name in found if name.startswith("apple")]
    assert named(Catalogue(), ["apple", "-h100-sxm"]) == set()


def test_a_dash_alone_leaves_nothing_out():
    with pytest.raises(InputError, match="no hardware is called '-'"):
        selected(Catalogue(), ["-"])
