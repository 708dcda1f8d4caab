"""Every command gives the same answer to the same request: what one prints, another prints again.

`FASTCALC_REQUESTS` says how many requests that have an answer are compared, and two fifths of it how
many that leave the deployment open: 500 and 200 before a release, fewer in the suite. Requests are
drawn until so many were; those that are refused, or that nothing holds, do not count.
`FASTCALC_FIRST_SEED` draws others.
"""

import csv
import io
import itertools
import json
import os
import random
import shlex
import sys

import pytest

from fastcalc.catalogue.store import Catalogue
from tests.helpers import run_once
from tests.strategies import scaled

REQUESTS = int(os.environ.get("FASTCALC_REQUESTS", scaled(16)))
CHIPS = ("h100-sxm", "gb200", "mi300x", "l40s", "rtx-4090", "d-matrix-corsair", "wse-3", "tpu-v6e")
MODELS = ("llama-3.1-8b", "llama-3.1-70b", "gpt-oss-120b", "qwen3-30b-a3b", "deepseek-r1")
HOSTS = (
    "dram=256GiB@300GB/s,link=64GB/s",
    "dram=64GiB@90GB/s,link=25GB/s,compute=2TFLOP/s,chips=1",
    "dram=480GB@500GB/s,link=450GB/s,chips=2",
)
SPATIAL = {chip for chip in CHIPS if Catalogue().hardware(chip).execution == "spatial"}


class Request:
    """A random model on a random chip, with or without a host."""

    def __init__(self, seed):
        chance = random.Random(seed)
        self.model, self.chip = chance.choice(MODELS), chance.choice(CHIPS)
        tokens = [200, 1000, 6000, 30000]
        self.traffic = ["--prompt", chance.choice(tokens), "--output", chance.choice(tokens)]
        self.memory = ["--host", chance.choice(HOSTS)] if chance.random() < 0.5 else []
        if self.memory and chance.random() < 0.3:
            self.memory += ["--host-use", "stream"]
        if chance.random() < 0.3:
            self.memory += ["--place", f"embedding={'host' if self.memory else self.fastest}"]
        self.formats = ["--weights", "q4_k_m"] if chance.random() < 0.3 else []
        self.price = ["--price", f"{self.chip}={chance.choice([1.5, 4.0])}"]
        self.hit = ["--prefix-hit", 0.5] if chance.random() < 0.3 else []
        if self.hit and self.memory[:1] == ["--host"]:
            self.hit += ["--prefix-tier", "host"]
        self.batch = chance.choice([1, 3, 8, 40, 256, 700])
        self.chips = ["--chips", chance.choice([1, 2, 4, 8, 16])]
        self.chance = chance

    @property
    def fastest(self):
        memory = Catalogue().hardware(self.chip).memory
        return max(memory, key=lambda one: one.bandwidth.si).name

    @property
    def words(self):
        words = [self.model, "--on", self.chip, *self.traffic, *self.memory, *self.formats]
        return [*words, *self.price]

    def again(self, record):
        """Return the words that ask for the deployment and batch of a record."""
        ranks = ("pp",) if self.chip in SPATIAL else ("tp", "pp", "ep", "dp")
        words = [word for name in ranks for word in (f"--{name}", record[name])]
        return [*self.words, *words, "--batch", record["batch"]]


@pytest.fixture
def asked(capsys, monkeypatch):
    def records(*words):
        written = "csv" if words[0] == "sweep" else "json"
        ran = run_once(*words, "--format", written, capsys=capsys, monkeypatch=monkeypatch)
        assert ran.code in (0, 1) or "Traceback" not in ran.err
        if ran.code == 2:
            return []
        if written == "json":
            return json.loads(ran.out)["records"]
        return [
            {key: _cell(key, cell) for key, cell in row.items()}
            for row in csv.DictReader(io.StringIO(ran.out))
        ]

    return records


MARKS = ("undetermined", "low_confidence")


def _cell(key, cell):
    if key in ("fits", "warnings", *MARKS):
        return cell == "true" if key == "fits" else [one for one in cell.split("; ") if one]
    if key == "price_date":
        return cell or None
    try:
        return float(cell)
    except ValueError:
        return cell or None


def assert_same(row, record, *, ranks_are_named=False):
    """The largest batch is of any usual layout of the chips, unless ranks are named."""
    shared = row.keys() & record.keys() - {"warnings"}
    if ranks_are_named and "max_batch" in shared:
        assert row["max_batch"] >= record["max_batch"]
        shared -= {"max_batch"}
    answers = [{key: answer[key] for key in shared} for answer in (row, record)]
    for answer in answers:
        for marks in set(MARKS) & shared:  # each names numbers of its own, too
            answer[marks] = [key for key in answer[marks] if key in shared]
    assert answers[0] == answers[1]


def without_warnings(record):
    return {key: value for key, value in record.items() if key != "warnings"}


