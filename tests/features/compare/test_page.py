"""``fastcalc report`` and ``compare -o FILE.html``: one page, whole, escaped, and small."""

import base64
import hashlib
import json
import re
import shlex
import shutil
from html import unescape
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest
import yaml

from fastcalc.features.compare import chart as of_outcomes
from fastcalc.kit.charts.drawing import COLOURS, DARK
from fastcalc.kit.page.inline_svg import figures
from tests.helpers import ROOT, Ran, contrast, loaded, outcome, run, sweep, words

ASKED = ("llama-3.1-8b", "--on", "h100-sxm,gb200,wse-3", "--chips", "1", "--batch", "1,8,4096")
CSS = (ROOT / "fastcalc" / "kit" / "page" / "report.css").read_text()
VOID = {"meta", "input", "br", "link"}


@pytest.fixture
def fastcalc(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    return lambda *args: run(*args, capsys=capsys, monkeypatch=monkeypatch)


@pytest.fixture(scope="module")
def pages():
    """Pages that were written, by name."""
    return {}


@pytest.fixture
def page(fastcalc, tmp_path, pages):
    if "report" not in pages:
        assert fastcalc("report", *ASKED, "-o", "report.html").code == 0
        pages["report"] = (tmp_path / "report.html").read_text()
    return pages["report"]


class Reader(HTMLParser):
    """Checks that what is opened is closed, in order, and keeps elements and text."""

    def __init__(self, text):
        super().__init__()
        self.open, self.seen, self.words = [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.seen.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.seen.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open[-1:] not in (["script"], ["style"]):
            self.words.append(data)


def test_it_is_well_formed_and_small(page):
    read = Reader(page)
    assert read.open == []
    assert len(page.encode()) < 400_000
    for svg in re.findall(r"(?s)<svg.*?</svg>", page):
        ElementTree.fromstring(svg)
    names = [attributes["id"] for _, attributes in read.seen if "id" in attributes]
    assert len(names) == len(set(names))


def test_it_says_what_was_set(fastcalc):
    asked = ("llama-3.1-8b", "--on", "h100-sxm", "--batch", "1", "--utilization", "0.5")
    text = fastcalc("compare", *asked, "--format", "html").out
    (heading,) = re.findall(r'<p class="quiet">(Llama 3.1 8B: .*?)</p>', text)
    assert heading.endswith("; 50% utilization of paid hours")
    cells = re.findall(r"<td[^>]*>([^<]*)</td>", text)
    assert cells[cells.index("settings prices utilization") + 1] == "0.500"
    assert cells[cells.index("settings traffic batch") + 1] == "1"


def test_it_asks_nothing_of_anywhere(page):
    for tag, attributes in Reader(page).seen:
        assert "src" not in attributes
        address = attributes.get("href", "#")
        assert address.startswith("#") or tag == "a"
    assert "url(" not in page
    assert "@import" not in page
    assert "default-src 'none'" in page


def test_the_policy_allows_its_own_script_and_style_alone(page):
    """Hashes as https://www.w3.org/TR/CSP3/#match-element-to-source-list computes them."""
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    for tag in ("script", "style"):
        (inline,) = re.findall(rf"(?s)<{tag}>(.*?)</{tag}>", page)
        digest = base64.b64encode(hashlib.sha256(inline.encode()).digest()).decode()
        assert rules.pop(f"{tag}-src") == f"'sha256-{digest}'"
    assert rules == dict.fromkeys(("default-src", "base-uri", "form-action"), "'none'")
    # What a hash does not cover, a browser would refuse.
    written = {name for _, attributes in Reader(page).seen for name in attributes}
    assert not [name for name in written if name == "style" or name.startswith("on")]


def test_the_parts_of_a_bar_are_as_wide_as_they_say(page):
    widths = dict(re.findall(r"\.w(\d+)\{width:([\d.]+)%\}", page))
    parts = re.findall(r'class="c\d+ w(\d+)" tabindex="0" title="[^"]* ([\d.]+)%"', page)
    assert len(parts) >= 6
    for width, percent in parts:
        assert float(widths[width]) == pytest.approx(float(percent), abs=0.051)


def test_all_values_of_the_records_are_in_it(page, fastcalc):
    records = json.loads(fastcalc("compare", *ASKED, "--format", "json").out)["records"]
    body = page.split("<tbody>")[1].split("</tbody>")[0]
    rows = [
        [attributes["data-v"] for tag, attributes in Reader(row).seen if tag == "td"]
        for row in re.findall(r"(?s)<tr>.*?</tr>", body)
    ]
    assert len(rows) == len(records) == 9
    for row, record in zip(rows, records, strict=True):
        values = [
            "; ".join(value) if isinstance(value, list) else "" if value is None else str(value)
            for value in record.values()
        ]
        assert sorted(row) == sorted(values)


def test_it_says_what_the_command_line_says_and_how_it_is_made(page, fastcalc):
    text = " ".join(" ".join(Reader(page).words).split())
    assert fastcalc("compare", *ASKED).out.split("\n\n")[0].replace("\n", " ") in text
    assert "fastcalc report llama-3.1-8b --on h100-sxm,gb200,wse-3 --batch 1,8,4096" in text
    chip = loaded((ROOT / "hardware" / "wse-3.yaml").read_text())
    for source in chip["sources"].values():
        assert source["title"] in text
        assert source["accessed"] in text
    assert chip["price"]["offers"][0]["price"]["date"] in text
    assert "dense weights" in text


def test_links_end_where_addresses_do(page):
    links = [attributes["href"] for tag, attributes in Reader(page).seen if tag == "a"]
    assert links
    assert not [one for one in links if one[-1] in ".,;:)"]


def test_a_single_batch_has_its_range():
    alone = of_outcomes.speed([outcome("llama-3.1-8b", "gb200", batch=(1,))])
    (band,) = re.findall(r'class="band c0" points="([^"]*)"', "".join(figures(alone)))
    corners = [tuple(map(float, pair.split(","))) for pair in band.split()]
    assert len({x for x, _ in corners}) == len({y for _, y in corners}) == 2


def test_no_note_is_said_under_two_charts(page):
    notes = re.findall(r"<li>([^<]*)</li>", page.split('class="charts"')[1].split("</section>")[0])
    assert len(notes) == len(set(notes)) > 2


@pytest.mark.thorough
def test_compare_writes_the_same_page_each_time(page, fastcalc, tmp_path):
    assert fastcalc("compare", *ASKED, "-o", "again.html").code == 0
    again = (tmp_path / "again.html").read_text()
    assert again.replace("-o again.html", "-o report.html") == page
    assert fastcalc("compare", *ASKED, "--format", "html").out == page
    assert fastcalc("report", *ASKED, "-o", "-").out == page


def test_names_from_files_are_escaped(fastcalc, tmp_path):
    text = (ROOT / "models" / "llama-3.1-8b.yaml").read_text()
    found = loaded(text)
    found["name"] = '<script>alert(1)</script> & "co"'
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(found))
    for command in ("report", "fit", "frontier"):
        assert fastcalc(command, "mine.yaml", "--on", "h100-sxm", "-o", "mine.html").code == 0
        page = (tmp_path / "mine.html").read_text()
        assert "<script>alert" not in page
        assert "&lt;script&gt;alert(1)" in page
        assert Reader(page).open == []


ANSWERS = {
    "fastmode llama-3.1-8b --on h100-sxm --batch 32 --smaller none": "<figcaption>Concurrent users and price of each technique</figcaption>",
    "infer --points 20000": "One model, two tiers",
    "claims --only covers,transistors": "Six times the price covers the throughput",
    "plan llama-3.1-8b --on h100-sxm,h200-sxm --max-chips 2": "<figcaption>What serves it; at most 2 chips</figcaption>",
    "decide opus opus-fast --hour 80 --map tools=0..30,tokens=100..1000": 'class="drawn"',
    "frontier llama-3.1-8b --on h100-sxm --max-chips 2": "class='n price'",
    "fit llama-3.1-8b --on h100-sxm,wse-3": "dense weights",
    "validate my-runs.csv": "Predicted against measured",
    "sensitivity llama-3.1-8b --on h100-sxm": "10% less of it",
    "diagnose my-slow-runs.csv": '<use class="area c1"',
    "fastmode llama-3.1-8b --on h100-sxm --curve": "<pre>",
    "claims --explain 4": "<pre>",
}


@pytest.mark.thorough
@pytest.mark.parametrize(
    "asked", sweep(ANSWERS, lambda asked: asked.startswith(("fastmode", "sensitivity")))
)
def test_every_answer_is_a_page_for_somebody_without_a_command_line(fastcalc, tmp_path, asked):
    for name in ("my-runs.csv", "my-slow-runs.csv"):
        shutil.copy(ROOT / "docs" / "examples" / name, tmp_path)
    assert fastcalc(*asked.split(), "-o", "page.html") == Ran(0, "", "")
    page = (tmp_path / "page.html").read_text()
    test_it_is_well_formed_and_small(page)
    test_it_asks_nothing_of_anywhere(page)
    test_the_policy_allows_its_own_script_and_style_alone(page)
    assert ANSWERS[asked].replace("'", '"') in page
    prose, _, command = page.partition("<h2>To repeat it</h2>")
    assert "--" not in " ".join(Reader(prose.partition("<main>")[2]).words)
    assert not re.search("[\ue000-\ue003]", page)
    (line,) = re.findall(r'<code id="command">(.*?)</code>', command)
    again = shlex.split(unescape(line))
    assert {*again} <= {"fastcalc", *asked.split(), "-o", "page.html"}
    if again[1] in ("fit", "frontier", "plan", "infer"):
        (tmp_path / "page.html").unlink()
        assert fastcalc(*again[1:]).code == 0
        assert (tmp_path / "page.html").read_text() == page
        printed = words(fastcalc(*asked.split()).out.partition(".")[0]).replace(":", "")
        assert printed in words(" ".join(Reader(prose).words)).replace(":", "")


def test_prices_stay_in_sight_on_a_narrow_screen(page):
    """As the style says: tests/browser looks where it can."""
    narrow = CSS.partition("max-width:600px){")[2].partition("\n}")[0]
    assert ".rows .price{position:sticky;right:0;" in narrow
    rows = re.findall(r"(?s)<tr>(.*?)</tr>", page.split("<table id='rows'")[1].split("</table>")[0])
    assert len(rows) == 10
    assert all(len(re.findall('class="[n ]*price"', row)) == 1 for row in rows)


def test_a_narrow_screen_shows_the_range_below_its_number(page):
    """Its own column would be below the price, which stays in sight."""
    narrow = CSS.partition("max-width:600px){")[2].partition("\n}")[0]
    assert ".rows .range{display:none}" in narrow
    assert ".rows [data-under]::after{content:attr(data-under)" in narrow
    rows = re.findall(r"(?s)<tr>(.*?)</tr>", page.split("<table id='rows'")[1].split("</table>")[0])
    below = [re.search(r'data-under="([^"]+)"', row) for row in rows]
    ends = [re.search(r'class="n range"[^>]*>([^<]*)<', row)[1] for row in rows[1:]]
    assert below[0][1] == "80% range"
    assert [found[1] if found else "-" for found in below[1:]] == ends
    assert any(".." in text for text in ends)


@pytest.mark.parametrize("asked", ["plan", "frontier --max-chips 1"])
def test_so_do_other_answers(fastcalc, tmp_path, asked):
    name, *flags = asked.split()
    assert fastcalc(name, "llama-3.1-8b", "--on", "h100-sxm", *flags, "-o", "a.html").code == 0
    row = (tmp_path / "a.html").read_text().split("<tbody>")[1].split("</tr>")[0]
    below = re.search(r'data-under="([^"]+)"', row)[1]
    assert below == re.search(r'class="n range"[^>]*>([^<]*)<', row)[1]


def test_a_wafers_bound_sorts_as_it_is_shown(fastcalc, tmp_path):
    """The record keeps the bound of all regions at once; the cell has that of layers in turn."""
    assert (
        fastcalc("report", "llama-3.1-8b", "--on", "wse-3", "--batch", "1", "-o", "b.html").code
        == 0
    )
    page = (tmp_path / "b.html").read_text()
    shown = re.search(r'data-s="([\d.]+)" data-v="([\d.]+)">([\d,]+)<', page)
    serial, parallel, text = (float(group.replace(",", "")) for group in shown.groups())
    assert text == round(serial) < parallel
    assert f"hardware bound {shown[3]};" in page


def test_no_is_an_answer_too(fastcalc, tmp_path):
    asked = ("plan", "llama-3.1-8b", "--on", "h100-sxm", "--ttft", "1ms", "-o", "no.html")
    assert fastcalc(*asked).code == 1
    page = (tmp_path / "no.html").read_text()
    assert re.search(
        "<p>no deployment meets these limits; one would meet them with ttft [0-9.]+ms</p>", page
    )


def test_nothing_that_fits_is_a_page_all_the_same(fastcalc, tmp_path):
    asked = ("kimi-k2", "--on", "h100-sxm", "--tp", "1", "--batch", "8", "-o", "none.html")
    assert fastcalc("report", *asked).code == 0
    assert "kimi-k2 does not fit on" in (tmp_path / "none.html").read_text()


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (("report", "llama-3.1-8b", "-o", "report.csv"), "a report is HTML; end it in .html"),
        (
            ("compare", "llama-3.1-8b", "--batch", "1..500", "-o", "a.html"),
            "exceed the limit of 400",
        ),
        (("sweep", "llama-3.1-8b", "-o", "sweep.html"), "ends in none of .csv, .json"),
    ],
)
def test_a_wrong_request_gets_one_sentence(fastcalc, args, sentence):
    ran = fastcalc(*args)
    assert ran.code == 2
    assert sentence in ran.err
    assert ran.err.count("\n") == 1


