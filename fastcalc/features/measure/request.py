"""Requests of `validate`, `calibrate` and `diagnose`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from fastcalc.kit.request import groups
from fastcalc.kit.request.evaluation import Drafting
from fastcalc.kit.request.fields import argument, flag

if TYPE_CHECKING:
    from fastcalc.kit.request.given_types import EngineGiven


class Measurements(groups.FormatOfEach, groups.ChipCount, groups.ParallelRanks):
    """Measurements."""

    premise = "measurements"

    path: Annotated[
        Path | None,
        argument(
            "FILE",
            "A CSV of measurements, JSON from vLLM, SGLang, TensorRT-LLM, GuideLLM, AIPerf, "
            "inference-perf, InferenceX, llama-bench and others, or a folder of them; default: the "
            "shipped evidence.",
        ),
    ] = None
    hardware: Annotated[
        str | None, flag("NAME", "Chip, for JSON files that omit it.", "--hardware", "--on")
    ] = None
    model: Annotated[str | None, flag("NAME", "Model, for JSON files that omit it.")] = None
    engine: Annotated[
        "EngineGiven | None", groups.engine_named("Predict every point with this engine.")
    ] = None

    def file_options(self) -> dict[str, Any]:
        """Collect the settings that apply to a file of measurements, by field name."""
        names = ("hardware", "model", "engine", "weights", "kv", "chips", "tp", "pp", "ep", "dp")
        return {
            name: value if name == "engine" else str(value)
            for name in names
            if (value := self.values[name]) is not None
        }


class Validate(Measurements, Drafting, groups.EarlierRun, groups.Written):
    """Compare predictions with measurements: error, bias and coverage.

    Use the options for chip, model and layout if a JSON file does not contain them.
    """

    examples = (
        "fastcalc validate my-runs.csv",
        "fastcalc validate my-runs.csv --engine vllm --max-median-factor 1.3",
    )

    max_median_factor: Annotated[
        float | None, flag("X", "Exit with 1 if the median error exceeds this.")
    ] = None
    max_worse: Annotated[
        float | None,
        groups.a_share(
            "Exit with 1 if a chip's error exceeds the earlier run's by more than this, e.g. 3%."
        ),
    ] = None


class Calibrate(Measurements, groups.OutputFile, groups.OwnFolders):
    """Create an engine file from measurements of your server.

    The engine file contains your measurements, which correct predictions. With ten or more
    measurements, engine parameters are also fitted, which requires scipy. Without FILE, the shipped
    engines are fitted again, and -o is the folder that contains engines and evidence.
    """

    examples = (
        "fastcalc calibrate my-runs.csv --engine vllm",
        "fastcalc calibrate my-runs.csv -o our-vllm.yaml",
    )

    path: Annotated[
        Path | None, argument("FILE", "Your measurements; default: the shipped evidence.")
    ] = None
    engine: Annotated[
        "EngineGiven | None", groups.engine_named("Engine to start from; default: vllm.")
    ] = None


class Diagnose(Measurements, Drafting, groups.StartUpLog, groups.Written):
    """Explain why a server is slower than predicted, from measurements or its start-up log.

    diagnose names at most two causes, each with its probability, its effect and the settings that
    may be responsible. It also suggests the next measurement, or reports that the server is as fast
    as predicted.
    """

    examples = (
        "fastcalc diagnose my-slow-runs.csv --log my-server.log",
        "fastcalc diagnose --log my-server.log --hardware h100-sxm --format json",
    )

    path: Annotated[
        Path | None,
        argument("FILE", "Three to six measurements of a server, in a file that `validate` reads."),
    ] = None
