"""What answers each request, for the command line and for Python alike."""

from dataclasses import replace
from importlib import import_module
from typing import Any

from fastcalc.requests.fields import Request

GROUPS = {
    "Ask": {
        "compare": ("compare.Compare", "compare.run"),
        "fit": ("fit.FitMemory", "fit.run"),
        "fastmode": ("fastmode.Fastmode", "fastmode.run"),
        "sensitivity": ("sensitivity.Sensitivity", "sensitivity.run"),
        "decide": ("decide.Decide", "decide.run"),
        "infer": ("infer.Infer", "infer.run"),
        "caches": ("caches.SizeCaches", "caches.run"),
    },
    "Search": {
        "plan": ("plan.FindPlans", "plan.run"),
        "frontier": ("frontier.Frontier", "frontier.run"),
        "sweep": ("sweep.Sweep", "sweep.run"),
    },
    "Draw and send": {
        "plot": ("plot.Plot", "plot.run"),
        "report": ("compare.WriteReport", "report.run"),
    },
    "Measure": {
        "validate": ("measurements.Validate", "validate.run"),
        "calibrate": ("measurements.Calibrate", "calibrate.run"),
        "diagnose": ("measurements.Diagnose", "diagnose.run"),
        "claims": ("claims.JudgeClaims", "claims.run"),
    },
    "Catalogue": {
        "list": ("entries.ListEntries", "entries.run_list"),
        "show": ("entries.ShowEntry", "entries.run_show"),
        "diff": ("entries.DiffEntries", "entries.run_diff"),
        "check": ("check.CheckFiles", "check.run"),
        "new": ("entries.NewEntry", "new.run_new"),
        "import": ("entries.ImportModel", "import_model.run"),
        "schema": ("entries.PrintSchema", "new.run_schema"),
    },
}
"""The request of every command and what answers it, by what it is for, as ``--help`` lists them."""

COMMANDS = {name: path for commands in GROUPS.values() for name, path in commands.items()}


def request_of(command: str) -> type[Request]:
    """Return the class of what a command is asked."""
    module, _, name = COMMANDS[command][0].partition(".")
    request: type[Request] = getattr(import_module(f"fastcalc.requests.{module}"), name)
    return request


def answer_to(command: str, request: Request) -> Any:
    """Return the answer to a request; what answers it is imported now."""
    module, _, run = COMMANDS[command][1].partition(".")
    answer = getattr(import_module(f"fastcalc.commands.{module}"), run)(request)
    if answer is None or isinstance(answer, int):  # the exit code of what it wrote itself
        return answer
    return replace(answer, request=request) if type(answer.request) is Request else answer
