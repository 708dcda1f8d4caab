"""What the keys of every command's records mean."""

from fastcalc.core.columns import COLUMNS, Column
from fastcalc.report import curve, decided, fastmode, fit, inferred, plan

COMMANDS: dict[str, tuple[Column, ...]] = {
    "compare, frontier, sweep": COLUMNS,
    "fit": fit.COLUMNS,
    "plan": plan.COLUMNS,
    "fastmode": fastmode.COLUMNS,
    "fastmode --curve": curve.COLUMNS,
    "decide": decided.COLUMNS,
    "infer": inferred.COLUMNS,
}


def meanings() -> dict[str, Column]:
    """Return the column of each key, of the first command that has it."""
    columns = [column for some in COMMANDS.values() for column in some]
    return {column.key: column for column in reversed(columns)}
