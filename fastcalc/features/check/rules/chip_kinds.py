"""HW074 to HW077: consistency of a file with its type of chip."""

from fastcalc.features.check.document import Sheet
from fastcalc.features.check.rule import Findings, RuleContext, rule

_SPATIAL = ("wafer", "lpu")
_SRAM = "sram"


@rule("HW074", strict=True, at_key=True)
def architecture_is_stated(sheet: Sheet, _: RuleContext) -> Findings:
    """A chip without an architecture.

    Engines store fitted values and number formats by architecture; a chip without one is predicted
    with the values of its kind.
    Example: An entry copied from a data sheet that names only the product.
    Fix: Write 'architecture:' as in other chips of the family; a new family gets a new name.
    """
    if sheet.word("kind") not in ("", "host") and not sheet.word("architecture"):
        yield ("kind",), "the file names no architecture"


@rule("HW075")
def execution_is_of_its_kind(sheet: Sheet, _: RuleContext) -> Findings:
    """An execution mode that chips of this kind do not have.

    On a spatial machine each layer runs in its own region and uses only the memory and cores of
    that region; the same chip is predicted many times slower or faster.
    Example: 'execution: spatial' left in a GPU's file that was copied from a wafer's.
    Fix: Remove 'execution', or excuse it with evidence that this chip runs in that mode.
    """
    chip_type, execution = sheet.word("kind"), sheet.word("execution")
    usual = "spatial" if chip_type in _SPATIAL else "sequential"
    if chip_type and execution and execution != usual:
        yield ("execution",), f"'{execution}' on a {chip_type}, which is usually {usual}"


@rule("HW076")
def memory_is_where_its_kind_has_it(sheet: Sheet, _: RuleContext) -> Findings:
    """A memory whose location does not match the kind of chip.

    On-chip memory is marked 'where: chip', and a host's memory has a link to the chip. Memory
    without a mark is read as memory of the package.
    Example: A wafer's SRAM without 'where: chip', which was not treated as on-chip memory.
    Fix: Write 'where: chip' for SRAM and no 'where' for other memory of a chip; write 'where:
        host' or 'disk', 'link' and 'shared_by' for memory of a host.
    """
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
    """A host described as a chip.

    A host provides memory and cores to chips; it is not rented as an accelerator.
    Example: A server's price in the entry of its processor.
    Fix: Put DRAM first, write 'scope: one host', and enter the price with the chips.
    """
    if sheet.word("kind") != "host":
        return
    if sheet.word("memory", 0, "name") != "dram":
        yield ("memory", 0, "name"), "the first memory of a host is its DRAM"
    if sheet.word("scope") != "one host":
        yield ("scope",), "the scope of a host is 'one host'"
    for key in ("cloud", "purchase"):
        if sheet.at("price", key):
            yield ("price", key), "a host has no price of its own"
