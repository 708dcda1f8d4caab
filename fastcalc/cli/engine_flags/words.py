"""The words of a command line while flags of engines in it are translated."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING

from fastcalc.cli.engine_flags.table import FLAGS, own_name
from fastcalc.errors import InputError

if TYPE_CHECKING:
    from fastcalc.catalogue.schema import Model
    from fastcalc.kit.request.fields import DeclaredField


class Words:
    """A command and what follows it, and sentences on what was read of it."""

    def __init__(self, words: Iterable[str]) -> None:
        """Start with no sentences."""
        self.words = list(words)
        self.notes: list[str] = []

    @property
    def pairs(self) -> Iterator[tuple[str, str]]:
        """Each word with the next; the last with ""."""
        return pairwise([*self.words, ""])

    def has(self, *names: str) -> bool:
        """Whether one of these words stands in the line."""
        return not set(names).isdisjoint(self.words)

    def value(self, name: str) -> str:
        """What follows a flag last, of fastcalc or of an engine; "" where it is not given."""
        values = [value for word, value in self.pairs if own_name(word) == name]
        return values[-1] if values else ""

    def taken_pairs(self, *names: str, has_value: bool = True) -> list[tuple[str, str]]:
        """Remove flags and their values; return both, with "" for a flag that none follows."""
        pairs, kept, is_value = list[tuple[str, str]](), list[str](), False
        for word in self.words:
            if word in names:
                pairs.append((word, ""))
            elif is_value and (not word.startswith("-") or word[1:].isdigit()):
                pairs[-1] = (pairs[-1][0], word)
            else:
                kept.append(word)
            is_value = has_value and word in names
        self.words = kept
        return pairs

    def taken(self, *names: str, has_value: bool = True) -> list[str]:
        """Remove flags and their values; return the values, "" of a flag that none follows."""
        return [value for _, value in self.taken_pairs(*names, has_value=has_value)]

    def put(self, name: str, value: str) -> None:
        """Set a flag of fastcalc in place of all that are given of it."""
        self.taken(name)
        self.words += [name, value]

    @property
    def stated(self) -> set[str]:
        """The words, with flags of engines by fastcalc's names."""
        return {own_name(word) for word in self.words}

    @property
    def fields(self) -> "Mapping[str, DeclaredField]":
        """Fields of the request of the command."""
        from fastcalc.features import COMMANDS, request_of  # few command lines hold a server's
        from fastcalc.kit.request.fields import declared

        command = self.words[0] if self.words else ""
        return declared(request_of(command)) if command in COMMANDS else {}

    @property
    def model_name(self) -> str | None:
        """The first word after the command that is neither a flag nor the value of one."""
        switches = self._switches()
        named = (
            word
            for last, word in pairwise(self.words)
            if not word.startswith("-") and (last in switches or not last.startswith("-"))
        )
        return next(named, None)

    def _switches(self) -> Collection[str]:
        """Flags of the command that take no value."""
        return {
            "--" + name.replace("_", "-")
            for name, field in self.fields.items()
            if field.setting.metavar is None
        }

    @property
    def model(self) -> "Model | None":
        """The model that the line names; None if it is unknown."""
        return model_of(self.model_name)

    @property
    def default_share(self) -> str:
        """Share of memory that the engine takes by default, if less is taken on a chip; else ""."""
        from fastcalc.catalogue.store import Catalogue
        from fastcalc.core.chip.tier import OWN_MEMORY
        from fastcalc.kit.request.loading import chips_of

        entries, key = Catalogue(), "memory_fraction"
        try:
            engine = entries.engine(self.value("--engine"))
            chips = chips_of(entries, [self.value("--on")], OWN_MEMORY, [])
        except InputError:
            return ""
        usual = engine.parameters.given.get(key)
        shares = [engine.on(*chip.groups).given.get(key) for chip in chips]
        is_less = usual and any(share and share.si < usual.si for share in shares)
        return f"{usual.si:g}" if usual and is_less else ""

    @property
    def longest(self) -> str:
        """Tokens of the longest sequence of the model; "" if it is unknown."""
        model = self.model
        return str(model.max_context) if model and model.max_context else ""


def model_of(name: str | None) -> "Model | None":
    """The model of a name; None if it is unknown."""
    from fastcalc.catalogue.store import Catalogue
    from fastcalc.kit.request.loading import models_of

    try:
        return models_of(Catalogue(), [name] if name else None, [])[0]
    except InputError:
        return None


def parted(word: str) -> list[str]:
    """A flag and its value, where ``=`` joins them; an engine may write it with underscores."""
    name, is_joined, value = word.partition("=")
    plain = name.replace("_", "-")
    if plain not in FLAGS and plain not in ("--engine", "--server", "--chips", "--on"):
        return [word]
    return [plain, value] if is_joined else [plain]
