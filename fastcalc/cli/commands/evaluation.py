"""Commands that evaluate what a person names: `compare`, `fit` and `task`."""

from typing import Annotated

import typer

from fastcalc.cli import completion, options


def compare(
    models: options.Models = None,
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


def fit(
    models: options.Models = None,
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


def task(
    models: options.Models = None,
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
