"""Build the command that performs a benchmark run with a load generator.

Sources, read on 2026-11-28: ``vllm/benchmarks/serve.py`` of vLLM 0.33.0, ``sglang/benchmark/
serving.py`` of SGLang 0.5.23, ``guidellm run`` of GuideLLM 0.8.1, ``aiperf profile`` of AIPerf
0.13.0, and ``tools/llama-bench/llama-bench.cpp`` of llama.cpp (0104b15).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from fastcalc.catalogue.schema.models import REPOSITORY
from fastcalc.core.outcome import Outcome
from fastcalc.features.benchmark.limits import REPETITIONS
from fastcalc.features.benchmark.runs import BenchmarkRun
from fastcalc.quoting import ShellText, shell_line

SERVER = "http://localhost:8000"
"""Default URL of servers."""


@dataclass(frozen=True)
class ServedModel:
    """Describes what a load generator needs to know about a server.

    name : The name of the model, which is also that of its tokenizer.
    url : URL of the server.
    stated : The chip, layout and formats, by column name of measurement files.
    split_mode : The engine flag that selects the layout, if required.
    """

    name: str
    url: str
    stated: Mapping[str, str]
    split_mode: str = ""


@dataclass(frozen=True)
class Tool:
    """A load generator.

    results : The file or folder that its runs write.
    template : Words of the command for a run, each of which is filled in on its own.
    """

    results: str
    template: str


TOOLS: Mapping[str, Tool] = {
    "vllm": Tool(
        "my-results.json",
        "vllm bench serve --base-url {url} --model {name} --dataset-name random "
        "--random-input-len {prompt} --random-output-len {output} --ignore-eos --max-concurrency "
        "{concurrency} --num-prompts {requests} --save-result --append-result --result-filename "
        "{results} --metadata {stated}",
    ),
    "sglang": Tool(
        "my-results.jsonl",
        "python -m sglang.bench_serving --backend sglang --base-url {url} --model {name} "
        "--dataset-name random-ids --random-range-ratio 1 --random-input-len {prompt} "
        "--random-output-len {output} --max-concurrency {concurrency} --num-prompts {requests} "
        "--output-file {results}",
    ),
    "guidellm": Tool(
        "my-results",
        "guidellm run --backend kind=openai_http,target={url},model={name},"
        "request_format=/v1/completions --profile kind=concurrent,streams={concurrency} "
        "--constraint kind=max_requests,count={requests} --data "
        "kind=synthetic_text,prompt_tokens={prompt},output_tokens={output} --output "
        "kind=json,path={results}/c{concurrency}-{prompt}-{output}.json",
    ),
    "aiperf": Tool(
        "my-results",
        "aiperf profile --url {url} --model {name} --endpoint-type completions --streaming "
        "--isl {prompt} --osl {output} --extra-inputs ignore_eos:true --concurrency {concurrency} "
        "--request-count {requests} --output-artifact-dir "
        "{results}/c{concurrency}-{prompt}-{output}",
    ),
    "llama-bench": Tool(
        "my-results.jsonl",
        "llama-bench -m {model}.gguf -p {alone} -n {output} {depth} {split_mode} "
        f"-r {REPETITIONS} -o jsonl >> {{results}}",
    ),
}
"""Load generators whose commands can be printed, by name."""

_OF_PROGRAMS = {"sglang": "sglang", "llama-cpp": "llama-bench"}


def tool_of(program: str | None) -> str:
    """Choose the load generator for a server program. The one in vLLM can measure any server.

    >>> tool_of("sglang"), tool_of("llama-cpp"), tool_of("mlx"), tool_of(None)
    ('sglang', 'llama-bench', 'vllm', 'vllm')
    """
    return _OF_PROGRAMS.get(program or "", "vllm")


def measures(tool: str, program: str | None) -> bool:
    """Check whether a load generator can measure a server. llama-bench runs only llama.cpp.

    >>> measures("llama-bench", "vllm"), measures("llama-bench", "llama-cpp")
    (False, True)
    """
    return tool != "llama-bench" or program == "llama-cpp"


def served_model(outcome: Outcome, typed: str, url: str) -> ServedModel:
    """Describe a deployment's server for a load generator.

    typed : The name of the model as the user typed it.
    """
    scenario, layout = outcome.scenario, outcome.placement.layout
    model = scenario.model
    published = model.also_published.get(scenario.weights or "")
    name = model.repositories.get(typed.lower(), typed)
    if published is not None and REPOSITORY.fullmatch(published.text):
        name = published.text
    ranks = {"tp": layout.tp, "pp": layout.pp, "dp": layout.dp, "ep": layout.ep}
    stated = {"hardware": scenario.hardware.id, "chips": f"{layout.chips}"}
    stated |= {rank: f"{count}" for rank, count in ranks.items() if count > 1}
    stated |= {"model": model.id, "weights": outcome.placement.work.weight_format}
    stated |= {"kv": outcome.placement.work.kv_format}
    mode = scenario.engine.split_mode_of(layout.several) if layout.several else None
    return ServedModel(name, url.rstrip("/"), stated, mode.flag if mode else "")


def command_of(tool: str, served: ServedModel, run: BenchmarkRun, results: str = "") -> str:
    """Build the command that performs a run, on one line.

    results : The file or folder to write, if different from the tool's default.
    """
    depth = run.prompt if run.output else 0  # llama-bench decodes after a prompt of this length
    facts = {
        "url": served.url,
        "name": served.name,
        "model": served.stated.get("model", ""),
        "prompt": run.prompt,
        "output": run.output,
        "alone": run.prompt - depth,
        "concurrency": run.concurrency,
        "requests": run.requests,
        "results": results or TOOLS[tool].results,
    }
    several: dict[str, Sequence[str]] = {
        "{stated}": [f"{name}={text}" for name, text in served.stated.items()],
        "{depth}": ["-d", f"{depth}"] * bool(depth),
        "{split_mode}": served.split_mode.split(),
        ">>": [ShellText(">>")],
    }
    words = TOOLS[tool].template.split()
    filled = (several[word] if word in several else [word.format_map(facts)] for word in words)
    return shell_line(chain(*filled))
