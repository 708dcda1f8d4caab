"""Lookup of files by id, alias or path, in the user's folders and the shipped ones."""

import os
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path

from fastcalc.catalogue.folders import shipped_folder
from fastcalc.catalogue.kinds import FIELDS, SINGULAR, Kind
from fastcalc.catalogue.reader import read
from fastcalc.catalogue.stand_ins import service, services
from fastcalc.errors import InputError
from fastcalc.mentions import option
from fastcalc.written import instead_of, shown

_LINES = re.compile(
    r"\b(?:geforce|instinct|radeon|tesla|quadro|ryzen|accelerator|gpu|graphics|card"
    r"|workstation edition|mac studio|mac mini|macbook pro|google cloud|cloud)\b"
)
"""Words that vendors put before the name of a chip."""
_TUNED = re.compile(r"[\s_:-]+(?:instruct|chat|it|hf|base|latest)$")
"""Suffixes of model names that do not change the architecture."""
_ACTIVE = re.compile(r"(?<=[0-9][bt])a[0-9.]+b$")
"""The active parameters after the total parameters in a name."""
_VERSION_DOT = re.compile(r"(?<=[0-9])\.([0-9]+)(?![0-9]|[btm](?![a-z]))")
"""The dot in a version, as opposed to the dot in a parameter count."""
_PATCH = re.compile(r"^vllm[\s-]*v?(\d+\.\d+)(?:\.\d+|\.post\d+|rc\d+)*$")
"""A vLLM release, of which only the first two numbers matter here."""


def spelling(name: str) -> str:
    """Normalize a name to lower case, keeping hyphens only between digits.

    >>> spelling("RTX 5090"), spelling("qwen3:32b"), spelling("llama-4-maverick")
    ('rtx5090', 'qwen3-32b', 'llama4maverick')
    """
    hyphenated = re.sub(r"[\s_:-]+", "-", name.strip().lower())
    return re.sub(r"(?<![0-9])-|-(?![0-9])", "", hyphenated)


def plain_spelling(name: str) -> str:
    """Normalize a name and remove optional words.

    >>> plain_spelling("NVIDIA GeForce RTX 5090"), plain_spelling("Llama 3.1 8B Instruct")
    ('nvidiartx5090', 'llama3.1-8b')
    >>> plain_spelling("DSV3"), plain_spelling("A100 SXM4 80GB"), plain_spelling("vLLM v0.11.2")
    ('deepseekv3', 'a100sxm80gb', 'vllm0.11')
    """
    lowered = re.sub(r"\(.{0,3}\)", " ", name.lower().replace("+", " plus ")).strip()
    lowered = re.sub(r"\bds(?=-?[vr]\d)", "deepseek", re.sub(r"\bsxm\d\b", "sxm", lowered))
    lowered = _LINES.sub(" ", lowered).strip(" -_")
    while (shorter := _TUNED.sub("", lowered)) != lowered:
        lowered = shorter
    return spelling(_PATCH.sub(r"vllm\1", lowered))


def plain_spellings(names: Iterable[str], makers: Iterable[str]) -> frozenset[str]:
    """List the plain spellings of an entry, with and without vendor, dots and active parameters.

    Versions in a name may be written without dots, or with hyphens instead.

    >>> sorted(plain_spellings(["llama-3.1-8b"], ["meta"]))[:3]
    ['llama3-1-8b', 'llama3.1-8b', 'llama31-8b']
    """
    full = {plain_spelling(name) for name in names}
    full |= {_ACTIVE.sub("", name) for name in full}
    full |= {_VERSION_DOT.sub(rf"{mark}\1", name) for name in full for mark in ("", "-")}
    return frozenset(full | {spelling(maker) + name for maker in makers for name in full})


_Listing = tuple[tuple[str, int, int], ...]
_NamesOf = Callable[[Path], Iterable[str]]
LONGEST_NAME = 255  # bytes per path component on common file systems


