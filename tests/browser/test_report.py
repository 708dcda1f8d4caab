"""The report in a headless Chromium: it renders, sorts, filters, answers, and prints.

``.ci/browser`` installs what it takes; where that is missing, one test is skipped with a word.
"""

import base64
import json
import shutil
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from fastcalc.features.compare import report as show_report
from fastcalc.features.compare.request import WriteReport
from tests.helpers import contrast, run

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")
DRIVER = shutil.which("chromedriver")

# Neither the browser nor selenium is part of any extra: only .ci/browser brings them.
if not (BROWSER and DRIVER):
    pytest.skip("no chromium and chromedriver: see .ci/browser", allow_module_level=True)
webdriver = pytest.importorskip("selenium.webdriver", reason="no selenium: see .ci/browser")


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    file = tmp_path_factory.mktemp("page") / "report.html"
    asked = WriteReport(
        models=["llama-3.1-8b"], on="h100-sxm,gb200,wse-3", batch="1,8,4096", out=file
    )
    assert show_report.run(asked) == 0
    return file.as_uri()


@pytest.fixture(scope="module")
def browser():
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    for flag in ("--headless=new", "--no-sandbox", "--hide-scrollbars", "--disable-dev-shm-usage"):
        options.add_argument(flag)
    started = webdriver.Chrome(options, webdriver.ChromeService(DRIVER))
    yield started
    started.quit()


@pytest.fixture
def open_at(browser, page):
    def open_page(width=1280, scheme="light"):
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        browser.get(page)
        return browser

    return open_page


def column(browser, name):
    """Return the values of a column that is shown, from the first row that is to the last."""
    return browser.execute_script(
        """const heads = [...document.querySelectorAll("#rows th")];
        const place = heads.findIndex((one) => one.innerText.trim() === arguments[0]);
        const rows = [...document.querySelectorAll("#rows tbody tr")].filter((one) => !one.hidden);
        return rows.map((row) => row.cells[place].dataset.v);""",
        name,
    )


def press(browser, *keys):
    webdriver.ActionChains(browser).send_keys(*keys).perform()


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_renders_without_an_error_and_no_wider_than_its_window(open_at, width, scheme):
    browser = open_at(width, scheme)
    assert browser.get_log("browser") == []
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    charts = browser.execute_script(
        "return [...document.querySelectorAll('.charts svg')].map((one) => one.clientWidth)"
    )
    assert len(charts) >= 5
    assert all(0.8 * min(width, 430) < one <= width for one in charts)
    # Names at the ends of lines are inside their charts.
    assert browser.execute_script(
        """return [...document.querySelectorAll(".charts svg text")].every((text) => {
          const [one, whole] = [text, text.ownerSVGElement].map((e) => e.getBoundingClientRect());
          return one.left >= whole.left - 1 && one.right <= whole.right + 1;
        })"""
    )


def test_prices_stay_in_sight_on_a_narrow_screen(open_at):
    """Also where the table is scrolled, with the name of its row."""
    browser = open_at(390)
    for scrolled in (0, 200):
        left, right, name = browser.execute_script(
            """document.querySelector(".wide").scrollLeft = arguments[0];
            const price = document.querySelector("#rows td.price").getBoundingClientRect();
            const name = document.querySelector("#rows td").getBoundingClientRect();
            return [price.left, price.right, name.right];""",
            scrolled,
        )
        assert 0 < name < left < right <= 390


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_range_is_not_below_the_price_on_a_narrow_screen(open_at, scheme):
    browser = open_at(390, scheme)
    right, left, below, column = browser.execute_script(
        """const speed = document.querySelector("#rows td.key-figure");
        const price = document.querySelector("#rows td.price").getBoundingClientRect();
        const after = getComputedStyle(speed, "::after");
        return [speed.getBoundingClientRect().right, price.left, after.content,
          getComputedStyle(document.querySelector("#rows td.range")).display];"""
    )
    assert right <= left
    assert ".." in below
    assert column == "none"
    browser = open_at(1280, scheme)
    assert browser.execute_script(
        """const [speed, range] = ["key-figure", "range"].map((name) =>
          document.querySelector(`#rows td.${name}`));
        return getComputedStyle(speed, "::after").content === "none" && range.clientWidth > 0;"""
    )


