"""The pre-commit hook and the GitHub action: their own commands, in a scratch repository."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers import ROOT, loaded
from tests.rule_examples import H100, h100

HOOK = loaded((ROOT / ".pre-commit-hooks.yaml").read_text())[0]
ACTION = loaded((ROOT / "action.yml").read_text())


@pytest.fixture
def repository(tmp_path) -> Path:
    """A repository with right and wrong files, one at its root, and some that are none of ours."""
    if shutil.which("git") is None:
        pytest.skip("no git")
    for name, text in {
        "hardware/h100-sxm.yaml": H100,
        "hardware/wrong.yaml": h100(("^id: .*", "id: wrong"), ("^vendor:", "vendr:"))[1],
        "root.yaml": h100(("^id: .*", "id: root"), ("^aliases: .*\n", ""))[1],
        "runs.csv": (ROOT / "docs" / "examples" / "my-runs.csv").read_text(),
        ".github/workflows/ci.yaml": "on: push\n",
        "deploy/pod.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: x}\nspec: {}\n",
        "deploy/two.yaml": "a: 1\n---\nb: 2\n",
        "deploy/chart.yml": "{{- if .Values.x }}\na: !ref [x]\n{{ end }}\n",
        "deploy/list.yml": "- a\n- b\n",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    subprocess.run(["git", "init", "-q", "."], cwd=tmp_path, check=True)
    subprocess.run(["git", "add", "-A"], cwd=tmp_path, check=True)
    return tmp_path


@pytest.fixture
def environment(tmp_path_factory) -> dict[str, str]:
    """An environment whose ``fastcalc`` is the one under test, and whose pip installs nothing."""
    folder = tmp_path_factory.mktemp("bin")
    for name, line in {
        "fastcalc": f'exec "{sys.executable}" -m fastcalc "$@"',
        "python": f'[ "$2" = pip ] && exit 0; PYTHONPATH="{ROOT}" exec "{sys.executable}" "$@"',
    }.items():
        (folder / name).write_text(f"#!/bin/sh\n{line}\n")
        (folder / name).chmod(0o755)
    path = f"{folder}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)}


def tracked(repository: Path) -> list[str]:
    """Return the files that pre-commit would hand to the hook: all YAML."""
    assert HOOK["types"] == ["yaml"]
    listed = subprocess.run(
        ["git", "ls-files"], cwd=repository, capture_output=True, text=True, check=True
    ).stdout.split()
    return [name for name in listed if name.endswith((".yaml", ".yml"))]


@pytest.mark.parametrize("wrong", [False, True])
def test_the_hook_runs(repository, environment, wrong):
    files = [one for one in tracked(repository) if wrong or "wrong" not in one]
    assert len(files) >= 7
    ran = subprocess.run(
        [*HOOK["entry"].split(), *HOOK.get("args", ()), *files],
        cwd=repository,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ran.returncode == int(wrong), ran.stdout + ran.stderr
    assert f"{3 if wrong else 2} files checked" in ran.stdout
    assert ("did you mean 'vendor'" in ran.stdout) == wrong


def test_a_broken_file_of_ours_is_not_left_out(repository, environment):
    """What could be read of it is enough to know."""
    (repository / "broken.yaml").write_text("id: broken\nmemory: [\nname: x\n")
    (repository / "started.yaml").write_text("id: broken\nname: 'x\n")
    ran = subprocess.run(
        [*HOOK["entry"].split(), "broken.yaml", "started.yaml", "deploy/two.yaml"],
        cwd=repository,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ran.returncode == 1
    assert {line.partition(":")[0] for line in ran.stdout.splitlines()[:-1]} == {
        "broken.yaml",
        "started.yaml",
    }


def steps(**inputs: str) -> list[tuple[str, dict[str, str]]]:
    """Return the action's commands with their environment, as the runner would fill them in."""
    known = {name: str(one["default"]) for name, one in ACTION["inputs"].items()} | inputs
    found = []
    for step in ACTION["runs"]["steps"]:
        env = {
            name: re.sub(
                r"\$\{\{ *(inputs|github|runner)\.([\w-]+) *\}\}",
                lambda match: known.get(match[2], str(ROOT)),
                value,
            )
            for name, value in step.get("env", {}).items()
        }
        assert step["shell"] == "bash"
        assert "${{" not in step["run"], "inputs reach a shell as variables, never as text"
        found.append((step["run"], env))
    return found


@pytest.mark.parametrize(
    ("inputs", "code", "printed"),
    [
        ({}, 1, "::error file=hardware/wrong.yaml,line=4,col=1,title=ST015"),
        ({"paths": "hardware/h100-sxm.yaml"}, 0, "1 file checked: clean"),
        ({"paths": "hardware/h100-sxm.yaml hardware", "strict": "true"}, 1, "::error"),
        ({"paths": "root.yaml deploy"}, 0, "1 file checked, 4 of other programs left out: clean"),
        ({"paths": "nowhere"}, 2, ""),
        ({"paths": "root.yaml", "measurements": "runs.csv"}, 0, "median"),
        ({"paths": "", "measurements": "runs.csv", "max-median-factor": "1.01"}, 1, "median"),
    ],
)
def test_the_action_runs(repository, environment, inputs, code, printed):
    for command, env in steps(**inputs):
        ran = subprocess.run(
            ["bash", "-eo", "pipefail", "-c", command],
            cwd=repository,
            env={**environment, **env},
            capture_output=True,
            text=True,
            timeout=60,
        )
        if ran.returncode:
            break
    assert ran.returncode == code, ran.stderr
    assert printed in ran.stdout
    assert "Traceback" not in ran.stderr


def test_the_lines_of_the_documents_are_the_action_and_the_hook():
    for file in ("docs/guide/ci.md", "docs/check.md"):
        text = (ROOT / file).read_text()
        workflows = re.findall(r"(?s)uses: OWNER/fastcalc\S+\s+with: \{([^}]*)\}", text)
        assert workflows
        for workflow in workflows:
            given = dict(part.split(": ") for part in workflow.split(", "))
            assert set(given) <= set(ACTION["inputs"])
        assert f"- id: {HOOK['id']}" in text
    lines = re.search(r"(?s)```yml\n(jobs:.*?)```", (ROOT / "docs/guide/ci.md").read_text())
    assert lines
    steps_ = loaded(lines[1])["jobs"]["hardware"]["steps"]
    assert set(steps_[1]["with"]) <= set(ACTION["inputs"])
