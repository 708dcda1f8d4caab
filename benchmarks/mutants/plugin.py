"""What a run of pytest does for mutants: chosen tests in order, each with a limit, and coverage.

``MUTANTS_TESTS`` names a JSON file of tests, or files of tests, and the seconds that each takes:
they run in that order, and the process ends where one takes far longer. ``MUTANTS_COVERAGE`` names
a folder: which test executes which line, how long it takes and whether it passes is written there.
"""

import json
import os
import resource
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, settings

LIMIT, SLOWER = 10.0, 10.0
"""Seconds of its processor that a test may take, and as many times as long as it usually does."""

MEMORY = 6 * 2**30
"""What the tests may take [byte]: a mutant may ask for more and more."""

_tests: dict[str, float] = {}
_passed: dict[str, float] = {}
_coverage: Any = None

if "MUTANTS_TESTS" in os.environ:
    _tests = json.loads(Path(os.environ["MUTANTS_TESTS"]).read_text())
    signal.setitimer(signal.ITIMER_VIRTUAL, 6 * LIMIT)  # an import may be endless, too
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
if "MUTANTS_COVERAGE" in os.environ:
    import coverage

    _folder = Path(os.environ["MUTANTS_COVERAGE"])
    _coverage = coverage.Coverage(
        data_file=_folder / f"{os.getpid()}.coverage",
        source=["fastcalc"],
        config_file=False,
        messages=False,
    )
    _coverage.set_option("run:relative_files", True)
    _coverage.start()


def pytest_configure() -> None:
    """Do not look for the smallest example that fails: any will do."""
    parent = settings.get_profile(settings.get_current_profile_name())
    phases = (Phase.explicit, Phase.generate)
    settings.register_profile("mutants", parent=parent, phases=phases)
    settings.load_profile("mutants")


def _name(item: pytest.Item) -> str:
    """Return what a test is chosen by: its own name, or that of its file."""
    return item.nodeid if item.nodeid in _tests else item.nodeid.partition("::")[0]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep the tests chosen, in their order."""
    if _tests:
        order = list(_tests)
        chosen = [item for item in items if _name(item) in _tests]
        items[:] = sorted(chosen, key=lambda item: order.index(_name(item)))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[Any]:
    """Limit and measure each test, and note the lines that it executes."""
    if _tests:
        signal.setitimer(signal.ITIMER_VIRTUAL, LIMIT + SLOWER * _tests[_name(item)])
    if _coverage:
        _coverage.switch_context(item.nodeid)
    start = time.process_time()
    result = yield
    if _tests:  # what pytest does after a test is not the test's
        signal.setitimer(signal.ITIMER_VIRTUAL, 6 * LIMIT)
    if item.nodeid in _passed:
        _passed[item.nodeid] = time.process_time() - start
    if _coverage:
        _coverage.switch_context("")
    return result


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note which tests pass."""
    if report.when == "call" and report.passed:
        _passed[report.nodeid] = 0.0
    elif report.failed:
        _passed.pop(report.nodeid, None)


def pytest_sessionfinish() -> None:
    """Write what was seen."""
    if _coverage:
        _coverage.stop()
        _coverage.save()
        (_folder / f"{os.getpid()}.json").write_text(json.dumps(_passed))
