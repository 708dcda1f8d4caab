"""The pre-commit hook and the GitHub action: their own commands, in a scratch repository."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.helpers import ROOT, loaded, run, thorough
from tests.rule_examples import H100, h100

HOOK = loaded((ROOT / ".pre-commit-hooks.yaml").read_text())[0]
ACTION = loaded((ROOT / "action.yml").read_text())
CONSOLE_SCRIPT = "from fastcalc.cli import main\nmain()\n"  # as pip writes it


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
    """An environment with the console script under test, and a pip that installs only that.

    Which pip that is is written to a file where NAME_PIP is set.
    """
    folder = tmp_path_factory.mktemp("bin")
    for name, text in {
        "fastcalc": f"#!{sys.executable}\n{CONSOLE_SCRIPT}",
        "python": f'''#!/bin/sh
            [ "$1 $2 $3" = "-m pip install" ] || exec "{sys.executable}" "$@"
            [ -z "$NAME_PIP" ] || "{sys.executable}" -m pip --version >"{folder}/pip" || exit
            [ -f "$PIP_CONSTRAINT" ] && [ -f "$PIP_BUILD_CONSTRAINT" ] || exit 9
            while [ "$1" != --target ]; do shift; done
            mkdir -p "$2/bin" && cp "{folder}/fastcalc" "$2/bin" && ln -sf "{ROOT}/fastcalc" "$2"
        ''',
    }.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    path = f"{folder}{os.pathsep}{os.environ['PATH']}"
    return {
        **os.environ,
        "PATH": path,
        "PYTHONPATH": str(ROOT),
        "RUNNER_TEMP": str(folder / "runner temp"),
    }


def tracked(repository: Path) -> list[str]:
    """Return the files that pre-commit would hand to the hook: all YAML."""
    assert HOOK["types"] == ["yaml"]
    listed = subprocess.run(
        ["git", "ls-files"], cwd=repository, capture_output=True, text=True, check=True
    ).stdout.split()
    return [name for name in listed if name.endswith((".yaml", ".yml"))]


def run_hook(
    workspace: Path, environment: dict[str, str], *files: str
) -> subprocess.CompletedProcess[str]:
    """Run the hook on files as pre-commit does: its entry, its arguments, the files."""
    return subprocess.run(
        [*HOOK["entry"].split(), *HOOK["args"], *files],
        cwd=workspace,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.mark.parametrize("wrong", [thorough(False), True])
def test_the_hook_runs(repository, environment, wrong):
    files = [name for name in tracked(repository) if wrong or "wrong" not in name]
    assert len(files) >= 7
    ran = run_hook(repository, environment, *files)
    assert ran.returncode == int(wrong), ran.stdout + ran.stderr
    assert f"{3 if wrong else 2} files checked" in ran.stdout
    assert ("did you mean 'vendor'" in ran.stdout) == wrong


@pytest.mark.thorough
def test_a_broken_file_of_ours_is_not_left_out(repository, environment):
    """What could be read of it is enough to know."""
    (repository / "broken.yaml").write_text("id: broken\nmemory: [\nname: x\n")
    (repository / "started.yaml").write_text("id: broken\nname: 'x\n")
    ran = run_hook(repository, environment, "broken.yaml", "started.yaml", "deploy/two.yaml")
    assert ran.returncode == 1
    assert {line.partition(":")[0] for line in ran.stdout.splitlines()[:-1]} == {
        "broken.yaml",
        "started.yaml",
    }


def steps(runner_temp: str, **inputs: str) -> list[tuple[str, str | None, dict[str, str]]]:
    """Return the action's commands, folders and environments, as the runner would fill them in."""
    texts = {f"inputs.{name}": str(about["default"]) for name, about in ACTION["inputs"].items()}
    texts |= {f"inputs.{name}": text for name, text in inputs.items()}
    texts |= {"github.action_path": str(ROOT), "runner.temp": runner_temp}

    def filled(text: str) -> str:
        return re.sub(r"\$\{\{ *([\w.-]+) *\}\}", lambda match: texts[match[1]], text)

    commands = []
    for step in ACTION["runs"]["steps"]:
        assert step["shell"] == "bash"
        assert "${{" not in step["run"], "inputs reach a shell as variables, never as text"
        env = {name: filled(text) for name, text in step["env"].items()}
        folder = step.get("working-directory")
        commands.append((step["run"], folder and filled(folder), env))
    return commands


def run_action(
    workspace: Path, environment: dict[str, str], **inputs: str
) -> subprocess.CompletedProcess[str]:
    """Run the steps of the action in a workspace, up to the first that fails."""
    for command, folder, env in steps(environment["RUNNER_TEMP"], **inputs):
        ran = subprocess.run(
            ["bash", "-eo", "pipefail", "-c", command],
            cwd=folder or workspace,
            env={**environment, **env},
            capture_output=True,
            text=True,
            timeout=60,
        )
        if ran.returncode:
            break
    assert "Traceback" not in ran.stderr
    return ran


