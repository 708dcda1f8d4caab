"""Write again what README and docs print and what is generated: run after a number has moved.

    python docs/refresh.py             # all of it, in minutes
    python docs/refresh.py README.md   # the console blocks of some pages

Console blocks are run at 100 columns; one that ends in ``...`` keeps its number of lines.
"""

import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent


def console(block: str, folder: Path) -> str:
    """Return a console block with its commands run again in a folder."""
    shown = re.findall(r"(?ms)^\$ ([^\n]+)\n(.*?)(?=^\$ |\Z)", block)
    return "".join(f"$ {command}\n{printed(command, old, folder)}" for command, old in shown)


def printed(command: str, old: str, folder: Path) -> str:
    """Return what a command prints, as many lines of it as were shown."""
    commands = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    settings = {**os.environ, "COLUMNS": "100", "PATH": commands}
    made = subprocess.run(  # noqa: S602 (the README's own commands)
        command,
        shell=True,
        cwd=folder,
        env=settings,
        stdout=subprocess.PIPE,
        text=True,
    )
    if made.returncode > 2:
        raise SystemExit(f"{command}: exit code {made.returncode}")
    lines, before = made.stdout.rstrip("\n").split("\n"), old.rstrip("\n").split("\n")
    if before[-1] == "...":
        lines = [*lines[: len(before) - 1], "..."]
    return "\n".join(lines) + "\n"


def files() -> list[Path]:
    """Return the README and every page of docs, generated or not."""
    return [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]


def pictures() -> None:
    """Draw the pictures again by the commands that their page shows, where there is matplotlib."""
    if find_spec("matplotlib") is None:
        sys.stderr.write("docs/pictures are left as they are: matplotlib is not installed\n")
        return
    page = (DOCS / "gallery.md").read_text(encoding="utf-8")
    for command, name in re.findall(r"(?m)^(fastcalc plot .* -o (docs/pictures/.*))$", page):
        file = ROOT / name
        before = file.read_text(encoding="utf-8")
        printed(command, "", ROOT)
        days = re.compile(r"20\d\d-\d\d-\d\d(?=</text>)")  # that it was drawn on
        if days.sub("", file.read_text(encoding="utf-8")) == days.sub("", before):
            file.write_text(before, encoding="utf-8")


def main(pages: list[str]) -> None:
    """Write what is printed, and the generated pages; of some pages their console blocks alone."""
    with TemporaryDirectory() as made:
        folder = Path(made)
        shutil.copytree(DOCS / "examples", folder, dirs_exist_ok=True)
        (folder / "tests").symlink_to(ROOT / "tests")
        blocks = re.compile(r"(?ms)^```console\n(.*?)^```")
        for file in [Path(page) for page in pages] or files():
            text = file.read_text(encoding="utf-8")
            again = blocks.sub(lambda m: f"```console\n{console(m[1], folder)}```", text)
            if again != text:
                file.write_text(again, encoding="utf-8")
    if pages:
        return
    pictures()
    for script in ("stub.py", "schema/refresh.py", "fast_modes/refresh.py", "pages.py"):
        subprocess.run([sys.executable, DOCS / script], check=True)  # noqa: S603 (our own)


if __name__ == "__main__":
    main(sys.argv[1:])
