"""Numbers that a chip's file leaves out: none counts as nothing."""

from inspect import isclass
from itertools import product
from statistics import median_high, median_low
from types import NoneType
from typing import get_args

import numpy as np
import pytest

from fastcalc.catalogue.chip_defaults import MEDIANS
from fastcalc.catalogue.schema import Hardware
from fastcalc.catalogue.schema.quantities import Entry, Quantity, QuantityReader
from fastcalc.catalogue.store import Catalogue
from fastcalc.core.chip.tier import MemoryChoice
from fastcalc.core.placement.layout import Layout, LayoutError
from fastcalc.core.pricing import Pricing
from fastcalc.core.scenario import Scenario, Sharding, engine_for, solve
from fastcalc.core.step.schedule import Schedule
from fastcalc.core.traffic import Traffic
from fastcalc.mentions import as_flags
from fastcalc.report import records
from tests import made_up
from tests.helpers import outcome

COSTS = ("links.scale_out.latency", "links.scale_up.latency", "memory.shared_by", "power.all_in")
"""Rows of which more is slower, so that of two in the middle the larger is taken."""


def numbers(chip):
    """Yield every optional number of a chip that answers use: row, kind, path and quantity."""
    for name in ("cores", "vector"):
        yield name, chip.kind, name, getattr(chip, name)
    for name, field in product(("scale_up", "scale_out"), ("domain", "latency")):
        if link := getattr(chip.links, name):
            path = f"links.{name}.{field}"
            yield path, chip.kind, path, getattr(link, field)
    for tier, field in product(chip.memory, ("link", "shared_by")):
        if tier.where in ("host", "disk"):
            path = f"memory.{tier.name}.{field}"
            yield f"memory.{field}", tier.where, path, getattr(tier, field)
    if power := chip.power:
        share = power.all_in and Quantity(si=power.all_in.si / power.chip.si, text="over the chip")
        yield "power.all_in", chip.kind, "power.all_in", share


def without(chip, path, quantity=None):
    """Return a chip with the number at a path left out, or another in its place."""
    first, *names = path.split(".")
    if not names:
        return chip.model_copy(update={first: quantity})
    if first == "power":
        whole = quantity and Quantity(si=quantity.si * chip.power.chip.si, text="all in")
        return chip.model_copy(update={"power": chip.power.model_copy(update={"all_in": whole})})
    name, field = names
    if first == "links":
        link = getattr(chip.links, name).model_copy(update={field: quantity})
        return chip.model_copy(update={"links": chip.links.model_copy(update={name: link})})
    memory = [
        tier.model_copy(update={field: quantity}) if tier.name == name else tier
        for tier in chip.memory
    ]
    return chip.model_copy(update={"memory": memory})


def chips(catalogue):
    return [catalogue.hardware(name) for name in catalogue.names("hardware")]


@pytest.fixture(scope="module")
def stated():
    """Every number that the catalogue states, by row and kind."""
    found = {}
    for chip in chips(Catalogue()):
        for row, kind, _, quantity in numbers(chip):
            if quantity is not None:
                found.setdefault((row, kind), []).append(quantity.si)
                found.setdefault((row, "all"), []).append(quantity.si)
    return found


def test_defaults_are_medians_of_the_catalogue(stated):
    for row, medians in MEDIANS.items():
        middle = median_high if row in COSTS else median_low
        for kind, text in medians.by_kind.items():
            assert QuantityReader(medians.dimension).si(text) == middle(stated[row, kind]), (
                row,
                kind,
            )


def test_every_kind_with_a_median_has_a_default(stated):
    """Hosts count no cores of their own, and of Ethernet between hosts none states a domain."""
    for row, kind in stated:
        in_table = {kind, "all"} & MEDIANS[row].by_kind.keys() if row in MEDIANS else set()
        assert in_table or (row, kind) in LEFT, (row, kind)


LEFT = {
    ("cores", "host"),  # a host multiplies at its peaks
    ("cores", "all"),  # what one is differs between kinds
    ("links.scale_up.latency", "all"),  # engines hold it
    ("memory.link", "all"),
    ("memory.shared_by", "all"),
}


BEYOND = {
    "links.scale_up.latency": ("host", "lpu"),  # Groq's engine holds the hops in its layer floor
    "power.all_in": ("host", "wafer", "apple"),  # they print the power of the whole box
}
"""Kinds of chip that leave a number out because it is elsewhere."""

