"""Nothing is begun that nobody can mean: sizes are counted before anything is allocated."""

import tracemalloc
from collections import namedtuple

import pytest

from fastcalc.catalogue.store import Catalogue
from fastcalc.core.scenario import engine_for
from fastcalc.features.sweep import run as sweep_run
from fastcalc.features.sweep.axes import Axes, grids
from fastcalc.grid.grid import BLOCK
from tests.helpers import run

TEN_THOUSAND = "1..10000+1"
EACH = ("--batch", TEN_THOUSAND, "--prompt", TEN_THOUSAND)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("asked", "counted"),
    [
        (("--on", "h100-sxm", *EACH, "--output", TEN_THOUSAND), "1,000,000,000,000 points, about"),
        (("--on", "h100-sxm", *EACH), "100,000,000 points, about 45.0 GB and 25 minutes"),
        (("--on", "h100-sxm", *EACH, "--format", "json"), "about 160.0 GB and 33 minutes"),
        (("--on", "l4", "--tp", TEN_THOUSAND, "--dp", TEN_THOUSAND), "100,000,000 combinations"),
        (("--batch", "1..10000000000+1"), "not a whole number from 1 to 1,000,000"),
        (("--prompt", "1..1000000000+1"), "has more than 10,000 values"),
    ],
)
def test_a_sweep_that_nobody_can_mean_is_counted_and_refused(
    asked, counted, tmp_path, capsys, monkeypatch
):
    tracemalloc.start()
    out = ("-o", tmp_path / "big.csv")
    ran = run("sweep", "llama-3.1-8b", *asked, *out, capsys=capsys, monkeypatch=monkeypatch)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert counted in ran.err
    assert most < 100e6
    assert not list(tmp_path.iterdir())


def test_a_sweep_that_is_meant_has_one_block_after_another_in_memory():
    catalogue = Catalogue()
    chip = catalogue.hardware("h100-sxm")
    counts = range(1, 10_001)
    tracemalloc.start()
    (grid,), left_out = grids(
        Axes(
            models=[catalogue.model("llama-3.1-8b")],
            chips=[(chip, *engine_for(catalogue, chip))],
            prompts=counts,
            outputs=counts,
            batches=counts,
        )
    )
    first = next(grid.blocks())
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (grid.size, dict(left_out)) == (10**12, {})
    assert 0 < first.size <= BLOCK
    assert list(first.requests.output) == list(range(1, len(first.requests) + 1))
    assert most < 30e6


@pytest.mark.parametrize("format_", ["csv", "json"])
def test_what_is_free_on_the_disk_is_a_limit_unless_it_is_meant(
    format_, tmp_path, capsys, monkeypatch
):
    free = namedtuple("free", "free")(1_000)
    monkeypatch.setattr(sweep_run.shutil, "disk_usage", lambda _: free)
    asked = ("sweep", "llama-3.1-8b", "-o", tmp_path / f"found.{format_}")
    ran = run(*asked, capsys=capsys, monkeypatch=monkeypatch)
    assert (ran.code, ran.out) == (2, "")
    assert "27 points" in ran.err
    assert "free there; name fewer values, or add --anyway" in ran.err
    assert not list(tmp_path.iterdir())
    ran = run(*asked, "--anyway", capsys=capsys, monkeypatch=monkeypatch)
    assert (ran.code, ran.err) == (0, "")
    assert run("sweep", "llama-3.1-8b", capsys=capsys, monkeypatch=monkeypatch).code == 0


def test_a_size_is_reported_where_it_is_worth_a_line(capsys, monkeypatch):
    monkeypatch.setattr(sweep_run, "NOTED", 26)
    ran = run("sweep", "llama-3.1-8b", capsys=capsys, monkeypatch=monkeypatch)
    assert ran.code == 0
    assert ran.err == "fastcalc: note: 27 points, about 0.0 GB and 0 s\n"


@pytest.mark.parametrize("command", ["compare", "fit"])
def test_records_that_are_in_memory_together_are_counted(command, capsys, monkeypatch):
    asked = (command, "llama-3.1-8b", "--on", "all", "--batch", TEN_THOUSAND)
    ran = run(*asked, capsys=capsys, monkeypatch=monkeypatch)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    entries = Catalogue()
    chips = sum(entries.hardware(name).kind != "host" for name in entries.names("hardware"))
    assert f"{chips * 10_000:,} points (models x chips x batches) exceed 30,000" in ran.err
