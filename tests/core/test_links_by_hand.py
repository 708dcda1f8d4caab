"""Chips that links join, and what is told of layouts beyond them."""

from types import SimpleNamespace

import pytest

from fastcalc.catalogue.store import Catalogue
from fastcalc.core.placement.layout import Layout
from fastcalc.core.placement.legal import (
    LegalLayouts,
    domain_notes,
    link_domain,
    mesh_chips,
    topology_of,
)
from tests.helpers import every, outcome

ENTRIES = Catalogue()


@every(
    "chip,domain,mesh",
    [
        ("h100-sxm", 8, None),  # a switch
        ("mi300x", 8, 8),  # seven links to seven peers
        ("apple-m3-ultra-80", 4, 4),  # three cables
        ("gb200", 72, None),
    ],
)
def test_which_chips_have_a_link_to_each_other(chip, domain, mesh):
    hardware = ENTRIES.hardware(chip)
    assert (link_domain(hardware), mesh_chips(hardware)) == (domain, mesh)


def linked(kind, domain, what_if=()):
    """An MI300X with other links."""
    chip = ENTRIES.hardware("mi300x")
    up = chip.links.scale_up
    up = up.model_copy(update={"kind": kind, "domain": up.domain.model_copy(update={"si": domain})})
    links = chip.links.model_copy(update={"scale_up": up})
    changed = chip.model_copy(update={"links": links})
    return SimpleNamespace(id=chip.id, links=links, what_if=what_if) if what_if else changed


@every(
    "kind,domain,mesh",
    [("xgmi", 4, 4), ("xgmi", 8, 8), ("xgmi", 64, 8), ("thunderbolt", 8, 4), ("nvlink", 8, None), (None, 8, None)],
)  # fmt: skip
def test_larger_domains_are_groups_of_as_many_as_are_sold(kind, domain, mesh):
    assert mesh_chips(linked(kind, domain)) == mesh


def test_a_larger_domain_of_pairs_is_told():
    changed = ("links.scale_up.domain=16",)
    (note,) = domain_notes(linked("xgmi", 16, changed))
    assert "in a larger domain, up to 8 chips, a group has fewer of them" in note
    assert "beyond 8, groups of 8 are assumed to meet in a switch" in note
    assert domain_notes(linked("nvlink", 16, changed)) == []
    assert domain_notes(linked("xgmi", 16)) == []
    assert domain_notes(linked("xgmi", 16, ("power.chip=1kW",))) == []


def test_a_topology_has_what_decides_who_exchanges_with_whom():
    found = topology_of(outcome("llama-3.1-8b", "h100-sxm").placement.machine)
    assert (found.ranks, found.domain, found.mesh, found.link) == (1, 8, None, "nvlink")
    assert (found.is_spatial, found.has_scale_out, found.is_over_host) == (False, True, False)
    card = topology_of(outcome("llama-3.1-8b", "rtx-4090", weights="q4_k_m").placement.machine)
    assert (card.is_over_host, card.link) == (True, "pcie")
    wafer = topology_of(outcome("llama-3.1-8b", "wse-3").placement.machine)
    assert (wafer.is_spatial, wafer.domain, wafer.link) == (True, 1, None)


def told(layout, *, ranks=1, domain=8, heads=32, padding=0, is_whole=True):
    site = SimpleNamespace(
        machine=SimpleNamespace(
            ranks=ranks, hardware=SimpleNamespace(id="h"), engine=SimpleNamespace(id="e"),
            chip=SimpleNamespace(link_out=50e9),
        ),
        work=SimpleNamespace(model=SimpleNamespace(id="m")), domain=domain,
        has_whole_blocks=lambda _: is_whole, padded_heads=lambda _: padding,
    )  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fastcalc.core.placement.legal.common_heads", lambda _: heads)
        return LegalLayouts.rank_notes(site, layout)


