"""What the method page and the log say of the ranges on the test set and on new sources."""

import contextlib
import io
import re
import sys
from functools import cache
from hashlib import sha256

import pytest
import yaml

from benchmarks import judge, ranges
from fastcalc.catalogue.store import Catalogue
from fastcalc.evidence.shipped import shipped
from fastcalc.evidence.validate import validate
from tests.helpers import ROOT

METHOD = " ".join((ROOT / "docs" / "method.md").read_text(encoding="utf-8").split())
LARGE = 40, 5
"""Points and sources of a class that the page may speak of."""


@cache
def judged():
    evidence = shipped()
    used = (point for point in evidence.points if evidence.is_used(point))
    points = [point for point in used if evidence.role(point) == "judge"]
    return validate(points, Catalogue()).predictions


@pytest.mark.thorough
def test_a_wider_range_is_wider_on_both_sides_of_the_expected_value():
    one = next(one for one in judged() if one.low and one.high)
    wider = judge.wider(one)
    assert wider.expected == one.expected
    assert wider.low / one.expected == pytest.approx((one.low / one.expected) ** 1.3)
    assert wider.high / one.expected == pytest.approx((one.high / one.expected) ** 1.3)


def test_the_log_ends_with_the_shipped_engines_on_the_test_set():
    log = yaml.safe_load((ROOT / "evidence" / judge.LOG).read_text(encoding="utf-8"))
    assert judge.scores(judged()).items() <= log[-1].items()


FIRST_OPENINGS = "cbdf0687e0964a11e2e1f4ac77e2a2975724774341edb5d6db7f0217158a6fce"
"""SHA-256 of the first seven lines of the log."""


def test_no_opening_of_the_test_set_is_deleted_from_the_log():
    """A version is judged once, so that a line may be added, but never replaced."""
    lines = (ROOT / "evidence" / judge.LOG).read_text(encoding="utf-8").splitlines(keepends=True)
    assert sha256("".join(lines[:7]).encode()).hexdigest() == FIRST_OPENINGS


def test_the_method_says_what_ranges_contain_of_the_test_set():
    by_class = {}
    for one in judged():
        by_class.setdefault(one.part, []).append(one)
    scores = {name: judge.scores(group) for name, group in by_class.items()}
    covers = {
        100 * score["cover"]: name
        for name, score in scores.items()
        if score["points"] >= LARGE[0] and score["sources"] >= LARGE[1]
    }
    least, most = min(covers), max(covers)
    assert (covers[least], covers[most]) == ("decode, unified memory", "served, dense")
    points, sources, _, _, cover = judge.scores(judged()).values()
    now, then = judge.cells(judged())[-2:]
    assert (
        f"In the test set, {100 * cover:.0f}% of {points} measurements from {sources} sources are "
        f"in range. By class, it is {least:.0f}% (decode with unified memory) to {most:.0f}% "
        "(served traffic of dense models)"
    ) in METHOD
    assert f"is {now}. It would be {then} with ranges {judge.WIDER:g} times as wide" in METHOD


@pytest.mark.thorough
def test_the_method_says_what_ranges_of_half_of_the_sources_contain(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["ranges"])
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        ranges.main()
    rows = [line.strip("| ").split(" | ") for line in printed.getvalue().splitlines()[2:-2]]
    (_, points, sources, cover, *_), *classes = rows
    halves = re.search(r"halves: (\d+ to \d+%)", printed.getvalue())[1]
    assert (
        f"{cover} of {int(points):,} new measurements from {sources} sources were in range "
        f"({halves} in single halves)"
    ) in METHOD
    covers = {int(row[3][:-1]): row[0] for row in classes if int(row[1]) >= LARGE[0]}
    least, most = min(covers), max(covers)
    assert (covers[least], covers[most]) == ("decode, datacenter", "prefill")
    assert (
        f"it is {least}% (decode of dense models on datacenter GPUs) to {most}% (prefill)" in METHOD
    )
