"""How the program ends: its exit code, and what standard error says."""

import gc
import os
import sys
import warnings

import pytest
import typer

from fastcalc import cli
from fastcalc.cli import app
from fastcalc.errors import InputError
from tests.helpers import every

FAULT = "fastcalc: a fault of fastcalc, not of the request; please report it"


def ended_by(error, cause):
    """An end of the program while something else went wrong."""
    error.__context__ = cause
    return error


@every(
    "end,code,says",
    [
        (0, 0, ""),
        (1, 1, ""),
        (InputError("one", "two"), 2, "fastcalc: one\nfastcalc: two\n"),
        (RuntimeWarning("overflow"), 2, f"{FAULT}: overflow\n"),
        (ZeroDivisionError("by zero"), 2, f"{FAULT}: by zero\n"),
        (SystemExit(3), 3, ""),
        (SystemExit("typer"), 0, ""),
        # typer ends so where nobody reads its help any more.
        (ended_by(SystemExit(1), BrokenPipeError()), 0, ""),
        (ended_by(SystemExit(1), ValueError()), 1, ""),
        (KeyboardInterrupt(), 130, ""),
        (BrokenPipeError(), 0, ""),
        (OSError(28, "No space left", "out.csv"), 2, "fastcalc: out.csv: no space left\n"),
        (OSError(28, "No space left"), 2,
         "fastcalc: standard output cannot be written: no space left\n"),
    ],
)  # fmt: skip
def test_ends_of_the_program(capsys, monkeypatch, end, code, says):
    def run():
        if isinstance(end, BaseException):
            raise end
        return end

    monkeypatch.setattr(cli, "_run", run)
    monkeypatch.setattr(sys, "argv", ["fastcalc"])
    with warnings.catch_warnings(), pytest.raises(SystemExit) as ended:
        cli.main()
    gc.unfreeze()
    gc.enable()
    assert ended.value.code == code
    assert capsys.readouterr().err == says


def test_the_program_computes_without_a_collector_plugins_and_threads(monkeypatch):
    for name in (variables := ("PYDANTIC_DISABLE_PLUGINS", "OPENBLAS_NUM_THREADS")):
        monkeypatch.setenv(name, "0")
        monkeypatch.delenv(name)
    seen = []
    monkeypatch.setattr(sys, "argv", ["fastcalc", "fit", "m"])
    monkeypatch.setattr(cli.progress, "begin", seen.append)
    monkeypatch.setattr(
        cli, "_run", lambda: seen.extend([gc.isenabled(), *map(os.environ.get, variables)])
    )
    with warnings.catch_warnings(), pytest.raises(SystemExit):
        cli.main()
    gc.unfreeze()
    gc.enable()
    assert seen == ["fastcalc fit", False, "1", "1"]


@every("end,code", [(0, 0), (1, 1), (None, 0), ("text", 0), (typer.Abort(), 130)])
def test_what_a_command_returns_is_the_code(monkeypatch, end, code):
    class Stream:
        def reconfigure(self, *, errors):
            asked.append(errors)

    def command(*, args, standalone_mode):
        asked.extend([args, standalone_mode])
        if isinstance(end, BaseException):
            raise end
        return end

    asked = []
    monkeypatch.setattr(app, "command", lambda *names: asked.extend(names) or command)
    monkeypatch.setattr(sys, "argv", ["fastcalc", "fit", "-tp", "2"])
    for out, err in ((Stream(), None), (None, Stream()), (None, None)):
        asked.clear()
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdout", out)
            patch.setattr(sys, "stderr", err)
            assert cli._run() == code
        replaced = ["replace"] * (out is not err)
        assert asked == [*replaced, "fit", ["fit", "--tp", "2"], False]


def test_what_nobody_expected_is_reported_with_where_it_happened(capsys, monkeypatch):
    def run():
        raise KeyError("lost")

    monkeypatch.setattr(cli, "_run", run)
    with warnings.catch_warnings(), pytest.raises(SystemExit) as ended:
        cli.main()
    gc.unfreeze()
    gc.enable()
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert said.startswith("Traceback")
    assert said.endswith(f"KeyError: 'lost'\n{FAULT}\n")


@every(
    "code,error,ends,says",
    [
        (0, None, 0, ""),
        (0, BrokenPipeError(), 0, ""),
        (1, BrokenPipeError(), 1, ""),
        (0, OSError(28, "No space left"), 2,
         "fastcalc: standard output cannot be written: no space left\n"),
        # What went wrong before is the reason.
        (1, OSError(28, "No space left"), 1, ""),
    ],
)  # fmt: skip
def test_what_is_left_for_a_reader_that_has_gone_goes_nowhere(
    capsys, monkeypatch, code, error, ends, says
):
    class Gone:
        def flush(self):
            if error is not None:
                raise error

    discarded = []
    monkeypatch.setattr(cli.output, "discard", discarded.append)
    monkeypatch.setattr(sys, "stdout", Gone())
    monkeypatch.setattr(sys, "argv", ["fastcalc"])
    monkeypatch.setattr(cli, "_run", lambda: code)
    with warnings.catch_warnings(), pytest.raises(SystemExit) as ended:
        cli.main()
    monkeypatch.undo()
    gc.unfreeze()
    gc.enable()
    assert ended.value.code == ends
    assert discarded == [1] * (error is not None)  # standard output
    assert capsys.readouterr().err == says
