"""All calculators that install on all published points that each can express: docs/scoreboard.md.

``python -m benchmarks.scoreboard -o docs/scoreboard.md --cache ~/.cache/peers`` installs each into
an environment of its own, asks it once about every point, and scores it alongside fastcalc on the
same points. fastcalc is taken by fits that have not seen the source of a point: those that
``evidence/left_out.csv`` keeps, and the shipped engines for sources that no engine was fitted on.
"""

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from datetime import date
from pathlib import Path

from benchmarks.__main__ import machine
from benchmarks.peers.install import PEERS, ROWS_ALONE, AbsentError, Peer, install
from benchmarks.peers.jobs import InexpressibleError, Job, job_of
from benchmarks.peers.kept_answers import AT_ONCE, answers_of, seconds_of
from benchmarks.peers.questions import question_of, value_of
from benchmarks.score_tables import (
    FEW,
    Calculator,
    Row,
    by_class,
    overall,
    refusals,
    side_by_side,
)
from fastcalc.catalogue.store import Catalogue
from fastcalc.evidence.deployments import PointDeployments
from fastcalc.evidence.predict import gather
from fastcalc.evidence.shipped import shipped
from fastcalc.evidence.validate import Shipped, validate_shipped

MEASURED_OPERATORS = "aiconfigurator"
RULE = "\n---\n"
SLOW = {"aiconfigurator": 40, "genz-llm": 40}
"""Calculators that take seconds for a point, and how many a call is asked about. [1]"""


def rows_of(parts: Shipped, catalogue: Catalogue) -> list[Row]:
    """Return every point that can be predicted and is believed, none with a host's memory."""
    ours = {
        prediction.point.id: (prediction, is_apart)
        for part, is_apart in ((parts.fitted, False), (parts.held_out, True))
        for prediction in part.predictions
        if not prediction.point.is_offloaded
    }
    points = [prediction.point for prediction, _ in ours.values()]
    batches, _ = gather(points, PointDeployments(catalogue))
    return [Row(*ours[point.id], batch) for batch in batches for point in batch.points]


def ask(peer: Peer, rows: Sequence[Row], cache: Path) -> Calculator:
    """Return a calculator's answers, installed where it is not there yet."""
    title = peer.package.replace("==", " ")
    print(f"installing {peer.name}", file=sys.stderr)
    try:
        installed_s = install(peer, cache)
        if peer.name == MEASURED_OPERATORS:
            return _with_jobs(peer, rows, cache, installed_s)
        return _with_questions(peer, rows, cache, installed_s)
    except AbsentError as reason:
        return Calculator(title, absent=str(reason))


def _with_questions(peer: Peer, rows: Sequence[Row], cache: Path, installed_s: float) -> Calculator:
    points = [row.ours.point for row in rows]
    questions = [question_of(row.batch, point) for row, point in zip(rows, points, strict=True)]
    answers = answers_of(peer, questions, cache, SLOW.get(peer.name, AT_ONCE))
    refused, speeds = Counter[str](), dict[str, float]()
    for row, question in zip(rows, questions, strict=True):
        answer = answers[question["id"]]
        value = value_of(question, row.ours.point.metric, answer)
        if value is not None and value > 0:
            speeds[question["id"]] = row.speed(value)
        else:
            refused[str(answer.get("reason") or f"kind {question['rule']}")] += 1
    seconds = seconds_of(answers.values())
    title = peer.package.replace("==", " ")
    return Calculator(title, "", speeds, refused, installed_s, seconds)


def _with_jobs(peer: Peer, rows: Sequence[Row], cache: Path, installed_s: float) -> Calculator:
    jobs, refused, speeds = list[tuple[Row, Job]](), Counter[str](), dict[str, float]()
    for row in rows:
        try:
            jobs.append((row, job_of(row.batch, row.ours.point, cache / "shapes")))
        except InexpressibleError as reason:
            refused[str(reason)] += 1
    answers = answers_of(peer, [job.question for _, job in jobs], cache, SLOW[peer.name])
    for row, job in jobs:
        answer = answers[row.ours.point.id]
        if "reason" in answer:
            refused[str(answer["reason"])] += 1
        else:
            speeds[row.ours.point.id] = row.speed(job.value(answer))
    title = peer.package.replace("==", " ")
    return Calculator(title, "", speeds, refused, installed_s, seconds_of(answers.values()))


def page(rows: Sequence[Row], calculators: Sequence[Calculator]) -> str:
    """Return the tables between the rules of docs/scoreboard.md, with what they hold."""
    present = [calculator for calculator in calculators if not calculator.absent]
    operators = [peer for peer in present if peer.name.startswith(MEASURED_OPERATORS)]
    sources = len({row.ours.point.source_key for row in rows})
    seconds = sum(peer.installed_s + peer.answered_s for peer in present)
    parts = [
        f"Measured on {date.today().isoformat()}: {machine()}.",
        "## All points",
        f"The table covers {len(rows):,} points from {sources} sources: all points of "
        "`evidence/measured.csv` that can be predicted and are credible. A factor is predicted / "
        "measured or its inverse, whichever is larger; a bias above 1 means too fast. The three "
        "columns on the right show fastcalc on exactly the points that the calculator supports.",
        overall(rows, calculators),
        "## By class",
        f"Rows with at least {FEW} points.",
        by_class(rows, present),
        *[
            text
            for peer in operators
            for text in (f"## Compared with {peer.name}", side_by_side(rows, peer))
        ],
        "## Unsupported points",
        refusals(present),
        "Without stored answers, the comparison takes "
        f"{seconds / 60:.0f} minutes on such a machine.",
    ]
    return "\n\n".join(parts) + "\n"


def written(text: str, path: Path) -> str:
    """Return a page with what stands between its two rules replaced; the text alone without any."""
    pieces = path.read_text(encoding="utf-8").split(RULE) if path.exists() else []
    if len(pieces) != 3:
        return text
    return f"{pieces[0]}{RULE}\n{text}{RULE}{pieces[2]}"


def main() -> None:
    """Install, ask and score, and write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scoreboard", description=__doc__)
    parser.add_argument("--cache", type=Path, help="folder of environments and answers, kept")
    parser.add_argument("--only", help="names of calculators, separated by commas")
    parser.add_argument("-o", "--out", type=Path, help="write to a file")
    request = parser.parse_args()
    catalogue = Catalogue()
    rows = rows_of(validate_shipped(shipped(), catalogue), catalogue)
    names = request.only.split(",") if request.only else None
    peers = [peer for peer in (*PEERS, *ROWS_ALONE) if names is None or peer.name in names]
    with tempfile.TemporaryDirectory() as scratch:
        cache = (request.cache or Path(scratch)).resolve()
        calculators = [ask(peer, rows, cache) for peer in peers]
    text = page(rows, calculators)
    if request.out is None:
        sys.stdout.write(text)
    else:
        request.out.write_text(written(text, request.out), encoding="utf-8")


if __name__ == "__main__":
    main()
