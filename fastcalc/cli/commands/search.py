"""Commands that search: `sweep`, `plan`, `fastmode` and `frontier`."""

from typing import Annotated

import typer

from fastcalc.cli import options


def sweep(
    models: options.Models = None,
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
    anyway: Annotated[
        bool, typer.Option("--anyway", help="Even beyond 10 minutes or what is free on the disk.")
    ] = False,
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

    show_sweep.run(show_sweep.Asked.of(locals()), format, out, is_meant=anyway)


def plan(
    model: options.Model,
    on: options.OnOrAll = "all",
    prompt: options.Prompt = 1000,
    output: options.Output = 1000,
    ttft: Annotated[
        str | None, typer.Option(metavar="TIME", help="Most time to the first token: 1s.")
    ] = None,
    percentile: Annotated[
        float | None,
        typer.Option(
            metavar="P",
            help="Percent of requests that must meet --ttft, where they arrive at random: 99.",
        ),
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


def fastmode(
    model: options.Model,
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


def frontier(
    model: options.Model,
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

    Over every legal layout of up to --max-chips chips, at batches in powers of two and the largest.
    Exits with 1 if no chip has both a place and a price.
    """
    from fastcalc.cli import requests, show_frontier

    request = requests.Request.of(locals() | {"models": [model]})
    raise typer.Exit(show_frontier.run(request, max_chips, format, out))
