"""The fields of a configuration, with type checks and a note on every assumption."""

import re
from dataclasses import dataclass, field, replace
from typing import TypeVar

from fastcalc.catalogue.limits import LIMITS
from fastcalc.catalogue.reader import Path_
from fastcalc.errors import InputError
from fastcalc.importers.huggingface.json_file import JsonFile
from fastcalc.written import Json, shown

MOST = int(LIMITS["dimension"].maximum)
MOST_LAYERS = int(LIMITS["layers"].maximum)
T = TypeVar("T")


@dataclass
class Fields:
    """Reads the fields of a configuration, with remarks on how they were interpreted.

    ``null`` counts as absent; of several alternative names, the first one present is used. The data
    come from the mappings ``roots`` in the file, of which the first has priority.
    """

    data: dict[str, Json]
    file: JsonFile
    defaults: dict[str, int] = field(default_factory=dict)
    roots: tuple[Path_, ...] = ((),)
    remarks: list[str] = field(default_factory=list)
    assumed: dict[str, str] = field(default_factory=dict)

    def remark(self, sentence: str) -> None:
        """Add a remark unless it is already there."""
        if sentence not in self.remarks:
            self.remarks.append(sentence)

    def refuse(self, sentence: str) -> InputError:
        """Build an error for this file, located at the first field named in the message."""
        words = re.findall(r"\w+", sentence)
        paths = [(*root, word) for word in words for root in self.roots]
        return InputError(f"{self.file.place(*paths, *self.roots)}: {sentence}")

    def has(self, *names: str) -> bool:
        """Check whether any of the names has a value."""
        return any(self.data.get(name) is not None for name in names)

    def require(self, *fields: str | tuple[str, ...]) -> None:
        """Raise one error for all missing fields. A tuple has alternative names of one field."""
        missing = []
        for required in fields:
            names = (required,) if isinstance(required, str) else required
            if not self.has(*names) and not any(name in self.defaults for name in names):
                missing.append(" or ".join(names))
        if missing:
            missing_fields = f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing"
            raise self.refuse(f"too little information to count the model: {missing_fields}")

    def count(self, *names: str, default: int | None = None, minimum: int = 1) -> int:
        """Read a required integer, or use the family's default and record it."""
        number = self.maybe(*names, minimum=minimum)
        if number is not None:
            return number
        default = next((self.defaults[name] for name in names if name in self.defaults), default)
        if default is None:
            self.require(names)
            raise AssertionError("`require` refuses missing fields")
        self.assume(names[0], default)
        return default

    def maybe(self, *names: str, minimum: int = 1, maximum: int = MOST) -> int | None:
        """Read an integer, or return None if the field is absent."""
        for name in names:
            value = self.data.get(name)
            if value is not None:
                return self._whole(name, value, minimum, maximum)
        return None

    def layers(self) -> int:
        """Return the number of layers."""
        count = self.count("num_hidden_layers", "num_layers", "n_layer")
        if count > MOST_LAYERS:
            raise self.refuse(f"num_hidden_layers {count} is out of range: at most {MOST_LAYERS}")
        return count

    def flag(self, name: str, default: bool, *, noted: bool = True) -> bool:
        """Read a boolean. A default is recorded unless ``noted`` is false."""
        value = self._typed(name, bool, "true or false")
        if value is not None:
            return value
        default = bool(self.defaults.get(name, default))
        if noted:
            self.assume(name, "true" if default else "false")
        return default

    def word(self, name: str) -> str | None:
        """Read a text, or return None if the field is absent."""
        return self._typed(name, str, "text")

    def mapping(self, name: str) -> dict[str, Json] | None:
        """Read a nested mapping, or return None if the field is absent."""
        return self._typed(name, dict, "a mapping")

    def nested(self, name: str) -> "Fields":
        """Read the fields of a nested mapping, empty if it is absent. Remarks are shared."""
        return replace(self, data=self.mapping(name) or {}, defaults={}, roots=self._below(name))

    def inside(self, data: dict[str, Json], *steps: str | int) -> "Fields":
        """Read the fields of a mapping at a path, with separate remarks."""
        return Fields(data, self.file, roots=self._below(*steps))

    def _below(self, *steps: str | int) -> tuple[Path_, ...]:
        return tuple((*root, *steps) for root in self.roots)

    def blocks(self, name: str) -> list["Fields"]:
        """Read layers described one by one in a list, each on top of these fields."""
        layers = []
        for n, layer in enumerate(self._list(name, self.layers()) or []):
            if not isinstance(layer, dict):
                raise self.refuse(f"{name} should contain mappings, not {_shown(layer)}")
            roots = (*self._below(name, n), *self.roots)
            layers.append(replace(self, data={**self.data, **layer}, roots=roots))
        return layers

    def number(self, name: str) -> float:
        """Read a required positive number, not necessarily an integer."""
        self.require(name)
        value = self.data[name]
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        number = float(value) if isinstance(value, (int, float)) and is_number else 0.0
        if number == 0 or number not in LIMITS["number"]:
            raise self.refuse(f"{name} should be a positive number, not {_shown(value)}")
        return number

    def numbers(self, name: str, layers: int) -> list[int] | None:
        """Read one integer per layer. A longer list includes prediction layers."""
        listed = self._list(name, layers)
        return None if listed is None else [self._whole(name, number, 0, MOST) for number in listed]

    def words(self, name: str, layers: int, *, is_complete: bool = False) -> list[str] | None:
        """Read one text per layer; ``is_complete`` keeps those of prediction layers."""
        listed = self._list(name, layers, is_complete=is_complete)
        if listed is None:
            return None
        words = [value for value in listed if isinstance(value, str)]
        if len(words) < len(listed):
            other = next(value for value in listed if not isinstance(value, str))
            raise self.refuse(f"{name} should contain texts, not {_shown(other)}")
        return words

    def switches(self, name: str, layers: int) -> list[bool] | None:
        """Read one 0 or 1 per layer. A longer list includes prediction layers."""
        listed = self._list(name, layers)
        for value in listed or ():
            if value not in (0, 1) or isinstance(value, float):
                raise self.refuse(f"{name} should contain 0 and 1, not {_shown(value)}")
        return None if listed is None else [bool(value) for value in listed]

    def indices(self, name: str) -> set[int]:
        """Read a set of layer numbers, empty if the field is absent."""
        listed = self._typed(name, list, "a list of layer numbers") or []
        return {self._whole(name, index, 0, MOST) for index in listed}

    def assume(self, name: str, value: object) -> None:
        """Record the value assumed for an absent field."""
        self.assumed.setdefault(name, str(value))

    def notes(self) -> list[str]:
        """Return all remarks, starting with a sentence on the assumptions."""
        if not self.assumed:
            return list(self.remarks)
        values = ", ".join(f"{name} {value}" for name, value in self.assumed.items())
        return [f"Not in the file, so defaults were assumed: {values}.", *self.remarks]

    def _whole(self, name: str, value: object, minimum: int, maximum: int) -> int:
        if isinstance(value, list) and value and value.count(value[0]) == len(value):
            value = value[0]  # one number, repeated for every layer
        if isinstance(value, str):
            raise self.refuse(f"{name} should be a number, not the text {_shown(value)}")
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.refuse(f"{name} should be a whole number, not {_shown(value)}")
        if not minimum <= value <= maximum:
            raise self.refuse(f"{name} {value} is out of range: between {minimum} and {maximum}")
        return value

    def _list(self, name: str, layers: int, *, is_complete: bool = False) -> list[Json] | None:
        value = self._typed(name, list, "a list, one entry per layer")
        if value is not None and len(value) < layers:
            raise self.refuse(f"{name} has {len(value)} entries for {layers} layers")
        return value if is_complete or value is None else value[:layers]

    def _typed(self, name: str, type_: type[T], description: str) -> T | None:
        value = self.data.get(name)
        if value is not None and not isinstance(value, type_):
            raise self.refuse(f"{name} should be {description}, not {_shown(value)}")
        return value


def _shown(value: object) -> str:
    if isinstance(value, (dict, list)):
        return "a mapping" if isinstance(value, dict) else "a list"
    if isinstance(value, bool) or value is None:
        return str(value).lower()
    return shown(repr(value))
