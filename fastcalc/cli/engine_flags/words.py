"""The words of a command line while engine flags are translated."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING

from fastcalc.cli.engine_flags.table import CONFIGURATIONS, FLAGS, own_name
from fastcalc.errors import InputError
from fastcalc.written import to_json

if TYPE_CHECKING:
    from fastcalc.catalogue.schema import Engine, Model
    from fastcalc.kit.request.fields import DeclaredField


_OWN = ("--engine", "--server", "--chips", "--on", "--speculate", "--draft-model")
_LONGEST = "max_context="


class Words:
    """A command with its arguments, and notes on the translation."""

    def __init__(self, words: Iterable[str]) -> None:
        """Start without notes."""
        self.words = list(parted(words))
        self.notes: list[str] = []

    @property
    def pairs(self) -> Iterator[tuple[str, str]]:
        """Each word with its successor. The last word is paired with ""."""
        return pairwise([*self.words, ""])

    def has(self, *names: str) -> bool:
        """Check whether the command contains one of these words."""
        return not set(names).isdisjoint(self.words)

    def value(self, name: str) -> str:
        """Return the last value of a flag, by its name here or in an engine. "" if not given."""
        values = [value for word, value in self.pairs if own_name(word) == name]
        return values[-1] if values else ""

    def taken_pairs(self, *names: str, has_value: bool = True) -> list[tuple[str, str]]:
        """Remove flags and their values, and return both, with "" for flags without a value."""
        pairs, remaining_words, is_value = list[tuple[str, str]](), list[str](), False
        for word in self.words:
            if word in names:
                pairs.append((word, ""))
            elif is_value and (not word.startswith("-") or word[1:].isdigit()):
                pairs[-1] = (pairs[-1][0], word)
            else:
                remaining_words.append(word)
            is_value = has_value and word in names
        self.words = remaining_words
        return pairs

    def taken(self, *names: str, has_value: bool = True) -> list[str]:
        """Remove flags and return their values, with "" for flags without a value."""
        return [value for _, value in self.taken_pairs(*names, has_value=has_value)]

    def put(self, name: str, value: str) -> None:
        """Set a fastcalc flag, replacing all its occurrences."""
        self.taken(name)
        self.words += [name, value]

    @property
    def stated(self) -> set[str]:
        """The words, with engine flags replaced by fastcalc's names."""
        return {own_name(word) for word in self.words}

    @property
    def fields(self) -> "Mapping[str, DeclaredField]":
        """The fields of the command's request."""
        from fastcalc.features import COMMANDS, request_of  # imported late, as few commands need it
        from fastcalc.kit.request.fields import declared

        command = self.words[0] if self.words else ""
        return declared(request_of(command)) if command in COMMANDS else {}

    @property
    def model_name(self) -> str | None:
        """The first word after the command that is neither a flag nor a flag's value."""
        switches = {
            "--" + name.replace("_", "-")
            for name, field in self.fields.items()
            if field.setting.metavar is None
        }
        candidates = (
            word
            for last, word in pairwise(self.words)
            if not word.startswith("-") and (last in switches or not last.startswith("-"))
        )
        return next(candidates, None)

    @property
    def model(self) -> "Model | None":
        """The model named in the command, or None if it is unknown."""
        return model_of(self.model_name)

    @property
    def default_share(self) -> str:
        """The engine's default memory fraction if it is lower on one of the chips, else ""."""
        from fastcalc.catalogue.store import Catalogue
        from fastcalc.core.chip.tier import OWN_MEMORY
        from fastcalc.kit.request.chips import chips_of

        entries = Catalogue()
        try:
            engine = entries.engine(self.value("--engine"))
            chips = chips_of(entries, [self.value("--on")], OWN_MEMORY, [])
        except InputError:
            return ""
        usual = {engine.lowered_share(chip) for chip in chips}
        return next((f"{share.usual:g}" for share in usual if share), "")

    @property
    def program(self) -> str:
        """The server program of the engine, which engine files may inherit.

        "" if unknown.
        """
        engine = self._engine
        return (engine.program or "") if engine else ""

    @property
    def engine_ids(self) -> set[str]:
        """The ids of the engine and of those it extends, such as both in ``vllm-0.19+eager``."""
        engine = self._engine
        return {*engine.id.split("+"), *engine.bases} if engine else set()

    @property
    def is_own_engine(self) -> bool:
        """Whether the engine comes from one of the user's files."""
        from fastcalc.catalogue.store import Catalogue

        names = self.value("--engine").split("+")
        return not all(Catalogue().knows(name, "engines") for name in names)

    @property
    def _engine(self) -> "Engine | None":
        """The engine named in the command, if it is known."""
        from fastcalc.catalogue.store import Catalogue

        name = self.value("--engine")
        try:
            return Catalogue().engine(name) if name else None
        except InputError:
            return None

    @property
    def longest(self) -> str:
        """The model's longest sequence in tokens, as set here or by its file. "" if unknown."""
        lengths = [value[len(_LONGEST) :] for _, value in self.pairs if value.startswith(_LONGEST)]
        if lengths:
            return lengths[-1]
        model = self.model
        return str(model.max_context) if model and model.max_context else ""

    def set_longest(self, tokens: int) -> None:
        """Set the model's longest sequence."""
        self.words += ["--set", f"{_LONGEST}{tokens}"]


def model_of(name: str | None) -> "Model | None":
    """Load a model by name. Returns None if it is unknown."""
    from fastcalc.catalogue.store import Catalogue
    from fastcalc.kit.request.loading import models_of

    try:
        return models_of(Catalogue(), [name] if name else None, [])[0]
    except InputError:
        return None


def parted(words: Iterable[str]) -> Iterator[str]:
    """Separate engine flags from their values. Engines allow underscores in flags.

    A configuration key, as in ``-cc.mode 3``, becomes a configuration with this key.

    >>> [*parted(["--tensor_parallel_size=2", "-cc.cudagraph_mode=NONE", "--batch=1"])]
    ['--tensor-parallel-size', '2', '-cc', '{"cudagraph_mode": "NONE"}', '--batch=1']
    """
    remaining = iter(words)
    for word in remaining:
        name, is_joined, value = word.partition("=")
        plain = name.replace("_", "-")
        head, is_dotted, key = name.partition(".")
        if is_dotted and head.replace("_", "-") in CONFIGURATIONS:
            value = value if is_joined else next(remaining, "")
            number = whole(value)
            yield from (
                head.replace("_", "-"),
                to_json({key.replace("-", "_"): number if str(number) == value else value}),
            )
        elif plain in FLAGS and not FLAGS[plain].has_value:
            yield from [] if value.lower() in ("false", "0") else [plain]
        elif plain in FLAGS or plain in _OWN:
            yield from [plain, value] if is_joined else [plain]
        else:
            yield word


def whole(text: str) -> int:
    """Parse a number of up to nine digits, or 0 for any other text.

    >>> whole("999999999"), whole("1000000000"), whole("1.5")
    (999999999, 0, 0)
    """
    return int(text) if text.isdecimal() and len(text) < 10 else 0
