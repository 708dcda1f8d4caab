"""ST and UN: problems found when reading a file. Most of them prevent loading."""

from pathlib import Path

from fastcalc.features.check.document import Sheet
from fastcalc.features.check.rule import RULES, Findings, RuleContext, add_rules_of_reader, rule
from fastcalc.mentions import flag
from fastcalc.written import shown

add_rules_of_reader(Path(__file__).with_name("reader.yaml"))


@rule("ST019", "error")
def id_is_file_name(sheet: Sheet, _: RuleContext) -> Findings:
    """The id differs from the file name.

    Entries are looked up by file name; an entry with a different id is not found.
    Example: h200.yaml, copied from h100.yaml, with 'id: h100' still inside.
    Fix: Rename the file or change the id, so that both are the same.
    """
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
    """An excuse for a problem that does not exist.

    An excuse that outlives its problem hides the next problem.
    Example: A linter's ignore comment that is never removed.
    Fix: Remove it from 'excused', or write the id of the rule as in the message.
    """
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
    """An alias that is the name of another shipped entry.

    Users who type the name get this file, with the numbers of another entry.
    Example: A model copied for a variant, with the aliases of the original.
    Fix: Remove the alias; a file that replaces a shipped entry needs the id of that entry.
    """
    owner_of = setting.shipped_owners(sheet.kind)
    for index, alias in enumerate(sheet.items("aliases")):
        owner = owner_of(alias) if isinstance(alias, str) else None
        if owner not in (None, sheet.at("id")):
            yield ("aliases", index), f"'{shown(alias)}' is a name of {owner} in the catalogue"
