"""The command line: parse, load, evaluate, report."""

import gc
import os
import sys
import warnings
from importlib import import_module
from typing import cast

from fastcalc.catalogue import inputs
from fastcalc.errors import InputError
from fastcalc.kit.answer import output, progress
from fastcalc.mentions import as_flags
from fastcalc.written import line

EXIT_OK, EXIT_WRONG_REQUEST, EXIT_INTERRUPTED = 0, 2, 130
_FAULT = "a fault of fastcalc, not of the request; please report it"


def main() -> None:
    """Run the command line and exit: 0 for success, 1 if the answer is no, 2 for a bad request."""
    # A command runs for a quarter of a second, too short for garbage collection to pay off.
    gc.disable()
    # Otherwise pydantic would read the metadata of every installed package to find plugins.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "1")
    # numpy would start a thread per core, but no matrix product here is large enough for two.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # An invalid number is never printed but reported as a bug in the program.
    warnings.simplefilter("error", RuntimeWarning)
    inputs.forget()
    progress.begin(" ".join(["fastcalc", *sys.argv[1:2]]))
    try:
        code = _run()
    except InputError as error:
        code = _refuse(*error.args)
    except (RuntimeWarning, ArithmeticError) as error:
        code = _refuse(f"{_FAULT}: {error}")
    except SystemExit as ended:  # raised by typer after a completion, and by signals
        # typer exits with 1 if whoever reads the help has closed the pipe.
        has_gone = isinstance(ended.__context__, BrokenPipeError)
        code = ended.code if isinstance(ended.code, int) and not has_gone else EXIT_OK
    except KeyboardInterrupt:
        code = EXIT_INTERRUPTED
    except BrokenPipeError:
        code = EXIT_OK
    except OSError as error:
        code = _refuse(_why(error))
    except Exception:  # Python would exit with 1, which here means that the answer is no
        from traceback import format_exc

        output.notify(format_exc())
        code = _refuse(_FAULT)
    progress.end()
    try:  # a closed pipe or a full device is no error of its own
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError as error:
        if code == EXIT_OK and not isinstance(error, BrokenPipeError):
            code = _refuse(_why(error))
        output.discard(1)
    # Otherwise the interpreter would garbage-collect all loaded modules at exit.
    gc.freeze()
    sys.exit(code)


def _run() -> int:
    try:
        import typer
    except ModuleNotFoundError as error:
        raise InputError(
            "typer, which reads the command line, is not installed: python -m pip install typer"
        ) from error

    from fastcalc.cli.app import command

    for stream in (sys.stdout, sys.stderr):
        if stream is not None and hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # for terminals that cannot show a character
    from fastcalc.cli.engine_flags import translated
    from fastcalc.cli.usage import sentence

    words, notes = translated(sys.argv[1:])
    for note in notes:
        output.notify(f"fastcalc: {note}\n")
    try:
        code = command(*words[:1])(args=words, standalone_mode=False)
    except _usage_error() as error:
        raise InputError(sentence(error, words)) from error
    except typer.Abort:
        return EXIT_INTERRUPTED
    return code if isinstance(code, int) else EXIT_OK


def _usage_error() -> type[Exception]:
    """Return the base class of typer's usage errors."""
    import typer

    if hasattr(typer, "TyperException"):  # since 0.27.3
        return typer.TyperException
    # Earlier versions use click's class, which typer 0.26 vendors in a module of its own.
    click = import_module(typer.BadParameter.__module__)
    return cast(type[Exception], click.ClickException)


def _refuse(*sentences: str) -> int:
    output.notify("".join(f"fastcalc: {line(as_flags(sentence))}\n" for sentence in sentences))
    return EXIT_WRONG_REQUEST


def _why(error: OSError) -> str:
    """Return the file that cannot be used: the one in the error, or else standard output."""
    if error.filename is None:
        return f"standard output cannot be written: {output.reason(error)}"
    return f"{os.fsdecode(error.filename)[:200]}: {output.reason(error)}"
