"""No line of a page is longer than the terminal, whatever the table, and nothing gets lost."""

import csv
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastcalc.kit.answer.console import render
from fastcalc.kit.answer.parts import TextTable
from fastcalc.kit.answer.record_tables import OPTIONAL, numbers, tables
from fastcalc.kit.answer.record_tables import words as text_column
from tests.helpers import ROOT, run_once, sweep, words

PAGES = [
    "compare --speculate 0.8x3",
    "compare llama-3.1-8b deepseek-r1 --on h200-sxm,wse-3 --batch 1,100000 --explain",
    "fit kimi-k2 --on h100-sxm,wse-3 --batch 1,100000",
    "plan llama-3.1-8b --on h100-sxm,mi355x,rtx-pro-6000-server --speculate 0.8x3 --price rtx-pro-6000-server=2",
    "plan deepseek-r1 --on mi355x,h200-sxm --rate 900000/s",
    "fastmode llama-3.1-8b --all",
    "frontier llama-3.1-8b --max-chips 4",
    "decide llama-3.1-70b llama-3.1-8b --on h100-sxm,wse-3 --steps 20 --accuracy 0.9",
    "decide opus opus-fast spark --hour 80 --map tools=0..30,spark.accuracy=0.5..1 --notes",
    "infer --points 20000 --wide",
    "claims",
    "claims --explain 4",
    "list engines",
    "show llama-3.1-70b",
    "diff llama-3.1-70b deepseek-r1",
    "check --explain all",
]


@pytest.fixture
def page(capsys, monkeypatch):
    def lines(columns, *args):
        monkeypatch.setenv("COLUMNS", str(columns))
        ran = run_once(*args, capsys=capsys, monkeypatch=monkeypatch)
        assert ran.code == 0, ran.err
        return ran.out.splitlines()

    return lines


def is_inside(line, columns):
    """Lines to copy, commands and addresses, stay whole."""
    return len(line) <= columns or line.startswith("next: ") or "http" in line.split()[0]


@pytest.mark.parametrize("columns", [80, 100, 140])
@pytest.mark.parametrize(
    "asked", sweep(PAGES, lambda asked: asked.startswith(("fastmode", "plan deepseek")))
)
def test_no_line_is_wider_than_the_terminal(page, asked, columns):
    for line in page(columns, *asked.split()):
        assert is_inside(line, columns), line


@pytest.mark.thorough
def test_the_points_that_are_furthest_off_fit_80_columns(page, tmp_path):
    """The longest names and the longest metric there are."""
    with (ROOT / "evidence" / "measured.csv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    wide = ("ryzen-ai-max-395", "rtx-pro-6000-server", "b200")
    path = tmp_path / "mine.csv"
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, rows[0])
        writer.writeheader()
        writer.writerows(row for row in rows if row["hardware"] in wide)
    for line in page(80, "validate", path):
        assert is_inside(line, 80), line


def test_a_wide_plan_leaves_no_column_out_at_any_width(page):
    asked = ("plan", "llama-3.1-8b", "--on", "h100-sxm,a100-sxm-40gb", "--speculate", "0.8x3")
    wide, narrow = (words("\n".join(page(width, *asked, "--wide"))) for width in (140, 80))
    for heading in ("tokens", "prefill", "bound", "range", "month"):
        assert heading in wide.partition("key:")[0]
        assert heading in narrow.partition("key:")[0]
    # 1 + 0.8 + 0.64 + 0.512 tokens a pass, and no rate that would take prompts in apart.
    assert "2.95" in narrow
    assert "shared" in narrow


TEXTS = st.text("abcdefgh ", min_size=0, max_size=60).map(
    lambda text: " ".join(word[:9] for word in text.split())
)


@given(
    st.integers(2, 6).flatmap(
        lambda count: st.tuples(
            st.lists(st.lists(TEXTS, min_size=count, max_size=count), min_size=1, max_size=4),
            st.sets(st.integers(0, count - 1)),
        )
    ),
    st.integers(40, 120),
)
def test_every_cell_of_any_table_is_printed_inside_the_width(drawn, width):
    rows, left = drawn
    # Numbers do not wrap: a column that is not of words holds a short one.
    rows = [[cell if at in left else cell[:9] for at, cell in enumerate(row)] for row in rows]
    rows = [["row", *row] for row in rows]
    headings = [("", f"head{place}") for place in range(len(rows[0]))]
    table = TextTable(headings, rows, [0, *(place + 1 for place in left)])
    text = render([table], width, colour=False)
    assert max(map(len, text.splitlines())) <= width
    printed = text.split()
    for row in rows:
        for word in " ".join(row).split():
            assert word in printed
    assert all(f"head{place}" in printed for place in range(len(headings)))