@pytest.mark.parametrize("asked", ["plan", "fastmode --smaller none", "frontier --max-chips 2"])
def test_other_answers_fit_a_phone(open_at, tmp_path, capsys, monkeypatch, asked):
    name, *flags = asked.split()
    made = (name, "llama-3.1-8b", "--on", "h100-sxm", *flags, "-o", str(tmp_path / "page.html"))
    assert run(*made, capsys=capsys, monkeypatch=monkeypatch).code == 0
    browser = open_at(390)
    browser.get((tmp_path / "page.html").as_uri())
    assert browser.get_log("browser") == []
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 390
    left, right = browser.execute_script(
        """const price = document.querySelector("td.price").getBoundingClientRect();
        return [price.left, price.right];"""
    )
    assert 0 < left < right <= 390
    head = browser.find_element("css selector", "th.price button")
    head.click()
    cells = browser.find_elements("css selector", "table:first-of-type td.price")
    values = [float(cell.get_attribute("data-v")) for cell in cells if cell.text != "-"]
    assert values == sorted(values)


def test_scripts_and_styles_of_others_are_refused(open_at, page, tmp_path):
    browser = open_at()
    text = Path(urlsplit(page).path).read_text()
    smuggled = '<script>document.title = "run"</script><img src="x" onerror="document.title = 1">'
    styled = '<p id="styled" style="position:fixed">'
    (tmp_path / "page.html").write_text(text.replace("<header>", f"{smuggled}{styled}<header>"))
    browser.get((tmp_path / "page.html").as_uri())
    refused = [log["message"] for log in browser.get_log("browser")]
    assert len([log for log in refused if "Content Security Policy" in log]) >= 3
    assert "Llama" in browser.title
    position = "return getComputedStyle(document.getElementById('styled')).position"
    assert browser.execute_script(position) == "static"
    browser.get(page)
    widths = browser.execute_script(
        "return [...document.querySelectorAll('.whole i')].map((e) => [e.clientWidth, "
        "e.parentElement.clientWidth, e.ariaLabel])"
    )
    assert len(widths) >= 6
    for wide, whole, says in widths:
        assert wide / whole == pytest.approx(float(says.split()[-1].rstrip("%")) / 100, abs=0.01)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_is_read_well_on_what_is_behind_it(open_at, scheme):
    """Contrast of 4.5 (WCAG 2.2, 1.4.3), as the browser computes colours."""
    found = open_at(scheme=scheme).execute_script(
        """document.querySelectorAll("details").forEach((one) => { one.open = true; });
        document.querySelectorAll(".columns input").forEach((one) => one.checked || one.click());
        const tip = document.getElementById("tip");
        tip.textContent = "said"; tip.hidden = false;
        const hex = (c) => "#" + c.match(/\\d+/g).slice(0, 3)
          .map((n) => (+n).toString(16).padStart(2, "0")).join("");
        const behind = (e) => { for (; e; e = e.parentElement) {
          const c = getComputedStyle(e).backgroundColor;
          if (!/, 0\\)$/.test(c)) return hex(c);
        } return "#ffffff"; };
        const found = new Set(), filter = document.getElementById("filter");
        const hint = getComputedStyle(filter, "::placeholder");
        found.add(JSON.stringify([hex(hint.color), behind(filter)]));
        document.querySelectorAll("main *, #tip").forEach((e) => {
          const text = [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
          if (!text || !e.getClientRects().length) return;
          const s = getComputedStyle(e), svg = e.ownerSVGElement;
          found.add(JSON.stringify([hex(svg ? s.fill : s.color), behind(e)]));
        });
        return [...found];"""
    )
    pairs = [json.loads(one) for one in found]
    assert len(pairs) >= 3
    assert min(contrast(*pair) for pair in pairs) >= 4.5


def test_a_heading_sorts_by_mouse_and_by_keyboard(open_at):
    browser = open_at()
    name = "tok/s per user"
    as_written = column(browser, name)
    head = next(
        one
        for one in browser.find_elements("css selector", "#rows th button")
        if one.text.strip() == name
    )
    head.click()
    rising = [float(one) for one in column(browser, name) if one]
    assert rising == sorted(rising)
    assert column(browser, name).index("") if "" in as_written else True
    press(browser, "\ue007")  # Enter on what has the focus
    assert [float(one) for one in column(browser, name) if one] == rising[::-1]
    state = head.find_element("xpath", "..").get_attribute("aria-sort")
    assert state == "descending"
    # What has no value stays last, whichever way.
    empty = [place for place, one in enumerate(column(browser, name)) if not one]
    assert empty == list(range(len(as_written)))[len(as_written) - len(empty) :]


