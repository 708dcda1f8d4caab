"""Time decode steps on this machine: ``python -m benchmarks.gpu_decode -o points.csv``.

Random weights in the shape of a model of the catalogue, in bf16, one chip, each step captured in
a CUDA graph. The file holds rows that ``fastcalc validate`` reads; what the chip reaches in
copying, multiplying and starting kernels is printed before. PyTorch 2.5 or later is needed and
not among fastcalc's dependencies. ``--device cpu`` runs tiny networks, to try the script.
"""

import argparse
import os
import sys
from datetime import date
from pathlib import Path

from benchmarks.gpu_decode.chip import hardware_id
from benchmarks.gpu_decode.points import Decode, points_csv
from benchmarks.gpu_decode.reach import decode_table, micro_csv, micro_table
from benchmarks.gpu_decode.shape import Shape, shape_named
from fastcalc.catalogue.limits import LIMITS, Limit
from fastcalc.catalogue.store import Catalogue
from fastcalc.errors import InputError
from fastcalc.kit.answer.output import write
from fastcalc.kit.request.number_lists import numbers
from fastcalc.kit.request.readers import names, whole

DEFAULTS = {
    "cuda": {
        "shape": "llama-3.1-8b,qwen3-30b-a3b",
        "batches": "1..256x2",
        "contexts": "1024,8192",
    },
    "cpu": {"shape": "tiny-dense,tiny-moe", "batches": "1,4,16", "contexts": "64,256"},
}
MOST_CONTEXT, MOST_REPEAT = 10_000_000, 10_000


def arguments(words: list[str]) -> argparse.Namespace:
    """Return what the person asks for."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.gpu_decode",
        description="Time the decode step of networks with random weights on one chip.",
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("--hardware", metavar="ID", help="catalogue id of the chip; guessed from its name")
    helps = {
        "shape": "models of the catalogue, tiny-dense or tiny-moe",
        "batches": "sequences decoded together, as 1,8,32 or 1..256x2",
        "contexts": "tokens attended to",
    }
    for flag, text in helps.items():
        gpu, cpu = (DEFAULTS[device][flag] for device in ("cuda", "cpu"))
        add(f"--{flag}", metavar="LIST", help=f"{text}; default {gpu}, on a CPU {cpu}")
    add("--repeat", metavar="N", default="20", help="repetitions, whose median counts")
    add("--device", choices=("cuda", "cpu"), default="cuda")
    add("--fuse", action="store_true", help="let torch.compile fuse norms, gates and rotations")
    add("--micro", metavar="FILE", type=Path, help="CSV of what the chip reaches")
    add("-o", "--output", metavar="FILE", type=Path, help="CSV of measured points")
    asked = parser.parse_args(words)
    for flag, default in DEFAULTS[asked.device].items():
        if getattr(asked, flag) is None:
            setattr(asked, flag, default)
    return asked


def run(words: list[str]) -> int:
    """Measure, print and write; return the exit code.

    Raises
    ------
    InputError
        If the request is wrong, or the machine cannot do it.
    """
    asked = arguments(words)
    shapes = [shape_named(one) for one in names(asked.shape, "--shape")]
    sizes = numbers(asked.batches, "--batches", LIMITS["sequences"])
    contexts = tuple(
        whole(one, "--contexts", Limit(1, MOST_CONTEXT, is_whole=True))
        for one in names(asked.contexts, "--contexts")
    )
    if min(contexts) < 2:
        raise InputError("--contexts 1 leaves no prompt; contexts start at 2 tokens")
    repeat = whole(asked.repeat, "--repeat", Limit(1, MOST_REPEAT, is_whole=True))
    for file in (asked.output, asked.micro):
        if file is not None and (file.is_dir() or not file.resolve().parent.is_dir()):
            raise InputError(f"{file} cannot be written: name a file in a folder that is there")
    try:
        import torch
    except (ImportError, OSError) as error:
        raise InputError(
            f"PyTorch cannot be imported ({error}); 'pip install torch' installs it"
        ) from error
    if tuple(int(part) for part in torch.__version__.split(".")[:2]) < (2, 5):
        raise InputError(f"PyTorch {torch.__version__} is too old; 2.5 or later is needed")
    if asked.device == "cuda" and not torch.cuda.is_available():
        raise InputError(
            "PyTorch sees no CUDA device; '--device cpu' tries the script on tiny networks"
        )
    try:
        with torch.inference_mode():
            return _measure(asked, shapes, sizes, contexts, repeat)
    except RuntimeError as error:  # a driver, a kernel or the memory: PyTorch says all so
        why = " ".join(str(error).split())[:300]
        raise InputError(f"PyTorch gave up: {why}") from error


def _measure(
    asked: argparse.Namespace,
    shapes: list[Shape],
    sizes: tuple[int, ...],
    contexts: tuple[int, ...],
    repeat: int,
) -> int:
    import torch

    from benchmarks.gpu_decode import clock, micro, pointwise
    from benchmarks.gpu_decode.decode import Plan, decode_steps

    device, day = torch.device(asked.device), date.today()
    name, memory = clock.identity(device)
    hardware = hardware_id(
        asked.hardware, name, memory, is_cpu=device.type == "cpu", catalogue=Catalogue()
    )
    if asked.fuse:
        pointwise.fuse(device)
    plan = Plan(device, hardware, sizes, contexts, repeat, _about(asked, name, torch.__version__))
    reached = list(micro.all_of_them(device, repeat))
    write(f"{name}, {hardware}\n{micro_table(reached)}\n", None)
    if asked.micro is not None:
        write(micro_csv(reached, day, hardware, name), asked.micro)
    steps: list[Decode] = []
    for step in decode_steps(plan, shapes, _tell):
        steps.append(step)
        if asked.output is not None:
            write(points_csv(steps, day), asked.output)
    if not steps:
        raise InputError("no step fits this device; try --shape, --batches or --contexts")
    write(decode_table(steps), None)
    return 0


def _about(asked: argparse.Namespace, name: str, version: str) -> tuple[str, ...]:
    """Return what the notes of every row say of the run."""
    return (
        "CUDA graph" if asked.device == "cuda" else "on a CPU without CUDA graph",
        "norms, gates and rotations fused" if asked.fuse else "nothing fused",
        "random weights, greedy choice of the token inside",
        f"torch {version}",
        name.replace(";", ","),
    )


def _tell(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def main() -> None:
    """Run the benchmark and exit: 0 done, 2 the request or the machine is wrong."""
    try:
        code = run(sys.argv[1:])
    except InputError as error:
        _tell(f"gpu_decode: {error}")
        code = 2
    except KeyboardInterrupt:
        code = 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        code = 0
    sys.exit(code)


if __name__ == "__main__":
    main()
