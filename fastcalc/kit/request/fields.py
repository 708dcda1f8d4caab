"""Requests as frozen dataclasses whose fields describe their flags and headings."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from inspect import Parameter, get_annotations
from typing import Any, ClassVar, NamedTuple, Self, dataclass_transform

from fastcalc.catalogue.once import once
from fastcalc.errors import InputError
from fastcalc.kit.request import offered
from fastcalc.kit.request.readers import as_text
from fastcalc.mentions import flag as named_flag
from fastcalc.mentions import option
from fastcalc.written import with_singulars

Says = str | Callable[[Any], str] | None

_PREMISES = {
    "Traffic": "traffic",
    "Formats": "formats",
    "Deployment": "deployment",
    "Engine limits": "engine_limits",
    "Measurements": "measurements",
    "Memory": "memory",
    "Prices": "prices",
    "Your own files": "files",
}
"""The key under which records store the fields of a group, by the group's heading."""


@dataclass(frozen=True)
class FieldSetting:
    """How a field is described and parsed.

    metavar : The placeholder for its value in help, or None for a flag without a value.
    names : Names of the flag, if different from the field's name.
    is_argument : Whether it is a positional argument.
    is_hidden : Whether ``--help`` leaves it out.
    is_repeated : Whether it can be given several times; the field is then a list.
    variable : The environment variable to use if the flag is not given.
    parser : Parses its text.
    parser_of : Returns a parser whose errors name the flag.
    completion : Returns completions for the text typed so far.
    says : The phrase for a value in a heading, as a template or a function of the value, or None to
        omit it from headings.
    premise : The key under which records store it, by default that of its group; "" for a field
        that does not affect results.
    record_key : Its key in records, if different from the field's name.
    old_name : The former name of the field, accepted with a note for one release.
    """

    metavar: str | None
    help: str
    names: tuple[str, ...] = ()
    is_argument: bool = False
    is_hidden: bool = False
    is_repeated: bool = False
    variable: str | None = None
    parser: Callable[[Any], Any] | None = None
    parser_of: Callable[[str], Callable[[Any], Any]] | None = None
    completion: Callable[[str], list[str]] | None = field(default=None)
    says: Says = None
    premise: str | None = None
    record_key: str = ""
    old_name: str = ""

    def __post_init__(self) -> None:
        """Offer the words in the metavar as completions unless others are given."""
        words = [
            word for word in (self.metavar or "").split("|") if word.isalnum() and word.islower()
        ]
        if words and self.completion is None:
            object.__setattr__(self, "completion", offered.offered(lambda: words))


@dataclass_transform(kw_only_default=True, frozen_default=True)
class Request:
    """A group of fields, or the request of a command, which combines its own fields with groups.

    A field has a default and a `FieldSetting`. A subclass that repeats a field without a setting
    changes only its default. The docstring of a group is its heading in ``--help``.

    examples : The commands shown by ``--help`` and run by tests.
    premise : The key under which records store the fields, by default that of the group's heading;
        "" if no results depend on them.
    """

    examples: ClassVar[tuple[str, ...]] = ()
    premise: ClassVar[str] = ""

    def __new__(cls, **_: Any) -> Self:
        """Make the class a dataclass on first use, which speeds up ``--help`` by a millisecond."""
        if "__dataclass_fields__" not in vars(cls):
            cls.__annotations__ = {name: field.annotation for name, field in declared(cls).items()}
            dataclass(frozen=True, kw_only=True)(cls)
        return super().__new__(cls)

    def __post_init__(self) -> None:
        """Validate or complete the fields of a group."""

    @classmethod
    def command(cls) -> str:
        """Return the name of the command, taken from its examples."""
        return cls.examples[0].split()[1]

    @property
    def values(self) -> Mapping[str, Any]:
        """The values of the fields by name."""
        return vars(self)

    @classmethod
    def sharing(cls, request: "Request", **changes: Any) -> Self:
        """Build a request with the fields it shares with another request, and some changes."""
        shared = {name: value for name, value in request.values.items() if name in declared(cls)}
        return cls(**shared | changes)


class DeclaredField(NamedTuple):
    """A field as declared in a request class.

    setting : How it is described and parsed.
    heading : The heading of its section in ``--help``.
    default : The default value, or `Parameter.empty` if there is none.
    """

    annotation: Any
    setting: FieldSetting
    heading: str
    default: Any


@once
def declared(request: type[Request]) -> dict[str, DeclaredField]:
    """Collect the fields of a request by name."""
    annotations: dict[str, tuple[Any, str]] = {}
    for owner in request.__mro__:
        heading = "Options" if owner is request else _heading(owner)
        for name, annotation in get_annotations(owner).items():
            if "ClassVar" in str(annotation):
                continue
            # Removed from its group, so that it appears where it is declared first.
            nearest, _ = annotations.pop(name, (annotation, heading))
            is_shown = hasattr(nearest, "__metadata__")
            annotations[name] = (nearest if is_shown else annotation, heading)
    defaults = {name: getattr(request, name, Parameter.empty) for name in annotations}
    fields: dict[str, DeclaredField] = {}
    for name, (annotation, heading) in annotations.items():
        setting: FieldSetting = annotation.__metadata__[0]
        if setting.parser_of:
            setting = replace(setting, parser=setting.parser_of(option(name)))
        fields[name] = DeclaredField(annotation, setting, heading, defaults[name])
    return fields


