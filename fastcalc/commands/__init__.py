"""What answers each request, for the command line and for Python alike."""

from dataclasses import replace
from importlib import import_module
from typing import Any

from fastcalc.requests.fields import Request

GROUPS = {
    "Ask": {
        "compare": ("evaluation.Compare", "compare.run"),
        "fit": ("evaluation.FitMemory", "fit.run"),
        "fastmode": ("search.Fastmode", "fastmode.run"),
        "sensitivity": ("search.Sensitivity", "sensitivity.run"),
        "decide": ("services.Decide", "decide.run"),
        "infer": ("services.Infer", "infer.run"),
        "caches": ("caches.SizeCaches", "caches.run"),
    },
    "Search": {
        "plan": ("search.FindPlans", "plan.run"),
        "frontier": ("search.Frontier", "frontier.run"),
        "sweep": ("search.Sweep", "sweep.run"),
    },
    "Draw and send": {
        "plot": ("drawings.Plot", "plot.run"),
        "report": ("drawings.WriteReport", "report.run"),
    },
    "Measure": {
        "validate": ("measurements.Validate", "validate.run"),
        "calibrate": ("measurements.Calibrate", "calibrate.run"),
        "diagnose": ("measurements.Diagnose", "diagnose.run"),
        "claims": ("measurements.JudgeClaims", "claims.run"),
    },
    "Catalogue": {
        "list": ("catalogue.ListEntries", "entries.run_list"),
        "show": ("catalogue.ShowEntry", "entries.run_show"),
        "diff": ("catalogue.DiffEntries", "entries.run_diff"),
        "check": ("catalogue.CheckFiles", "check.run"),
        "new": ("catalogue.NewEntry", "new.run_new"),
        "import": ("catalogue.ImportModel", "import_model.run"),
        "schema": ("catalogue.PrintSchema", "new.run_schema"),
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
    return replace(answer, request=request)


def command_of(request: Request) -> str:
    """Return the command that a request is of."""
    kind = type(request).__name__
    return next(name for name, (of, _) in COMMANDS.items() if of.endswith(f".{kind}"))
