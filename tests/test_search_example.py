"""The example of a sweep on a cluster runs as it is printed and finds what one process finds."""

import os
import re
import subprocess
import sys

import pytest

from tests.helpers import ROOT

EXAMPLE = re.findall(r"(?ms)^```python\n(.*?)^```", (ROOT / "docs" / "search.md").read_text())[0]


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
