"""The example of the page on searching runs as it is printed: a sweep on a cluster."""

import os
import re
import subprocess
import sys

import numpy as np
import pytest

import fastcalc as fc
from tests.helpers import ROOT

(EXAMPLE,) = re.findall(r"(?ms)^```python\n(.*?)^```", (ROOT / "docs" / "search.md").read_text())


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
