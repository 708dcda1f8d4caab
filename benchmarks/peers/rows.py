"""aiconfigurator and fastcalc on the same measured points: factors off, by kind.

aiconfigurator interpolates operators measured on each chip; fastcalc is fitted on these points.
So fastcalc is scored twice: as shipped, and with the source of each point left out of the fit.
"""

import json
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.peers.install import HERE, PEERS, AbsentError, ask, install
from benchmarks.peers.jobs import InexpressibleError, Job, job_of
from benchmarks.table import factor, markdown, spread
from fastcalc.catalogue.store import Catalogue
from fastcalc.errors import InputError
from fastcalc.evidence.calibrate import calibrate
from fastcalc.evidence.deployments import PointDeployments
from fastcalc.evidence.point import Point
from fastcalc.evidence.predict import Batch, gather
from fastcalc.evidence.score import predictions_of
from fastcalc.evidence.shipped import Evidence, shipped
from fastcalc.evidence.stacked import rows_of

SCRIPT = HERE / "ask_aiconfigurator_rows.py"


@dataclass(frozen=True)
class Scored:
    """A point that both predict.

    Attributes
    ----------
    point : Point
        What was measured.
    rule : str
        How it is predicted.
    theirs, ours : float
        Predictions in the point's unit.
    left_out : float or None
        Ours with the point's source left out of the fit; None for points of no fit.
    has_experts : bool
        Whether the model routes experts.
    """

    point: Point
    rule: str
    theirs: float
    ours: float
    left_out: float | None
    has_experts: bool = False

    def speed(self, predicted: float) -> float:
        """Return predicted over measured, both as rates: above 1 is too fast. [1]"""
        ratio = predicted / self.point.value
        return 1.0 / ratio if self.point.is_time else ratio


@dataclass(frozen=True)
class Contest:
    """What came of asking for every point.

    Attributes
    ----------
    scored : sequence of Scored
        Points that both predict.
    refused : Counter
        Why others are not among them.
    """

    scored: Sequence[Scored]
    refused: Counter[str]


def compete(cache: Path, held_out: bool = False) -> Contest:
    """Ask aiconfigurator for every measured point that it can express.

    Parameters
    ----------
    cache : Path
        Where its virtual environment is.
    held_out : bool
        Whether to score the sources that are kept from every fit, in place of the others.

    Raises
    ------
    AbsentError
        If aiconfigurator cannot be installed or called.
    """
    evidence, catalogue = shipped(), Catalogue()
    batches, _ = gather(_points(evidence, held_out), PointDeployments(catalogue))
    jobs, refused = _jobs(batches, cache / "shapes")
    answers = _answers(jobs, cache)
    own = {one.point.id: one for one in predictions_of(rows_of(batches))}
    unseen: dict[str, float] = {}
    if not held_out:
        print("fitting with each source left out", file=sys.stderr)
        fitted = calibrate(evidence, catalogue).left_out
        unseen = {one.point.id: one.expected for one in fitted}
    scored = []
    for job in jobs:
        answered, key = answers[job.point.id], job.point.id
        if "reason" in answered:
            refused[f"{job.question['system']}: {answered['reason']}"] += 1
            continue
        ours, theirs = own[key], job.value(answered)
        scored.append(
            Scored(job.point, job.rule, theirs, ours.expected, unseen.get(key), ours.has_experts)
        )
    return Contest(scored, refused)


def _points(evidence: Evidence, held_out: bool) -> list[Point]:
    excluded = set(evidence.unpredictable) | set(evidence.suspect)
    return [
        point
        for point in evidence.points
        if point.id not in excluded and evidence.is_held_out(point) == held_out
    ]


def _jobs(batches: Sequence[Batch], shapes: Path) -> tuple[list[Job], Counter[str]]:
    jobs, refused = [], Counter[str]()
    for batch in batches:
        for point in batch.points:
            try:
                jobs.append(job_of(batch, point, shapes))
            except InexpressibleError as reason:
                refused[str(reason)] += 1
    return jobs, refused


def _answers(jobs: Sequence[Job], cache: Path) -> dict[str, dict[str, object]]:
    peer = next(one for one in PEERS if one.name == "aiconfigurator")
    install(peer, cache)
    print(f"asking {peer.name} for {len(jobs)} points", file=sys.stderr)
    answered = ask(peer, cache, SCRIPT, json.dumps([job.question for job in jobs]))
    return {one["id"]: one for one in map(json.loads, answered.splitlines())}


def table(contest: Contest) -> str:
    """Return factors off, all and by group, and which way each predictor errs."""
    heads = (
        "points",
        "n",
        "aiconfigurator median",
        "p90",
        "fastcalc, source held out, median",
        "p90",
        "fastcalc as shipped, median",
        "p90",
        "aiconfigurator x measured speed",
        "fastcalc x",
    )
    groups = {"all": list(contest.scored)}
    groups |= _grouped(contest.scored, lambda one: "experts" if one.has_experts else "dense")
    groups |= _grouped(contest.scored, lambda one: f"kind: {one.rule}")
    return markdown(heads, [_line(name, members) for name, members in groups.items()])


def _grouped(scored: Sequence[Scored], key: Callable[[Scored], str]) -> Mapping[str, list[Scored]]:
    groups: dict[str, list[Scored]] = defaultdict(list)
    for one in scored:
        groups[key(one)].append(one)
    return dict(sorted(groups.items()))


def _line(name: str, members: Sequence[Scored]) -> list[str]:
    theirs = _factors([(one.theirs, one) for one in members])
    shipped_factors = _factors([(one.ours, one) for one in members])
    unseen = _factors([(one.left_out, one) for one in members if one.left_out is not None])
    return [
        name,
        str(len(members)),
        *theirs,
        *unseen,
        *shipped_factors,
        f"{median(one.speed(one.theirs) for one in members):.2f}",
        f"{median(one.speed(one.ours) for one in members):.2f}",
    ]


def _factors(predicted: Sequence[tuple[float, Scored]]) -> tuple[str, str]:
    if not predicted:
        return "", ""
    middle, high = spread([factor(value, one.point.value) for value, one in predicted])
    return f"{middle:.3f}", f"{high:.2f}"


def refusals(contest: Contest) -> str:
    """Return why points are not in the table, most frequent first."""
    return markdown(
        ("not compared", "points"),
        [[reason, str(count)] for reason, count in contest.refused.most_common()],
    )


def section(cache: Path, *, held_out: bool) -> str:
    """Return the tables of the contest, with what they hold, or why there is none.

    Parameters
    ----------
    cache : Path
        Where aiconfigurator's virtual environment is.
    held_out : bool
        Whether to score the sources that are kept from every fit, in place of the others.
    """
    heading = "## Compared with aiconfigurator on measured points"
    try:
        contest = compete(cache, held_out)
    except (AbsentError, InputError) as reason:
        return f"{heading}\n\nSkipped: {reason}."
    which = "never used for fitting" if held_out else "used for fitting"
    return "\n\n".join(
        [
            heading,
            f"The table covers the {len(contest.scored)} rows of `evidence/measured.csv` {which} "
            "that both calculators support. A factor is predicted / measured or its inverse, "
            "whichever is larger: 1.10 is an error of 10%. In columns that end in *x*, a value "
            "above 1 means too fast.",
            table(contest),
            "Not compared, because aiconfigurator does not support it:",
            refusals(contest),
        ]
    )
