"""The commands. What they need is imported when they run, so that ``--help`` is quick."""

from pathlib import Path
from typing import Annotated

import typer

from fastcalc.cli import completion, options
from fastcalc.cli.unasked import Commands

app = typer.Typer(
    name="fastcalc",
    cls=Commands,
    invoke_without_command=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Models = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="MODEL...",
        help="Models: names, YAML files or config.json.",
        autocompletion=completion.models,
    ),
]
Model = Annotated[
    str,
    typer.Argument(
        metavar="MODEL",
        help="A model: a name, YAML file or config.json.",
        autocompletion=completion.models,
    ),
]
Entry = typer.Argument(
    metavar="NAME",
    help="A chip, model or engine, a YAML file or a config.json.",
    autocompletion=completion.anything,
)
Kind = Annotated[
    str,
    typer.Argument(
        metavar="hardware|model|engine", help="What kind of file.", autocompletion=completion.kind
    ),
]


def _version(asked: bool) -> None:
    if asked:
        from fastcalc import __version__

        typer.echo(f"fastcalc {__version__}")
        raise typer.Exit


@app.callback()
def _main(
    context: typer.Context,
    version: Annotated[  # noqa: ARG001  (its callback does the work)
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """How fast, at what price and on how many chips a language model runs, and why."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command()
def compare(
    models: Models = None,
    on: options.On = "h100-sxm,gb200,wse-3",
    batch: options.Batch = "1,8,32,128",
    prompt: options.Prompt = 1000,
    output: options.Output = 1000,
    context: options.Context = None,
    prefix_hit: options.PrefixHit = 0.0,
    speculate: options.Speculate = None,
    weights: options.Weights = None,
    kv: options.KV = None,
    engine: options.EngineName = None,
    chips: options.Chips = None,
    tp: options.TP = None,
    pp: options.PP = None,
    ep: options.EP = None,
    dp: options.DP = None,
    price: options.Price = None,
    price_basis: options.Basis = "cloud",
    utilization: options.Utilization = 1.0,
    explain: options.Explain = False,
    format: options.Format = "table",  # noqa: A002
    out: options.OutFile = None,
    hardware_dir: options.HardwareDir = None,
    models_dir: options.ModelsDir = None,
    engines_dir: options.EnginesDir = None,
) -> None:
    """Compare chips on models, batch by batch.

    Speed, latency and dollars, the bound and the range, and what limits them.
    """
    from fastcalc.cli import requests, show_compare

    request = requests.Request.of(locals())
    show_compare.run(request, format, out, explain=explain)


@app.command()
def sweep(
    models: Models = None,
    on: options.OnOrAll = "h100-sxm,gb200,wse-3",
    batch: options.Batches = "1..256x2",
    prompt: options.Prompts = "1000",
    output: options.Outputs = "1000",
    context: options.Contexts = None,
    weights: options.WeightFormats = None,
    kv: options.KVFormats = None,
    engine: options.Engines = None,
    speculate: options.Speculations = None,
    tp: options.TPs = None,
    pp: options.PPs = None,
    ep: options.EPs = None,
    dp: options.DPs = None,
    prefix_hit: options.PrefixHit = 0.0,
    price: options.Price = None,
    price_basis: options.Basis = "cloud",
    utilization: options.Utilization = 1.0,
    format: Annotated[  # noqa: A002
        str | None,
        typer.Option("--format", metavar="csv|json|parquet", help="By the ending of -o if left."),
    ] = None,
    out: options.OutFile = None,
    hardware_dir: options.HardwareDir = None,
    models_dir: options.ModelsDir = None,
    engines_dir: options.EnginesDir = None,
) -> None:
    """Evaluate every combination of lists: chips, formats, layouts, traffic, batches.

    Numbers are lists and ranges: 1,8,32 or 1..1024x2 or 8..64+8, with 1k for a thousand. Records
    have the keys of compare. What cannot be is left out and counted on standard error; what does
    not fit its chips is kept, with fits false.
    """
    from fastcalc.cli import show_sweep

    show_sweep.run(show_sweep.Asked.of(locals()), format, out)


@app.command()
def plan(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            help="A model: name, YAML file or config.json.",
            autocompletion=completion.models,
        ),
    ],
    on: options.OnOrAll = "all",
    prompt: options.Prompt = 1000,
    output: options.Output = 1000,
    ttft: Annotated[
        str | None, typer.Option(metavar="TIME", help="Most time to the first token: 1s.")
    ] = None,
    tpot: Annotated[
        str | None, typer.Option(metavar="TIME", help="Most time between two tokens: 25ms.")
    ] = None,
    min_speed: Annotated[
        float | None, typer.Option("--min-speed", metavar="TOK/S", help="The same as a speed.")
    ] = None,
    rate: Annotated[
        str | None, typer.Option(metavar="N/s", help="Requests to carry; one replica if left.")
    ] = None,
    max_chips: Annotated[
        int | None, typer.Option("--max-chips", metavar="N", help="Chips, all replicas together.")
    ] = None,
    objective: Annotated[
        str, typer.Option(metavar="usd|watts|chips", help="What is to be least.")
    ] = "usd",
    utilization: Annotated[
        float, typer.Option(metavar="SHARE", help="Share of its capacity a replica is given.")
    ] = 1.0,
    top: Annotated[int, typer.Option(metavar="N", help="Plans to show.")] = 5,
    weights: options.WeightFormats = None,
    kv: options.KVFormats = None,
    engine: options.EngineName = None,
    speculate: options.Speculations = None,
    price: options.Price = None,
    price_basis: options.Basis = "cloud",
    format: options.Format = "table",  # noqa: A002
    out: options.OutFile = None,
    hardware_dir: options.HardwareDir = None,
    models_dir: options.ModelsDir = None,
    engines_dir: options.EnginesDir = None,
) -> None:
    """Find the cheapest deployment that meets a service level.

    Over chips, formats, layouts, batches, prompts inside or apart; and why the others lose. Exits
    with 1 if there is none, and says which limit to relax to what.
    """
    from fastcalc.cli import show_plan

    raise typer.Exit(show_plan.run(show_plan.Asked.of(locals()), top, format, out))


@app.command()
def fit(
    models: Models = None,
    on: options.On = "h100-sxm,gb200,wse-3",
    batch: options.Batch = "1",
    prompt: options.Prompt = 1000,
    output: options.Output = 1000,
    context: options.Context = None,
    speculate: options.Speculate = None,
    weights: options.Weights = None,
    kv: options.KV = None,
    engine: options.EngineName = None,
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
    """Say where models fit, and the largest batch.

    Which memory, how many chips and why, and the largest batch there. Exits with 1 if no model
    fits on any of the chips.
    """
    from fastcalc.cli import requests, show_fit

    request = requests.Request.of(locals())
    raise typer.Exit(show_fit.run(request, format, out))


@app.command("fastmode")
def fastmode_(
    model: Model,
    on: options.On = "h100-sxm",
    batch: Annotated[
        str | None, typer.Option(metavar="N", help="Sequences decoded together today.")
    ] = None,
    from_speed: Annotated[
        float | None,
        typer.Option(metavar="TOKENS", help="Tokens/s of each user today: solve for the batch."),
    ] = None,
    speedup: Annotated[
        float | None, typer.Option(metavar="X", help="How many times faster; 2.5 unless given.")
    ] = None,
    to_speed: Annotated[
        float | None, typer.Option(metavar="TOKENS", help="Tokens/s that each user is to get.")
    ] = None,
    prompt: options.Prompt = 1000,
    output: options.Output = 1000,
    context: options.Context = None,
    prefix_hit: options.PrefixHit = 0.0,
    weights: options.Weights = None,
    kv: options.KV = None,
    engine: options.EngineName = None,
    chips: options.Chips = None,
    tp: options.TP = None,
    pp: options.PP = None,
    ep: options.EP = None,
    dp: options.DP = None,
    price: options.Price = None,
    price_basis: options.Basis = "cloud",
    utilization: options.Utilization = 1.0,
    everything: Annotated[
        bool, typer.Option("--all", help="Show every chip, format and model that was tried.")
    ] = False,
    format: options.Format = "table",  # noqa: A002
    out: options.OutFile = None,
    hardware_dir: options.HardwareDir = None,
    models_dir: options.ModelsDir = None,
    engines_dir: options.EnginesDir = None,
) -> None:
    """Say what each trick for speed buys and costs, from today's batch.

    Smaller batch, other and more chips, fewer bits, speculation, a smaller model, SRAM machines,
    and the cheapest two together. Exits with 1 if nothing reaches the speed.
    """
    from fastcalc.cli import requests, show_fastmode

    request = requests.Request.of(locals() | {"models": [model], "batch": batch or ""})
    goal = (from_speed, speedup, to_speed)
    raise typer.Exit(show_fastmode.run(request, goal, format, out, everything=everything))


@app.command("frontier")
def frontier_(
    model: Model,
    on: options.On = "h100-sxm,gb200,wse-3",
    prompt: options.Prompt = 1000,
    output: options.Output = 1000,
    context: options.Context = None,
    prefix_hit: options.PrefixHit = 0.0,
    weights: Annotated[
        str | None,
        typer.Option(metavar="LIST", help="Weight formats to try; the model's own unless given."),
    ] = None,
    kv: Annotated[
        str | None,
        typer.Option("--kv", metavar="LIST", help="KV cache formats to try."),
    ] = None,
    engine: options.EngineName = None,
    max_chips: Annotated[int, typer.Option(metavar="N", help="Most chips of a deployment.")] = 72,
    price: options.Price = None,
    price_basis: options.Basis = "cloud",
    utilization: options.Utilization = 1.0,
    format: options.Format = "table",  # noqa: A002
    out: options.OutFile = None,
    hardware_dir: options.HardwareDir = None,
    models_dir: options.ModelsDir = None,
    engines_dir: options.EnginesDir = None,
) -> None:
    """Show user speed against $/Mtok: the points that no other beats.

    Over batches, layouts and chips. Exits with 1 if no chip has both a place and a price.
    """
    from fastcalc.cli import requests, show_frontier

    request = requests.Request.of(locals() | {"models": [model]})
    raise typer.Exit(show_frontier.run(request, max_chips, format, out))


@app.command("list")
def list_(
    kind: Annotated[
        str,
        typer.Argument(
            metavar="hardware|models|engines",
            help="What to list.",
            autocompletion=completion.kinds,
        ),
    ],
    format: options.Format = "table",  # noqa: A002
    out: options.OutFile = None,
    hardware_dir: options.HardwareDir = None,
    models_dir: options.ModelsDir = None,
    engines_dir: options.EnginesDir = None,
) -> None:
    """List the catalogue: hardware, models or engines."""
    from fastcalc.cli import requests, show_entries

    catalogue = requests.catalogue(hardware_dir, models_dir, engines_dir)
    show_entries.run_list(catalogue, kind, format, out)


@app.command()
def show(
    name: Annotated[str, Entry],
    weights: options.Weights = None,
    kv: options.KV = None,
    format: options.Format = "table",  # noqa: A002
    out: options.OutFile = None,
    hardware_dir: options.HardwareDir = None,
    models_dir: options.ModelsDir = None,
    engines_dir: options.EnginesDir = None,
) -> None:
    """Show an entry with every number and its source."""
    from fastcalc.cli import requests, show_entries

    catalogue = requests.catalogue(hardware_dir, models_dir, engines_dir)
    show_entries.run_show(catalogue, name, weights, kv, format, out)


@app.command()
def check(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(metavar="PATH...", help="YAML files and folders; the catalogue if none."),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Let warnings count; ask every number for a source.")
    ] = False,
    explain: Annotated[
        str | None, typer.Option(metavar="RULE|all", help="Say what a rule means.")
    ] = None,
    format: Annotated[  # noqa: A002
        str, typer.Option("--format", metavar="text|json|github", help="Output format.")
    ] = "text",
    out: options.OutFile = None,
) -> None:
    """Find what is wrong or doubtful in hardware, model and engine files.

    Exits with 0 if they are clean, 1 if they have faults, 2 if the request is wrong.
    """
    from fastcalc.cli import show_check

    if explain is not None:
        show_check.run_explain(explain, out)
        return
    raise typer.Exit(show_check.run(paths or [], strict=strict, format=format, file=out))


@app.command()
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


@app.command()
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


@app.command()
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


@app.command()
def task(
    models: Models = None,
    on: Annotated[
        str | None,
        typer.Option(
            "--on", metavar="CHIPS", help="As of compare.", autocompletion=completion.hardware
        ),
    ] = None,
    batch: Annotated[str | None, typer.Option(metavar="LIST", help="Batches; 1.")] = None,
    steps: Annotated[int, typer.Option(metavar="N", help="Steps of a run.")] = 1,
    accuracy: Annotated[
        str, typer.Option(metavar="LIST", help="Chance that a step is right; several to compare.")
    ] = "1",
    tokens: Annotated[
        int,
        typer.Option(
            metavar="N", parser=options.tokens_of("--tokens"), help="Output tokens of a step."
        ),
    ] = 1000,
    tool_seconds: Annotated[
        float, typer.Option(metavar="S", help="Seconds of tools in a step.")
    ] = 0.0,
    retries: Annotated[
        int, typer.Option(metavar="N", help="How often a step found wrong is done again.")
    ] = 0,
    best_of: Annotated[
        int, typer.Option("--best-of", metavar="N", help="Answers to a step, one of them taken.")
    ] = 1,
    judge: Annotated[
        str, typer.Option(metavar="oracle|majority|SHARE", help="Who takes one, and how surely.")
    ] = "oracle",
    serial: Annotated[
        bool, typer.Option("--serial", help="Answers come one after another, not at once.")
    ] = False,
    speed: Annotated[
        float | None, typer.Option(metavar="TOK/S", help="A speed of your own, no model on a chip.")
    ] = None,
    price: Annotated[
        float | None, typer.Option(metavar="USD", help="Its price of a million tokens out.")
    ] = None,
    input_price: Annotated[
        float | None, typer.Option("--input-price", metavar="USD", help="And of a million in.")
    ] = None,
    ttft_ms: Annotated[
        float | None, typer.Option("--ttft-ms", metavar="MS", help="Time to its first token.")
    ] = None,
    round_trip_ms: Annotated[
        float, typer.Option("--round-trip-ms", metavar="MS", help="Way there and back of a call.")
    ] = 0.0,
    window_ms: Annotated[
        float | None,
        typer.Option("--window-ms", metavar="MS", help="A gap in a conversation: what fits it."),
    ] = None,
    subscription: Annotated[
        float | None,
        typer.Option(metavar="USD", help="A subscription, against the price of tokens."),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(metavar="KEY=VALUE,...", help="A second option: speed=1000,accuracy=0.75."),
    ] = None,
    prompt: Annotated[
        int | None,
        typer.Option(
            metavar="TOKENS",
            parser=options.tokens_of("--prompt"),
            help="Prompt of a step, to count prefill.",
        ),
    ] = None,
    weights: options.Weights = None,
    kv: options.KV = None,
    engine: options.EngineName = None,
    chips: options.Chips = None,
    price_basis: options.Basis = "cloud",
    utilization: options.Utilization = 1.0,
    format: options.Format = "table",  # noqa: A002
    out: options.OutFile = None,
    hardware_dir: options.HardwareDir = None,
    models_dir: options.ModelsDir = None,
    engines_dir: options.EnginesDir = None,
) -> None:
    """Reckon an agent's task: time and money to one success.

    Steps that may fail, tools, retries, best of several answers; or what fits a voice's gap.
    """
    from fastcalc.cli import show_task

    show_task.run(show_task.Asked.of(locals()), format, out)


@app.command()
def new(
    kind: Kind,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Its id, such as my-chip.")],
    out: options.OutFile = None,
) -> None:
    """Print a commented file to fill in: hardware, model or engine."""
    from fastcalc.cli import show_new

    show_new.run_new(kind, name, out)


@app.command()
def schema(
    kind: Annotated[
        str,
        typer.Argument(
            metavar="hardware|model|engine|claims",
            help="What kind of file.",
            autocompletion=completion.kind,
        ),
    ],
    out: options.OutFile = None,
) -> None:
    """Print the JSON Schema of a kind of file, for editors."""
    from fastcalc.cli import show_new

    show_new.run_schema(kind, out)


@app.command()
def diff(
    left: Annotated[str, Entry],
    right: Annotated[str, Entry],
    format: Annotated[  # noqa: A002
        str, typer.Option("--format", metavar="table|json|csv", help="Output format.")
    ] = "table",
    out: options.OutFile = None,
    hardware_dir: options.HardwareDir = None,
    models_dir: options.ModelsDir = None,
    engines_dir: options.EnginesDir = None,
) -> None:
    """Show two entries side by side, with ratios."""
    from fastcalc.cli import requests, show_diff

    catalogue = requests.catalogue(hardware_dir, models_dir, engines_dir)
    show_diff.run(catalogue, left, right, format, out)


@app.command("import")
def import_(
    path: Annotated[
        str, typer.Argument(metavar="PATH", help="A config.json, or a folder that holds one.")
    ],
    id: Annotated[  # noqa: A002
        str | None,
        typer.Option("--id", metavar="NAME", help="The model's id; from PATH if not given."),
    ] = None,
    out: options.OutFile = None,
) -> None:
    """Turn a Hugging Face config into a model YAML.

    Nothing is downloaded. What was assumed stands under notes and on standard error.
    """
    from fastcalc.cli import show_import

    show_import.run(path, id, out)
