"""Requests of `validate`, `calibrate` and `diagnose`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from fastcalc.kit.request import groups
from fastcalc.kit.request.fields import argument, flag

if TYPE_CHECKING:
    from fastcalc.kit.request.given_types import EngineGiven


_Measured = Annotated[str | None, flag("NAME", "What JSON files were measured on.")]


class Measurements(groups.FormatOfEach, groups.ChipCount, groups.ParallelRanks):
    """Measurements."""

    premise = "measurements"

    path: Annotated[
        Path | None,
        argument(
            "FILE",
            "A CSV of measured points, JSON of vLLM, SGLang, TensorRT-LLM, GuideLLM, AIPerf, "
            "inference-perf, InferenceX, llama-bench and others, or a folder of them; the shipped "
            "evidence if none.",
        ),
    ] = None
    hardware: _Measured = None
    model: _Measured = None
    engine: Annotated[
        "EngineGiven | None", groups.engine_named("Predict every point with this engine.")
    ] = None

    def file_options(self) -> dict[str, Any]:
        """Return what is said of a file of measurements, by the name of the field."""
        names = ("hardware", "model", "engine", "weights", "kv", "chips", "tp", "pp", "ep", "dp")
        values = {name: getattr(self, name) for name in names}
        return {
            name: value if name == "engine" else str(value)
            for name, value in values.items()
            if value is not None
        }


class Validate(Measurements, groups.EarlierRun, groups.Written):
    """Show predictions against measurements: factor, bias and coverage by class of machine.

    Chip, model and layout may be given for JSON files that do not name them.
    """

    examples = (
        "fastcalc validate my-runs.csv",
        "fastcalc validate my-runs.csv --engine vllm --max-median-factor 1.3",
    )

    max_median_factor: Annotated[
        float | None, flag("X", "Exit with 1 if the median factor is above.")
    ] = None
    max_worse: Annotated[
        float | None, groups.a_share("max_worse", "Exit with 1 if a chip is worse by more: 3%.")
    ] = None


class Calibrate(Measurements, groups.OutputFile, groups.OwnFolders):
    """Keep measurements of a server in an engine of its own, and fit values on ten or more.

    A fit needs scipy. Without FILE the shipped engines are fitted again, and -o names the folder
    of engines and evidence.
    """

    examples = (
        "fastcalc calibrate my-runs.csv --engine vllm",
        "fastcalc calibrate my-runs.csv -o our-vllm.yaml",
    )

    path: Annotated[
        Path | None, argument("FILE", "Your measurements; the shipped evidence if none.")
    ] = None
    engine: Annotated[
        "EngineGiven | None", groups.engine_named("The engine to start from; vllm.")
    ] = None


class Diagnose(Measurements, groups.StartUpLog, groups.Written):
    """Say why a deployment is slower than predicted, by a few measured points or its start-up log.

    At most two causes are named by each, with how surely, by how much, and the settings known to
    change them; or that nothing differs, or which point to measure next.
    """

    examples = (
        "fastcalc diagnose my-slow-runs.csv --log my-server.log",
        "fastcalc diagnose --log my-server.log --hardware h100-sxm --format json",
    )

    path: Annotated[
        Path | None,
        argument("FILE", "Three to six measured points of a server: what `validate` reads."),
    ] = None
