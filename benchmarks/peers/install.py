"""A virtual environment for each peer, made once in a folder and kept there."""

import json
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PATIENCE = 900.0
"""Seconds that an installation or a run may take."""


@dataclass(frozen=True)
class Peer:
    """A calculator on the package index.

    Attributes
    ----------
    package : str
        Its name there, with the version that it is asked as.
    help : tuple of str
        The shortest command that starts it.
    """

    package: str
    help: tuple[str, ...]

    @property
    def name(self) -> str:
        """The package without its version."""
        return self.package.partition("==")[0]

    @property
    def script(self) -> Path:
        """What runs under its Python."""
        return HERE / f"ask_{self.name.replace('-', '_')}.py"

    def folder(self, cache: Path) -> Path:
        """Return its virtual environment."""
        return cache / self.name

    def python(self, cache: Path) -> Path:
        """Return the Python of its virtual environment."""
        return self.folder(cache) / "bin" / "python"

    def starting(self, cache: Path) -> list[str]:
        """Return the command that starts it and does nothing else."""
        return [str(self.folder(cache) / "bin" / self.help[0]), *self.help[1:]]


PEERS = (
    Peer("ridgepoint==0.1.2", ("ridgepoint", "--help")),
    Peer("berth-placement==0.8.0", ("berth", "--help")),
    Peer("servcalc==0.1.0", ("servcalc", "--help")),
    Peer("llm-analysis==0.2.2", ("python", "-c", "import llm_analysis.analysis")),
    Peer("genz-llm==0.0.16", ("python", "-c", "import GenZ")),
    Peer("aiconfigurator==0.12.0", ("aiconfigurator", "--help")),
)


ROWS_ALONE = (
    Peer("mlsysim==0.3.0", ("python", "-c", "import mlsysim")),
    Peer("kv-planner", ("python", "-c", "import kv_planner")),
)
"""Calculators that are asked about measured points alone; those that pip does not know say so."""


class AbsentError(Exception):
    """A peer that cannot be installed or asked; the text says why."""


def install(peer: Peer, cache: Path) -> float:
    """Make a peer's virtual environment unless it is there, and return how long that took. [s]

    Raises
    ------
    AbsentError
        If pip does not install it.
    """
    done = peer.folder(cache) / f"installed-{peer.package}"
    if done.exists():
        return float(done.read_text() or 0.0)
    begin = time.perf_counter()
    _run([sys.executable, "-m", "venv", str(peer.folder(cache))], "no virtual environment")
    pip = [str(peer.python(cache)), "-m", "pip", "install", "--quiet", peer.package]
    _run(pip, "not installable")
    seconds = time.perf_counter() - begin
    done.write_text(f"{seconds:.1f}")
    return seconds


def ask(peer: Peer, cache: Path, script: Path | None = None, question: str = "") -> str:
    """Return what a script prints under a peer's Python.

    Raises
    ------
    AbsentError
        If it fails.
    """
    command = [str(peer.python(cache)), str(script or peer.script)]
    return _run(command, "not callable", question)


def answer(peer: Peer, cache: Path) -> dict[str, Any]:
    """Return a peer's points per second and its numbers for the common cases."""
    found: dict[str, Any] = json.loads(ask(peer, cache))
    return found


def _run(command: list[str], what: str, question: str = "") -> str:
    try:
        done = subprocess.run(
            command, input=question, capture_output=True, text=True, timeout=PATIENCE, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise AbsentError(f"{what}: more than {PATIENCE:.0f} s") from error
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise AbsentError(f"{what}: {last[:120]}")
    return done.stdout
