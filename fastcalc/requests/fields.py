"""A request: a frozen dataclass of fields, each with what a command line and a page say of it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from inspect import get_annotations
from typing import Any, ClassVar, Self, dataclass_transform

from fastcalc.catalogue.once import once
from fastcalc.requests import offered


@dataclass(frozen=True)
class FieldSetting:
    """What is shown of a field, and how its text is read.

    metavar : what stands for its value; None for a flag that takes none
    names : of the flag, where they are not the field's own
    is_argument : whether it goes without a name
    is_hidden : whether ``--help`` leaves it out
    is_repeated : whether it may be given several times; the field is a list then
    variable : of the environment, which gives it where nothing else does
    completion : returns what the shell offers for what is typed
    """

    metavar: str | None
    help: str
    names: tuple[str, ...] = ()
    is_argument: bool = False
    is_hidden: bool = False
    is_repeated: bool = False
    variable: str | None = None
    parser: Callable[[Any], Any] | None = None
    completion: Callable[[str], list[str]] | None = field(default=None)

    def __post_init__(self) -> None:
        """Complete the words that the metavar lists, where nothing else is offered."""
        words = [
            word for word in (self.metavar or "").split("|") if word.isalnum() and word.islower()
        ]
        if words and self.completion is None:
            object.__setattr__(self, "completion", offered.offered(lambda: words))


@dataclass_transform(kw_only_default=True, frozen_default=True)
class Request:
    """A group of fields, or what a command is asked: its own fields and its groups'.

    A field has a default and a `FieldSetting`; a class that repeats a field without the latter
    changes the default alone. The summary of a group heads it in ``--help``.

    examples : commands that ``--help`` shows; tests run them
    """

    examples: ClassVar[tuple[str, ...]] = ()

    def __new__(cls, **_: Any) -> Self:
        """Make the class a dataclass at first use: a millisecond that ``--help`` has no use for."""
        if "__dataclass_fields__" not in vars(cls):
            cls.__annotations__ = {name: kind for name, (kind, _) in declared(cls).items()}
            dataclass(frozen=True, kw_only=True)(cls)
        return super().__new__(cls)

    @classmethod
    def sharing(cls, request: "Request", **changes: Any) -> Self:
        """Return a request of this class: what it shares with another, but for the changes."""
        shared = {name: getattr(request, name) for name in declared(cls) if hasattr(request, name)}
        return cls(**shared | changes)


@once
def declared(request: type[Request]) -> dict[str, tuple[Any, str]]:
    """Return the annotation of each field and the heading that it stands under, by name."""
    annotations: dict[str, tuple[Any, str]] = {}
    for owner in request.__mro__:
        heading = "Options" if owner is request else (owner.__doc__ or "").partition(".")[0]
        for name, annotation in get_annotations(owner).items():
            if "ClassVar" in str(annotation):
                continue
            # Taken out, so that it stands where it is declared first.
            nearest, _ = annotations.pop(name, (annotation, heading))
            is_shown = hasattr(nearest, "__metadata__")
            annotations[name] = (nearest if is_shown else annotation, heading)
    return annotations


def argument(metavar: str, summary: str, **settings: Any) -> FieldSetting:
    """Return what is shown of an argument; the shell completes the words of its metavar."""
    return FieldSetting(metavar, summary, is_argument=True, **settings)


def flag(metavar: str | None, summary: str, *names: str, **settings: Any) -> FieldSetting:
    """Return what is shown of a flag; one that takes no value has no metavar."""
    return FieldSetting(metavar, summary, names, **settings)
