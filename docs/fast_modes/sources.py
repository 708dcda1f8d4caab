"""Where the page's numbers come from: the articles, and who measured what."""

import csv
from itertools import groupby

from book import Book, Words

from fastcalc.catalogue.folders import shipped_folder
from fastcalc.evidence.point import Point
from fastcalc.evidence.shipped import shipped
from fastcalc.kit.answer.numbers_as_text import number
from fastcalc.written import listed

MEASURED = (
    ("sram-017", "(speculation not disclosed)"),
    ("sram-009", "without speculation"),
    ("sram-004", "without speculation, quoted by a competitor"),
    ("trtds-008", "without speculation"),
    ("trtds-011", "with speculation"),
    ("trtds-013", "with relaxed acceptance"),
)
"""Measurements that the page leans on, with what each is."""

WHO = {
    "vendor": "Measured by the vendor",
    "third_party": "Measured independently",
    "community": "Measured by a user",
}


def measured(name: str) -> Point:
    """A measurement by its id."""
    (point,) = (point for point in shipped().points if point.id == name)
    return point


def address(name: str) -> str:
    """The web address of a measurement."""
    return measured(name).url.split()[0]


def _left_out(name: str) -> float:
    """What is expected of a measurement by a fit that has not seen its source."""
    text = (shipped_folder("evidence") / "left_out.csv").read_text(encoding="utf-8")
    (row,) = (row for row in csv.DictReader(text.splitlines()) if row["id"] == name)
    return float(row["expected"])


def _machine(point: Point) -> str:
    return f"{point.chips} {point.hardware}" if point.chips else point.hardware


def _measuring(point: tuple[Point, str]) -> tuple[str, str, str, str, str]:
    """What was measured on which machine, by whom and where that stands."""
    one, _ = point
    return one.model, _machine(one), one.measured_by, one.source, one.date


def _shown(point: Point, what: str) -> str:
    return f"{point.value:,g} {what} ([{point.id}]({address(point.id)}))"


def sources(book: Book) -> Words:
    """The lists of articles and of measurements, and how old the numbers are."""
    articles = []
    for article in book.claims.articles.values():
        title = f"[{article.title}]({article.url})" if article.url else article.title
        author = f"{article.author}, " * bool(article.author)
        said = ", ".join(part for part in (article.date, article.note) if part)
        articles.append(f"- {author}{title}{f' ({said})' * bool(said)}.")
    points = [(measured(name), what) for name, what in MEASURED]
    gains = book.premise("44", "under")
    assert gains.source is not None, "who measured them stands there"
    return {
        "article_list": "\n".join(articles),
        "measured_list": "\n".join(
            f"- {book.catalogue.model(model).name} on {machine}, tokens/s for one user: "
            f"{listed([_shown(*one) for one in alike])}. {WHO[who]}: {source}, {date}."
            for (model, machine, who, source, date), alike in groupby(points, key=_measuring)
        ),
        "sold_source": (
            f"- The {gains.note}. Wafers were {listed(gains.texts)} times as fast. Source: "
            f"{book.claims.sources[gains.source].title}."
        ),
        "measured_alone": f"{measured('trtds-008').value:g}",
        "measured_over": number(measured("trtds-008").value / _left_out("trtds-008"), 2),
        "left_out_alone": number(_left_out("trtds-008"), 2),
        "as_of": book.catalogue.engine("vllm").date,
    }