def test_columns_that_do_not_fit_follow_below_with_the_rows_named_again():
    table = TextTable(
        [("", "chip"), ("tok/s", "a user"), ("", "dollars a month")],
        [["h100-sxm", "12.5", "1,234"], ["b200", "7.25", "987"]],
        left=(0,),
    )
    assert render([table], 20, colour=False) == (
        "           tok/s\n"
        "chip      a user\n"
        "h100-sxm    12.5\n"
        "b200        7.25\n"
        "\n"
        "chip\n"
        "    dollars a month\n"
        "h100-sxm\n"
        "    1,234\n"
        "b200\n"
        "    987\n"
    )


@pytest.mark.parametrize(
    ("width", "shown", "gap"),
    [
        (22, ["name", "some", "less", "rare"], 2),  # four columns of 4 letters, three gaps of 2
        (21, ["name", "some", "less"], 2),  # the optional one leaves before gaps shrink
        (16, ["name", "some", "less"], 2),
        (15, ["name", "some", "less"], 1),
        (13, ["name", "some"], 1),  # the larger rank first
        (8, ["name"], 1),
        (1, ["name"], 1),  # no rank, never
    ],
)
def test_columns_leave_by_rank_and_all_tables_have_the_same(width, shown, gap):
    columns = [
        text_column("name", lambda one: one),
        numbers("some", lambda one: one, 1),
        numbers("less", lambda one: one, 2),
        numbers("rare", lambda one: one, OPTIONAL),
    ]
    groups = [[dict.fromkeys(("name", "some", "less", "rare"), "x" * 4)], []]
    one, other = tables(columns, groups, width)
    assert one.headings == other.headings == [(key,) for key in shown]
    assert (one.rows, other.rows, one.left, one.gap) == ([["xxxx"] * len(shown)], [], [0], gap)


def test_words_that_may_wrap_claim_as_many_letters_as_they_are_given():
    columns = [numbers("rank", lambda one: one, 1), text_column("why", lambda one: one)]
    rows = [{"rank": "1", "why": "long and longer"}]
    (whole,) = tables(columns, [rows], 20)
    (cut,) = tables(columns, [rows], 20, {"why": 10})
    assert ([len(table.headings) for table in (whole, cut)], cut.gap) == ([2, 2], 2)
    assert (whole.gap, cut.rows) == (1, [["1", "long and longer"]])


NOTES = [
    "compare llama-3.1-8b --on h100-sxm,wse-3 --batch 8",
    "fit kimi-k2 --on h200-sxm",
    "fastmode glm-4.7 --on h200-sxm",
    "frontier llama-3.1-8b --max-chips 4",
    "sensitivity llama-3.1-8b --on h100-sxm",
    "decide opus opus-fast spark",
    "infer --points 20000",
    "claims",
    "measure llama-3.1-8b --on h100-sxm",
]


@pytest.mark.thorough
@pytest.mark.parametrize("is_file", [True, False])
def test_an_id_of_letters_keeps_its_form_at_the_beginning_of_a_note(page, tmp_path, is_file):
    """An own chip, in a file or in a folder, and an engine of the catalogue."""
    text = (ROOT / "hardware" / "h100-sxm.yaml").read_text()
    own = re.sub("(?m)^aliases:.*$", "", text.replace("id: h100-sxm", "id: acme", 1))
    (tmp_path / "acme.yaml").write_text(own)
    where = f"{tmp_path}/acme.yaml" if is_file else f"acme --hardware-dir {tmp_path}"
    planned = page(10_000, *f"plan llama-3.1-8b --on {where} --rate 10/s --notes".split())
    assert any(line.startswith("- acme, p99 with Poisson arrivals") for line in planned)
    compared = page(10_000, *f"compare llama-3.1-8b --on {where} --engine ideal --notes".split())
    assert any(line.startswith("- ideal overlaps prefill with decode") for line in compared)
    assert not any(line.startswith(("- Acme", "- Ideal")) for line in (*planned, *compared))


@pytest.mark.parametrize("asked", sweep(NOTES, lambda asked: not asked.startswith("claims")))
def test_a_note_is_a_sentence(page, asked):
    """It begins with a capital letter, a number, a flag or an id, and ends with a full stop.

    A flag or command at the end has none, so that it can be copied.
    """
    lines = page(10_000, *asked.split(), "--notes")
    notes = [line.removeprefix("- ") for line in lines if line.startswith("- ")]
    assert len(notes) > 2
    for note in notes:
        if not note.startswith("key: "):
            first = note.split()[0]
            assert not first.isalpha() or first[0].isupper() or first in asked.split(), note
            is_copied = re.search(r" --[a-z-]+( [^ ]+)?$", note) is not None
            assert note.endswith(".") is not is_copied, note
