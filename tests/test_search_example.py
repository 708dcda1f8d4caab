"""The examples of the page on searching run as they are printed.

That of a plan finds what the command finds, and that of a sweep on a cluster what one process finds.
"""

import json
import os
import re
import subprocess
import sys

import pytest

from tests.helpers import ROOT, run

PLAN, EXAMPLE = re.findall(r"(?ms)^```python\n(.*?)^```", (ROOT / "docs" / "search.md").read_text())


def test_the_plan_is_that_of_the_command(capsys, monkeypatch):
    exec(PLAN, {})
    printed = capsys.readouterr().out.splitlines()
    asked = ("--on", "h100-sxm,mi355x,b200", "--prompt", 4000, "--output", 1000)
    asked += ("--ttft", "1s", "--tpot", "25ms", "--rate", "20/s", "--format", "json")
    ran = run("plan", "llama-3.1-70b", *asked, capsys=capsys, monkeypatch=monkeypatch)
    best = json.loads(ran.out)["best_of_each_chip"]
    assert len(best) == 3
    assert printed == [
        f"{one['chips_total']} {one['hardware']}: ${one['usd_per_month']:,.0f}" for one in best
    ]


def test_it_finds_what_one_process_finds(tmp_path):
    pytest.importorskip("distributed")
    script = tmp_path / "example.py"
    script.write_text(EXAMPLE)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    ran = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, timeout=120, env=environment
    )
    assert ran.returncode == 0, ran.stderr
    lines = EXAMPLE.split("    with LocalCluster")[0].splitlines()
    source = "\n".join(line for line in lines if "dask" not in line)
    names: dict[str, object] = {}
    exec(source + "\n    return found\n", names)
    price, chip, batch = min(
        names["cheapest"](block) for grid in names["main"]() for block in grid.blocks()
    )
    assert ran.stdout == f"{chip} at batch {batch}: {price:.4f} $/Mtok\n"