@every(
    "layout,changes,starts",
    [
        (Layout(8), {}, []),
        (Layout(16), {}, ["h joins 8 chips: all-reduces of tp 16 take the slower link between them, 50 GB/s"]),
        (Layout(2), {"domain": 1}, ["h has no link of its own: all-reduces of tp 2 take the slower link"]),
        (Layout(2), {"ranks": 2}, ["h runs 2 ranks per chip: tp, pp, dp and ep count ranks, not chips"]),
        (Layout(6), {"ranks": 2, "padding": 4}, ["h runs 2 ranks per chip", "tp 6 pads the 32 attention heads of m to 36;"]),
        # More ranks than the domain joins are no chips beyond it.
        (Layout(16), {"ranks": 2}, ["h runs 2 ranks per chip"]),
        (Layout(8, ep=8), {"is_whole": False}, ["tp 8 without ep would cut blocks of weights with one scale each, with which e does not start"]),
        (Layout(8, ep=8, dp=2), {"is_whole": False}, []),
        (Layout(8), {"is_whole": False}, []),
    ],
)  # fmt: skip
def test_notes_on_ranks(layout, changes, starts):
    found = told(layout, **changes)
    assert len(found) == len(starts)
    assert all(note.startswith(start) for note, start in zip(found, starts, strict=True))


def link(kind):
    return kind and SimpleNamespace(kind=kind)


@every(
    "up,is_bridged,is_bus",
    [("pcie", False, True), ("nvlink", False, False), ("nvlink", True, True), (None, False, False), (None, True, True)],
)  # fmt: skip
def test_chips_of_a_host_meet_on_its_bus(up, is_bridged, is_bus):
    hardware = SimpleNamespace(links=SimpleNamespace(scale_up=link(up)), is_bridged=is_bridged)
    site = SimpleNamespace(machine=SimpleNamespace(hardware=hardware))
    assert LegalLayouts.is_pcie.fget(site) is is_bus


@every(
    "out,ranks,program,is_allowed",
    [("roce", 1, "vllm", True), ("roce", 1, "llama-cpp", False), ("roce", 2, "vllm", False), (None, 1, "vllm", False)],
)  # fmt: skip
def test_groups_over_nodes_need_a_network_and_a_server_that_has_them(
    out, ranks, program, is_allowed
):
    links = SimpleNamespace(scale_out=link(out))
    machine = SimpleNamespace(
        hardware=SimpleNamespace(links=links), ranks=ranks, engine=SimpleNamespace(program=program)
    )
    found = LegalLayouts.has_groups_over_nodes.fget(SimpleNamespace(machine=machine))
    assert found is is_allowed


@every(
    "up,out,domain,is_spatial,widest",
    [
        # Pairs with a bridge run in hosts of eight; larger domains are not left.
        ("nvlink", "roce", 2, False, 8), ("nvlink", None, 2, False, 2), ("nvlink", "roce", 4, False, 4),
        ("ethernet", None, 2, False, 8), ("nvlink", "roce", 2, True, 2), (None, "roce", 1, False, 8),
    ],
)  # fmt: skip
def test_the_widest_group_that_a_user_may_ask_for(up, out, domain, is_spatial, widest):
    links = SimpleNamespace(scale_up=link(up), scale_out=link(out))
    for ranks in (1, 2):
        machine = SimpleNamespace(
            hardware=SimpleNamespace(links=links), ranks=ranks, is_spatial=is_spatial
        )
        site = SimpleNamespace(machine=machine, chips_joined=domain, domain=domain * ranks)
        assert LegalLayouts.widest_group.func(site) == widest * ranks


# Four chips of two ranks with a link; the widest group is given, and the network.
@every(
    "layout,up,out,is_spatial,joined",
    [
        (Layout(2), None, None, False, True), (Layout(4), None, None, False, False),
        (Layout(2, pp=2), None, "roce", False, True), (Layout(4, pp=2), "nvlink", None, False, True),
        (Layout(4, pp=4), "nvlink", None, False, False), (Layout(4, pp=4), "nvlink", None, True, True),
        (Layout(2, ep=16), "nvlink", None, False, False), (Layout(2, dp=16), "nvlink", None, False, True),
    ],
)  # fmt: skip
def test_links_join_the_chips_of_a_replica(layout, up, out, is_spatial, joined):
    links = SimpleNamespace(scale_up=link(up), scale_out=link(out))
    machine = SimpleNamespace(hardware=SimpleNamespace(links=links), ranks=2, is_spatial=is_spatial)
    site = SimpleNamespace(machine=machine, domain=8, widest_group=4)
    assert LegalLayouts.is_joined(site, layout) is joined
