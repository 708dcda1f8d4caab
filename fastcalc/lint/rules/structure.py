"""ST and UN: what reading a file finds. Most of these stop a file from loading."""

from collections.abc import Iterator
from pathlib import Path

from fastcalc.catalogue.faults import Fault
from fastcalc.lint.document import Sheet
from fastcalc.lint.rule import RULES, Setting, rule, told_by_reader

told_by_reader(
    "ST001",
    "the file cannot be read",
    why="A check that skips what it cannot open passes for the wrong reason.",
    seen="A catalogue checked out with links to files that were never added.",
    mend="Give a file that exists and that you may read; a folder is checked by naming the folder.",
)
told_by_reader(
    "ST002",
    "the file is far too large",
    why="An entry is a few kilobytes; a large file is something else under a .yaml name.",
    seen="A profiler's trace saved into the hardware folder.",
    mend="Move it elsewhere, or split it: one file an entry.",
)
told_by_reader(
    "ST003",
    "the file is not UTF-8",
    why="Units hold characters such as the micro sign that other encodings turn into others.",
    seen="A spreadsheet's export in a Windows code page.",
    mend="Save the file as UTF-8.",
)
told_by_reader(
    "ST004",
    "the file is not YAML",
    why="Nothing after the place can be read.",
    seen="A value with ': ' in it and no quotes.",
    mend="Quote texts that hold ': ' or ' #'; close every brace and quote.",
)
told_by_reader(
    "ST005",
    "a tab indents a line",
    why="YAML forbids tabs there, and they look like spaces.",
    seen="A block pasted from an editor that indents with tabs.",
    mend="Use spaces.",
)
told_by_reader(
    "ST006",
    "the file is empty",
    why="An empty entry is a chip without numbers.",
    seen="A file that was touched and never filled in.",
    mend="'fastcalc new hardware my-chip -o my-chip.yaml' writes one to fill in.",
)
told_by_reader(
    "ST007",
    "the file is not a mapping",
    why="An entry is lines of 'key: value'; a list of chips is not one chip.",
    seen="A table of GPUs kept as one YAML list.",
    mend="One file an entry, beginning with 'id: its-name'.",
)
told_by_reader(
    "ST008",
    "a second document begins",
    why="Readers that take the first document ignore the second without a word.",
    seen="Two chips in one file, parted by '---'.",
    mend="One file an entry.",
)
told_by_reader(
    "ST009",
    "a key is given twice",
    why="YAML readers keep the last one silently; the reader of the file sees the first.",
    seen="A second 'bf16:' line added under the first after a correction.",
    mend="Keep one, the right one.",
)
told_by_reader(
    "ST010",
    "anchors, aliases, merge keys or tags",
    why="A value that stands elsewhere has no line of its own to check, and nested ones explode.",
    seen="The 'billion laughs': nine lines that expand to gigabytes.",
    mend="Write the value out where it is used.",
)
told_by_reader(
    "ST011",
    "the file is nested too deep, holds too many values or too many faults",
    why="No entry needs it; such a file is broken or meant to hurt.",
    seen="A thousand opening brackets.",
    mend="Look at the place that is named: a bracket or an indent has gone astray.",
)
told_by_reader(
    "ST012",
    "a number that YAML reads as something else",
    why="YAML 1.1 reads 1e12 as text, 010 as eight and 1:30 as ninety.",
    seen="'flops: 3.35e12' in a catalogue, silently a string.",
    mend="Write the number with a named unit: '3.35 TB/s', '989.5 TFLOP/s'.",
)
told_by_reader(
    "ST013",
    "a word that is a boolean to some YAML readers",
    why="'no', 'off' and 'y' are false, false and true to YAML 1.1 and text to YAML 1.2.",
    seen="The country code of Norway.",
    mend="Write true or false, or put the text in quotes.",
)
told_by_reader(
    "ST014",
    "a key is not text",
    why="A list or a mapping as a key has no name.",
    seen="A missing quote that turns a line into a complex key.",
    mend="Write 'name: value'.",
)
told_by_reader(
    "ST015",
    "an unknown key",
    why="A misspelt key is a number that is never read: the default is used instead, silently.",
    seen="'bandwith', which a lenient loader takes for no bandwidth at all.",
    mend="Take the name that the message suggests; 'fastcalc schema' lists all.",
)
told_by_reader(
    "ST016",
    "a key is missing",
    why="fastcalc never invents a default for what a vendor prints.",
    seen="A planner that filled in a capacity of its own for a chip without one.",
    mend="Write the key; 'fastcalc new' shows where it stands.",
)
told_by_reader(
    "ST017",
    "a value of the wrong type",
    why="A list where a text belongs, or a text where a number belongs, means a slip of indent.",
    seen="'layers: \"32\"' from a templating tool.",
    mend="Write what the message asks for.",
)
told_by_reader(
    "ST018",
    "a value that cannot be",
    why="Zero bandwidth, a negative size or an unknown word is a typo in every case.",
    seen="'capacity: 0 GB' as a placeholder that was never replaced.",
    mend="Write a value inside the limits, or one of the words that the message lists.",
)
told_by_reader(
    "UN001",
    "a number without a unit",
    why="Nobody can tell 80 GB from 80 GiB, or 400 Gb/s from 400 GB/s, by the number.",
    seen="'peak_fp16_TFLOPS: 989000000000000': a unit in the key and another in the value.",
    mend="Write the unit with the number, as the vendor does: '80 GiB'.",
)
told_by_reader(
    "UN002",
    "an unknown unit",
    why="A unit that is guessed is wrong one day.",
    seen="'TBps' and 'Gbps', which differ by a factor of 8,000 and one letter.",
    mend="Take the unit that the message suggests: 'TB/s', 'Gb/s' (bits), 'GiB' (2^30 bytes).",
)
told_by_reader(
    "UN003",
    "a unit of another dimension",
    why="A size is not a bandwidth and a price is not a price per hour.",
    seen="'bandwidth: 3.35 TB', copied from a table whose heading said 'per second'.",
    mend="Take the unit that the message suggests.",
)
told_by_reader(
    "UN004",
    "not a number that a quantity can be",
    why="'1,979 TFLOPS', 'nan GB' and '-80 GB' are not quantities; a comma is read two ways.",
    seen="'1,979 teraFLOPS' pasted from a data sheet: in half of Europe that is two.",
    mend="Write digits and a point: '1979 TFLOP/s'; the vendor's characters go under 'printed'.",
)


