"""Random questions to the planner: those that are one question twice, and those that ask for more.

    python -m benchmarks.plans same --count 300
    python -m benchmarks.plans monotone --count 400

`same` asks by options and by a workload file of one class: both have one plan, to the last digit.
`monotone` changes one thing: more requests, tighter limits, longer lengths and more confidence
never cost less, and more means never serve less. It asks for one format: with several, fewer bits
lead only where the published ones do not fit, and cost less.
"""

import argparse
import json
import random
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fastcalc as fc
from fastcalc.errors import InputError

Asked = dict[str, Any]

MODELS = {"llama-3.1-8b": ["l40s", "h100-sxm", "rtx-4090"], "llama-3.1-70b": ["h100-sxm", "mi355x"]}
MODELS |= {"qwen3-30b-a3b": ["h100-sxm", "l40s", "b200"], "gpt-oss-120b": ["h100-sxm", "b200"]}


FORMATS = {"gpt-oss-120b": {"weights": "mxfp4", "kv": "bf16"}}
"""Formats that a model is asked in, where these are not 16 bits."""


def formats(asked: Asked) -> Asked:
    """One format of weights and of caches for the model of a question."""
    return FORMATS.get(asked["model"], {"weights": "bf16", "kv": "bf16"})


def draw(chance: random.Random) -> Asked:
    """One question for a rate: a model, chips, lengths, limits and options."""
    model = chance.choice(list(MODELS))
    chips = chance.sample(MODELS[model], chance.randint(1, 2))
    asked: Asked = {"model": model, "on": ",".join(chips), "rate": chance.choice([0.5, 3, 20])}
    asked |= {"prompt": chance.choice([200, 1000, 4000]), "output": chance.choice([50, 300, 1000])}
    asked |= {
        "ttft": chance.choice(["400ms", "2s"]),
        "tpot": chance.choice(["15ms", "30ms", "60ms"]),
    }
    asked["by"] = chance.choice(["node", "chip"])
    if chance.random() < 0.3:
        asked |= chance.choice([{"confidence": 90}, {"objective": "chips"}, {"load": 0.6}])
    return asked


def planned(asked: Asked) -> Any:
    """The answer to a question, refused or not."""
    return fc.plan(**{**asked, "rate": f"{asked['rate']}/s"} if "rate" in asked else asked)


def costs(answer: Any) -> float:
    """Least cost of an answer; infinity where nothing serves it."""
    records = answer.records
    return records[0]["cost"] if records else float("inf")


def as_file(asked: Asked, folder: Path) -> Asked:
    """The same question with its requests in a workload file."""
    names = ("prompt", "output", "ttft", "tpot", "rate")
    prompt, output, ttft, tpot, rate = (asked[name] for name in names)
    only = {"id": "only", "rate_fraction": 1.0, "input_distribution": prompt}
    only |= {"output_distribution": output, "ttft": ttft, "tpot": tpot}
    file = folder / "only.yaml"
    file.write_text(json.dumps({"version": "2", "aggregate_rate": rate, "clients": [only]}))
    return {key: value for key, value in asked.items() if key not in names} | {"traffic": file}


def compared(record: dict[str, Any]) -> dict[str, Any]:
    """A record without the names of its classes."""
    return {key: value for key, value in record.items() if key != "classes"}


def same(count: int, seed: int) -> Iterator[str]:
    """Yield the questions whose answer by options is not that of a file of one class."""
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(count):
            asked = draw(chance)
            by_options, by_file = planned(asked), fc.plan(**as_file(asked, Path(folder)))
            answers = [[*map(compared, answer.records)] for answer in (by_options, by_file)]
            if answers[0] != answers[1]:
                yield f"{asked}"


CHANGES: dict[str, list[Any]] = {
    "rate": [0.5, 3, 20, 60],
    "ttft": ["2s", "400ms", "200ms"],
    "tpot": ["60ms", "30ms", "15ms"],
    "prompt": [200, 1000, 4000, 8000],
    "output": [50, 300, 1000],
    "confidence": [50, 70, 90],
}
"""Values of an option, each asking for no less than the one before."""


def monotone(count: int, seed: int) -> Iterator[str]:
    """Yield the questions where more is asked and costs less, or more means serve less."""
    chance = random.Random(seed)
    for _ in range(count):
        asked = draw(chance)
        asked |= formats(asked)
        if chance.random() < 0.3:
            yield from _of_means(asked, chance)
            continue
        name = chance.choice(list(CHANGES))
        if (
            name == "output"
        ):  # a longer one meets others' prompts at more tokens, which evens them out
            asked.pop("tpot")
        first, second = sorted(chance.sample(range(len(CHANGES[name])), 2))
        less, more = ({**asked, name: CHANGES[name][place]} for place in (first, second))
        before, after = costs(planned(less)), costs(planned(more))
        if after < before * (1.0 - 1e-9):
            yield f"{more} costs {after:g}, and {name} {less[name]} {before:g}"


def _of_means(asked: Asked, chance: random.Random) -> Iterator[str]:
    """Yield a question where more chips of a kind that is owned serve fewer requests."""
    chip = asked["on"].split(",")[0]
    kept = {key: value for key, value in asked.items() if key not in ("rate", "objective", "on")}
    counts = sorted(chance.sample([1, 2, 3, 4, 8, 12, 16], 2))
    served = [
        answer.details.get("requests_per_s") or 0.0
        for count in counts
        for answer in [fc.plan(**kept, on=chip, own={chip: count})]
    ]
    if served[1] < served[0] * (1.0 - 1e-9):
        yield f"{kept} on {counts} {chip}: {served}"


def main() -> None:
    """Ask, print what is wrong, and exit with 1 if anything is."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.plans", description=__doc__)
    parser.add_argument("check", choices=["same", "monotone"])
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    wrong = 0
    try:
        for sentence in {"same": same, "monotone": monotone}[asked.check](asked.count, asked.seed):
            wrong += 1
            sys.stdout.write(f"{sentence}\n")
    except InputError as error:
        sys.exit(f"a question is refused: {error}")
    sys.stdout.write(f"{asked.count} questions, {wrong} wrong\n")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
