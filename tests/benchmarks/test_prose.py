"""Counts of dialect: phrases, names and docstrings, and files whose counts rise."""

from benchmarks.prose import MOST_WORDS, count, long_sentences, risen

BEFORE = '''
def throughput(part):
    """Tokens/s that a replica sustains."""
'''
AFTER = '''
def throughput(part, kind):
    """Return what a replica carries, in tokens/s a user, so many as there are."""
    carried = "no sentence"
'''


def test_each_kind_of_hit_is_counted_once():
    counts = count(AFTER, is_python=True)
    assert counts["carry (throughput, sustain, hold)"] == 1
    assert counts["a for per (tokens/s per user)"] == 1
    assert counts["so many, as many"] == 1
    assert counts["vague names"] == 2, "part and kind, of three names"
    assert counts["names"] == 3
    assert counts['docstrings that open with "Return"'] == counts["docstrings"] == 1


def test_only_counts_that_rise_are_named():
    before, after = (count(source, is_python=True) for source in (BEFORE, AFTER))
    assert risen(before, after)["vague names"] == 1
    assert risen(after, before) == {}
    assert not {"words", "names", "docstrings"} & risen(before, after).keys()


def test_a_page_is_read_line_by_line():
    page = count("Shipped are 3 chips.\nFastcalc ships with 3 chips.", is_python=False)
    assert page["Shipped are, Closest is (subject first)"] == 1
    assert page["names"] == 0


def test_sentences_of_pages_are_measured_across_lines_and_without_code():
    words, most = "word " * MOST_WORDS, ["word"] * MOST_WORDS
    long, short = f"A {words}\nends here.", f"{' '.join(most[:-1])} `some code of four`."
    page = f"# Heading\n\n{long}\n\n- {short}\n- {short}\n\n| {words}{words} |\n"
    assert len([*long_sentences(page)]) == 1
    assert count(page, is_python=False)["long sentences"] == 1
    assert [*long_sentences(f"```console\n{words}{words}\n```\n")] == []
