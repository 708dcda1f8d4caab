"""Check files and folders against all rules."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path

from fastcalc.catalogue.faults import Fault, in_order
from fastcalc.catalogue.folders import shipped_folder
from fastcalc.catalogue.inputs import files_below
from fastcalc.catalogue.kinds import SCHEMAS, Kind, is_of_another_program, kind_of, share_of_keys
from fastcalc.catalogue.reader import Document, scan
from fastcalc.catalogue.validation import validate
from fastcalc.errors import InputError
from fastcalc.features.check import rules
from fastcalc.features.check.document import WrittenNumber, place_holders, sheet
from fastcalc.features.check.policy import Policy
from fastcalc.features.check.rule import RULES, RuleContext, finders
from fastcalc.written import shown

assert rules  # importing the package registers every rule


@dataclass(frozen=True)
class Report:
    """The problems found by a check, including excused ones and those in the baseline.

    skipped : The files of other programs, starting with those whose keys resemble an entry's most.
    """

    files: int
    faults: list[Fault] = field(default_factory=list)
    excused: list[Fault] = field(default_factory=list)
    baselined: list[Fault] = field(default_factory=list)
    policy: Policy = field(default_factory=Policy)
    skipped: tuple[str, ...] = ()

    @property
    def strict(self) -> bool:
        """Whether all rules are checked, so that notes and excuses are shown as well."""
        return self.policy.is_strict

    def count(self, severity: str) -> int:
        """Return the number of problems of a severity."""
        return sum(1 for fault in self.faults if fault.severity == severity)

    @property
    def is_clean(self) -> bool:
        """Whether there is no problem that counts."""
        counts_warnings = self.policy.fail_on_warnings
        return not (self.count("error") or (counts_warnings and self.count("warning")))


def check(
    paths: Sequence[Path],
    *,
    strict: bool = False,
    policy: Policy | None = None,
    skip_others: bool = False,
    folders: Mapping[Kind, tuple[Path, ...]] | None = None,
    today: date | None = None,
) -> Report:
    """Check files and the files in folders, by default the shipped catalogue.

    The ``policy`` selects the checks, and ``strict`` selects all. YAML files of other programs are
    skipped in folders and, with ``skip_others``, even if they are named. Files may refer to entries
    in ``folders`` as well as to shipped ones.
    """
    policy = policy or Policy(require_sources=strict, fail_on_warnings=strict)
    setting = RuleContext(today or date.today(), policy.require_sources, folders or {})
    faults: list[Fault] = []
    excused: list[Fault] = []
    names: dict[tuple[Kind | None, str], Document] = {}
    files = files_of(paths)
    skipped: dict[str, float] = {}
    for path in files:
        if path in paths or path.is_file():
            document = scan(path)
        else:  # a pipe or a broken link in a folder: do not wait for it
            why = "neither a file nor a link to one; remove it, or name it to have it read"
            document = Document(str(path), faults=[Fault("ST001", str(path), 0, 0, why)])
            document.is_whole = False
        entry_type = kind_of(document)
        if (skip_others or path not in paths) and is_of_another_program(document):
            skipped[document.file] = share_of_keys(document)
            continue
        for fault in check_document(document, entry_type, setting):
            (excused if fault.excuse else faults).append(fault)
        aliases = document.at("aliases")
        count = len(aliases) if isinstance(aliases, list) else 0
        for location in (
            [("id",), *(("aliases", step) for step in range(count))] if entry_type else ()
        ):
            name = document.at(*location)
            if not isinstance(name, str):
                continue
            namesake = names.setdefault((entry_type, name.lower()), document)
            if namesake is not document:
                why = f"'{shown(name)}' also names the entry in {namesake.file}; "
                mark = document.mark(location)
                faults.append(Fault("ST020", document.file, *mark, f"{why}keep it in one of them"))
    listed = (fault for fault in faults if policy.is_strict or fault.severity != "note")
    new, baselined = policy.split(in_order(filter(policy.is_reported, listed)))
    likely_first = tuple(sorted(skipped, key=lambda file: -skipped[file]))
    count = len(files) - len(skipped)
    return Report(count, new, in_order(excused), baselined, policy, likely_first)


def files_of(paths: Sequence[Path]) -> list[Path]:
    """Return the YAML files at the given paths, each once. Folders are searched recursively."""
    if not paths:
        cwd = Path.cwd()
        listed = [
            path
            for entry_type in SCHEMAS
            for path in sorted(shipped_folder(entry_type).glob("*.yaml"))
        ]
        return [path.relative_to(cwd) if path.is_relative_to(cwd) else path for path in listed]
    files_by_path: dict[str, Path] = {}
    for path in paths:
        inside = [path]
        if os.path.isdir(path):
            files = files_below(path, "name the folders of hardware, models and engines in it")
            inside = [file for file in files if file.name.lower().endswith((".yaml", ".yml"))]
            if not inside:
                raise InputError(f"{path} holds no YAML file to check")
        elif not os.path.exists(path):
            raise InputError(f"{path}: there is no such file or folder")
        for file in sorted(inside):  # a file named twice is checked once, under its first name
            files_by_path.setdefault(os.path.realpath(file), file)
    return list(files_by_path.values())


_HUGGING_FACE = "this is a Hugging Face configuration; 'fastcalc import' turns it into a model"
_NO_ENTRY = "no key here belongs to a chip, a model or an engine; 'fastcalc new' prints one"


def check_document(
    document: Document, entry_type: Kind | None, setting: RuleContext
) -> Iterator[Fault]:
    """Yield the problems of a document, with excuses attached."""
    if isinstance(document.data, dict) and "model_type" in document.data:
        yield Fault("ST021", document.file, 1, 1, _HUGGING_FACE)
        return
    yield from document.faults
    if not document.is_whole:
        return
    if entry_type is None:
        yield Fault("ST021", document.file, 1, 1, _NO_ENTRY)
        return
    try:
        folders = setting.catalogue(document.file, entry_type)
        document, *bases = folders.lineage(document, entry_type)
    except InputError as error:
        sentence = error.sentence.removeprefix(f"{document.place('extends')}: ")
        yield Fault("ST023", document.file, *document.mark(("extends",)), sentence)
        return
    unfilled = list(place_holders(document))
    document.refused |= {path[:-1] if path[-1] == "value" else path for path in unfilled}
    entry, faults = validate(document, SCHEMAS[entry_type])
    yield from faults
    parent = None
    for base in reversed(bases):
        parent = sheet(base, entry_type, parent=parent)
    subject = sheet(document, entry_type, entry, parent)
    at_unfilled = {document.mark(path) for path in unfilled}
    implausible = list[Fault]()
    for rule, finder in finders(entry_type, is_strict=setting.strict):
        for where, message in finder(subject, setting):
            path = where if isinstance(where, tuple) else where.path
            if isinstance(where, WrittenNumber):
                message = f"{where.name}: {message}"
                path = (*path, "value") if (*path, "value") in document.values else path
            is_inherited = subject.at(*path) is not None and not subject.states(path)
            is_of_parent = is_inherited and rule.id.startswith(("PV", "ST022"))
            mark = document.mark(path, key=rule.at_key)
            # A placeholder is reported only as a placeholder.
            if not is_of_parent and (rule.id == "PV014" or mark not in at_unfilled):
                sentence = " ".join(message.split())
                implausible.append(Fault(rule.id, document.file, *mark, sentence, rule.severity))
    yield from _excuse(document, implausible, setting, is_broken=bool(faults or document.faults))


def _excuse(
    document: Document, faults: Iterable[Fault], setting: RuleContext, *, is_broken: bool
) -> Iterator[Fault]:
    """Attach the file's excuses. Reports unneeded excuses if all numbers are readable."""
    reasons = document.mapping("excused")
    applied = set()
    for fault in faults:
        reason = reasons.get(fault.rule)
        if reason and RULES[fault.rule].excusable:
            applied.add(fault.rule)
            yield replace(fault, excuse=" ".join(str(reason).split()))
        else:
            yield fault
    for name in reasons:
        rule = RULES.get(str(name))
        # The excuse for a --strict rule is not reported as unneeded in a plain check.
        is_checked = rule and rule.excusable and (setting.strict or rule.scope == "always")
        is_own = ("excused", name) in document.keys
        if is_checked and is_own and name not in applied and not is_broken:
            line, column = document.mark(("excused", name), key=True)
            message = f"{name} finds no fault here any more: remove the excuse"
            yield Fault("ST022", document.file, line, column, message, "warning")
