"""The answer for a server that did not start: the error, and changes that would fix it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fastcalc.core.start import StartLocation, StartRemedy, more_chips
from fastcalc.evidence.start_log import RANKS, SETTINGS, StartLog
from fastcalc.features import request_of
from fastcalc.features.measure.diagnosis.start import GIB, stated_settings
from fastcalc.features.measure.request import Diagnose
from fastcalc.features.measure.term_rows import COLUMNS
from fastcalc.grid.column import TableColumn
from fastcalc.grid.columns import pick
from fastcalc.kit.answer.answer import Answer, Screen
from fastcalc.kit.answer.next_commands import follow_up
from fastcalc.kit.answer.parts import Listing, Note, Part
from fastcalc.kit.answer.point_records import Record
from fastcalc.mentions import flag


@dataclass(frozen=True, eq=False, kw_only=True)
class StoppedAnswer(Answer):
    """Shows the error in the log of a failed server start, and changes that would start it.

    missing : What the log does not name, without which nothing is computed.
    location : The intended placement, or None if names are missing.
    as_logged : The same placement with the logged cache memory.
    """

    request: Diagnose
    log: StartLog
    missing: str = ""
    location: StartLocation | None = None
    as_logged: StartLocation | None = None

    @property
    def code(self) -> int:
        """The exit code, which is 1 because the server did not start."""
        return 1

    @property
    def remedies(self) -> list[StartRemedy]:
        """The changes that each start the server: those named by the error, then computed ones."""
        log_remedies = [
            StartRemedy(setting, f"{value:.3f}" if value < 1.0 else f"{value:.0f}")
            for setting, value in self.log.limits.items()
        ]
        settings = {remedy.setting for remedy in log_remedies}
        computed = self.as_logged.remedies if self.as_logged else []
        if not (log_remedies or computed) and self.location is not None:
            # The expected memory was not available, so more chips are suggested.
            more = more_chips(self.location)
            computed = [more] if more else []
        return [*log_remedies, *(remedy for remedy in computed if remedy.setting not in settings)]

    @property
    def sentence(self) -> str:
        """A sentence on why the server did not start."""
        return f"{self.log.program} did not start: {self.log.stopped}"

    def body(self, screen: Screen) -> Iterator[Part]:  # noqa: ARG002
        """Yield the error, and a line for each change that would start the server."""
        yield self.sentence
        changes, names = [], SETTINGS[self.log.program]
        for remedy in self.remedies:
            name = names.get(remedy.setting, remedy.setting).replace("_", "-")
            by = "from the error" if remedy.setting in self.log.limits else "computed"
            line = f"--{name} {remedy.value} ({by})"
            if remedy.setting == "engine" and self.as_logged and self.as_logged.graphs_given_up:
                line = f"--enforce-eager ({by}: {self.as_logged.graphs_given_up.effect})"
            changes.append(f"{remedy.value} chips" if remedy.setting == "chips" else line)
        if changes:
            yield ""
            yield "Any one of these changes would let it start"
            yield Listing(changes)

    def notes(self) -> Iterator[Note]:
        """Yield notes on the expected memory, or on how to have it computed."""
        if self.location is None:
            yield Note(f"other changes cannot be computed: {self.missing}")
            return
        available = float(self.location.placement.available) / GIB
        logged = f"; it logged {self.log.available / GIB:.2f}" if self.log.available else ""
        yield Note(f"{available:.2f} GiB of a chip are expected for caches{logged}")
        traffic = self.location.scenario.traffic
        yield Note(
            f"a log states no requests: computed changes assume {traffic.prompt:,.0f} prompt and "
            f"{traffic.output:,.0f} output tokens per request"
        )

    def next_command(self) -> str | None:
        """Suggest starting with the first change."""
        if self.location is None:
            return None
        scenario = self.location.scenario
        stated = stated_settings(self.log, scenario)
        if remedies := self.remedies:
            stated[remedies[0].setting] = remedies[0].value
        if "chips" in stated:  # in any layout that starts
            stated = {name: value for name, value in stated.items() if name not in RANKS}
        words = [word for name, value in stated.items() for word in typed_setting(name, value)]
        begun = [scenario.model.asked_name, flag("on"), scenario.hardware.id]
        return follow_up(self.request, request_of("fit"), *begun, *words)

    def records(self) -> list[Record]:
        """Return no records, because no term was measured."""
        return []

    def table(self) -> tuple[Sequence[TableColumn], Sequence[object]]:
        """Return an empty table, because no term was measured."""
        return pick("term probability slower slower_low named", COLUMNS), []

    def details(self) -> Record:
        """Return the verdict, the error, and the settings that would start the server."""
        return {
            "verdict": "did not start",
            "sentence": self.sentence,
            "settings": [f"{remedy.setting} {remedy.value}" for remedy in self.remedies],
            "start": {
                "program": self.log.program,
                "version": self.log.version or None,
                "settings": self.log.settings,
                "available_kv_gb_per_chip": self.log.available and self.log.available / 1e9,
            },
        }


def typed_setting(name: str, value: str) -> list[str]:
    """Format a setting as the user would type it: a flag, with its value unless it is a switch."""
    return [flag(name)] if value == "True" else [flag(name), value]