def test_a_word_filters_and_a_box_hides(open_at):
    browser = open_at()
    box = browser.find_element("id", "filter")
    box.send_keys("GB200")
    assert set(column(browser, "hardware")) == {"gb200"}
    assert browser.find_element("id", "count").text == "3 of 9 rows"
    box.clear()
    box.send_keys("x")
    box.send_keys("\ue003")  # backspace
    assert len(column(browser, "hardware")) == 9
    browser.find_element("css selector", ".columns summary").click()
    boxes = browser.find_elements("css selector", ".columns label")
    batch = next(one for one in boxes if one.text.strip() == "batch")
    shown = "return [...document.querySelectorAll('#rows th')].filter((e) => !e.hidden).length"
    before = browser.execute_script(shown)
    batch.click()
    assert browser.execute_script(shown) == before - 1
    hidden = next(one for one in boxes if one.text.strip() == "TPOT ms")
    hidden.click()
    assert browser.execute_script(shown) == before


def test_points_say_what_they_are_to_the_mouse_and_to_the_keyboard(open_at):
    browser = open_at()
    tip = browser.find_element("id", "tip")
    chart = browser.find_element("css selector", ".charts svg")
    mark = chart.find_element("css selector", ".point")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", chart)
    assert not tip.is_displayed()
    webdriver.ActionChains(browser).move_to_element(mark).perform()
    assert tip.text.startswith("1 x h100-sxm, batch 1:")
    size = tip.rect
    assert size["x"] >= 0
    assert size["x"] + size["width"] <= 1280
    webdriver.ActionChains(browser).move_to_element(browser.find_element("id", "filter")).perform()
    browser.execute_script("document.activeElement.blur(); arguments[0].focus()", chart)
    said = []
    for _ in range(3):
        press(browser, "\ue014")  # arrow right
        said.append(tip.text)
    assert len(set(said)) == 3
    press(browser, "\ue012")  # and left
    assert tip.text == said[1]
    press(browser, "\ue00c")  # escape
    assert not tip.is_displayed()
    part = browser.find_element("css selector", ".whole i")
    browser.execute_script("arguments[0].focus()", part)
    assert "dense weights" in tip.text


def test_all_of_it_is_reached_by_keyboard(open_at):
    browser = open_at()
    seen = []
    for _ in range(200):  # the button that copies is last
        press(browser, "\ue004")  # tab
        seen.append(
            browser.execute_script(
                "const e = document.activeElement; return e.id"
                " || e.tagName.toLowerCase() + (e.closest('.charts') ? ' chart' : '')"
            )
        )
    assert {"copy", "filter", "summary", "button", "svg chart"} <= set(seen)


def test_the_command_is_copied(open_at):
    browser = open_at()
    browser.find_element("id", "copy").click()
    wait = "return new Promise((done) => setTimeout(done, 200))"
    browser.execute_script(wait)
    assert browser.find_element("id", "copy").text == "Copied"


def test_it_asks_nothing_of_anywhere(open_at, page):
    browser = open_at()
    browser.get_log("performance")
    browser.get(page)
    events = (json.loads(one["message"])["message"] for one in browser.get_log("performance"))
    asked = [
        event["params"]["request"]["url"]
        for event in events
        if event["method"] == "Network.requestWillBeSent"
    ]
    assert asked == [page]


def test_it_prints_without_its_controls(open_at):
    browser = open_at()
    printed = base64.b64decode(browser.execute_cdp_cmd("Page.printToPDF", {})["data"])
    assert printed.startswith(b"%PDF")
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    hidden = browser.execute_script(
        "return getComputedStyle(document.querySelector('.controls')).display"
    )
    steps = browser.execute_script(
        "return getComputedStyle(document.querySelector('.of-step-by-step')).display"
    )
    width = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    assert hidden == "none"
    assert steps == "none"  # of which none is open
    assert width == "rgb(255, 255, 255)"
