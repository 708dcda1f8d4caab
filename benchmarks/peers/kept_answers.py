"""Answers of peers to questions about measured points, each asked once and kept in the cache."""

import json
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.peers.install import HERE, AbsentError, Peer, ask

AT_ONCE = 400
"""Questions of a call: what is answered is kept, whatever becomes of the later ones."""

Question = Mapping[str, Any]
Answer = dict[str, Any]


def rows_script(peer: Peer) -> Path:
    """Return what asks a peer about measured points."""
    return HERE / f"ask_{peer.name.replace('-', '_')}_rows.py"


def answers_of(
    peer: Peer, questions: Sequence[Question], cache: Path, at_once: int = AT_ONCE
) -> dict[str, Answer]:
    """Return a peer's answers by the ids of the questions.

    Parameters
    ----------
    peer : Peer
        Installed in the cache.
    questions : sequence of mapping
        As its script takes them, with an ``id`` each.
    cache : Path
        Where answers are kept, by version and question.
    at_once : int
        Questions of a call, few where each takes seconds. [1]

    Raises
    ------
    AbsentError
        If the peer fails.
    """
    file = cache / f"answers-{peer.package}.jsonl"
    answers = _kept(file)
    missing = [question for question in questions if _key(question) not in answers]
    for start in range(0, len(missing), at_once):
        print(f"asking {peer.name}: {start} of {len(missing)} points", file=sys.stderr)
        chunk = missing[start : start + at_once]
        answers |= _asked(peer, chunk, cache, file)
    return {str(question["id"]): answers[_key(question)] for question in questions}


def seconds_of(answers: Iterable[Answer]) -> float:
    """Return how long a peer took for its answers when it was asked. [s]"""
    return sum(float(answer["seconds"]) for answer in answers)


def _asked(peer: Peer, questions: Sequence[Question], cache: Path, file: Path) -> dict[str, Answer]:
    begin = time.perf_counter()
    printed = ask(peer, cache, rows_script(peer), json.dumps(questions)).splitlines()
    seconds = (time.perf_counter() - begin) / len(questions)
    if len(printed) != len(questions):
        raise AbsentError(f"{len(questions)} questions have {len(printed)} answers")
    answered = {
        _key(question): {**json.loads(line), "seconds": seconds}
        for question, line in zip(questions, printed, strict=True)
    }
    with file.open("a", encoding="utf-8") as stream:
        stream.writelines(
            f"{json.dumps({'key': key, 'answer': answer})}\n" for key, answer in answered.items()
        )
    return answered


def _key(question: Question) -> str:
    return json.dumps({name: value for name, value in question.items() if name != "id"})


def _kept(file: Path) -> dict[str, Answer]:
    if not file.exists():
        return {}
    lines = map(json.loads, file.read_text(encoding="utf-8").splitlines())
    return {line["key"]: line["answer"] for line in lines}
