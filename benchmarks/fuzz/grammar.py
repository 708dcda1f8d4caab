"""Cases: a command line, its files and its streams, drawn from the program's own commands."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from random import Random
from typing import Any

from typer.main import get_command

from benchmarks.fuzz import files, mutations, values
from fastcalc.cli.app import program

FITS = {
    "CHIP": ("hardware",),
    "MODEL": ("model", "config"),
    "ENGINE": ("engine",),
    "ENTRY": ("hardware", "model", "engine", "config"),
}
"""Kinds of file that go where a name goes."""

FILES_OF_COMMAND = {
    "check": ("hardware", "model", "engine"),
    "import": ("config",),
    "claims": ("claims",),
}
MEASURED = (
    *("measured", "measured", "vllm", "vllm-lines", "llama-bench", "llama-bench-lines"),
    *("sglang", "aiperf", "aiperf-requests", "guidellm", "trtllm"),
)
FILES_OF_FLAG = {
    "traffic": ("trace", "azure", "workload"),
    "log": ("log",),
    "like": MEASURED,
    "baseline": ("factors", "check-record"),
}
"""What a flag takes that is not what its command does."""
FOLDERS = {"hardware": "hardware", "models": "model", "engines": "engine"}
OUTS = ("out.json", "out.csv", "out.md", "out.txt", "out.yaml", "out", "é.json", "sub/x.json")
PLACES = ("folder", "fifo", "loop", "dangling", "link", "unreadable", "empty", "endless", "socket")
"""What may stand where a file is expected."""
AS_A_WHOLE = ("trace", "azure", "log", "factors", "check-record")
"""Kinds of file that may be refused for all that they hold, or hold none of."""
ENDS = ("plain",) * 6 + (
    "stdout closed",
    "stderr closed",
    "stdout full",
    "stderr full",
    "reader gone",
)
"""What becomes of the streams of a real process."""

NEEDS_A_FILE = {"calibrate"}
"""Commands that without a file fit the shipped engines again, for a quarter of a minute."""

RARER = {"plan": 0.25, "fastmode": 0.5, "frontier": 0.5, "calibrate": 0.5}
"""How often commands that take long are drawn, against the others."""


@dataclass
class Case:
    """One request: words after ``fastcalc``, files and places in its folder, variables, streams.

    Attributes
    ----------
    culprit : str or None
        The one file that is wrong where all else is as it is meant.
    meant : bytes or None
        What that file held before it was damaged.
    is_placed : bool
        Whether what is wrong in it is in one place of it.
    """

    seed: int
    number: int
    words: list[str] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)
    places: dict[str, str] = field(default_factory=dict)
    env: dict[str, str] = field(default_factory=dict)
    ends: str = "plain"
    culprit: str | None = None
    meant: bytes | None = None
    is_placed: bool = False


@lru_cache(maxsize=1)
def commands() -> dict[str, list[Any]]:
    """Return the parameters of every command, as typer has them."""
    group: Any = get_command(program())
    return {name: list(command.params) for name, command in sorted(group.commands.items())}


def is_argument(param: Any) -> bool:
    """Return whether a parameter goes by its place and not by a flag."""
    return bool(param.param_type_name == "argument")


def is_out(param: Any) -> bool:
    """Return whether a parameter names the file that is written."""
    return "-o" in param.opts


class Drawing:
    """A command line in the making: values by parameter, kept apart until the end."""

    def __init__(self, rng: Random, command: str, case: Case) -> None:
        self.rng, self.command, self.case = rng, command, case
        self.params = commands()[command]
        self.given: list[tuple[Any, str]] = []

    def kind(self, param: Any) -> str:
        """Return what a parameter is given."""
        return values.kind_of(param.name, param.metavar)

    def add(self, param: Any, value: str) -> None:
        """Give a parameter a value, in place of another if it takes but one."""
        takes_more = getattr(param, "multiple", False) or param.nargs == -1
        if not takes_more:
            self.given = [each for each in self.given if each[0] is not param]
        self.given.append((param, value))

    def good(self, param: Any) -> str | None:
        """Return a value as it is meant, with the file behind it; None for none at all."""
        kind = self.kind(param)
        if is_out(param):
            return self.rng.choice(OUTS[:5])
        if kind == "FOLDER":
            own = FOLDERS[param.name.removesuffix("_dir")]
            stem, raw = files.sound(self.rng, own)
            folder = f"own-{own}"
            self.case.files[f"{folder}/{stem}.yaml"] = raw
            return folder
        if kind in values.PATHS:
            return self.file(self.rng.choice(self.file_kinds(param)))
        return values.good(self.rng, param.name, param.metavar)

    def file_kinds(self, param: Any) -> tuple[str, ...]:
        """Return the kinds of file that a parameter takes."""
        if is_out(param) or self.kind(param) == "FOLDER":
            return ()
        if self.kind(param) in values.PATHS:
            return FILES_OF_FLAG.get(param.name) or FILES_OF_COMMAND.get(self.command, MEASURED)
        return FITS.get(self.kind(param), ())

    def file(self, kind: str) -> str:
        """Write a file as it is meant and say what it needs."""
        stem, raw = files.sound(self.rng, kind)
        name = stem + files.ENDINGS[kind]
        self.case.files[name] = raw
        if kind.split("-")[0] in (*files.RESULTS, "llama"):
            self.say(*files.SAID)
        return name

    def say(self, *words: str) -> None:
        """Give flags by name, where the command has them."""
        for flag, value in zip(words[::2], words[1::2], strict=True):
            for param in self.params:
                if flag in param.opts:
                    self.add(param, value)

    def required(self) -> None:
        """Give what the command needs."""
        for param in self.params:
            wanted = param.required or (self.command in NEEDS_A_FILE and is_argument(param))
            if wanted and not any(each is param for each, _ in self.given):
                self.add(param, self.good(param) or "")

    def some(self, share: float) -> None:
        """Give some of the rest, as they are meant."""
        for param in self.params:
            chance = 0.9 if is_argument(param) and self.kind(param) in values.PATHS else share
            if param.required or any(each is param for each, _ in self.given):
                continue
            chance = 0.1 if self.kind(param) == "FOLDER" or is_out(param) else chance
            if "--format" in param.opts:
                chance = 0.6
            if self.rng.random() < chance:
                self.add(param, "" if _is_switch(param) else self.good(param) or "")

    def words(self) -> list[str]:
        """Return the command line, flags in any order."""
        rng, placed, flags = self.rng, [], []
        for param, value in self.given:
            if is_argument(param):
                placed.append((self.params.index(param), value))
                continue
            flag = rng.choice(param.opts)
            if _is_switch(param):
                flags.append([flag])
            elif flag.startswith("--") and rng.random() < 0.2:
                flags.append([f"{flag}={value}"])
            else:
                flags.append([flag, value])
        rng.shuffle(flags)
        arguments = [value for _, value in sorted(placed, key=lambda each: each[0])]
        cut = rng.randrange(len(flags) + 1)
        before = [word for flag in flags[:cut] for word in flag]
        after = [word for flag in flags[cut:] for word in flag]
        return [self.command, *before, *arguments, *after]


def _is_switch(param: Any) -> bool:
    return bool(getattr(param, "is_flag", False))


def _share(drawing: Drawing) -> float:
    return min(0.5, 3.5 / max(len(drawing.params), 1))


def _sound(drawing: Drawing) -> None:
    """All as it is meant, though not always together."""
    if drawing.command == "diff":  # of two entries of one kind
        kind = drawing.rng.choice(("CHIP", "MODEL", "ENGINE"))
        for param in (one for one in drawing.params if is_argument(one)):
            drawing.add(param, values.one(drawing.rng, kind))
    drawing.required()
    drawing.some(_share(drawing))


def _one_value(drawing: Drawing) -> None:
    """One value that is wrong, extreme or at home elsewhere."""
    _sound(drawing)
    param = drawing.rng.choice([one for one in drawing.params if not _is_switch(one)])
    drawing.add(param, values.hostile(drawing.rng, param.name, param.metavar))


def _one_file(drawing: Drawing) -> None:
    """One damaged file among words that are as they are meant."""
    rng, case = drawing.rng, drawing.case
    takers = [one for one in drawing.params if drawing.file_kinds(one)]
    if not takers:
        _sound(drawing)
        return
    param = rng.choice(takers)
    kind = rng.choice(drawing.file_kinds(param))
    name = drawing.file(kind)
    folders = [one for one in drawing.params if one.name == f"{_plural(kind)}_dir"]
    drawing.add(param, name)
    if folders and rng.random() < 0.25:  # found by its name in a folder
        case.files = {f"own/{name}": case.files[name]}
        drawing.add(folders[0], "own")
        drawing.add(param, name.rpartition(".")[0])
        name = f"own/{name}"
    drawing.required()
    if rng.random() < 0.6:
        drawing.say("--format", "json")
    if rng.random() < 0.15:
        drawing.say("-o", rng.choice([*OUTS[:5], name]))  # its own input, at times
    case.culprit, case.meant = name, case.files[name]
    case.files[name], case.is_placed = mutations.damaged(rng, kind, case.files[name])
    case.is_placed = case.is_placed and kind not in AS_A_WHOLE


def _plural(kind: str) -> str:
    return {"model": "models", "engine": "engines"}.get(kind, kind)


def _one_place(drawing: Drawing) -> None:
    """Something other than a file where a file is expected, read or written."""
    rng, case = drawing.rng, drawing.case
    drawing.required()
    drawing.some(0.05)
    takers = [
        one
        for one in drawing.params
        if is_out(one) or drawing.file_kinds(one) or drawing.kind(one) == "FOLDER"
    ]
    param = rng.choice(takers)
    kinds = drawing.file_kinds(param)
    ending = files.ENDINGS[rng.choice(kinds)] if kinds else rng.choice((".json", ".csv", ""))
    name = rng.choice(["odd", "odd one", "odd,one", "-odd", "é", "\x1b[31m", "o\nd", "x" * 240])
    path, place = name + ending, rng.choice(PLACES)
    if drawing.kind(param) == "FOLDER" or (drawing.command == "check" and rng.random() < 0.5):
        case.places[f"own/{path}"] = place
        path = "own"
    elif rng.random() < 0.1:
        case.files[path] = b"x"
        path += rng.choice(["/x.yaml", "/", "/.."])
    elif rng.random() < 0.1:
        path = "none/" + path
    else:
        case.places[path] = "drain" if place == "fifo" and is_out(param) else place
    drawing.add(param, path)


def _wild(drawing: Drawing) -> None:
    """Anything anywhere."""
    drawing.required()
    for param in drawing.params:
        if drawing.rng.random() < _share(drawing) and not _is_switch(param):
            drawing.add(param, values.hostile(drawing.rng, param.name, param.metavar))


STYLES: tuple[tuple[float, Callable[[Drawing], None]], ...] = (
    (0.32, _sound),
    (0.28, _one_value),
    (0.3, _one_file),
    (0.06, _one_place),
    (0.04, _wild),
)


def _stray(rng: Random, words: list[str]) -> list[str]:
    """Put a word too many, too few or twice."""
    place = rng.randrange(len(words))
    way = rng.randrange(4)
    if way == 0:
        return [*words[:place], *words[place + 1 :]]
    if way == 1:
        return [*words, words[place]]
    extra = rng.choice([*values.NAMES, "--nothing", "--pro", "-x", "--tp", "--batch=", "--=", "-o"])
    return [*words[:place], extra, *words[place:]]


def draw(seed: int, number: int) -> Case:
    """Return one case; the same for the same seed and number."""
    rng = Random(f"{seed}/{number}")
    case = Case(seed, number)
    shares = [RARER.get(name, 1.0) for name in commands()]
    drawing = Drawing(rng, rng.choices([*commands()], shares)[0], case)
    rng.choices([style for _, style in STYLES], [share for share, _ in STYLES])[0](drawing)
    case.words = drawing.words()
    if rng.random() < 0.02 and case.words[0] not in NEEDS_A_FILE:
        case.words = _stray(rng, case.words)
        case.culprit = None
    if rng.random() < 0.1:
        case.env["COLUMNS"] = rng.choice(["0", "1", "20", "40", "200", "99999", "x", "-5", ""])
    case.ends = rng.choice(ENDS)
    return case
