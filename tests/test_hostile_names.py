"""Scripts and printed commands take any name as a name: a shell runs nothing that stands in one."""

import ast
import csv
import re
import shlex
import shutil
import subprocess
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import reduce
from itertools import product
from operator import getitem
from random import Random
from types import SimpleNamespace

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

import fastcalc as fc
from fastcalc.catalogue.store import Catalogue
from fastcalc.core.placement.layout import HOST_CHIPS
from fastcalc.evidence.engine_files import rewritten
from fastcalc.evidence.parameters import family_of
from fastcalc.evidence.points import read_points
from fastcalc.features.plan.records import commands_of
from fastcalc.features.plan.servers import script as scripts
from fastcalc.features.plan.servers.programs import PROGRAMS
from fastcalc.features.plan.servers.script import script, server_of
from fastcalc.kit.answer import output
from fastcalc.kit.answer.commands import Typed
from fastcalc.mentions import as_arguments, as_flags
from fastcalc.quoting import shell_line, shell_words, yaml_text
from fastcalc.written import without_controls
from tests.helpers import ROOT, loaded, run, sweep
from tests.strategies import scaled

CASES = {
    "one pool": {"model": "llama-3.3-70b", "on": "h200-sxm", "rate": 10, "tpot": "40ms"},
    "prompts apart": {"model": "llama-3.3-70b", "on": "h200-sxm", "rate": 10, "ttft": "1s"},
    "other weights": {"model": "llama-3.1-8b", "on": "l40s", "rate": 10, "weights": "fp8"},
    "several hosts": {"model": "kimi-k3", "on": "h100-sxm", "rate": 3},
}
SERVERS = ("vllm", "python", "trtllm-serve", "mpirun", "llama-server")
FILES = {"trtllm-all.yaml", "trtllm-prefill.yaml", "trtllm-decode.yaml", "disaggregated.yaml"}
PAYLOADS = (
    *("$(touch hit)", "`touch hit`", ";touch hit;", "\ntouch hit\n", "\n: > hit\n", "&touch hit&"),
    *("|touch hit", "> hit", "'\n: > hit\n'", '"\n: > hit\n"', "\\\n: > hit\n", "\r\n: > hit\n"),
    *("\nEND\n: > hit\n", "${HOME}", "$HEAD", "$NODE_RANK", "$((1+1))", "{a,b}", "*", "~", "!!"),
    *("# a", "--headless", "-rf", "a b", "\t", "\x1b[2J", "\u202e", "\u2028: > hit", "\x85", "'"),
    *('"', "\\", "é", "\udc80", "\U000e0067", "<(touch hit)", "\x0b: > hit", "(touch hit)", "END"),
)


def hostile(rng: Random) -> str:
    """Return a name of parts that a shell could run."""
    letters = (chr(rng.randint(1, 0x7F)) for _ in range(rng.randint(0, 3)))
    return "".join(["m", *rng.choices(PAYLOADS, k=rng.randint(1, 3)), *letters])


def made_for(cases, programs):
    """Return what the script of each case is made of: program, plan and service."""
    made = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scripts, "script", lambda *given: made.append(given[:3]) or "")
        for case in cases:
            for program in programs:
                if program == "llama-cpp" and CASES[case].get("weights") == "fp8":
                    continue  # which it does not start
                fc.plan(**CASES[case], emit=program)
    return made


@pytest.fixture(scope="module")
def one_pool():
    return made_for(["one pool"], ["vllm"])[0]


@pytest.fixture(scope="module")
def planned():
    made = made_for(CASES, PROGRAMS)
    # llama.cpp has one host, as its script says of others.
    made = [each for each in made if each[0] != "llama-cpp" or each[1].layout.chips <= HOST_CHIPS]
    assert {len(found.checkpoint) > 0 for found in map(decoding, made)} == {True}
    assert {decoding(each).hosts > 1 for each in made} == {True, False}
    assert {each[1].prefill_layout is None for each in made} == {True, False}
    return made


def decoding(made):
    program, plan, _ = made
    return server_of(
        PROGRAMS[program], plan, "all" if plan.prefill_layout is None else "decode", "m"
    )


def written(made, name):
    """Return a script in which every text that a file or a flag names is hostile."""
    program, plan, service = made
    scenario = plan.scenario
    engine = scenario.engine.model_copy(update={"name": name, "date": name})
    named = replace(plan, scenario=replace(scenario, engine=engine))
    typed = Typed({scenario.model.id: name, scenario.hardware.id: name}, ["--hardware-dir", name])
    text = script(program, named, service, name, commands_of(plan, typed), f" of {name} 1 ms")
    return as_flags(text)


