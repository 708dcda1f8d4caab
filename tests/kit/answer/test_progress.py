"""What takes longer than a second says so, on a terminal alone."""

import io
import sys
import threading
import time

import pytest

from fastcalc.features.check import run as show_check
from fastcalc.kit.answer import output, progress
from tests.helpers import run


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def slow(capsys, monkeypatch):
    """Run a command that takes a fifth of a second where a fiftieth is long."""
    monkeypatch.setattr(progress, "FIRST", 0.02)
    monkeypatch.setattr(progress, "EVERY", 0.02)

    def call(stream, work=lambda: time.sleep(0.2)):
        monkeypatch.setattr(show_check, "run", lambda _: work())
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stderr", stream)
            return run("check", capsys=capsys, monkeypatch=patch)

    return call


def test_a_terminal_sees_that_a_command_is_at_work_and_nothing_when_it_is_done(slow):
    terminal = Terminal()

    def work():
        progress.say("3 of 7 points")
        time.sleep(0.2)

    assert slow(terminal, work).code == 0
    drawn = terminal.getvalue().split("\r\x1b[K")
    assert "fastcalc check: 3 of 7 points, 0 s" in drawn
    assert drawn[-1] == ""
    assert not [thread for thread in threading.enumerate() if "_draw" in thread.name]


def test_a_file_or_a_pipe_sees_nothing(slow):
    pipe = io.StringIO()
    assert slow(pipe).code == 0
    assert pipe.getvalue() == ""


def test_what_is_quick_shows_nothing(slow):
    terminal = Terminal()
    slow(terminal, work=lambda: None)
    assert terminal.getvalue() == ""


def test_a_note_has_the_line_for_itself(slow):
    terminal = Terminal()

    def work():
        time.sleep(0.1)
        output.notify("fastcalc: note: late\n")
        time.sleep(0.1)

    slow(terminal, work)
    assert "\r\x1b[Kfastcalc: note: late\n" in terminal.getvalue()


def test_the_line_goes_before_the_answer(slow, monkeypatch):
    both = Terminal()

    def work():
        time.sleep(0.1)
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdout", both)
            output.write("the answer\n", None)
        time.sleep(0.1)

    slow(both, work)
    assert both.getvalue().endswith("\r\x1b[Kthe answer\n")


def test_a_terminal_that_has_gone_ends_it(slow):
    class Gone(Terminal):
        def write(self, _):
            raise OSError(5, "Input/output error")

    assert slow(Gone()).code == 0
