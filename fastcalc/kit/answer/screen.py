"""The screen a page is laid out for, and the notes that fit on it."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

from fastcalc.kit.answer.console import height
from fastcalc.kit.answer.parts import Note, Notes, Part, sentence
from fastcalc.mentions import option

_MOST_NOTES = 4
"""Maximum number of notes on a first screen."""

_SCREEN_LINES = 24
"""Lines on a first screen: the default height of a terminal."""


@dataclass(frozen=True)
class Screen:
    """The screen a page is laid out for.

    width, lines : The characters per line, and lines on a first screen.
    wide, notes : Whether to print all columns, and all notes.
    ids : Ids of entries, which are not capitalized at the start of a note.
    """

    width: int
    wide: bool = False
    notes: bool = False
    lines: int = _SCREEN_LINES
    ids: Collection[str] = ()

    def sentences(self, notes: Iterable[Note]) -> list[str]:
        """Return the distinct texts of notes as sentences."""
        return list(dict.fromkeys(sentence(note.written, self.ids) for note in notes))

    def with_notes(
        self,
        body: Sequence["Part"],
        key: str,
        notes: Sequence[Note],
        next_command: str | None,
        *,
        fills_one_screen: bool,
    ) -> list["Part"]:
        """Build a page with its key, its main notes (or all) and the suggested next command.

        fills_one_screen : Whether to print only the notes that fit on one screen, at least one.
        """
        first = sorted((note for note in notes if note.weight), key=lambda note: -note.weight)
        short_notes = self.sentences(first)
        lasting = (note for note in notes if not (note.is_hint or (note.is_of_rows and self.wide)))
        all_notes = self.sentences(lasting)

        def page(count: int) -> list[Part]:
            return [*body, self.under_table(key, short_notes[:count], all_notes, next_command)]

        return on_one_screen(page, self) if fills_one_screen else page(_MOST_NOTES)

    def under_table(
        self,
        key: str,
        short_notes: Sequence[str],
        all_notes: Sequence[str],
        next_command: str | None,
    ) -> Notes:
        """Build the notes below a table: key, short notes (or all) and the next command."""
        if self.wide or self.notes:
            return Notes([*filter(None, [key]), *all_notes], next_command)
        shown = short_notes[:_MOST_NOTES]
        noun = "note" if len(all_notes) == 1 else "notes"
        count = f"{option('notes')} prints {len(all_notes)} {noun}; " * (
            not set(all_notes) <= set(shown)
        )
        hidden = f"{count}{option('wide')} prints all columns and rows."
        return Notes([key, *shown, hidden], next_command)


def on_one_screen(page: Callable[[int], list[Part]], screen: Screen) -> list[Part]:
    """Build a page with as many short notes as fit on one screen, or one if it is too long.

    page : Builds the page with the given number of short notes.
    """
    for count in range(_MOST_NOTES, -1, -1):
        laid_out = page(count)
        if screen.wide or screen.notes or height(laid_out, screen.width) <= screen.lines:
            return laid_out
    return page(1)