@pytest.fixture
def shell(tmp_path):
    """Run a script where nothing is but stubs of servers, and return all that it did."""
    programs, folder, log = tmp_path / "bin", tmp_path / "here", tmp_path / "log"
    programs.mkdir()
    stub = f"#!/bin/bash\nprintf '%s\\0' \"${{0##*/}}\" \"$@\" $'\\n' >> {log}\n"
    for name in SERVERS:
        (programs / name).write_text(stub)
        (programs / name).chmod(0o755)
    for name in ("cat", "seq"):
        (programs / name).symlink_to(shutil.which(name))
    commands = tmp_path / "commands"
    each = f'set -T\ntrap \'printf "%s\\0" "$BASH_COMMAND" >> {commands}\' DEBUG\n'
    environment = {"LC_ALL": "C.UTF-8", "PATH": str(programs), "HEAD": "h", "NODE_RANK": "0"}
    environment["SERVERS"] = "1"  # words of several at once would mingle in the log

    def run(text):
        file = tmp_path / "start.sh"
        file.write_bytes((each + text).encode(errors="surrogateescape"))
        folder.mkdir()
        log.write_bytes(b"")
        commands.write_bytes(b"")
        shell = {"capture_output": True, "env": environment, "cwd": folder, "timeout": 60}
        assert subprocess.run(["/bin/bash", "-n", file], **shell).stderr == b""
        ran = subprocess.run(["/bin/bash", file], **shell)
        files = {path.name for path in folder.iterdir()}
        shutil.rmtree(folder)
        servers = log.read_bytes().decode(errors="surrogateescape").split("\0\n\0")[:-1]
        ran_commands = commands.read_bytes().decode(errors="replace").split("\0")[:-1]
        return Done([each.split("\0") for each in servers], files, ran_commands, ran.stderr)

    return run


@dataclass
class Done:
    """What a script did: words of each program that it ran, files it made, and each command."""

    programs: list[list[str]]
    files: set[str]
    commands: list[str]
    complaints: bytes

    @property
    def others(self):
        """Commands that are no start of a server, but for the question which host this is."""
        known = {*SERVERS, "cat"}
        words = {command: re.match(r"\S+", command)[0] for command in self.commands}
        return [
            command
            for command, first in words.items()
            if first not in known and command != RANKED and not LOOPED.fullmatch(command)
        ]


RANKED = "[ $NODE_RANK = 0 ]"
LOOPED = re.compile(
    r"for i in \$\(seq \$\{SERVERS:-\d\}\)|seq (\$\{SERVERS:-\d\}|-s , \$chip \$\(\(chip \+ \d\)\))|wait"
    r"|chip=0 port=\d+|chip=\$\(\(chip \+ \d\)\) port=\$\(\(port \+ 1\)\)"
    r"|export (CUDA|HIP)_VISIBLE_DEVICES=(\$chip|\$\(seq -s , \$chip \$\(\(chip \+ \d\)\)\))"
)
"""Commands of a loop over the servers of a host."""


@pytest.mark.thorough
def test_a_script_runs_its_servers_and_nothing_that_a_name_says(planned, shell):
    rng = Random(35)
    for at in range(scaled(25)):
        made, name = planned[at % len(planned)], hostile(rng)
        done = shell(written(made, name))
        assert (done.others, done.complaints) == ([], b""), name
        assert done.files <= FILES, name
        assert done.programs, name
        server = (
            server_of(PROGRAMS[made[0]], made[1], "all", name)
            if made[1].prefill_layout is None
            else None
        )
        assert all(words[0] in SERVERS for words in done.programs), name
        if server is not None:
            files = {word.removesuffix(".gguf") for word in done.programs[0]}
            assert server.checkpoint in files, name


def test_a_stub_sees_what_a_name_would_run(one_pool, shell):
    """Else the test above could not fail."""
    done = shell(written(one_pool, "m").replace("./m", "$(touch hit)"))
    assert done.others
    assert shell(written(one_pool, "m") + ": > hit\n").files == {"hit"}


@given(st.lists(st.text(), max_size=4))
def test_a_printed_command_has_the_words_that_were_typed(words):
    line = shell_line(words)
    assert "\n" not in line
    assert shell_words(line) == words
    if not line.count("$'"):
        assert shlex.split(line) == words


def test_a_point_is_printed_again_by_the_names_that_were_typed(one_pool):
    rng = Random(36)
    for _ in range(scaled(40)):
        name, (_, plan, _) = hostile(rng), one_pool
        typed = Typed({plan.scenario.model.id: name}, ["--models-dir", name])
        (printed,) = commands_of(plan, typed)
        words = shell_words(as_flags(printed))
        assert (words[2], words[-1]) == (name, name)
        call = ast.parse(as_arguments(printed), mode="eval").body
        assert (call.args[0].value, call.keywords[-1].value.value) == (name, name)


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_text_quoted_for_yaml_reads_back(text):
    assert yaml.safe_load(yaml_text(text)) == text


ANY_LETTERS = "\ufeff# soft\xadhyphen\u200d \u2028 \x85 fin\r\n"