def searched(request, asked):
    """Yield rows of a random command that searches, and the words that print each again."""
    command = request.chance.choice(["sweep", "fit", "plan", "frontier", "fastmode"])
    if command == "plan":
        few = [word for word in request.words if word != request.formats[-1:]]
        for row in asked("plan", *few, *request.hit, "--max-chips", 16, "--top", 2):
            yield row, shlex.split(row["command"])[2:]
    elif command == "fastmode":
        start = [*request.chips, "--batch", request.batch, *request.hit]
        start += ["--smaller", "none"] if request.chance.random() < 0.8 else []
        rows = [one for one in asked("fastmode", *request.words, *start) if one["compare"]]
        for row in request.chance.sample(rows, min(len(rows), 3)):
            yield row, shlex.split(row["compare"])[2:]
    elif command == "frontier":
        rows = asked("frontier", *request.words, *request.hit, "--max-chips", 4)
        for row in request.chance.sample(rows, min(len(rows), 3)):
            # A frontier is of speed per user, and so places bytes for decode unless asked.
            yield row, [*request.again(row), *request.hit, "--place-for", "decode"]
    elif command == "fit":
        words = request.words[: -len(request.price)]
        for row in asked("fit", *words, *request.hit, "--batch", f"{request.batch},1"):
            yield row, [*request.again(row), *request.hit]
    else:
        ranks = ["--tp", "1,2", "--pp", "1,2"] if request.chance.random() < 0.5 else []
        ranks += ["--chips", "2,4"] if request.chance.random() < 0.3 else []
        batches = f"1,{request.batch}"
        rows = asked("sweep", *request.words, *request.hit, *ranks, "--batch", batches)
        for row in rows:
            row = {key: int(one) if one in (0, 1) or key in WHOLE else one
                   for key, one in row.items()}  # fmt: skip
            yield row, [*request.again(row), *request.hit]


WHOLE = ("tp", "pp", "ep", "dp", "batch")


def compare_until(count, has_answer):
    """Draw requests until so many have had an answer that was compared, and say how many it took."""
    compared = 0
    for seed in itertools.count(int(os.environ.get("FASTCALC_FIRST_SEED", "0"))):
        try:
            compared += has_answer(seed)
        except AssertionError as differs:
            raise AssertionError(f"request {seed}, {compared} before it agree: {differs}") from None
        if compared >= count:
            sys.stdout.write(f"{compared} of {seed + 1} requests had an answer, and agree\n")
            return


@pytest.mark.thorough
def test_what_a_search_prints_compare_prints_again(asked):
    def has_answer(seed):
        request, compared = Request(seed), False
        for row, words in searched(request, asked):
            (record,) = asked("compare", *words)
            assert_same(row, record, ranks_are_named=True)
            compared = compared or record["fits"]
        return compared

    compare_until(REQUESTS, has_answer)


@pytest.mark.thorough
def test_where_they_choose_they_agree(asked):
    """Without chips all three choose the deployment; with chips the layout."""

    def has_answer(seed):
        request = Request(-1 - seed)
        batch = ["--batch", request.batch]
        compared = asked("compare", *request.words, *batch)
        fitted = asked("fit", *request.words[: -len(request.price)], *batch)
        swept = asked("sweep", *request.words, *batch)
        assert len(compared) == len(fitted) == len(swept) <= 1
        for record, fit, row in zip(compared, fitted, swept, strict=True):
            assert_same(fit, record)
            assert_same(row, record)
        words = [*request.words, *request.chips]
        listed = asked("compare", *words, "--batch", f"1,{request.batch},999")
        alone = asked("compare", *words, *batch)
        fitted = asked("fit", *request.words[: -len(request.price)], *request.chips, *batch)
        swept = asked("sweep", *words, *batch)
        assert len(alone) == len(fitted) == len(swept)
        for record, fit, row in zip(alone, fitted, swept, strict=True):
            assert_same(fit, record)
            assert_same(row, record)
            # A layout that several batches share has the warnings of each.
            assert without_warnings(record) in map(without_warnings, listed)
        return any(record["fits"] for record in compared)

    compare_until(REQUESTS * 2 // 5, has_answer)


@pytest.mark.thorough
@pytest.mark.parametrize("ranks", [("--tp", 1), ("--dp", 1), ("--tp", 1, "--ep", 1, "--dp", 1)])
@pytest.mark.parametrize("chip", ["wse-3", "groq-lpu"])
def test_one_rank_of_a_layer_asks_nothing_of_chips_that_have_no_other(chip, ranks, asked):
    """In no command, and whatever other chips are named."""
    words = ("mixtral-8x7b", "--batch", 7, "--on")
    (expected,) = asked("compare", *words, chip)
    assert expected["fits"]
    for command in ("compare", "fit", "sweep"):
        for others in ("", ",h100-sxm"):
            found = asked(command, *words, chip + others, *ranks)[0]
            chips = {key: int(found[key]) for key in ("chips", *WHOLE)}
            assert chips == {key: expected[key] for key in chips}
            assert not any("do not apply" in one for one in found.get("warnings", []))


@pytest.mark.parametrize("ranks", [("--tp", 1), ("--ep", 1, "--dp", 1), ("--tp", 8)])
def test_ranks_of_a_layer_leave_wafers_as_many_as_each_batch_needs(ranks, asked):
    """Chips that take layers whole have none of these ranks: each batch has its own wafers."""
    words = ("mixtral-8x7b", "--on", "wse-3,h100-sxm", "--batch", "1,64,4096", *ranks)
    compared, swept = asked("compare", *words), asked("sweep", *words)
    assert len(compared) == len(swept) == 6
    for record, row in zip(compared, swept, strict=True):
        assert_same(row, record)
    wafers = [row["chips"] for row in swept if row["hardware"] == "wse-3"]
    gpus = [row["chips"] for row in swept if row["hardware"] == "h100-sxm"]
    assert wafers[0] < wafers[2]
    assert len(set(gpus)) == 1


@pytest.mark.parametrize("hit", [0.0, 0.5, 0.9])
def test_fit_has_the_layout_of_compare_where_prompts_are_cached(hit, asked):
    words = ("deepseek-v2-lite", "--on", "h200-sxm", "--chips", 12, "--output", 200)
    hits = ("--prefix-hit", hit, "--batch", "1,8,40")
    fit, compared = (asked(one, *words, *hits) for one in ("fit", "compare"))
    layouts = [[[row[key] for key in WHOLE] for row in rows] for rows in (fit, compared)]
    assert layouts[0] == layouts[1]
    assert len(fit) == 3