@dataclass(frozen=True)
class Names:
    """Looks up names in folders. The folders of the user take precedence over the shipped ones."""

    user_folders: dict[Kind, tuple[Path, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for entry_type, folders in self.user_folders.items():
            for folder in folders:
                if not os.path.isdir(folder):
                    content = f"it should hold {entry_type} as YAML files"
                    raise InputError(f"{folder} is not a folder; {content}")

    def folders(self, entry_type: Kind) -> list[Path]:
        """List the folders for an entry type in search order."""
        return [*self.user_folders.get(entry_type, ()), shipped_folder(entry_type)]

    def names(self, kind: Kind) -> list[str]:
        """List all ids of an entry type, sorted, without opening files."""
        return sorted(self._files(kind))

    def mentioning(self, entry_type: Kind, words: Iterable[str]) -> list[str]:
        """List the ids whose files contain any of the given words, without parsing the files."""
        needles = [word.encode() for word in words]
        texts = self.texts(entry_type).items()
        return sorted(name for name, text in texts if any(word in text for word in needles))

    def texts(self, entry_type: Kind) -> dict[str, bytes]:
        """Read the file of each id. The user's files take precedence over shipped ones."""
        return {name: path.read_bytes() for name, path in self._files(entry_type).items()}

    def knows(self, name: str, entry_type: Kind) -> bool:
        """Check whether an entry type has an entry with this id or alias."""
        if is_too_long(name):
            return False
        if self._named(name, entry_type) or name.lower() in self._by_alias(entry_type):
            return True
        return self._by_spelling(name, entry_type) is not None

    def owners(self, entry_type: Kind) -> Callable[[str], str | None]:
        """Return a function that maps names to ids, or to None, based on the current files."""
        by_alias = {alias: path.stem for alias, path in self._by_alias(entry_type).items()}
        ids = self._files(entry_type)
        return lambda name: name if name in ids else by_alias.get(name.lower())

    def known(self, entry_type: Kind) -> frozenset[str]:
        """List all ids and aliases of an entry type in lower case."""
        return frozenset((*map(str.lower, self.names(entry_type)), *self._by_alias(entry_type)))

    def find(self, name: str, entry_type: Kind) -> Path:
        """Find the file of an id, an alias or a path."""
        if is_too_long(name):
            limit = f"any name of {SINGULAR[entry_type]} or file"
            raise InputError(f"'{shown(name)}' is longer than {limit}")
        if name.endswith((".yaml", ".yml")) or "/" in name or "\\" in name:
            if os.path.exists(name):
                return Path(name)
            if entry_type != "models":
                raise InputError(f"{name}: there is no such file")
            from fastcalc.importers.huggingface import missing_file  # may be a name on a hub

            last = name.rsplit("/", 1)[-1].lower()
            in_catalogue = f"; the catalogue has '{last}'" if self.knows(last, entry_type) else ""
            raise InputError(missing_file(name) + in_catalogue)
        if path := self._named(name, entry_type) or self._by_alias(entry_type).get(name.lower()):
            return path
        if entry_type == "models" and (unpublished := service(name)):
            raise InputError(unpublished.refusal)
        if path := self._by_spelling(name, entry_type):
            return path
        near = self.near(name, entry_type)
        hint = instead_of(near, f"list them with 'fastcalc list {entry_type}'")
        elsewhere = (
            f"; {name} is among the {sibling_kind}: it goes with {option(field)}"
            for sibling_kind, field in FIELDS.items()
            if sibling_kind != entry_type and self._named(name, sibling_kind)
        )
        sentence = f"no {SINGULAR[entry_type]} is called '{shown(name)}'; {hint}"
        raise InputError(sentence + next(elsewhere, ""))

    def near(self, name: str, *entry_types: Kind) -> list[str]:
        """Suggest up to three entries of the given types, or services, that a name may mean."""
        entries: dict[str, str] = {}  # the entry of each known name
        for entry_type in entry_types:
            entries |= {alias: path.stem for alias, path in self._by_alias(entry_type).items()}
        sold = services().values() if "models" in entry_types else ()
        entries |= {alias: one.id for one in sold for alias in (one.id, *one.aliases)}
        near = nearest(name, sorted(entries), 12)
        by_entry: dict[str, str] = {}  # one name per entry, instead of three aliases
        for alias in near:
            by_entry.setdefault(entries[alias], alias)
        return [entry if entry in near else alias for entry, alias in by_entry.items()][:3]

    def _named(self, name: str, entry_type: Kind) -> Path | None:
        paths = (folder / f"{name}.yaml" for folder in self.folders(entry_type))
        return next((path for path in paths if name and path.is_file()), None)

    def _by_spelling(self, name: str, entry_type: Kind) -> Path | None:
        """Find the entry that a name identifies regardless of hyphens, or None if several match.

        The vendor before the name is optional.
        """
        spellings = ((spelling(name), _spellings), (plain_spelling(name), _plain_spellings))
        for wanted, spellings_of in spellings:
            paths = dict[str, Path]()  # by id, with the user's last
            for folder in reversed(self.folders(entry_type)) if wanted else ():
                for path in _index(folder, _listed(folder), spellings_of).get(wanted, ()):
                    paths[path.stem] = path
            if paths:
                return next(iter(paths.values())) if len(paths) == 1 else None
        return None

    def _by_alias(self, entry_type: Kind) -> dict[str, Path]:
        """Map all ids and aliases in lower case to files. The user's files take precedence."""
        folders = reversed(self.folders(entry_type))
        indices = (_index(folder, _listed(folder), _ids).items() for folder in folders)
        return {name: files[-1] for index in indices for name, files in index}

    def _files(self, kind: Kind) -> dict[str, Path]:
        folders = reversed(self.folders(kind))
        return {path.stem: path for folder in folders for path in files_in(folder)}


def files_in(folder: Path) -> list[Path]:
    """List the entries in a folder, sorted. Pipes are skipped, because reading them would block."""
    return [folder / name for name, *_ in _listed(folder)]


def _listed(folder: Path) -> _Listing:
    """List the entry files in a folder, with modification time and size."""
    states: list[tuple[str, int, int]] = []
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(".yaml") and entry.is_file():
                states.append((entry.name, entry.stat().st_mtime_ns, entry.stat().st_size))
    return tuple(sorted(states))


@lru_cache(maxsize=64)
def _index(folder: Path, listed: _Listing, names_of: _NamesOf) -> dict[str, list[Path]]:
    """Map names to the entries in a folder, until one of its files changes."""
    entries: dict[str, list[Path]] = {}
    for path in [folder / name for name, *_ in listed]:
        for name in names_of(path):
            entries.setdefault(name, []).append(path)
    return entries


def is_too_long(name: str) -> bool:
    """Check whether a name is too long for any file system."""
    return max(map(len, os.fsencode(name).split(b"/"))) + len(".yaml") > LONGEST_NAME


def _names(path: Path) -> tuple[list[str], str, bytes]:
    """Read an entry's names in lower case, its vendor and its text.

    For an invalid file, only the file name is returned. Since parsing all entries takes longer than
    a comparison, only the lines with id and aliases are read if these are plain words on one line
    each, as written by `fastcalc new` and `import`.
    """
    text = b""
    try:
        text = path.read_bytes()
        ids, lists, vendors = (each.findall(text) for each in (_ID, _ALIASES, _VENDOR))
        vendor = vendors[0].decode() if vendors else ""
        if len(ids) == 1 and len(lists) == text.count(b"aliases:") <= 1:
            words = b", ".join((*ids, *lists)).decode().lower()
            return [path.stem.lower(), *words.split(", ")], vendor, text
        data = read(path).mapping()
    except (InputError, OSError):
        return [path.stem], "", text
    listed = data.get("aliases")
    names = [data.get("id", path.stem), *(listed if isinstance(listed, list) else [])]
    return [path.stem.lower(), *(str(name).lower() for name in names)], vendor, text


def _ids(path: Path) -> list[str]:
    """List the id and aliases of an entry in lower case."""
    return _names(path)[0]


_WORD = rb"[A-Za-z][\w.-]*"
_ID = re.compile(rb"^id: (%s)$" % _WORD, re.MULTILINE)
_ALIASES = re.compile(rb"^aliases: \[(%s(?:, %s)*)\]$" % (_WORD, _WORD), re.MULTILINE)
_VENDOR = re.compile(rb"^vendor: ([A-Za-z][\w-]*)", re.MULTILINE)
_REPOSITORIES = re.compile(rb"^repositories:(?: \{.*|(?:\n  .*)+)", re.MULTILINE)
_REPOSITORY = re.compile(rb": ([\w.-]+)/([\w.-]+)")


def _spellings(path: Path) -> frozenset[str]:
    """List the spellings of an entry's names, with and without its vendor."""
    names, stated, _ = _names(path)
    vendor, spellings = spelling(stated), {spelling(name) for name in names}
    spellings |= {name.removeprefix(vendor) for name in spellings}
    spellings |= {vendor + name for name in spellings}
    return frozenset(spellings - {"", vendor})


def _plain_spellings(path: Path) -> frozenset[str]:
    """List the spellings of an entry without optional words, see `plain_spellings`.

    They include the names of its repositories, whose owners count as vendors.
    """
    names, vendor, text = _names(path)
    section = _REPOSITORIES.search(text)
    repositories = _REPOSITORY.findall(section[0]) if section else []
    owners = {owner.decode().lower() for owner, _ in repositories}
    makers = owners | {owner.partition("-")[0] for owner in owners} | {vendor.lower()}
    plain = {*names, *(name.decode() for _, name in repositories)}
    plain |= {name.removeprefix(f"{vendor.lower()}-") for name in plain if vendor}
    return plain_spellings(plain, makers)


def nearest(name: str, names: Iterable[str], maximum: int = 3) -> list[str]:
    """Suggest known names that extend, shorten, resemble or contain a name."""
    distinct, lowered = list(dict.fromkeys(names)), re.sub(r"[\s_]+", "-", name.strip().lower())
    lowered = _MAKER.sub("", lowered)
    if lowered in distinct:
        return [lowered]
    shorter = [candidate for candidate in distinct if lowered.startswith(f"{candidate}-")]
    longer = [candidate for candidate in distinct if lowered and candidate.startswith(lowered)]
    inside = [name for name in distinct if f"-{lowered}-" in f"{name}-" and name not in longer]
    longer.sort(key=lambda name: (name[len(lowered)] not in "-.", len(name)))  # whole words first
    letters = map(re.escape, re.sub(r"[-.]", "", lowered))
    unseparated = re.compile(f"{'[-.]?'.join(letters)}(?=[-.])")  # llama3 for llama-3-8b
    alike = (name for name in distinct if unseparated.match(name) and name not in longer)
    longer += sorted(alike, key=len)
    near = [*sorted(shorter, key=len, reverse=True), *longer]
    near += sorted(inside, key=len)
    near += get_close_matches(lowered, set(distinct) - set(near), n=maximum, cutoff=_ALIKE)
    within = (candidate for candidate in distinct if len(lowered) > 2 and lowered in candidate)
    near += [candidate for candidate in within if candidate not in near]
    return near[:maximum]


_MAKER = re.compile(r"^((nvidia|geforce|tesla|amd|radeon|instinct|intel)-)+(?=.)")
"""Words that drivers put before the name of a chip."""
_ALIKE = 0.7
"""The fraction of common letters above which a name may be a misspelling of another."""