@rule(
    "ST019",
    "error",
    "the id is not the file's name",
    why="Names are looked up by file name; an id that differs names an entry nobody finds.",
    seen="h200.yaml, copied from h100.yaml, with 'id: h100' still inside.",
    mend="Rename the file or change the id; both must be the same.",
)
def id_is_file_name(sheet: Sheet, _: Setting) -> Iterator[Fault]:
    """Find an id that differs from the name of its file."""
    given, stem = sheet.at("id"), Path(sheet.document.file).stem
    if isinstance(given, str) and given != stem:
        message = f"id '{given}' differs from the file name '{stem}': names are looked up by file"
        yield sheet.fault("ST019", ("id",), message)


told_by_reader(
    "ST020",
    "two entries answer to one name",
    why="Which of them a name finds would depend on the order of files.",
    seen="'h100' as an alias of both the SXM and the PCIe card.",
    mend="Give the alias to one of them.",
)
told_by_reader(
    "ST021",
    "the file is none of a chip, a model or an engine",
    why="A check that skips what it does not know passes for the wrong reason.",
    seen="A pipeline's own YAML in the hardware folder.",
    mend="Move it out of the folder, or name only the files to check.",
)


@rule(
    "ST022",
    "warning",
    "an excuse that excuses nothing",
    why="An excuse that outlives its fault hides the next one.",
    seen="A linter's ignore comment that nobody dares to remove.",
    mend="Remove it from 'excused', or write the id of the rule as the message spells it.",
)
def excuses_are_of_rules(sheet: Sheet, _: Setting) -> Iterator[Fault]:
    """Find excuses of rules that do not exist or cannot be excused."""
    excused = sheet.at("excused")
    for name in excused if isinstance(excused, dict) else ():
        known = RULES.get(str(name))
        if known is None:
            message = f"'{name}' is no rule; 'fastcalc check --explain' lists them"
            yield sheet.fault("ST022", ("excused", name), message, key=True)
        elif not known.excusable:
            message = f"{name} cannot be excused: mend the file instead"
            yield sheet.fault("ST022", ("excused", name), message, key=True)
