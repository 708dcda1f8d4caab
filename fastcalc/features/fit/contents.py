"""The contents of each memory of a chip, as a table with bars."""

from collections.abc import Sequence
from operator import itemgetter

from fastcalc.core.start import StartLocation
from fastcalc.grid.column import key_figure
from fastcalc.kit.answer import record_tables
from fastcalc.kit.answer.memories import LETTERS, bar, filled
from fastcalc.kit.answer.numbers_as_text import percent, size
from fastcalc.kit.answer.parts import TextTable
from fastcalc.kit.answer.point_records import Record
from fastcalc.kit.answer.record_tables import numbers, words

_COLUMNS = (
    key_figure(words("|chips", itemgetter(0))),
    words("memory,|layout", itemgetter(1)),
    numbers("|batch", itemgetter(2)),
    numbers("largest|batch", itemgetter(3)),
    numbers("memory|used", itemgetter(4)),
    words("usable|per chip", itemgetter(5)),
    words("|contents", itemgetter(6)),
)


def table(locations: Sequence[StartLocation], records: Sequence[Record], width: int) -> TextTable:
    """Build a table with a row per memory of a chip, or with the chips that a scenario needs."""
    rows: list[list[str]] = []
    bars: list[list[tuple[str, float]] | str] = []
    for location, record in zip(locations, records, strict=True):
        chip, batch = location.scenario.hardware.id, f"{record['batch']:,}"
        if not location.fits:
            needed, chips = record["min_chips"], location.placement.layout.chips
            text = f"needs {needed:,} chips" if needed else "does not fit"
            if location.is_stopped:
                text = "does not start"
            elif needed == chips:  # another layout of the same chips holds it
                text = f"holds {int(location.placement.max_batch):,}"
            rows.append([chip, "-", batch, "-", "-", "-"])
            bars.append(text)
            continue
        lives = " ".join(filter(None, (location.memories, str(location.placement.layout))))
        percent_used = percent(record["memory_used_fraction"])
        largest = f"{int(location.placement.max_batch):,}"
        if record["fit_verdict"] == "edge":
            largest += f"..{int(location.placement.edge_max_batch):,}"
        cells = [f"{record['chips']:,} x {chip}", lives, batch, largest, percent_used]
        for name, capacity, contents in filled(location):
            rows.append([*cells, f"{name} {size(capacity)}"])
            bars.append([(LETTERS[group], fraction) for group, fraction in contents])
            cells = [""] * len(cells)
    # The bars get the remaining width.
    heads = [column.heading for column in _COLUMNS]
    column_widths = [
        max(map(len, (*head, *column)))
        for head, column in zip(heads, zip(*rows, strict=True), strict=False)
    ]
    bar_width = min(max(width - sum(column_widths) - 2 * len(column_widths), 10), 40)
    for row, segments in zip(rows, bars, strict=True):
        row.append(segments if isinstance(segments, str) else bar(segments, bar_width))
    return record_tables.table(_COLUMNS, rows, width)