def test_a_calibrated_file_keeps_every_other_letter():
    """Line ends of Windows and letters that take no room stay as they were."""
    catalogue = Catalogue()
    engine, family = catalogue.engine("gpu"), family_of(catalogue.engine_files())
    calibration = SimpleNamespace(
        family=family,
        values=[node.value for node in family.nodes],
        widths=engine.range_widths.model_copy(update={"basis": "a\\1 b"}),
        architectures={"gpu": ("hopper",)},
        cells={"gpu": {"decode": {"h100-sxm": 2}}},
        left_out=[],
    )
    text = (ROOT / "engines" / "gpu.yaml").read_text()
    plain = rewritten(text, engine, calibration)
    windows = rewritten(ANY_LETTERS + text.replace("\n", "\r\n"), engine, calibration)
    assert windows == ANY_LETTERS + plain.replace("\n", "\r\n")
    assert "fitted_architectures: [hopper]\n" in plain
    assert "publishers: {decode: {h100-sxm: 2}}\n" in plain
    assert '"a\\\\1 b"' in plain


def test_data_is_written_as_it_is(tmp_path, capfdbinary):
    for file in (tmp_path / "a", None):
        output.write_data(ANY_LETTERS.encode(), file)
    assert (tmp_path / "a").read_bytes() == ANY_LETTERS.encode()
    assert capfdbinary.readouterr().out == ANY_LETTERS.encode()


@pytest.mark.thorough
def test_an_engine_is_fitted_on_a_file_of_any_name(tmp_path, fastcalc):
    folder = tmp_path / "a"
    folder.mkdir()
    for at, name in enumerate(("runs: {x\n- .csv", "$(touch hit) #'\"\u2028\U000e0067.csv")):
        shutil.copy(ROOT / "docs" / "examples" / "my-runs.csv", folder / name)
        target = tmp_path / f"our-{at}.yaml"
        assert fastcalc("calibrate", folder / name, "-o", target).code == 0
        assert fastcalc("check", target).code == 0
        entry = loaded(target.read_text())
        assert entry["own_deployments"]
        assert without_controls(name) in entry["fitted_on"]


@pytest.fixture
def fastcalc(capsys, monkeypatch):
    return lambda *args: run(*args, capsys=capsys, monkeypatch=monkeypatch)


CONTROLS = ("\n", "\t", "\x1b", "\x7f", "\x85", "\u2028")
WHERE = {
    "hardware": (
        "hardware/h100-sxm.yaml",
        ("name", "vendor", "memory.0.name", "released", "sources"),
    ),
    "model": ("models/llama-3.1-8b.yaml", ("name", "released", "published.label", "sources")),
    "engine": ("engines/vllm.yaml", ("name", "date", "sources")),
    "claims": (
        "evidence/claims.yaml",
        ("articles.goedecke.author", "articles", "sources", "topics"),
    ),
}
"""Shipped files, and where each has a name: a mapping has one as a key."""


@pytest.mark.thorough
@pytest.mark.parametrize("kind", sweep(WHERE, lambda kind: kind == "claims"))
def test_names_in_files_hold_no_controls(tmp_path, fastcalc, kind):
    """The fault stands where the name does, and whatever a shell or a terminal reads is refused."""
    source, places = WHERE[kind]
    for number, (place, control) in enumerate(product(places, CONTROLS[: scaled(2)])):
        entry = loaded((ROOT / source).read_text())
        *path, last = [int(step) if step.isdecimal() else step for step in place.split(".")]
        node = reduce(getitem, path, entry)
        if isinstance(node.get(last), dict):
            node[last][f"a{control}: > hit"] = deepcopy(next(iter(node[last].values())))
        else:
            node[last] = f"a{control}: > hit"
        file = tmp_path / f"{number}.yaml"
        file.write_text(yaml.safe_dump(entry, sort_keys=False, allow_unicode=False))
        command = ("claims", file) if kind == "claims" else ("check", file)
        ran = fastcalc(*command)
        said = next(text for text in (ran.out + ran.err).split("\n") if "control character" in text)
        assert re.match(rf".*{number}\.yaml:\d+:\d+: ", said)
        assert f"U+{ord(control):04X}" in said


def test_a_class_of_traffic_holds_no_controls(tmp_path, fastcalc):
    file = tmp_path / "t.yaml"
    lines = ['clients:\n  - id: "a\\ntouch hit"\n    rate_fraction: 1.0\n    slo_class: batch\n']
    lines.append("    input_distribution: 1000\n    output_distribution: 100\n")
    file.write_text("".join(lines))
    ran = fastcalc("plan", "llama-3-8b", "--traffic", file, "--on", "h100-sxm", "--emit", "vllm")
    assert (ran.code, ran.out) == (2, "")
    assert (
        f"{file}:2:9: clients[0].id: 'a\\ntouch hit' holds the control character U+000A" in ran.err
    )


@pytest.mark.parametrize("column", ["id", "source", "hardware", "model", "engine", "metric"])
def test_a_point_holds_no_controls_in_its_names(tmp_path, column):
    with (ROOT / "docs" / "examples" / "my-runs.csv").open(newline="") as stream:
        header, first, *_ = csv.reader(stream)
    first[header.index(column)] = "a\x1b[2Jb"
    file = tmp_path / "p.csv"
    with file.open("w", newline="") as stream:
        csv.writer(stream).writerows([header, first])
    sentences = read_points(file).sentences()
    assert any(
        re.match(rf".*p\.csv:2:\d+: .*{column} .*U\+001B|.*p\.csv:2:\d+: no metric", said)
        for said in sentences
    ), sentences
