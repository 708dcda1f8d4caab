"""The measurements as data: every row can be looked up, multiplied out and traced to its source."""

import csv
import re
from collections import Counter
from itertools import chain

import numpy as np
import pytest

from fastcalc.catalogue.folders import shipped_folder
from fastcalc.catalogue.formats import FORMATS
from fastcalc.catalogue.schema.evidence import Provenance
from fastcalc.catalogue.store import Catalogue, load
from fastcalc.catalogue.weight_formats import weight_formats
from fastcalc.evidence.shipped import shipped
from fastcalc.evidence.validate import validate

FOLDER = shipped_folder("evidence")
HEADER = (
    "id,source,url,date,hardware,chips,model,engine,weights,kv,tp,ep,pp,dp,concurrency,prompt,"
    "output,metric,value,tokens_per_pass,measured_by,notes"
)
METRICS = set(
    "tokens_per_s_per_user tokens_per_s_total tokens_per_s_per_chip ttft_s tpot_s "
    "prefill_tokens_per_s".split()
)
KINDS = set("decode_batch1 decode prefill burst e2e_concurrency e2e_saturated e2e_slo".split())
COUNTS = "chips tp ep pp dp concurrency prompt output".split()

# Software that was measured; one without an entry of its own takes the default of the chip, as
# does one that is not stated.
ENGINES = set(
    "vllm vllm-eager sglang tensorrt-llm llama-cpp exllama exllamav2 mlc mlx gpt-fast splitwise-2023 deepseek "
    "ds4 atom cerebras groq sambanova sglang-jax transformers-neuronx nxd-inference "
    "optimum-habana pegainfer lmdeploy transformers unknown".split()
) | {""}


