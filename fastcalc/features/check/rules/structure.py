"""ST and UN: what reading a file finds. Most of these stop a file from loading."""

from pathlib import Path

from fastcalc.features.check.document import Sheet
from fastcalc.features.check.rule import RULES, Findings, RuleContext, add_rules_of_reader, rule
from fastcalc.mentions import flag
from fastcalc.written import shown

add_rules_of_reader(Path(__file__).with_name("reader.yaml"))


@rule("ST019", "error")
def id_is_file_name(sheet: Sheet, _: RuleContext) -> Findings:
    """The id is not the file's name.

    Names are looked up by file name; an id that differs names an entry nobody finds.
    Seen: h200.yaml, copied from h100.yaml, with 'id: h100' still inside.
    Instead: Rename the file or change the id; both must be the same.
    """
    entry_id, file = sheet.at("id"), Path(sheet.document.file)
    stem = file.stem
    if isinstance(entry_id, str) and entry_id != stem and not file.is_fifo():  # a pipe has no name
        message = (
            f"id '{entry_id}' differs from the file name '{stem}': names are looked up by file"
        )
        yield ("id",), message


@rule("ST022", at_key=True)
def excuses_are_of_rules(sheet: Sheet, _: RuleContext) -> Findings:
    """An excuse that excuses nothing.

    An excuse that outlives its fault hides the next one.
    Seen: A linter's ignore comment that nobody dares to remove.
    Instead: Remove it from 'excused', or write the id of the rule as the message spells it.
    """
    excused = sheet.at("excused")
    for name in excused if isinstance(excused, dict) else ():
        excused_rule = RULES.get(str(name))
        if excused_rule is None:
            yield (
                ("excused", name),
                f"'{name}' is no rule; 'fastcalc check {flag('explain')}' lists them",
            )
        elif not excused_rule.excusable:
            yield ("excused", name), f"{name} cannot be excused: fix the file instead"


@rule("ST024")
def aliases_are_free(sheet: Sheet, setting: RuleContext) -> Findings:
    """An alias that is the name of another shipped entry.

    People who type the name get this file, and numbers of something else.
    Seen: A model copied for a variant, with the aliases of the first still inside.
    Instead: Take the alias out; a file that shall replace a shipped one has that one's id.
    """
    owner_of = setting.shipped_owners(sheet.kind)
    for index, alias in enumerate(sheet.items("aliases")):
        owner = owner_of(alias) if isinstance(alias, str) else None
        if owner not in (None, sheet.at("id")):
            yield ("aliases", index), f"'{shown(alias)}' is a name of {owner} in the catalogue"