REQUESTS = Traffic(prompt=1000.0, output=200.0, context=1100.0)
CASES = {
    "cores": [("llama-3.1-8b", None, {}, None)],
    "vector": [("llama-3.1-8b", None, {"weights": "int4", "kv": "bf16"}, "llama-cpp")],
    "links": [
        ("llama-3.1-70b", None, {"sharding": Sharding(tp=1, pp=16)}, None),
        ("qwen3-30b-a3b", None, {"sharding": Sharding(chips=32)}, None),
    ],
    "power": [("llama-3.1-8b", None, {"pricing": Pricing("tco")}, None)],
}
"""By the numbers that they turn on: models, a host, what is asked, and an engine if not its own."""


def answers(catalogue, chip, model, host, changes, engine):
    """Return seconds of a token, of a first one and of served tokens, dollars and joules.

    Of all less is better.

    None where the chip has no such layout.
    """
    software = catalogue.engine(engine) if engine else engine_for(catalogue, chip)[0]
    memory = MemoryChoice(host=host)
    try:
        found = solve(
            Scenario(
                chip, catalogue.model(model), software, (1, 16), REQUESTS, memory=memory, **changes
            )
        )
    except LayoutError:
        return None
    estimate = found.estimate
    dollars = np.concatenate(found.usd) if found.usd else np.array([])
    joules = estimate.joules if chip.power else np.array([])
    return np.concatenate([estimate.tpot, estimate.ttft, 1.0 / estimate.served, dollars, joules])


def differences(catalogue, chip, path, quantity, case):
    """Return answers with a number left out over those with a quantity in its place."""
    left_out = answers(catalogue, without(chip, path), *case)
    median = answers(catalogue, without(chip, path, quantity), *case)
    if left_out is None or median is None:
        assert left_out is median
        return np.array([])
    return left_out / median


def test_no_chip_gains_by_a_number_left_out(catalogue, stated):
    """All chips, all optional numbers: never faster, cheaper or less power than at the median.

    Of the kind, or of all chips where none of the kind states it.
    """
    compared = set()
    for chip in chips(catalogue):
        for row, kind, path, _ in numbers(chip):
            known = kind if (row, kind) in stated or row == "cores" else "all"
            if chip.kind in BEYOND.get(row, ("host",)) or not (
                known_stated := stated.get((row, known))
            ):
                continue
            middle = median_high if row in COSTS else median_low
            quantity = Quantity(si=middle(known_stated), text="median")
            for case in CASES[row.split(".")[0]]:
                assert (differences(catalogue, chip, path, quantity, case) >= 1.0 - 1e-12).all(), (
                    chip.id,
                    path,
                    case,
                )
            compared.add(row)
    assert compared == {row for row in MEDIANS if not row.startswith("memory")}


@pytest.mark.parametrize("path", ["memory.DRAM.link", "memory.DRAM.shared_by"])
def test_no_host_gains_by_a_number_left_out(catalogue, stated, path):
    chip, row = catalogue.hardware("rtx-4090"), path.replace("DRAM.", "")
    quantity = Quantity(si=median_low(stated[row, "host"]), text="median")
    for host in (one for one in chips(catalogue) if one.kind == "host"):
        left_out = answers(catalogue, chip, "llama-3.1-70b", without(host, path), {}, None)
        median = answers(catalogue, chip, "llama-3.1-70b", without(host, path, quantity), {}, None)
        assert (left_out >= median * (1.0 - 1e-12)).all(), host.id


def test_a_wafer_without_a_latency_pays_for_hops(catalogue):
    """wse-3 is no worse in any stated number than wse-2: 24 hops of 5 us are 120 us of a token."""
    case = ("glm-4.7", None, {"sharding": Sharding(chips=24)}, None)
    older, newer = (
        answers(catalogue, catalogue.hardware(one), *case) for one in ("wse-2", "wse-3")
    )
    assert (newer[:6] <= older[:6]).all()
    free = Quantity(si=1e-12, text="1 ps")
    instant = without(catalogue.hardware("wse-2"), "links.scale_out.latency", free)
    assert (older - answers(catalogue, instant, *case))[0] == pytest.approx(24 * 5e-6, rel=1e-5)


