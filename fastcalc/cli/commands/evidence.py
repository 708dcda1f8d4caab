"""Commands about the evidence: `validate`, `calibrate` and `claims`."""

from pathlib import Path
from typing import Annotated

import typer

from fastcalc.cli import completion, options


def validate(
    path: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE",
            help="A CSV of measured points, or JSON of vllm bench serve or llama-bench; "
            "the shipped evidence if none.",
        ),
    ] = None,
    max_median_factor: Annotated[
        float | None,
        typer.Option(
            "--max-median-factor", metavar="X", help="Exit with 1 if the median factor is above."
        ),
    ] = None,
    engine: Annotated[
        str | None,
        typer.Option(
            "--engine",
            metavar="NAME",
            help="Predict every point with this engine.",
            autocompletion=completion.engines,
        ),
    ] = None,
    hardware: options.Measured = None,
    model: options.Measured = None,
    weights: options.Weights = None,
    kv: options.KV = None,
    chips: options.Chips = None,
    tp: options.TP = None,
    pp: options.PP = None,
    ep: options.EP = None,
    dp: options.DP = None,
    format: options.Format = "table",  # noqa: A002
    out: options.OutFile = None,
    hardware_dir: options.HardwareDir = None,
    models_dir: options.ModelsDir = None,
    engines_dir: options.EnginesDir = None,
) -> None:
    """Show predictions against measurements: factor, bias and coverage by class of machine.

    Chip, model and layout may be given for JSON files that do not name them.
    """
    from fastcalc.cli import requests, show_validate

    catalogue = requests.catalogue(hardware_dir, models_dir, engines_dir)
    given = options.given(locals())
    raise typer.Exit(
        show_validate.run(
            catalogue, path, given=given, most=max_median_factor, format=format, file=out
        )
    )


def calibrate(
    path: Annotated[
        Path | None,
        typer.Argument(metavar="FILE", help="Your measurements; the shipped evidence if none."),
    ] = None,
    engine: Annotated[
        str | None,
        typer.Option(
            "--engine",
            metavar="NAME",
            help="The engine to start from; vllm.",
            autocompletion=completion.engines,
        ),
    ] = None,
    hardware: options.Measured = None,
    model: options.Measured = None,
    weights: options.Weights = None,
    kv: options.KV = None,
    chips: options.Chips = None,
    tp: options.TP = None,
    pp: options.PP = None,
    ep: options.EP = None,
    dp: options.DP = None,
    out: options.OutFile = None,
    hardware_dir: options.HardwareDir = None,
    models_dir: options.ModelsDir = None,
    engines_dir: options.EnginesDir = None,
) -> None:
    """Fit an engine on measurements, and say how well.

    Needs scipy. Without FILE the shipped engines are fitted again, and -o names the folder of
    engines and evidence.
    """
    from fastcalc.cli import requests, show_calibrate

    catalogue = requests.catalogue(hardware_dir, models_dir, engines_dir)
    show_calibrate.run(catalogue, path, options.given(locals()), out)


def claims(
    path: Annotated[
        Path | None,
        typer.Argument(metavar="FILE", help="A file of claims; the shipped one if none."),
    ] = None,
    only: Annotated[
        str | None,
        typer.Option(metavar="VERDICTS", help="Claims of these verdicts, such as refuted."),
    ] = None,
    explain: Annotated[
        str | None, typer.Option(metavar="ID", help="One claim in full, such as 30.")
    ] = None,
    format: options.Format = "table",  # noqa: A002
    out: options.OutFile = None,
    hardware_dir: options.HardwareDir = None,
    models_dir: options.ModelsDir = None,
    engines_dir: options.EnginesDir = None,
) -> None:
    """Test what articles say about fast inference.

    The verdict on each claim, the number behind it, its formula and its source.
    """
    from fastcalc.cli import requests, show_claims

    catalogue = requests.catalogue(hardware_dir, models_dir, engines_dir)
    show_claims.run(catalogue, path, only=only, explain=explain, format=format, file=out)
