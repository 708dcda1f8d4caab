"""Ways to damage a file: its bytes, its lines, its values, its cells."""

import csv
import json
import re
from collections.abc import Callable
from random import Random
from typing import Any

import yaml

from benchmarks.fuzz import files, values

_DUMPER: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_SCALAR = re.compile(r"(?<=[:\[,] )[^\s,{}\[\]\"'#]+")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")

EXTREMES = (
    *(
        "0",
        "-1",
        "-0.0",
        "1e308",
        "-1e308",
        "1e-320",
        "1e400",
        "1e-400",
        "9" * 60,
        "9" * 400,
        "0.0",
    ),
    *("1.5", "nan", ".nan", "NaN", "inf", ".inf", "-.inf", "Infinity", "1e+300", "1.0e-300", "1e9"),
    *(
        "NaT",
        "today",
        "1.2.3",
        ",",
        "1,5",
        "1_0",
        "\uff11\uff12",
        "9" * 5000,
        "x" * 140_000,
        "1e-15",
    ),
    *("4294967296", "9223372036854775808", "010", "0x10", "1_000", "1:30", "2", "1", "1000000000"),
)
ODD = (
    *("null", "~", "true", "no", "[]", "{}", '""', "'", '"', "[", "{", "- x", "? x", "!!python/x"),
    *("&a x", "*a", "| x", "2026-11-22", "80 parsecs", "80 GiB", "3.35 TB/s", "-5 W", "nan GB"),
    *("1e308 GB", "1e-320 TB/s", "1e400 us", "0 GB/s", "9" * 40 + " B", "1 PB", "1 b", "80GB"),
    *(
        '"=1+1"',
        '"@x"',
        '"a|b"',
        '"\\e[31mred"',
        '"a\\nb"',
        '"\\u202e"',
        "日本語",
        "x" * 5000,
        "fp8",
    ),
)
JSON_ODD: tuple[Any, ...] = (
    *(
        None,
        True,
        False,
        0,
        -1,
        1,
        2,
        3,
        1.5,
        -0.0,
        1e308,
        1e-320,
        1e-308,
        10**30,
        10**400,
        1e-15,
        1e17,
        "",
        " ",
    ),
    *(
        "x",
        "1",
        "nan",
        "=1+1",
        "a|b",
        "\x1b[31mred",
        "\u202e",
        "x" * 5000,
        "\ud800",
        "a\nb",
        "日本語",
    ),
    *([], {}, [[]], [1], {"a": 1}, [None], {"value": 1}, float("nan"), float("inf"), -float("inf")),
)
BINARY = bytes(range(256))
INSERTED = (
    *(
        b"\0",
        b"\xff",
        b"\x1b[31m",
        b"\t",
        b"\r",
        b"\xef\xbb\xbf",
        b"\x85",
        b"\x0c",
        b"\xe2\x80\xa8",
    ),
    *(b"9" * 5000, b"x" * 140_000, b"GPU KV cache size: , tokens ", b"Load weight end. " * 50_000),
    *(b'"', b"'", b",", b"\n", BINARY, b"x" * 100_000, b"[" * 2000, b'{"a":' * 2000),
)


def _cut(rng: Random, raw: bytes) -> bytes:
    return raw[: rng.randrange(len(raw) + 1)]


def _flipped(rng: Random, raw: bytes) -> bytes:
    new = bytearray(raw)
    for _ in range(rng.randint(1, 8)):
        if new:
            new[rng.randrange(len(new))] = rng.randrange(256)
    return bytes(new)


def _inserted(rng: Random, raw: bytes) -> bytes:
    place = rng.randrange(len(raw) + 1)
    extra = rng.choice(INSERTED)
    return raw[:place] + extra + raw[place:]