def test_a_terminal_is_no_place_for_a_page(fastcalc, monkeypatch):
    monkeypatch.setattr("fastcalc.features.compare.report.is_terminal", lambda: True)
    ran = fastcalc("report", "llama-3.1-8b")
    assert (ran.code, ran.out) == (2, "")
    assert "give -o report.html" in ran.err


@pytest.mark.parametrize("place", [0, 1], ids=["light", "dark"])
def test_text_and_lines_are_read_well(place):
    """Text asks a contrast of 4.5, and lines of 3 (WCAG 2.2, 1.4.3 and 1.4.11)."""
    colours = dict(re.findall(r"--(\w+):(#\w+)", re.findall(r":root\{([^}]*)\}", CSS)[place]))
    whole = {
        name: one if len(one) == 7 else "#" + one[1:].replace("f", "ff")
        for name, one in colours.items()
    }
    for name in ("ink", "quiet", "accent"):
        for ground in ("ground", "raised"):
            assert contrast(whole[name], whole[ground]) >= 4.5
    palette = (COLOURS, DARK)[place]
    assert min(contrast(one, whole["ground"]) for one in palette) >= 3.0


def test_it_reads_as_the_table_does(fastcalc, tmp_path):
    assert fastcalc("report", *ASKED, "-o", "to my host.html").code == 0
    page = (tmp_path / "to my host.html").read_text()
    assert "-o &#x27;to my host.html&#x27;</code>" in page
    heads = re.findall(r'<th scope="col"[^>]*><button[^>]*>([^<]*)</button>', page)
    assert {"weights GB", "KV cache GB", "request s", "dense weights near"} <= set(heads)
    assert not [one for one in heads if re.search(r"\b(gb|fraction)\b", one)]
    cells = re.findall(r'data-v="(?:True|False)">([^<]*)<', page)
    assert set(cells) == {"yes", "no"}
