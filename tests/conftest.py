import gc
import os
import sys
import time
from collections.abc import Iterator

if sys.dont_write_bytecode:  # else every worker compiles all tests, and every command the program
    sys.dont_write_bytecode, os.environ["PYTHONDONTWRITEBYTECODE"] = False, ""
os.environ.pop("FORCE_COLOR", None)  # which a CI job may set, and puts bold text into a pipe
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy: threads wait by spinning
os.environ.setdefault("SOURCE_DATE_EPOCH", str(int(time.time())))  # one day for a run past midnight
import pytest
from hypothesis import HealthCheck, settings

from fastcalc.catalogue import names
from fastcalc.catalogue.store import Catalogue
from fastcalc.evidence import validate
from fastcalc.features.claims import run as claims_command
from fastcalc.features.fastmode import run as fastmode_command
from fastcalc.features.measure import validate as validate_command
from fastcalc.features.plan.verdict import Verdict
from tests import helpers

gc.set_threshold(50_000, 10, 10)  # answers refer to themselves, and hold arrays until collected

if sys.platform == "win32":  # these need bash, signals, pipes or symbolic links
    collect_ignore = [
        f"test_{name}.py"
        for name in (
            *("action", "check_fuzz", "check_fixes", "cli", "ends", "fuzz", "hostile_names", "new"),
            *("places", "readme"),
        )
    ] + ["test_sweep_files.py"]

for name, count in {"quick": 40, "thorough": 800}.items():
    settings.register_profile(
        name,
        max_examples=count,
        deadline=None,
        derandomize=True,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    )
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))


@pytest.fixture(scope="session", autouse=True)
def runs(tmp_path_factory: pytest.TempPathFactory) -> None:
    """A folder for what commands did, which the processes of a parallel run share."""
    base = tmp_path_factory.getbasetemp()
    helpers.runs = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "runs"
    helpers.runs.mkdir(exist_ok=True)


@pytest.fixture(scope="session", autouse=True)
def once() -> Iterator[None]:
    """What rests on shipped files alone is predicted and judged once in a process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(claims_command, "judge", helpers.judge_once)
        patch.setattr(fastmode_command, "tricks", helpers.fastmode_once)
        patch.setattr(names, "_listed", helpers.listed_once)
        for module in (validate_command, validate):
            patch.setattr(module, "validate_shipped", helpers.score_once)
        yield


def pytest_collection_finish() -> None:
    """Leave out what all tests keep when garbage is looked for."""
    gc.collect()
    gc.freeze()


def pytest_sessionfinish() -> None:
    """Look for leaked files once: pytest looks five times through all that is kept."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def without_regret(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plans that leave out what unknown speeds cost, which takes as long; test_confidence has it."""
    monkeypatch.setattr(Verdict, "regret", None)
    monkeypatch.setattr(helpers, "patched", "regret")


@pytest.fixture(scope="session")
def catalogue() -> Catalogue:
    return Catalogue()