def _heading(group: type) -> str:
    return (group.__doc__ or "").partition(".")[0]


@once
def premises(request: type[Request]) -> dict[str, str]:
    """Collect the record key of each field that affects results, by field name."""
    of_group: dict[str, str] = {}
    for owner in request.__mro__:
        premise = vars(owner).get("premise", _PREMISES.get(_heading(owner), ""))
        of_group |= dict.fromkeys(get_annotations(owner), str(premise))
    premise_of = {
        name: of_group[name] if field.setting.premise is None else field.setting.premise
        for name, field in declared(request).items()
    }
    return {name: premise for name, premise in premise_of.items() if premise}


@once
def old_names(request: type[Request]) -> dict[str, str]:
    """Collect the field for each former name that a request still accepts."""
    earlier = {field.setting.old_name: name for name, field in declared(request).items()}
    return {old: name for old, name in earlier.items() if old}


def renamed(request: type[Request], given: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Rename values given under former field names, with a note for each of them."""
    values, notes = dict(given), list[str]()
    for old, new in old_names(request).items():
        value = values.pop(old, None)
        if value is None:
            continue
        default = declared(request)[new].default
        if values.get(new, default) != default:
            raise InputError(f"{option(old)} is an earlier name of {option(new)}; give one of them")
        values[new] = value
        command = request.command()
        notes.append(f"{command} {option(old)} is now {option(new)}; the old name ends with 0.3")
    return values, notes


@dataclass(frozen=True)
class Setting:
    """A field of a request whose value differs from its default.

    premise : The key under which records store it; "" if it does not affect results.
    """

    name: str
    value: Any
    premise: str
    shown: FieldSetting

    @property
    def phrase(self) -> str | None:
        """The phrase for headings, or None if headings omit the field."""
        says = self.shown.says
        if isinstance(says, str):
            return with_singulars(says.format(self.value))
        return says and says(self.value)

    @property
    def values(self) -> list[Any]:
        """The value as a list, with one item per repetition of the flag."""
        if self.shown.is_repeated and isinstance(self.value, Mapping):
            return [as_text({key: item}) for key, item in self.value.items()]
        return self.value if isinstance(self.value, list) else [self.value]

    @property
    def words(self) -> list[str]:
        """The command-line arguments that set the field."""
        if self.shown.is_argument:
            return [*map(as_text, self.values)]
        given = ([] if value is True else [as_text(value)] for value in self.values)
        return [word for words in given for word in (named_flag(self.name), *words)]

    @property
    def data(self) -> Any:
        """The value for JSON: numbers and booleans unchanged, anything else as typed."""
        values = (
            int(value) if isinstance(value, float) and value.is_integer() else value
            for value in self.values
        )
        data = [value if isinstance(value, (int, float)) else as_text(value) for value in values]
        return data if self.shown.is_repeated else data[0]


def differing(request: Request) -> list[Setting]:
    """Return the fields that differ from their defaults, in the order of ``--help``."""
    request_type = type(request)
    premise_of = premises(request_type)
    fields = sorted(declared(request_type).items(), key=lambda item: item[1].heading == "Options")
    return [
        Setting(name, value, premise_of.get(name, ""), field.setting)
        for name, field in fields
        if (value := request.values[name]) not in (None, field.default)
    ]


def settings(request: Request) -> list[Setting]:
    """Return the settings of a request that affect results, in the order of ``--help``."""
    return [setting for setting in differing(request) if setting.premise]


def phrases(stated: Iterable[Setting], *, without: str = "") -> list[str]:
    """Return the phrases that describe settings in a heading.

    without : Names of fields already in the heading.
    """
    return [
        wording
        for setting in stated
        if setting.name not in without.split() and (wording := setting.phrase)
    ]


def by_premise(stated: Iterable[Setting]) -> dict[str, dict[str, Any]]:
    """Group settings by premise, in the form used in records."""
    values: dict[str, dict[str, Any]] = {}
    for setting in stated:
        key = setting.shown.record_key or setting.name
        values.setdefault(setting.premise, {})[key] = setting.data
    return values


def argument(metavar: str, summary: str, **settings: Any) -> FieldSetting:
    """Declare a positional argument. The shell completes the words in its metavar."""
    return FieldSetting(metavar, summary, is_argument=True, **settings)


def flag(metavar: str | None, summary: str, *names: str, **settings: Any) -> FieldSetting:
    """Declare a flag. Without a metavar, the flag takes no value."""
    return FieldSetting(metavar, summary, names, **settings)
