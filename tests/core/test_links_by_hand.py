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