def words_of(workspace: Path, environment: dict[str, str], **inputs: str) -> list[list[str]]:
    """Return the words that the action runs fastcalc with, which here writes them down."""
    recorder = '#!/bin/sh\nfor word in "$@"; do printf \'%s\\n\' "$word"; done; echo\n'
    (Path(environment["RUNNER_TEMP"]).parent / "fastcalc").write_text(recorder)
    printed = run_action(workspace, environment, **inputs).stdout
    return [words.splitlines() for words in printed.split("\n\n")[:-1]]


@pytest.mark.parametrize(
    ("inputs", "code", "printed"),
    [
        ({}, 1, "::error file=hardware/wrong.yaml,line=4,col=1,title=ST015"),
        thorough({"paths": "hardware/h100-sxm.yaml"}, 0, "1 file checked: clean"),
        thorough(
            {"paths": "hardware/h100-sxm.yaml\n  hardware\n\n", "strict": "true"}, 1, "::error"
        ),
        thorough(
            {"paths": "root.yaml\ndeploy"}, 0, "1 file checked, skipped 4 (not fastcalc files: "
        ),
        thorough({"paths": "nowhere"}, 2, ""),
        thorough({"paths": "*"}, 2, ""),
        thorough({"paths": "root.yaml", "measurements": "runs.csv"}, 0, "median"),
        ({"paths": "", "measurements": "runs.csv", "max-median-factor": "1.01"}, 1, "median"),
    ],
)
def test_the_action_runs(repository, environment, inputs, code, printed):
    ran = run_action(repository, environment, **inputs)
    assert ran.returncode == code, ran.stderr
    assert printed in ran.stdout


@pytest.mark.parametrize("name", ["-h", "--help", "-o", "--out=hardware/h100-sxm.yaml", "a  b c"])
def test_a_name_is_never_a_flag_nor_two_names(repository, environment, name, capsys, monkeypatch):
    """'-h' among the files would print help and end with 0."""
    (repository / f"{name}.yaml").parent.mkdir(exist_ok=True)
    shutil.copy(repository / "hardware" / "wrong.yaml", repository / f"{name}.yaml")
    before = sorted(repository.rglob("*"))
    checked = [*HOOK["args"], f"{name}.yaml"]
    factor = {"max-median-factor": name}
    checks, validates = words_of(
        repository, environment, paths=f"{name}.yaml", measurements=name, **factor
    )
    assert checks == ["check", "--format", "github", "--strict", *checked]
    assert validates == ["validate", f"--max-median-factor={name}", "--", name]
    monkeypatch.chdir(repository)
    for words in (checks, [*HOOK["entry"].split()[1:], *checked]):
        ran = run(*words, capsys=capsys, monkeypatch=monkeypatch)
        assert ran.code == 1, ran.err
        assert "did you mean 'vendor'" in ran.out
    for words in (["validate", "--", name], [*validates[:-1], "runs.csv"]):
        ran = run(*words, capsys=capsys, monkeypatch=monkeypatch)
        assert (ran.code, ran.out) == (2, "")
    assert sorted(repository.rglob("*")) == before


@pytest.mark.parametrize("ending", ["YAML", "Yml"])
def test_a_file_is_found_whatever_the_case_of_its_ending(repository, ending, capsys, monkeypatch):
    (repository / "hardware" / "wrong.yaml").rename(repository / "hardware" / f"wrong.{ending}")
    monkeypatch.chdir(repository)
    ran = run("check", "--format", "github", "hardware", capsys=capsys, monkeypatch=monkeypatch)
    assert ran.code == 1
    assert f"file=hardware/wrong.{ending},line=4" in ran.out


@pytest.mark.parametrize(
    ("strict", "code"), [("true", 1), ("True", 1), ("yes", 1), ("", 1), ("false", 0)]
)
def test_only_false_lets_warnings_pass(repository, environment, strict, code, capsys, monkeypatch):
    """A source that does not say when it was read is PV015, a warning."""
    _, text = h100(("^ +accessed: .*\n", ""))
    (repository / "hardware" / "h100-sxm.yaml").write_text(text)
    (words,) = words_of(repository, environment, paths="hardware/h100-sxm.yaml", strict=strict)
    monkeypatch.chdir(repository)
    ran = run(*words, capsys=capsys, monkeypatch=monkeypatch)
    assert ran.code == code, ran.out