WHOLE: tuple[Callable[[Random, bytes], bytes], ...] = (
    lambda _, raw: b"\xef\xbb\xbf" + raw,
    lambda _, raw: raw.replace(b"\n", b"\r\n"),
    lambda _, raw: raw.replace(b"\n", b"\r"),
    lambda _, raw: raw.decode("utf-8", "replace").encode("utf-16"),
    lambda _, raw: raw.decode("utf-8", "replace").encode("utf-32-le"),
    lambda _, raw: raw + raw,
    lambda _, raw: raw * 40,
    lambda *_: b"",
    lambda *_: b"\n \n",
    lambda *_: b"# nothing\n",
    lambda *_: b"---\n...\n",
    lambda _, raw: raw + b"\n---\nid: second\n",
    lambda *_: b"[]",
    lambda *_: b"{}",
    lambda *_: b"null",
    lambda *_: b"7",
    lambda *_: b'"text"',
    lambda *_: b"- a\n- b\n",
    lambda *_: BINARY * 4,
    lambda *_: b"a: " + b"[" * 3000 + b"]" * 3000,
    lambda *_: b"[" * 100_000,
    lambda *_: b'{"a":' * 3000 + b"1" + b"}" * 3000,
    lambda *_: (
        b"a: &a [x,x,x,x,x,x,x,x,x]\n"
        + b"".join(
            b"%c: &%c [*%c,*%c,*%c,*%c,*%c,*%c]\n" % (each, each, *[each - 1] * 6)
            for each in b"bcdefghij"
        )
    ),
    lambda _, raw: raw + b"z: &z {<<: *z}\n",
    lambda _, raw: raw + b" " * 300_000,
    lambda _, raw: raw + b"\n#" + b"x" * 3_000_000,
    lambda *_: b"x" * 70_000,
    lambda *_: b"id,source\n",
    lambda *_: b"id,source\n" * 20_000,
)
"""Damage to a file as a whole."""


def _lines(rng: Random, raw: bytes) -> bytes:
    """Repeat, delete, swap, indent or change a line."""
    lines = raw.split(b"\n")
    place = rng.randrange(len(lines))
    line = lines[place]
    way = rng.randrange(9)
    if way == 0:
        lines.insert(place, line)  # a key twice
    elif way == 1:
        del lines[place]
    elif way == 2:
        other = rng.randrange(len(lines))
        lines[place], lines[other] = lines[other], line
    elif way == 3:
        lines[place] = rng.choice([b" ", b"  ", b"\t", b"        "]) + line
    elif way == 4:
        lines[place] = line.lstrip()
    elif way == 5:
        lines.insert(place, rng.choice([b"extra: 1", b"  extra: {value: 1}", b"? [a, b]", b"- x"]))
    elif way == 6:
        lines[place] = re.sub(rb"^(\s*(?:- )?)[\w.-]+:", rb"\1renamed:", line)
    elif way == 7:
        lines[place] = re.sub(rb": (.+)$", rb": &a \1", line)
    else:
        lines[place] = line.replace(b": ", b":")
    return b"\n".join(lines)


def _scalars(rng: Random, raw: bytes) -> bytes:
    """Put something else where a value stands."""
    text = raw.decode("utf-8", "replace")
    number = rng.random() < 0.6
    found = list((_NUMBER if number else _SCALAR).finditer(text))
    if not found:
        return _cut(rng, raw)
    at = rng.choice(found)
    new = rng.choice(EXTREMES if number and rng.random() < 0.8 else ODD)
    return (text[: at.start()] + new + text[at.end() :]).encode("utf-8")


def _tree(rng: Random, data: Any, odd: tuple[Any, ...]) -> Any:
    """Change one value anywhere in plain data."""
    nodes: list[tuple[Any, Any]] = []
    waiting = [data]
    while waiting:
        node = waiting.pop()
        keys = node if isinstance(node, dict) else range(len(node))
        nodes += [(node, key) for key in keys]
        waiting += [node[key] for key in keys if isinstance(node[key], dict | list)]
    if not nodes:
        return rng.choice(odd)
    parent, key = rng.choice(nodes)
    way = rng.random()
    if way < 0.6:
        parent[key] = rng.choice(odd)
    elif way < 0.75:
        del parent[key]
    elif way < 0.85:
        parent[key] = [parent[key]]
    elif isinstance(parent, dict):
        parent[rng.choice(["extra", "", "id", "x" * 300, "\x1b[31m", "é"])] = rng.choice(odd)
    else:
        parent.extend([parent[key]] * rng.choice((1, 50)))
    return data


