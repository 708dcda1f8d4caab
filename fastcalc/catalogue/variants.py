"""Engines joined by '+', such as vllm-0.19+eager: the values of a variant over a release."""

from collections.abc import Sequence

from fastcalc.catalogue.difference import joined
from fastcalc.catalogue.reader import Document
from fastcalc.errors import InputError
from fastcalc.written import shown


def parts_of(name: str) -> list[str]:
    """Names joined by '+', variants last; paths of files may contain a '+'.

    >>> parts_of("vllm-0.19+eager"), parts_of("a+b/mine.yaml+eager"), parts_of("a+b.yaml")
    (['vllm-0.19', 'eager'], ['a+b/mine.yaml', 'eager'], ['a+b.yaml'])
    """
    release, plus, variant = name.rpartition("+")
    if not plus or "/" in variant or "\\" in variant or variant.endswith((".yaml", ".yml")):
        return [name]
    if not release:
        raise InputError(
            f"'{shown(name)}': no engine precedes the '+': write for example vllm{shown(name)}, "
            f"or {shown(variant)}"
        )
    if not variant:
        raise InputError(f"'{shown(name)}': no engine follows the '+': write {shown(release)}")
    return [*parts_of(release), variant]


def refuse_unrelated(name: str, variant: Sequence[Document], release: Sequence[Document]) -> None:
    """Refuse a '+' before an engine that is not a variant of the engine in front of it.

    A variant extends an engine with the same program. The release is this engine or extends it.

    name : both engines as written
    variant, release : file of each engine, followed by those that it extends
    """
    own, before = str(variant[0].at("id")), name.rpartition("+")[0]
    files = [document.file for document in release]
    if variant[0].file in files:
        raise InputError(f"{name}: {before} includes {own}: write {before}")
    full_document, *bases = joined(variant)
    program = bases[0].at("program") if bases else None
    if program is None or full_document.at("program") != program:
        raise InputError(f"{name}: {own} is not a variant of {before}: write {own}")
    base = bases[0].at("id")
    if bases[0].file not in files or joined(release)[0].at("program") != program:
        raise InputError(f"{name}: {own} extends {base}, and {before} does not: write {base}+{own}")
