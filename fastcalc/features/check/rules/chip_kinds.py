"""HW074 to HW077: consistency of a file with its type of chip."""

from fastcalc.features.check.document import Sheet
from fastcalc.features.check.rule import Findings, RuleContext, rule

_SPATIAL = ("wafer", "lpu")
_SRAM = "sram"


@rule("HW074", strict=True, at_key=True)
def architecture_is_stated(sheet: Sheet, _: RuleContext) -> Findings:
    """A chip without an architecture."""
    if sheet.word("kind") not in ("", "host") and not sheet.word("architecture"):
        yield ("kind",), "the file names no architecture"


@rule("HW075")
def execution_is_of_its_kind(sheet: Sheet, _: RuleContext) -> Findings:
    """An execution mode that chips of this kind do not have."""
    chip_type, execution = sheet.word("kind"), sheet.word("execution")
    usual = "spatial" if chip_type in _SPATIAL else "sequential"
    if chip_type and execution and execution != usual:
        yield ("execution",), f"'{execution}' on a {chip_type}, which is usually {usual}"


@rule("HW076")
def memory_is_where_its_kind_has_it(sheet: Sheet, _: RuleContext) -> Findings:
    """A memory whose location does not match the kind of chip."""
    is_host = sheet.word("kind") == "host"
    for index, memory in enumerate(sheet.items("memory")):
        path = ("memory", index)
        where = sheet.word(*path, "where")
        if not isinstance(memory, dict) or not sheet.word("kind"):
            continue
        if is_host:
            missing = [key for key in ("link", "shared_by") if key not in memory]
            if where not in ("host", "disk"):
                yield (*path, "where"), "memory of a host needs 'where: host' or 'where: disk'"
            elif missing:
                yield path, f"memory of a host needs {' and '.join(missing)}"
            continue
        usual = "chip" if sheet.word(*path, "name") == _SRAM else ""
        if where != usual:
            named = f"'where: {where}' is for {'SRAM' if where == 'chip' else 'host memory'}"
            yield (*path, "where"), "SRAM needs 'where: chip'" if usual else named
        if "link" in memory:
            yield (
                (*path, "link"),
                "a chip reads its own memory directly; only host memory has a link",
            )


@rule("HW077", strict=True)
def host_is_described_as_one(sheet: Sheet, _: RuleContext) -> Findings:
    """A host described as a chip."""
    if sheet.word("kind") != "host":
        return
    if sheet.word("memory", 0, "name") != "dram":
        yield ("memory", 0, "name"), "the first memory of a host is its DRAM"
    if sheet.word("scope") != "one host":
        yield ("scope",), "the scope of a host is 'one host'"
    for key in ("cloud", "purchase"):
        if sheet.at("price", key):
            yield ("price", key), "a host has no price of its own"