@pytest.mark.parametrize(("latency", "seconds"), [(None, 4e-6), ("1 us", 4e-6), ("9 us", 9e-6)])
def test_a_stage_hop_inside_the_domain_takes_an_exchange(latency, seconds):
    """An engine's exchange of 4 us holds the latency of the link, unless that alone is longer."""
    link = {"bandwidth": "100 GB/s", "domain": 8, **({"latency": latency} if latency else {})}
    placed = made_up.placed(
        made_up.minimal(),
        Layout(pp=4),
        on=made_up.chip(links={"scale_up": link}),
        under=made_up.engine(collective_latency="4 us"),
    )
    step = Schedule(placed, REQUESTS, np.array([1.0])).decode
    (hops,) = [part for part in step.components if part.name == "stage hops"]
    assert hops.seconds == pytest.approx(3 * seconds)


def flat(annotation):
    yield annotation
    for inner in get_args(annotation):
        yield from flat(inner)


def optional(schema, start=""):
    """Yield the paths of the numbers that a schema has no need of."""
    for name, field in schema.model_fields.items():
        kinds = list(flat(field.annotation))
        parts = [kind for kind in kinds if isclass(kind) and issubclass(kind, Entry)]
        if Quantity in parts and NoneType in kinds:
            yield f"{start}{name}"
        for part in parts:
            if part is not Quantity:
                yield from optional(part, f"{start}{name}.")


def test_every_optional_number_has_a_default_or_stays_absent():
    """Prices stay absent; network has no domain, area is in no formula of speed, no ranks are one.

    What a driver reports of the memory is the engine's to assume.
    """
    assert set(optional(Hardware)) == MEDIANS.keys() | {
        "links.scale_out.domain", "price.cloud", "price.purchase", "area", "transistors", "ranks",
        "memory.reported",
    }  # fmt: skip


def test_a_default_is_in_assumptions_and_notes():
    """A note where it moves the answer: the latency of hops is nothing to one wafer."""
    many, alone = (
        outcome(model, "wse-2", sharding=Sharding(chips=chips))
        for model, chips in (("llama-3.1-70b", 8), ("llama-3.1-8b", 1))
    )
    sentence = (
        "latency between chips of wse-2 left out: 5 us taken, median of wafers that state it; "
        "give it with --set wse-2:links.scale_out.latency=VALUE"
    )
    assert sentence in map(as_flags, many.warnings)
    assert not any("left out" in warning for warning in alone.warnings)
    assert records.assumptions([many])["defaults"] == {
        "wse-2": {
            "links.scale_out.latency": {"value": "5 us", "basis": "median of wafers that state it"}
        }
    }
    assert records.assumptions([outcome("llama-3.1-8b", "h100-sxm")])["defaults"] == {}


def test_chips_that_no_link_joins_are_not_laid_out_together(catalogue):
    """Without a link beyond the domain there is none: its latency and bandwidth are not nothing."""
    chip = made_up.chip(links={"scale_up": {"bandwidth": "100 GB/s", "domain": 4}})
    site = made_up.site(made_up.minimal(), on=chip)
    assert max(layout.chips for layout in site.default_layouts) == 4
    assert {(one.tp * one.pp, one.dp) for one in site.exactly(8)} == {(1, 8), (2, 4), (4, 2)}
    with pytest.raises(LayoutError, match="states no link beyond its domain of 4"):
        site.check(Layout(pp=8))
    alone = made_up.site(made_up.minimal(), on=made_up.chip(links={}))
    assert alone.default_layouts == (Layout(),)
    with pytest.raises(LayoutError, match="states no link, and"):
        alone.check(Layout(pp=2))
    assert alone.check(Layout(dp=2))


def test_no_chip_gains_by_a_link_beyond_the_domain_left_out(catalogue):
    """16 chips in stages, and 32 with experts over all: slower without the link, or not at all."""
    stages, _ = CASES["links"]
    experts = ("qwen3-30b-a3b", None, {"sharding": Sharding(tp=2, ep=32, dp=16)}, None)
    for chip in chips(catalogue):
        if chip.links.scale_out is None:
            continue
        less = chip.model_copy(update={"links": chip.links.model_copy(update={"scale_out": None})})
        for case in (stages, experts):
            left_out = answers(catalogue, less, *case)
            if left_out is not None:
                ratio = left_out / answers(catalogue, chip, *case)
                assert (ratio >= 1.0 - 1e-12).all(), (chip.id, case)
