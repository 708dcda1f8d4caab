"""What answers each request, for the command line and for Python alike."""

from importlib import import_module
from typing import Any

from fastcalc.requests.fields import Request

COMMANDS = {
    "compare": ("evaluation.Compare", "compare.run"),
    "sweep": ("search.Sweep", "sweep.run"),
    "plan": ("search.FindPlans", "plan.run"),
    "fit": ("evaluation.FitMemory", "fit.run"),
    "caches": ("caches.SizeCaches", "caches.run"),
    "fastmode": ("search.Fastmode", "fastmode.run"),
    "sensitivity": ("search.Sensitivity", "sensitivity.run"),
    "decide": ("services.Decide", "decide.run"),
    "infer": ("services.Infer", "infer.run"),
    "frontier": ("search.Frontier", "frontier.run"),
    "report": ("drawings.WriteReport", "report.run"),
    "plot": ("drawings.Plot", "plot.run"),
    "list": ("catalogue.ListEntries", "entries.run_list"),
    "show": ("catalogue.ShowEntry", "entries.run_show"),
    "check": ("catalogue.CheckFiles", "check.run"),
    "validate": ("measurements.Validate", "validate.run"),
    "calibrate": ("measurements.Calibrate", "calibrate.run"),
    "diagnose": ("measurements.Diagnose", "diagnose.run"),
    "claims": ("measurements.JudgeClaims", "claims.run"),
    "new": ("catalogue.NewEntry", "new.run_new"),
    "schema": ("catalogue.PrintSchema", "new.run_schema"),
    "diff": ("catalogue.DiffEntries", "entries.run_diff"),
    "import": ("catalogue.ImportModel", "import_model.run"),
}
"""The request of every command and what answers it, in the order of ``--help``."""


def request_of(command: str) -> type[Request]:
    """Return the class of what a command is asked."""
    module, _, name = COMMANDS[command][0].partition(".")
    request: type[Request] = getattr(import_module(f"fastcalc.requests.{module}"), name)
    return request


def answer_to(command: str, request: Request) -> Any:
    """Return the answer to a request; what answers it is imported now."""
    module, _, run = COMMANDS[command][1].partition(".")
    return getattr(import_module(f"fastcalc.commands.{module}"), run)(request)