@pytest.fixture
def hostile(repository) -> Path:
    """The repository with a file of every name that Python, pip or a shell might run or read."""
    ran = repository / "ran"
    script = f"import os\nopen({str(ran)!r}, 'a').write(__file__ + ' ')\nos._exit(0)\n"
    modules = {name.partition(".")[0] for name in sys.modules} - {"__main__", "builtins", "sys"}
    modules |= {
        "fastcalc",
        "pip",
        "sitecustomize",
        "usercustomize",
        "setup",
        "conftest",
        "hatchling",
    }
    for name in modules:
        (repository / f"{name}.py").write_text(script)
    for name in ("yaml", "numpy", "typer", "fastcalc", "pip", "encodings"):
        (repository / name).mkdir()
        for file in ("__init__.py", "__main__.py"):
            (repository / name / file).write_text(script)
    for name in ("python", "python3", "pip", "fastcalc", "bash", "bin/python", "bin/fastcalc"):
        path = repository / (name if "/" in name else f"./{name}.sh")
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\necho {name} >>'{ran}'\n")
        path.chmod(0o755)
    build = "[build-system]\nrequires = []\nbuild-backend = 'setup'\nbackend-path = ['.']\n"
    for name, text in {
        "evil.pth": f"import os; open({str(ran)!r}, 'a').write('pth')\n",
        "pyproject.toml": f"{build}[tool.fastcalc]\nignore = []\n",
        "setup.cfg": "[install]\nroot = .\n[global]\nno-index = true\n",
        "pip.conf": "[global]\nindex-url = file:///nowhere\nno-index = true\n",
        ".ci/constraints.txt": "-e .\n",
        ".fastcalc": "strict: false\n",
        ".fastcalc.yaml": "strict: false\n",
        ".env": "PYTHONPATH=.\nSTRICT=false\n",
        "-o": "",
        "-h": "",
    }.items():
        (repository / name).parent.mkdir(exist_ok=True)
        (repository / name).write_text(text)
    return repository


@pytest.mark.thorough
@pytest.mark.parametrize("wrong", [False, True])
def test_nothing_of_the_workspace_is_run(hostile, environment, wrong):
    """Nor where the workflow itself names the workspace for modules."""
    if not wrong:
        (hostile / "hardware" / "wrong.yaml").unlink()
    environment |= {"PYTHONPATH": f".{os.pathsep}{ROOT}", "NAME_PIP": "1"}
    action = run_action(hostile, environment)
    environment |= {"PYTHONPATH": str(ROOT)}
    files = [name for name in tracked(hostile) if (hostile / name).exists()]
    hook = run_hook(hostile, environment, *files)
    assert not (hostile / "ran").exists(), (hostile / "ran").read_text()
    for ran in (action, hook):
        assert ran.returncode == int(wrong), ran.stdout + ran.stderr
        assert ("did you mean 'vendor'" in ran.stdout) == wrong
    pip = Path(environment["RUNNER_TEMP"]).with_name("pip").read_text()
    assert pip.startswith("pip ")
    assert str(hostile) not in pip


def test_the_constraints_pin_all_that_an_installed_fastcalc_needs():
    """And what builds it, of whose requirements pip sees to the rest."""
    lines = (ROOT / ".ci/constraints.txt").read_text().splitlines()[1:]
    pinned = {canonicalize_name(name): number for name, number in (s.split("==") for s in lines)}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    left = [*project["project"]["dependencies"], *project["build-system"]["requires"]]
    while left:
        need = Requirement(left.pop())
        if need.marker is None or need.marker.evaluate({"extra": ""}):
            assert pinned[canonicalize_name(need.name)] in need.specifier
            with suppress(PackageNotFoundError):  # nothing that builds is here
                is_pinned = version(need.name) == pinned[canonicalize_name(need.name)]
                left += (requires(need.name) or []) if is_pinned else []


def test_the_workflows_run_pinned_actions_with_no_right_to_write():
    """But that of publishing, which asks for its own token of an hour: it writes nothing here."""
    texts = {path.name: path.read_text() for path in (ROOT / ".github" / "workflows").iterdir()}
    assert texts
    for name, text in texts.items():
        assert "permissions: {contents: read}" in text
        rights = re.findall(r"[\w-]+: *write", text)
        assert rights == (["id-token: write"] if name == "publish.yml" else [])
        assert not re.search(r"pull_request_target|workflow_run|secrets\.", text)
        used = re.findall(r"uses: (\S+)", text)
        assert used
        assert all(re.fullmatch(r"\./|[\w/-]+@[0-9a-f]{40}", name) for name in used)
        assert text.count("actions/checkout@") == text.count("persist-credentials: false")
        for command in re.findall(r"run: (.*)", text):
            assert "${{" not in command


def test_the_lines_of_the_document_are_the_action_and_the_hook():
    text = (ROOT / "docs/guide/ci.md").read_text()
    workflows = re.findall(r"(?s)uses: \./\.fastcalc\s+with: \{([^}]*)\}", text)
    assert workflows
    for workflow in workflows:
        given = dict(part.split(": ") for part in workflow.split(", "))
        assert set(given) <= set(ACTION["inputs"])
    assert f"- id: {HOOK['id']}" in text
    assert "OWNER" not in text, "a path that works as it is printed"
    lines = re.search(r"(?s)```yml\n(jobs:.*?)```", text)
    assert lines
    steps_ = loaded(lines[1])["jobs"]["hardware"]["steps"]
    assert set(steps_[1]["with"]) <= set(ACTION["inputs"])
