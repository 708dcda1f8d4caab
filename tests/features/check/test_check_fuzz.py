"""The loader and the check on anything: no traceback, no hang, no exit code but 0, 1 and 2.

150 cases here; ``FASTCALC_FUZZ=20000 pytest tests/features/check/test_check_fuzz.py`` for more.
"""

import math
import os
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from fastcalc.catalogue.folders import shipped_folder
from fastcalc.catalogue.kinds import kind_of
from fastcalc.catalogue.reader import read, scan
from fastcalc.catalogue.schema import Engine, Hardware, Model
from fastcalc.catalogue.store import load
from fastcalc.errors import InputError
from fastcalc.features.check.lint import check_document
from fastcalc.features.check.rule import RULES, RuleContext
from tests.helpers import loaded, sweep
from tests.strategies import Dice, dice, scaled

CASES = int(os.environ.get("FASTCALC_FUZZ", scaled(150)))
SHARE = settings(max_examples=max(CASES // 5, 1))
CPU_SECONDS = 20.0  # far above what any case takes, far below what one that explodes would
SCRATCH = Path(tempfile.mkdtemp(prefix="fastcalc-fuzz-"))
TEXTS = [
    path.read_text() for kind in ("hardware", "models", "engines") for path in shipped_folder(kind).glob("*.yaml")
]  # fmt: skip

KEYS = sorted(
    {*Hardware.model_fields, *Model.model_fields, *Engine.model_fields}
    | {"capacity", "bandwidth", "value", "source", "printed", "reading", "bf16", "fp8", "chip"}
)
WORDS = ["80 GiB", "3.35 TB/s", "1 PFLOP/s", "0 W", "1e400 B", "hopper", "HBM3", "1,979"]
NUMBERS = [0.0, -0.0, math.nan, math.inf, -math.inf, 5e-324, 1.7976931348623157e308, 1e-9, 2.0**53]


def random_text(roll: Dice, length: int) -> str:
    """A text of any letters, of which some are special to YAML or no text at all."""
    letters = (
        chr(roll.whole(0, 0x10FFFF)) if roll.either() else roll.choice(SPECIAL)
        for _ in range(roll.whole(0, length))
    )
    return "".join(letter for letter in letters if not "\ud800" <= letter <= "\udfff")


SPECIAL = "abid:{}[],- \n\t&*!|>'\"#%@`?0.5eE_~<\0\x85\u2028\ufeff"


def random_key(roll: Dice) -> str:
    return roll.choice(KEYS) if roll.random() < 0.8 else random_text(roll, 8)


def random_value(roll: Dice, depth: int = 3) -> Any:
    """A value of any type, nested a few times."""
    kind = roll.whole(0, 9 if depth else 5)
    if kind > 7:
        return {random_key(roll): random_value(roll, depth - 1) for _ in range(roll.whole(0, 5))}
    if kind > 5:
        return [random_value(roll, depth - 1) for _ in range(roll.whole(0, 4))]
    scalars = (
        None, roll.either(), roll.whole(-(10**30), 10**30), random_text(roll, 30), roll.choice(WORDS),
        roll.choice(NUMBERS) if roll.either() else roll.lognormvariate(0.0, 30.0),
    )  # fmt: skip
    return scalars[kind]


VALUES = dice.map(random_value)


def written(data: Any) -> bytes:
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    return yaml.dump(data, Dumper=dumper, allow_unicode=True).encode("utf-8", "surrogatepass")


def survives(raw: bytes) -> None:
    """Check and load some bytes; whatever is wrong with them is a sentence."""
    path = SCRATCH / "case.yaml"
    path.write_bytes(raw)
    start = time.process_time()
    document = scan(path)
    for strict in (False, True):
        for fault in check_document(
            document, kind_of(document), RuleContext(date(2026, 11, 21), strict)
        ):
            assert fault.rule in RULES
            assert "\n" not in fault.message
            assert len(fault.message) < 2000
    with suppress(InputError):
        read(path)  # what cannot be read is refused whatever it is loaded as
        for schema in (Hardware, Model, Engine):
            with suppress(InputError):
                load(path, schema)
    assert time.process_time() - start < CPU_SECONDS


@SHARE
@given(st.binary(max_size=3000))
def test_random_bytes(raw):
    survives(raw)


@SHARE
@given(st.text(alphabet=st.sampled_from("abid:{}[],- \n\t&*!|>'\"#%@`?0.5eE_~<"), max_size=400))
def test_random_yaml_like_text(text):
    survives(text.encode())


@pytest.mark.thorough
@SHARE
@given(dice)
def test_random_entries(roll):
    keys = roll.sample(KEYS, roll.whole(0, 12))
    survives(written({key: random_value(roll) for key in keys}))


@pytest.mark.thorough
@SHARE
@given(st.sampled_from(TEXTS), st.data())
def test_shipped_files_with_bytes_changed(text, data):
    raw = bytearray(text.encode())
    for _ in range(data.draw(st.integers(1, 8))):
        place = data.draw(st.integers(0, len(raw) - 1))
        change = data.draw(st.sampled_from(["flip", "cut", "insert", "copy"]))
        if change == "flip":
            raw[place] = data.draw(st.integers(0, 255))
        elif change == "cut":
            del raw[place : place + data.draw(st.integers(1, 40))]
        elif change == "insert":
            raw[place:place] = data.draw(st.binary(min_size=1, max_size=8))
        else:
            raw[place:place] = raw[max(place - 60, 0) : place]
        if not raw:
            return
    survives(bytes(raw))


@pytest.mark.thorough
@SHARE
@given(st.sampled_from([text for text in TEXTS if "e+" not in text]).map(loaded), st.data())
def test_shipped_entries_with_values_changed(entry, data):
    keys = data.draw(st.lists(st.sampled_from(sorted(entry)), min_size=1, max_size=3))
    changed = dict(entry)
    for key in keys:
        changed[key] = data.draw(VALUES)
        old = entry[key]
        if isinstance(old, dict) and old and data.draw(st.booleans()):
            inner = data.draw(st.sampled_from(sorted(old)))
            changed[key] = {**old, inner: data.draw(VALUES)}
    survives(written(changed))


BOMBS = {
    "aliases": "a: &a [x,x,x,x,x,x,x,x,x]\n"
    + "".join(f"{name}: &{name} [{','.join('*' + before for _ in range(9))}]\n" for before, name in zip("abcdefgh", "bcdefghi", strict=True)),
    "deep lists": "a: " + "[" * 1000 + "]" * 1000,
    "deep mappings": "".join(" " * depth + "a:\n" for depth in range(500)),
    "many keys": "".join(f"key{number}: 1\n" for number in range(20_000)),
    "one key many times": "a: 1\n" * 40_000,
    "a long number": "cores: " + "9" * 200_000,
    "a long quantity": "area: 1" + " " * 200_000 + "x",
    "a long text": "id: " + "x" * 200_000,
    "a long key": "x" * 200_000 + ": 1",
    "a long printed": "vector: {value: 1 TFLOP/s, printed: '" + "1 / 2 TFLOPS, " * 15_000 + "'}",
    "a long reading": "vector: {value: 1 TFLOP/s, printed: 1, reading: '" + "1 x 2 x 3 of 4 " * 12_000 + "'}",
    "many aliases of names": "aliases: [" + ",".join("a" * 5 for _ in range(19_000)) + "]",
    "many memories": "memory:\n" + "  - {name: HBM, capacity: 1 GB, bandwidth: 1 TB/s}\n" * 4_000,
    "many sources": "sources:\n" + "".join(f"  s{number}: {{title: t}}\n" for number in range(9_000)),
    "many faults": "memory:\n" + "  - {nme: no}\n" * 9_000,
    "nul": "id: a\0b\n",
}  # fmt: skip


@pytest.mark.thorough
@pytest.mark.parametrize("name", sweep(BOMBS, lambda name: name == "many keys"))
def test_bombs(name):
    survives(BOMBS[name].encode())


# A process begins with the peak of the one that it comes from: here a small one.
MEASURED = """
import resource, subprocess, sys
ran = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL)
print(ran.returncode, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


@pytest.mark.thorough
def test_a_file_of_fifty_megabytes_and_memory(tmp_path):
    """The command on the worst of them: under 300 MB, and an exit code of its own."""
    for name, text in BOMBS.items():
        (tmp_path / f"{name.replace(' ', '-')}.yaml").write_text(text)
    with (tmp_path / "large.yaml").open("wb") as stream:
        stream.truncate(50_000_000)
    command = [sys.executable, "-m", "fastcalc", "check", "--format", "json", str(tmp_path)]
    ran = subprocess.run(
        [sys.executable, "-c", MEASURED, *command], capture_output=True, text=True, timeout=60
    )
    assert ran.stderr == ""
    code, kilobytes = map(int, ran.stdout.split())
    assert code == 1
    assert kilobytes < 300_000
