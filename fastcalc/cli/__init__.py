"""The command line: parse, load, evaluate, report."""

import gc
import os
import sys
from typing import cast

from fastcalc.errors import InputError

EXIT_OK, EXIT_NO, EXIT_WRONG_REQUEST, EXIT_INTERRUPTED = 0, 1, 2, 130


def main() -> None:
    """Run the command line and exit: 0 done, 1 the answer is no, 2 the request is wrong."""
    # A command lives for a quarter of a second and makes no cycles worth finding.
    gc.disable()
    import typer

    from fastcalc.cli.app import app

    # The class that all of typer's usage errors share; it has no public name of its own.
    usage_error = cast(type[Exception], typer.BadParameter.__mro__[2])
    try:
        code = app(standalone_mode=False)
        sys.stdout.flush()
    except InputError as error:
        code = _refuse(str(error))
    except usage_error as error:
        code = _refuse(_usage(error))
    except (KeyboardInterrupt, typer.Abort):
        code = EXIT_INTERRUPTED
    except BrokenPipeError:
        # The reader has seen enough; keep Python from complaining when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = EXIT_OK
    sys.exit(code if isinstance(code, int) else EXIT_OK)


def _refuse(sentence: str) -> int:
    print(f"fastcalc: {sentence}", file=sys.stderr)  # noqa: T201
    return EXIT_WRONG_REQUEST


def _usage(error: Exception) -> str:
    message = str(getattr(error, "format_message", error.__str__)())
    return " ".join(message.split()).rstrip(".") + "; --help shows what there is"
