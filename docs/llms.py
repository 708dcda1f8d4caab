"""Write ``llms.txt`` of the site: a line per page with its title, first sentence and sections.

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
    for entry in nav:
        heading, pages = next(iter(entry.items())) if isinstance(entry, dict) else ("Home", [entry])
        lines += ["", f"## {heading}", ""]
        for page in pages:
            lines.append(_line(docs, next(iter(page.values())) if isinstance(page, dict) else page))
    return "\n".join([*lines, ""])


def _line(docs: Path, page: str) -> str:
    """A page's link, its first sentence and its sections."""
    text = re.sub(r"(?ms)^```.*?^```", "", (docs / page).read_text(encoding="utf-8"))
    title, *sections = re.findall(r"(?m)^##? (.*)", text)
    paragraph = re.search(r"(?ms)^[\w*`].*?(?=\n\n|\Z)", text)
    plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", " ".join((paragraph or [""])[0].split()))
    sentence = re.match(r".*?[.?](?= |$)", plain)
    address = "./" if page == "index.md" else page.removesuffix(".md") + "/"
    about = [sentence[0]] if sentence else []
    about += [f"Sections: {'; '.join(sections)}"] if sections else []
    return f"- [{title}]({address}): {' '.join(about)}"
