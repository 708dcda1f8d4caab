"""ST and UN: problems found when reading a file. Most of them prevent loading."""

from pathlib import Path

from fastcalc.features.check.document import Sheet
from fastcalc.features.check.rule import RULES, Findings, Rule, RuleContext, add, rule
from fastcalc.mentions import flag
from fastcalc.written import shown

_OF_READER = {
    "MD001": "heads that do not divide",
    "MD002": "more active experts than experts",
    "MD003": "more active parameters than parameters",
    "MD004": "a cache in a format that no cache has",
    "ST001": "the file cannot be read",
    "ST002": "the file is far too large",
    "ST003": "the file is not UTF-8",
    "ST004": "the file is not YAML",
    "ST005": "a tab indents a line",
    "ST006": "the file is empty",
    "ST007": "the file is not a mapping",
    "ST008": "a second document begins",
    "ST009": "a key is given twice",
    "ST010": "anchors, aliases, merge keys or tags",
    "ST011": "the file is nested too deep, holds too many values or too many faults",
    "ST012": "a number that YAML reads as something else",
    "ST013": "a word that is a boolean to some YAML readers",
    "ST014": "a key is not text",
    "ST015": "an unknown key",
    "ST016": "a key is missing",
    "ST017": "a value of the wrong type",
    "ST018": "a value that cannot be",
    "ST020": "two entries answer to one name",
    "ST021": "the file is none of a chip, a model or an engine",
    "ST023": "an entry that extends none",
    "UN001": "a number without a unit",
    "UN002": "an unknown unit",
    "UN003": "a unit of another dimension",
    "UN004": "not a number that a quantity can be",
}
"""Titles of the rules whose problems the file reader detects. All are errors."""

for id_, title in _OF_READER.items():
    add(Rule(id_, "error", title))


@rule("ST019", "error")
def id_is_file_name(sheet: Sheet, _: RuleContext) -> Findings:
    """The id differs from the file name."""
    entry_id, file = sheet.at("id"), Path(sheet.document.file)
    stem = file.stem
    if isinstance(entry_id, str) and entry_id != stem and not file.is_fifo():  # a pipe has no name
        message = (
            f"id '{entry_id}' differs from the file name '{stem}', by which entries are found: "
            "change one of them"
        )
        yield ("id",), message


@rule("ST022", at_key=True)
def excuses_are_of_rules(sheet: Sheet, _: RuleContext) -> Findings:
    """An excuse for a problem that does not exist."""
    excused = sheet.at("excused")
    for name in excused if isinstance(excused, dict) else ():
        excused_rule = RULES.get(str(name))
        if excused_rule is None:
            message = f"'{name}' is not a rule; 'fastcalc check {flag('explain')}' lists them"
            yield ("excused", name), message
        elif not excused_rule.excusable:
            yield ("excused", name), f"{name} cannot be excused: fix the file instead"


@rule("ST024")
def aliases_are_free(sheet: Sheet, setting: RuleContext) -> Findings:
    """An alias that is the name of another shipped entry."""
    owner_of = setting.shipped_owners(sheet.kind)
    for index, alias in enumerate(sheet.items("aliases")):
        owner = owner_of(alias) if isinstance(alias, str) else None
        if owner not in (None, sheet.at("id")):
            yield ("aliases", index), f"'{shown(alias)}' is a name of {owner} in the catalogue"
