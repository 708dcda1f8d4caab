"""The request of `measure`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from fastcalc.features.benchmark.limits import FEWEST_RUNS, LONGEST, MOST_RUNS
from fastcalc.kit.request import groups
from fastcalc.kit.request.evaluation import Evaluated
from fastcalc.kit.request.fields import flag
from fastcalc.mentions import option

if TYPE_CHECKING:
    from fastcalc.kit.request.given_types import ChipsGiven, CountsGiven


class Measure(Evaluated, groups.Written):
    """Recommend which benchmarks of your server to run first, or run them.

    measure finds the runs that would narrow the predictions most for your batch sizes and sequence
    lengths. It prints how long they take, the 80% range expected afterwards, and their commands for
    vLLM, SGLang, GuideLLM, AIPerf or llama-bench. With the URL of an OpenAI-compatible server, it
    performs the runs itself and stores only numbers. The exit code is 1 if nothing fits.
    """

    examples = (
        "fastcalc measure qwen3-8b --on h100-sxm --batch 8,64 --prompt 2k",
        "fastcalc measure qwen3-8b --on h100-sxm --like my-results.json",
    )

    on: "ChipsGiven" = ""
    batch: "CountsGiven" = "1,8,32,128"
    runs: Annotated[
        int, flag("N", f"Number of runs to recommend: {FEWEST_RUNS} to {MOST_RUNS}.", premise="")
    ] = 2
    tool: Annotated[
        str | None,
        flag(
            "vllm|sglang|guidellm|aiperf|llama-bench",
            "Load generator to print commands for; default: the engine's own.",
        ),
    ] = None
    url: Annotated[
        str | None,
        flag("URL", "OpenAI-compatible server to run them against, e.g. http://localhost:8000."),
    ] = None
    minutes: Annotated[
        float, flag("N", f"Maximum duration of runs with {option('url')}, up to {LONGEST:g}.")
    ] = 15.0
    results: Annotated[
        Path | None,
        flag(
            "FILE",
            f"CSV that {option('url')} adds runs to, and {option('like')} reads; default: "
            "measured.csv.",
        ),
    ] = None

    @property
    def results_file(self) -> Path:
        """The file to which results are appended."""
        return self.results or Path("measured.csv")
