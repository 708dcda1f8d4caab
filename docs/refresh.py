"""Refresh what README and docs print and what is generated: run after a number has moved.

    python docs/refresh.py                        # every page, in minutes
    python docs/refresh.py docs/guide/chips.md    # one page, in seconds

Of a page its console blocks, the pictures that it shows, and the tables and numbers that are
computed. Console blocks run at 100 columns; one that ends in ``...`` keeps its number of lines.
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

SCRIPTS = {
    "stub.py": (),
    "schema/refresh.py": ("docs/records.md",),
    "fast_modes/refresh.py": ("docs/fast-modes.md", "docs/fast-modes-in-detail.md"),
    "pages.py": (
        *("README.md", "docs/guide/*.md"),
        *("docs/commands.md", "docs/catalogue.md", "docs/accuracy.md"),
    ),
}
"""What computes pages, or numbers in them: scripts of docs, and patterns of their pages."""


def console(block: str, folder: Path) -> str:
    """A console block with its commands run again in a folder."""
    shown = re.findall(r"(?ms)^\$ ([^\n]+)\n(.*?)(?=^\$ |\Z)", block)
    return "".join(f"$ {command}\n{printed(command, old, folder)}" for command, old in shown)


def printed(command: str, old: str, folder: Path) -> str:
    """What a command prints, cut to the number of lines that were shown."""
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


def all_pages() -> list[Path]:
    """The README and every page of docs, generated or not."""
    return [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]


def refresh_blocks(pages: list[Path]) -> None:
    """Run the commands of console blocks, in a folder with the files that they read."""
    with TemporaryDirectory() as made:
        folder = Path(made)
        shutil.copytree(DOCS / "examples", folder, dirs_exist_ok=True)
        (folder / "tests").symlink_to(ROOT / "tests")
        blocks = re.compile(r"(?ms)^```console\n(.*?)^```")
        for page in pages:
            before = page.read_text(encoding="utf-8")
            text = blocks.sub(lambda m: f"```console\n{console(m[1], folder)}```", before)
            if text != before:
                page.write_text(text, encoding="utf-8")


def refresh_pictures(pages: list[Path]) -> None:
    """Draw the pictures of pages by the gallery's commands, where there is matplotlib."""
    gallery = (DOCS / "gallery.md").read_text(encoding="utf-8")
    shown = "".join(page.read_text(encoding="utf-8") for page in pages)
    for command, name in re.findall(r"(?m)^(fastcalc plot .* -o docs/(pictures/.*))$", gallery):
        if name in shown:
            draw(command, DOCS / name)


def draw(command: str, picture: Path) -> None:
    """Draw a picture, and keep the old file where only the day differs."""
    if find_spec("matplotlib") is None:
        sys.stderr.write(f"{picture.name} is left as it is: matplotlib is not installed\n")
        return
    before = picture.read_text(encoding="utf-8")
    printed(command, "", ROOT)
    days = re.compile(r"20\d\d-\d\d-\d\d(?=</text>)")  # that it was drawn on
    if days.sub("", picture.read_text(encoding="utf-8")) == days.sub("", before):
        picture.write_text(before, encoding="utf-8")


def run_scripts(pages: list[Path]) -> None:
    """Run what computes these pages; of all pages every script, whatever else it writes."""
    is_all = pages == all_pages()
    for script, patterns in SCRIPTS.items():
        computed = [page.name for page in pages if any(page.match(one) for one in patterns)]
        if computed or is_all:
            compute(script, *([] if is_all else computed))


def compute(script: str, *pages: str) -> None:
    """Run a script of docs, which writes these pages, or all of its own."""
    subprocess.run([sys.executable, DOCS / script, *pages], check=True)  # noqa: S603 (our own)


def main(names: list[str]) -> None:
    """Refresh the pages of these names, or all pages."""
    if missing := [name for name in names if not Path(name).is_file()]:
        raise SystemExit(f"{missing[0]}: no such page; write for example docs/guide/chips.md")
    pages = [Path(name).resolve() for name in names] or all_pages()
    refresh_blocks(pages)
    refresh_pictures(pages)
    run_scripts(pages)


if __name__ == "__main__":
    main(sys.argv[1:])
