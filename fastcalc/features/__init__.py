"""Registry of commands: the request of each command and the function that answers it."""

from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any

from fastcalc.kit.request.fields import Request

GROUPS = {
    "Analyze": {
        "compare": ("compare.request.Compare", "compare.run.run"),
        "fit": ("fit.request.FitMemory", "fit.run.run"),
        "fastmode": ("fastmode.request.Fastmode", "fastmode.run.run"),
        "sensitivity": ("sensitivity.request.Sensitivity", "sensitivity.run.run"),
        "decide": ("decide.request.Decide", "decide.run.run"),
        "infer": ("infer.request.Infer", "infer.run.run"),
        "caches": ("caches.request.SizeCaches", "caches.run.run"),
    },
    "Search": {
        "plan": ("plan.request.FindPlans", "plan.run.run"),
        "frontier": ("frontier.request.Frontier", "frontier.run.run"),
        "sweep": ("sweep.request.Sweep", "sweep.run.run"),
    },
    "Charts and reports": {
        "plot": ("plot.request.Plot", "plot.run.run"),
        "report": ("compare.request.WriteReport", "compare.report.run"),
    },
    "Measure": {
        "measure": ("benchmark.request.Measure", "benchmark.run.run"),
        "validate": ("measure.request.Validate", "measure.validate.run"),
        "calibrate": ("measure.request.Calibrate", "measure.calibrate.run"),
        "diagnose": ("measure.request.Diagnose", "measure.diagnose.run"),
        "claims": ("claims.request.JudgeClaims", "claims.run.run"),
    },
    "Catalogue": {
        "list": ("entries.request.ListEntries", "entries.run.run_list"),
        "show": ("entries.request.ShowEntry", "entries.run.run_show"),
        "diff": ("entries.request.DiffEntries", "entries.run.run_diff"),
        "check": ("check.request.CheckFiles", "check.run.run"),
        "new": ("entries.request.NewEntry", "entries.new.run_new"),
        "import": ("entries.request.ImportModel", "entries.import_model.run"),
        "schema": ("entries.request.PrintSchema", "entries.new.run_schema"),
    },
}
"""Request class and answer function of each command, grouped as in ``--help``."""

COMMANDS = {name: path for commands in GROUPS.values() for name, path in commands.items()}


def request_of(command: str) -> type[Request]:
    """Return the request class of a command."""
    module, _, name = COMMANDS[command][0].rpartition(".")
    request: type[Request] = getattr(import_module(f"fastcalc.features.{module}"), name)
    return request


def answer_to(command: str, request: Request, notes: Sequence[str] = ()) -> Any:
    """Answer a request. The command's module is imported only now.

    notes : The notes on how the request was interpreted, which are printed first.
    """
    module, _, run = COMMANDS[command][1].rpartition(".")
    answer = getattr(import_module(f"fastcalc.features.{module}"), run)(request)
    return replace(answer, reading=[*notes, *answer.reading]) if notes else answer