def _json_values(rng: Random, raw: bytes) -> bytes:
    text = raw.decode("utf-8", "replace")
    is_lines = text.count("\n{") > 0 and not text.startswith("[")
    try:
        data = [json.loads(line) for line in text.splitlines()] if is_lines else json.loads(text)
    except (ValueError, RecursionError):
        return _scalars(rng, raw)
    if not isinstance(data, dict | list):
        return raw
    new = _tree(rng, data, JSON_ODD)
    if is_lines and isinstance(new, list):
        return "\n".join(map(json.dumps, new)).encode()
    return json.dumps(new, indent=rng.choice((None, 1))).encode()


def _yaml_values(rng: Random, raw: bytes) -> bytes:
    try:
        data = yaml.load(raw, Loader=_LOADER)  # noqa: S506  (a safe one)
    except (yaml.YAMLError, ValueError, RecursionError):
        return _scalars(rng, raw)
    if not isinstance(data, dict | list):
        return raw
    new = _tree(
        rng,
        data,
        (
            *(one for one in JSON_ODD if one != "\ud800"),
            *EXTREMES,
            "80 GiB",
            "1e308 TB/s",
            "1e-320 us",
        ),
    )
    text = yaml.dump(new, sort_keys=False, allow_unicode=rng.random() < 0.5, Dumper=_DUMPER)
    return str(text).encode("utf-8", "replace")


def _cells(rng: Random, raw: bytes) -> bytes:
    """Change the cells, rows or columns of a CSV."""
    try:
        rows = files.rows_of(raw.decode("utf-8", "replace").replace("\0", ""))
    except csv.Error:  # a cell that an earlier change made longer than CSV readers take
        return raw
    if not rows or not rows[0]:
        return raw
    row, column = rng.randrange(len(rows)), rng.randrange(len(rows[0]))
    way = rng.random()
    if way < 0.7:
        row = rng.randrange(1, len(rows)) if len(rows) > 1 else 0
        numbers = [at for at, cell in enumerate(rows[row]) if _NUMBER.fullmatch(cell)]
        column = rng.choice(numbers) if numbers and rng.random() < 0.6 else column
        if column < len(rows[row]):
            rows[row][column] = rng.choice(values.NUMBERS + EXTREMES + values.NAMES[:60])
    elif way < 0.76:
        del rows[row]
    elif way < 0.82:
        rows = [[*each[:column], *each[column + 1 :]] for each in rows]
    elif way < 0.88:
        rows[row] = rows[row] + ["x"] if rng.random() < 0.5 else rows[row][:-1]
    elif way < 0.94:
        rows = [[*each, each[column] if column < len(each) else ""] for each in rows]
    else:
        return files.csv_text(rows).replace(",", rng.choice(";\t|")).encode()
    return files.csv_text(rows).encode("utf-8", "surrogatepass")


VALUES: dict[str, Callable[[Random, bytes], bytes]] = {
    ".json": _json_values,
    ".jsonl": _json_values,
    ".csv": _cells,
    ".yaml": _yaml_values,
    ".log": _scalars,
}


def damaged(rng: Random, kind: str, raw: bytes) -> tuple[bytes, bool]:
    """Return a file's bytes made wrong, and whether the fault is in one place of it."""
    if rng.random() < 0.05:  # another kind of file under its name
        other = rng.choice(sorted(files.ENDINGS))
        return files.sound(rng, other)[1], False
    if rng.random() < 0.12:
        return rng.choice(WHOLE)(rng, raw), False
    in_place = True
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        own = VALUES[files.ENDINGS[kind]]
        ways = (own, own, own, _scalars, _scalars, _lines, _lines, _cut, _flipped, _inserted)
        way = rng.choice(ways)
        in_place = in_place and way not in (_flipped, _inserted)
        raw = way(rng, raw)
    return raw, in_place and bool(raw.strip())
