"""The examples of the page on searching run as they are printed.

That of a plan finds what the command finds, and that of a sweep on a cluster what one process finds.
"""

import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest

import fastcalc as fc
from tests.helpers import ROOT, run

PLAN, EXAMPLE = re.findall(r"(?ms)^```python\n(.*?)^```", (ROOT / "docs" / "search.md").read_text())


def test_the_plan_is_that_of_the_command(capsys, monkeypatch):
    exec(PLAN, {})
    printed = capsys.readouterr().out.splitlines()
    asked = ("--on", "h100-sxm,mi355x,b200", "--prompt", 4000, "--output", 1000)
    asked += ("--ttft", "1s", "--tpot", "25ms", "--rate", "20/s", "--by", "chip", "--load", 1)
    ran = run(
        "plan", "llama-3.1-70b", *asked, "--format", "json", capsys=capsys, monkeypatch=monkeypatch
    )
    best = json.loads(ran.out)["best_of_each_chip"]
    assert len(best) == 3
    bills = [one["usd_per_month"] + 1e-6 for one in best]  # half a dollar, rounded, may be less
    assert printed == [
        f"{one['chips_total']} {one['hardware']}: ${bill:,.0f}"
        for one, bill in zip(best, bills, strict=True)
    ]


@pytest.fixture(scope="module")
def found_here():
    """What the example prints, found without a cluster."""
    lines = EXAMPLE.split("    with LocalCluster")[0].splitlines()
    source = "\n".join(line for line in lines if "dask" not in line)
    names: dict[str, object] = {}
    exec(source + "\n    return found\n", names)
    price, chip, batch = min(
        names["cheapest"](block) for grid in names["main"]() for block in grid.blocks()
    )
    return f"{chip} at batch {batch}: {price:.4f} $/Mtok\n"


def test_the_sweep_is_that_of_the_library(found_here):
    axes = {"prompt": range(1000, 9000, 1000), "output": [250, 500, 1000], "tp": [1, 2, 4, 8]}
    chips = ["h100-sxm", "h200-sxm", "b200"]
    swept = fc.sweep("llama-3.1-70b", on=chips, weights="fp8", batch=range(222, 257), **axes)
    best = int(np.nanargmin(swept["usd_per_mtok_total"]))
    price, batch = swept["usd_per_mtok_total"][best], swept["batch"][best]
    assert found_here == f"{swept['hardware'][best]} at batch {batch:g}: {price:.4f} $/Mtok\n"


def test_a_cluster_finds_what_one_process_finds(found_here, tmp_path):
    pytest.importorskip("distributed")
    script = tmp_path / "example.py"
    script.write_text(EXAMPLE)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    ran = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, timeout=120, env=environment
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout == found_here
