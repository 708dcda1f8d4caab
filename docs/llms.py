"""Write ``llms.txt`` of the site: every page of its navigation in a line, by title and headings.

MkDocs runs it after each build, so that it has the site's own pages and addresses.
"""

import re
from pathlib import Path
from typing import Any


def on_post_build(config: Any) -> None:
    """Write the file into the built site."""
    text = llms(config.site_name, config.site_description, config.nav, Path(config.docs_dir))
    (Path(config.site_dir) / "llms.txt").write_text(text, encoding="utf-8")


def llms(name: str, description: str, nav: list[Any], docs: Path) -> str:
    """The file: headings are those of the navigation."""
    lines = [f"# {name}", "", f"> {description}"]
    for part in nav:
        heading, pages = next(iter(part.items())) if isinstance(part, dict) else ("Home", [part])
        lines += ["", f"## {heading}", ""]
        for page in pages:
            lines.append(_line(docs, next(iter(page.values())) if isinstance(page, dict) else page))
    return "\n".join([*lines, ""])


def _line(docs: Path, page: str) -> str:
    text = re.sub(r"(?ms)^```.*?^```", "", (docs / page).read_text(encoding="utf-8"))
    title, *headings = re.findall(r"(?m)^##? (.*)", text)
    address = "./" if page == "index.md" else page.removesuffix(".md") + "/"
    return f"- [{title}]({address}){': ' if headings else ''}{'; '.join(headings)}"
