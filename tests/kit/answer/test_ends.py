"""Where answers go and how commands end: streams that are closed or full, devices, files read."""

import io
import json
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest

from fastcalc.kit.answer import output
from tests.helpers import ROOT, run, thorough

FASTCALC = f"{sys.executable} -m fastcalc"


def shell(command, folder):
    """Run a command line of bash."""
    return subprocess.run(
        ["bash", "-c", command.replace("fastcalc", FASTCALC, 1)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.mark.parametrize(
    ("asked", "code", "stream"),
    [
        ("compare --batch 1,99999 --format json", 0, "2>&-"),  # with notes
        thorough("compare --batch 1,99999 --format json", 0, "2>/dev/full"),
        thorough("plan llama-3.1-8b --on l4 --ttft 1us", 1, "2>/dev/full"),
        thorough("compare --on nothing", 2, "2>&-"),
    ],
)
def test_a_note_that_cannot_be_written_changes_no_answer(asked, code, stream, tmp_path):
    ran = shell(f"fastcalc {asked} {stream}", tmp_path)
    assert ran.returncode == code
    assert code or len(json.loads(ran.stdout)["records"]) > 1


@pytest.mark.parametrize(
    "asked", ["--help", "compare --help", "--version", thorough("list engines")]
)
def test_a_reader_that_has_gone_is_no_failure(asked, tmp_path):
    ran = shell(f"fastcalc {asked} | (exec <&-); echo ${{PIPESTATUS[0]}}", tmp_path)
    assert (ran.stdout, ran.stderr) == ("0\n", "")


def test_the_version_is_not_reported_to_nobody(tmp_path):
    ran = shell("fastcalc --version >&-", tmp_path)
    assert (ran.returncode, "closed" in ran.stderr) == (2, True)


@pytest.mark.parametrize("name", [thorough("/dev/fd/1"), "link"])
def test_what_the_shell_has_opened_is_written_in_place(name, tmp_path):
    """After what is in it: to open it anew would begin at the beginning."""
    if not os.path.exists("/proc/self/fd/1"):
        pytest.skip("needs /proc")
    (tmp_path / "link").symlink_to("/dev/stdout")
    found = tmp_path / "found"
    found.write_text("before\n")
    same = os.stat(found).st_ino
    ran = shell(f"fastcalc list engines --format csv -o {name} >> found", tmp_path)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert found.read_text().startswith("before\nid,name,")
    assert os.stat(found).st_ino == same
    assert sorted(one.name for one in tmp_path.iterdir()) == ["found", "link"]


@pytest.mark.thorough
def test_pipes_and_devices_are_written_in_place(tmp_path, capsys, monkeypatch):
    os.mkfifo(tmp_path / "pipe")
    ran = shell("fastcalc list engines --format csv -o pipe & head -1 pipe; wait $!", tmp_path)
    assert (ran.returncode, ran.stdout[:8]) == (0, "id,name,")
    assert (tmp_path / "pipe").is_fifo()
    ran = run("list", "engines", "-o", os.devnull, capsys=capsys, monkeypatch=monkeypatch)
    assert (ran.code, ran.out, ran.err) == (0, "", "")


LOOPS = [
    "compare -o loop",
    "compare -o loop/x",
    "compare --hardware-dir loop",
    "compare ./loop",
    "compare --on ./loop",
    "plan llama-3.1-8b --engine ./loop",
    "sweep --format csv -o loop",
    "validate loop",
    "check loop",
    "claims loop",
    "import loop",
    "calibrate -o loop",
    "new hardware my-chip -o loop",
]


@pytest.mark.parametrize("asked", LOOPS)
def test_a_link_to_itself_gets_a_sentence(asked, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    os.symlink("loop", "loop")
    ran = run(*asked.split(), capsys=capsys, monkeypatch=monkeypatch)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert "loop" in ran.err


def test_a_link_to_itself_in_a_folder_is_a_fault_of_that_file(tmp_path, capsys, monkeypatch):
    (tmp_path / "chip.yaml").write_text((ROOT / "hardware" / "b200.yaml").read_text())
    os.symlink("loop.yaml", tmp_path / "loop.yaml")
    ran = run("check", tmp_path, capsys=capsys, monkeypatch=monkeypatch)
    assert (ran.code, ran.err) == (1, "")
    assert "loop.yaml: error ST001: neither a file nor a link to one" in ran.out


@pytest.mark.parametrize("asked", ["check", "validate", "import", "calibrate -o", "compare -o"])
def test_a_path_that_no_file_system_has_gets_a_sentence_about_it(
    asked, tmp_path, capsys, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    ran = run(*asked.split(), "a" * 300, capsys=capsys, monkeypatch=monkeypatch)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert "aaaa" in ran.err
    assert "standard output" not in ran.err


OWN = [
    "validate in.csv",
    "calibrate in.csv",
    "check chip.yaml",
    "show ./chip.yaml",
    "diff ./chip.yaml h100-sxm",
    "compare --on ./chip.yaml",
    "compare --on chip --hardware-dir .",
    "compare config.json",
    "import config.json",
    "decide --engine ./chip.yaml",
    "claims claims.yaml --explain 2",
]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("asked", "link"),
    [(asked, None) for asked in OWN]
    + [("check chip.yaml", os.link), ("check chip.yaml", os.symlink)],
)
def test_nothing_is_written_over_what_was_read(asked, link, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    chip = (ROOT / "hardware" / "h100-sxm.yaml").read_text()
    (tmp_path / "chip.yaml").write_text(chip.replace("id: h100-sxm", "id: chip", 1))
    rows = (ROOT / "evidence" / "measured.csv").read_text().splitlines(keepends=True)
    (tmp_path / "in.csv").write_text("".join(rows[:40]))
    shutil.copy(ROOT / "tests" / "configs" / "qwen3-8b.json", "config.json")
    shutil.copy(ROOT / "evidence" / "claims.yaml", "claims.yaml")
    name = next(word for word in (*asked.split(), "./chip.yaml") if "." in word and word != ".")
    before = (tmp_path / name).read_bytes()
    target = name if link is None else "other.yaml"
    if link:
        link(name.removeprefix("./"), target)
    as_json = [] if asked.startswith(("import", "calibrate")) else ["--format", "json"]
    ran = run(*asked.split(), *as_json, "-o", target, capsys=capsys, monkeypatch=monkeypatch)
    assert (ran.code, ran.out) == (2, "")
    assert "is an input of this command" in ran.err
    assert (tmp_path / name).read_bytes() == before


def test_what_an_earlier_command_read_may_be_written(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copy(ROOT / "hardware" / "h100-sxm.yaml", "chip.yaml")
    for asked in ("show ./chip.yaml", "show l4 --format json -o chip.yaml"):
        assert run(*asked.split(), capsys=capsys, monkeypatch=monkeypatch).code == 0
    assert json.loads((tmp_path / "chip.yaml").read_text())


@pytest.mark.thorough
def test_a_draft_of_a_killed_program_goes_with_the_next_and_no_other(tmp_path):
    """Of two that write the same file, neither takes the other's draft for a dead one."""
    asked = "sweep --batch 1..1000 --prompt 1k..8k+100 --output 1..36 -o found.csv".split()
    (tmp_path / ".found.csv.original").write_text("of somebody")

    def started(others):
        running = subprocess.Popen(
            [sys.executable, "-m", "fastcalc", *asked],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        patience = time.monotonic() + 60
        while not drafts() - others and time.monotonic() < patience:
            time.sleep(0.02)
        running.send_signal(signal.SIGSTOP)  # it holds its draft, and no processor
        return running

    def drafts():
        return set(tmp_path.glob(".found.csv.*draft"))

    killed = started(set())
    (dead,) = drafts()
    other = started({dead})
    assert len(drafts()) == 2
    killed.kill()
    killed.wait()
    with output.whole(tmp_path / "found.csv") as draft:
        assert dead not in drafts()
        assert len(drafts()) == 2
        draft.write(b"whole")
    assert (tmp_path / "found.csv").read_bytes() == b"whole"
    other.send_signal(signal.SIGTERM)
    other.send_signal(signal.SIGCONT)
    other.wait(timeout=60)
    assert sorted(one.name for one in tmp_path.iterdir()) == [".found.csv.original", "found.csv"]


def test_a_draft_that_another_program_takes_is_made_anew(tmp_path, monkeypatch):
    """Between its creation and its lock, whoever looks for dead drafts may take it for one."""
    lock, taken = output._lock, []

    def late(handle):
        if not taken:
            taken.extend(tmp_path.glob(".found.*"))
            taken[0].unlink()
        return lock(handle)

    monkeypatch.setattr(output, "_lock", late)
    output.write("whole", tmp_path / "found")
    assert len(taken) == 1
    assert [one.name for one in tmp_path.iterdir()] == ["found"]
    assert (tmp_path / "found").read_text() == "whole"


def test_where_there_are_no_locks_files_are_written_all_the_same(tmp_path, monkeypatch):
    """Windows has none: then nobody's drafts are removed."""
    monkeypatch.setitem(sys.modules, "fcntl", None)
    draft = tmp_path / ".found.abcdefgh.fastcalc-draft"
    draft.write_text("held")
    output.write("whole", tmp_path / "found")
    assert {one.name for one in tmp_path.iterdir()} == {"found", draft.name}


@pytest.mark.parametrize("command", [thorough("sweep"), "compare"])
def test_a_closed_standard_output_gets_a_sentence(command, tmp_path):
    ran = shell(f"fastcalc {command} llama-3.1-8b --on h100-sxm >&-", tmp_path)
    assert (ran.returncode, ran.stderr.count("\n")) == (2, 1)
    assert "standard output is closed" in ran.stderr


@pytest.mark.parametrize("asked", ["frontier", "plan", "fit", thorough("fastmode --smaller none")])
def test_so_it_does_in_every_command(asked, capsys, monkeypatch):
    command, *flags = asked.split()
    monkeypatch.setattr(sys, "stdout", None)  # as Python has it where the stream is closed
    words = (command, "llama-3.1-8b", "--on", "h100-sxm", *flags)
    ran = run(*words, capsys=capsys, monkeypatch=monkeypatch)
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert "standard output is closed" in ran.err


def test_an_end_as_of_a_folder_does_not_overwrite_a_file(tmp_path, capsys, monkeypatch):
    (tmp_path / "kept").write_text("mine")
    ran = run("list", "engines", "-o", f"{tmp_path}/kept/", capsys=capsys, monkeypatch=monkeypatch)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert (tmp_path / "kept").read_text() == "mine"


def test_notes_that_a_full_device_loses_lose_nothing_else(monkeypatch):
    """What Python would still write at the end goes nowhere; standard output stays as it is."""
    if not os.path.exists("/dev/full"):
        pytest.skip("needs /dev/full")
    before = os.dup(2)
    try:
        with open("/dev/full", "w") as full:
            os.dup2(full.fileno(), 2)
            monkeypatch.setattr(sys, "stderr", os.fdopen(2, "w", closefd=False))
            output.notify("a note")
            nothing, now = os.stat(os.devnull), os.fstat(2)
            assert (now.st_rdev, now.st_ino) == (nothing.st_rdev, nothing.st_ino)
            sys.stderr.flush()
            full.close()
    finally:
        os.dup2(before, 2)
        os.close(before)


def test_a_note_is_written_once_and_at_once(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    output.warn(["a", "b", "a"])
    assert stream.getvalue() == "fastcalc: note: a\nfastcalc: note: b\n"
