"""``fastcalc calibrate``: fit engines to the shipped measurements or the user's."""

import os
import re
from dataclasses import dataclass, replace
from datetime import date
from functools import partial
from pathlib import Path

from fastcalc.catalogue.folders import shipped_folder
from fastcalc.catalogue.schema import Engine
from fastcalc.catalogue.store import Catalogue
from fastcalc.errors import InputError
from fastcalc.evidence import left_out
from fastcalc.evidence.calibrate import calibrate
from fastcalc.evidence.engine_files import Measured, own_engine, rewritten
from fastcalc.evidence.own_engine import FEWEST_RUNS, fit_own
from fastcalc.evidence.own_rows import OwnRows, own_rows
from fastcalc.evidence.points import Points
from fastcalc.evidence.score import groups_of
from fastcalc.evidence.shipped import shipped
from fastcalc.evidence.validate import Validation
from fastcalc.features import request_of
from fastcalc.features.measure import calibration as report
from fastcalc.features.measure.request import Calibrate
from fastcalc.features.measure.validate import points_of
from fastcalc.kit.answer import output, progress
from fastcalc.kit.answer import own_rows as own_rows_page
from fastcalc.kit.answer.answer import Answer, Charts
from fastcalc.kit.answer.console import output_width, render
from fastcalc.kit.answer.next_commands import follow_up
from fastcalc.kit.answer.respond import page
from fastcalc.kit.request import loading
from fastcalc.mentions import flag, option
from fastcalc.written import without_controls

_DATE = re.compile(r"\d{4}-\d\d(?:-\d\d)?", re.ASCII)


def run(request: Calibrate) -> None:
    """Fit the shipped engines into a folder, or one engine to a file of measurements."""
    if request.path is None:
        _fit_shipped(request)
    else:
        _fit_own(request, request.path)


def _fit_shipped(request: Calibrate) -> None:
    if any(request.file_options().values()):
        raise InputError("give a file of measurements; the shipped evidence needs no options")
    folder = request.out
    if folder is not None and not os.path.isdir(folder):
        raise InputError(
            f"{option('out', folder)} is not a folder; the engines go into its folder engines"
        )
    progress.say("fit to all measurements")
    fitted = calibrate(
        shipped(),
        loading.catalogue(request),
        lambda fit, count: progress.say(f"fit {fit} of {count} without a group of publishers"),
    )
    validation = Validation(fitted.left_out, (), groups_of(fitted.left_out))
    components = partial(report.shipped_parts, fitted, validation)
    page(replace(request, out=None), lambda screen: components(screen.width))
    if folder is not None:
        for name in ("engines", "evidence", "docs"):
            (folder / name).mkdir(exist_ok=True)
        for engine in fitted.family.engines.values():
            source = shipped_folder("engines") / f"{engine.id}.yaml"
            text = rewritten(source.read_bytes().decode(), engine, fitted)
            output.write_data(text.encode(), folder / "engines" / f"{engine.id}.yaml", rewrite=True)
        output.write(left_out.to_csv(fitted.left_out), folder / "evidence" / "left_out.csv")
        output.write(report.values_page(fitted), folder / "docs" / "fitted-values.md", rewrite=True)


@dataclass(frozen=True, eq=False, kw_only=True)
class RowsAnswer(Answer):
    """The measurements of a file, predicted by the engine and by the other rows, for a chart."""

    rows: OwnRows
    base: Engine

    @property
    def charts(self) -> Charts:
        """A chart of predicted / measured speeds."""
        deployments = self.rows.engine.own_deployments
        return {"calibrate": partial(own_rows_page.chart, deployments, self.base.id)}


def drawn(request: Calibrate) -> RowsAnswer:
    """Return a file's rows, predicted by the unchanged engine and with the other rows."""
    if request.path is None:
        raise InputError("give a file of measurements: fastcalc plot calibrate my-runs.csv")
    catalogue, base, measured = _measured(request, request.path)
    rows = own_rows(measured, catalogue, base, request.path, any_engine=True)
    return RowsAnswer(request=request, rows=rows, base=base)


def _measured(request: Calibrate, path: Path) -> tuple[Catalogue, Engine, Points]:
    """Read the measurements of a file, and the engine to start from."""
    catalogue, file_options = loading.catalogue(request), request.file_options()
    base = catalogue.engine(file_options.get("engine") or "vllm")
    return catalogue, base, points_of(catalogue, path, file_options)


def _fit_own(request: Calibrate, path: Path) -> None:
    catalogue, base, measured = _measured(request, path)
    output.warn(loading.reading_of(catalogue, request.model))
    name = "our-engine" if request.out is None else request.out.stem.lower()
    if not re.fullmatch(r"[a-z0-9][a-z0-9._-]*", name):
        raise InputError(
            f"{option('out', request.out)}: an engine is called after its file, in lower case "
            "letters, digits, '.', '-' and '_'; for example our-vllm.yaml"
        )
    if catalogue.knows(name, "engines"):
        raise InputError(
            f"{option('out', request.out)}: {name} is an engine of the catalogue already; call "
            f"the file something else, for example our-{name}.yaml"
        )
    is_kept = request.out is not None and not output.is_stream(request.out)
    if request.out is not None and is_kept:
        catalogue.refuse_unreachable(
            request.file_options().get("engine") or "vllm", base.id, request.out
        )
    points, fit = measured.points, None
    if sum(not point.is_speculation_inferred for point in points) >= FEWEST_RUNS:
        fit = fit_own(points, catalogue, base, str(path), request.file_options().get("engine"))
    rows = own_rows(measured, catalogue, fit.engine if fit else base, path, any_engine=True)
    dates = [point.date for point in points if _DATE.fullmatch(point.date)]
    dates = dates or [date.today().isoformat()]
    text = own_engine(
        rows.engine, fit, name=name, measured=Measured(without_controls(path.name), max(dates))
    )
    output.write(text, request.out)
    first = rows.engine.own_deployments[0]
    chip, model = request.hardware or first.hardware, request.model or first.model
    words = model, flag("on"), chip, flag("engine"), request.out
    ending = flag("out"), "report.html"
    line = follow_up(request, request_of("report"), *words, ending=ending) if is_kept else None
    components = partial(report.own_parts, rows, fit, path.name, line)
    if is_kept:
        page(replace(request, out=None), lambda screen: components(screen.width))
    else:
        output.notify(render(components(output_width()), output_width()))