def rows():
    with (FOLDER / "measured.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


ROWS = rows()
RANKS = {"inferentia-2": 2, "trainium-1": 2, "trainium-2": 4}
"""Ranks of chips that are not one: tp, pp and dp count these."""
PROVENANCE = load(FOLDER / "sources.yaml", Provenance)
PREFIXES = {row["id"].rpartition("-")[0] for row in ROWS}
PAGE = (FOLDER.parent / "docs/evidence.md").read_text(encoding="utf-8")


def test_the_header_is_the_contract():
    first = (FOLDER / "measured.csv").read_text(encoding="utf-8").splitlines()[0]
    assert first == HEADER


def test_ids_are_unique_and_numbered():
    ids = Counter(row["id"] for row in ROWS)
    assert [name for name, count in ids.items() if count > 1] == []
    assert [name for name in ids if not re.fullmatch(r"[a-z0-9]+-\d{3}", name)] == []


@pytest.mark.parametrize(("column", "kind"), [("hardware", "hardware"), ("model", "models")])
def test_names_are_in_the_catalogue(column, kind):
    catalogue = Catalogue()
    names = {row[column] for row in ROWS}
    assert sorted(name for name in names if not catalogue.knows(name, kind)) == []


def test_engines_are_known_software():
    assert {row["engine"] for row in ROWS} <= ENGINES


def test_number_formats_are_known():
    caches = {name for name, entry in FORMATS.items() if entry.cache_bits}
    for name in {row["weights"] for row in ROWS} - {""}:
        weight_formats(name)
    assert {row["kv"] for row in ROWS} <= {"", *caches}


def test_layouts_multiply_to_the_chips():
    wrong = [
        row["id"]
        for row in ROWS
        if all(row[rank] for rank in ("tp", "pp", "dp"))
        and int(row["tp"]) * int(row["pp"]) * int(row["dp"])
        != int(row["chips"]) * RANKS.get(row["hardware"], 1)
    ]
    assert wrong == []


def test_numbers_are_numbers():
    for row in ROWS:
        assert float(row["value"]) > 0, row["id"]
        assert all(int(row[column]) >= 0 for column in COUNTS if row[column]), row["id"]
        assert float(row["tokens_per_pass"] or 1) >= 1, row["id"]


def test_metrics_and_kinds_are_of_the_contract():
    assert {row["metric"] for row in ROWS} <= METRICS
    kinds = {row["id"]: re.match(r"kind=(\w+)(;|$)", row["notes"]) for row in ROWS}
    assert [name for name, kind in kinds.items() if not kind or kind[1] not in KINDS] == []


def test_one_sequence_is_one_sequence():
    single = [row for row in ROWS if row["notes"].startswith("kind=decode_batch1")]
    assert [row["id"] for row in single if row["concurrency"] != "1"] == []


def test_every_row_says_where_and_when():
    assert all(row["source"] and row["url"].startswith("https://") for row in ROWS)
    assert [
        row["id"] for row in ROWS if not re.match(r"20\d\d(-\d\d)?(-\d\d)?$", row["date"])
    ] == []


def test_rows_with_a_host_say_what_it_is_and_how_it_is_used():
    """At least 25 rows of 5 sources, none of which anything is set from."""
    catalogue, hosted = Catalogue(), [row for row in ROWS if "host=" in row["notes"]]
    size, rate = r"\d+(GiB|TiB)", r"\d+(\.\d+)?GB/s"
    spec = rf"dram={size}@{rate},link={rate}(,compute=\d+(\.\d+)?TFLOP/s)?"
    kinds = "weights dense head experts kv embedding".split()
    for row in hosted:
        said = dict(one.split("=", 1) for one in row["notes"].split("; ") if "=" in one)
        if not re.fullmatch(spec, said["host"]):
            assert catalogue.hardware(said["host"]).kind == "host", row["id"]
        assert said["use"] in ("stream", "compute"), row["id"]
        for one in said["place"].split(",") if "place" in said else ():
            assert one in [f"{kind}=DRAM" for kind in kinds], row["id"]
    sources = {row["id"].rpartition("-")[0] for row in hosted}
    assert len(hosted) >= 25
    assert len(sources) >= 5


def test_every_prefix_has_its_source():
    assert set(PROVENANCE.sources) == PREFIXES


def test_exclusions_name_rows_that_exist_once():
    named = Counter(chain.from_iterable(one.rows for one in PROVENANCE.exclusions))
    assert set(named) <= {row["id"] for row in ROWS}
    assert max(named.values()) == 1


@pytest.mark.parametrize(
    ("file", "points", "sources", "scores"),
    [
        ("first_score.csv", 364, 18, (1.18, 2.10, 74)),
        ("second_score.csv", 280, 15, (1.28, 2.29, 62)),
        ("third_score.csv", 342, 28, (1.21, 2.07, 79)),
        ("fourth_score.csv", 637, 34, (1.20, 1.97, 70)),
        ("fifth_score.csv", 229, 9, (1.24, 1.63, 84)),
        ("sixth_score.csv", 322, 20, (1.22, 2.01, 81)),
        ("seventh_score.csv", 186, 10, (1.29, 2.43, 66)),
        ("eighth_score.csv", 122, 9, (1.39, 2.61, 65)),
        ("ninth_score.csv", 127, 19, (1.19, 1.58, 88)),
        ("tenth_score.csv", 178, 16, (1.19, 1.74, 76)),
    ],
)
def test_scores_of_unseen_sources_are_what_the_documents_say(file, points, sources, scores):
    """Median factor, 90% within, percent in range; the page on evidence has the same row."""
    assert _pooled(file) == (points, sources, *scores)
    names = "first second third fourth fifth sixth seventh eighth ninth tenth".split()
    number = names.index(file.removesuffix("_score.csv")) + 1
    row = next(
        line for line in PAGE.splitlines() if re.match(rf"\| {number}(st|nd|rd|th) \|", line)
    )
    _, what, of_points, median, most, _, inside = row.strip("| ").split(" | ")
    assert (int(of_points), int(re.search(r"\d+", what)[0])) == (points, sources)
    assert (float(median), float(most), int(inside.rstrip("%"))) == scores


@pytest.mark.parametrize(
    ("document", "name", "first", "cell"),
    [
        ("README.md", "blind tests since 30 November 2026", "fifth", "{:,} {} {:.2f}x {:.2f}x {}%"),
        ("docs/evidence.md", "all", "eighth", "{} {} {:.2f} {:.2f} {}%"),
    ],
)
def test_documents_pool_the_latest_scores(document, name, first, cell):
    names = "fifth sixth seventh eighth ninth tenth".split()
    files = [f"{one}_score.csv" for one in names[names.index(first) :]]
    text = (FOLDER.parent / document).read_text(encoding="utf-8")
    table = ([one.strip() for one in line.strip("| ").split("|")] for line in text.splitlines())
    points, sources, median, most, *_, inside = next(row[1:] for row in table if row[0] == name)
    found = cell.format(*_pooled(*files))
    assert found == f"{points} {sources} {median} {most} {inside}"


def test_the_page_counts_what_is_shipped():
    """Each number that the page on evidence states of the rows, their sources and exclusions."""
    evidence, text = shipped(), " ".join(PAGE.split())
    sources = evidence.provenance.sources
    is_later = {name for name, source in sources.items() if source.awaits_ranges}
    used = [one for one in evidence.points if evidence.is_used(one)]
    judges = [one for one in used if evidence.role(one) == "judge"]
    later = [one for one in used if one.source_key in is_later and one not in judges]
    for points, sentence in (
        (evidence.points, "ships with {} measurements from {} sources"),
        (list(filter(evidence.is_fitted, used)), "fitted on {} measurements from {} sources"),
        (judges, "Another {} measurements from {} sources are [the test"),
        (list(filter(evidence.is_awaiting, used)), "further {} measurements from {} sources arr"),
        (later, "Another {} measurements from {} sources arrived later"),
    ):
        assert sentence.format(f"{len(points):,}", len({p.source_key for p in points})) in text
    excluded = {*evidence.unpredictable, *evidence.suspect}
    assert f"do not use {len(excluded)} of them. For {len(evidence.unpredictable)} of" in text
    names = "fifth sixth seventh eighth ninth tenth".split()
    left = [sum(row["id"] in excluded for row in _kept(f"{name}_score.csv")) for name in names]
    assert left == [46, 22, 37, 2, 0, 35]
    assert f"In {left[2]} of the 7th score and {left[5]} of the 10th" in text
    assert f"{left[0]} of the 5th, {left[1]} of the 6th and {left[3]} of the 8th" in text


def test_what_is_credible_of_the_last_score_is_what_the_page_says():
    rows = [row for row in _kept("tenth_score.csv") if row["id"] not in shipped().suspect]
    _, _, median, most, inside = _scores(rows)
    said = f"median error is {median:.2f}, 90% are within {most:.2f}, and {inside}% are in range"
    assert said in " ".join(PAGE.split())


@pytest.mark.thorough
def test_classes_of_the_last_three_scores_are_those_of_the_page():
    rows = {row["id"]: row for n in ("eighth", "ninth", "tenth") for row in _kept(f"{n}_score.csv")}
    points = [point for point in shipped().points if point.id in rows]
    parts = {p.point.id: p.part for p in validate(points, Catalogue()).predictions}
    assert set(parts) == set(rows)
    for part in set(parts.values()):
        found = _scores([rows[name] for name in rows if parts[name] == part])
        name = "prefill and TTFT" if part == "prefill" else part
        line = next(line for line in PAGE.splitlines() if line.startswith(f"| {name} | "))
        points, sources, median, most, _, inside = line.strip("| ").split(" | ")[1:]
        stated = int(points), int(sources), float(median), float(most), int(inside.rstrip("%"))
        assert stated == found


def _kept(file):
    with (FOLDER / file).open(encoding="utf-8", newline="") as rows:
        return list(csv.DictReader(rows))


def _pooled(*files):
    """Points, sources, median factor, 90% within and percent in range of some scores together."""
    return _scores([row for file in files for row in _kept(file)])


def _scores(found):
    numbers = np.array(
        [[float(row[name]) for name in ("measured", "expected", "low", "high")] for row in found]
    )
    measured, expected, low, high = numbers.T
    factors = np.maximum(expected / measured, measured / expected)
    inside = float(np.mean((low <= measured) & (measured <= high)))
    return (
        len(found),
        len({row["id"].rpartition("-")[0] for row in found}),
        round(float(np.median(factors)), 2),
        round(float(np.percentile(factors, 90)), 2),
        round(100 * inside),
    )
